"""A random model evaluated many times: what waiting for each value costs, and what loops cost."""

from __future__ import annotations

from functools import partial

import jax

from jaxcap.kernels.random_model import batched, chained, looped, looped_steps, my_model, step
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

OP_BY_OP, COMPILED, AWAITED = "op by op", "jit", "jit, each awaited"
STEP, SCAN, VMAP = "jit with split", "scan", "vmap"


def prepare(loops: int) -> Variants:
    """Prepare ``loops`` evaluations of a small model, in loops of calls and in a single call."""
    key = jax.random.key(0)
    compiled = jax.jit(my_model)
    in_one_call = partial(jax.jit, static_argnames="loops")
    return {
        OP_BY_OP: partial(looped, my_model, key, loops),
        COMPILED: partial(looped, compiled, key, loops),
        AWAITED: partial(looped, compiled, key, loops, awaited=True),
        STEP: partial(looped_steps, jax.jit(step), key, loops),
        SCAN: partial(in_one_call(chained), key, loops=loops),
        VMAP: partial(in_one_call(batched), key, loops=loops),
    }


#: Fewer iterations than in the tutorial, because each variant repeats them many times.
AWAITING = Experiment(
    name="awaiting",
    title="Waiting for each call, or for the last",
    prepare=prepare,
    quick=grid(loops=(200,)),
    full=grid(loops=(1000,)),
)
