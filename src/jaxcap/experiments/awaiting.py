"""The same random model many times: who waits for each value, and what runs the loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax

from jaxcap.kernels.random_model import batched, chained, my_model, step
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.timing import Variants

OP_BY_OP, COMPILED, AWAITED = "op by op", "jit", "jit, each awaited"
STEP, SCAN, VMAP = "jit with split", "scan", "vmap"

Model = Callable[[list[jax.Array]], jax.Array]


def loop(model: Model, key: jax.Array, loops: int, *, awaited: bool) -> list[jax.Array]:
    """Split and evaluate in a Python loop, which waits for each value if ``awaited``."""
    values = []
    for _ in range(loops):
        key, *subkeys = jax.random.split(key, 3)
        value = model(subkeys)
        if awaited:
            value.block_until_ready()
        values.append(value)
    return values


def loop_of_steps(key: jax.Array, loops: int) -> list[jax.Array]:
    """Split and evaluate by one compiled call in each iteration."""
    compiled = jax.jit(step)
    values = []
    for _ in range(loops):
        key, value = compiled(key)
        values.append(value)
    return values


def prepare(loops: int) -> Variants:
    """Prepare all variants of ``loops`` iterations; each returns all of its values."""
    key = jax.random.key(0)
    compiled = jax.jit(my_model)
    in_one_call = partial(jax.jit, static_argnames="loops")
    return {
        OP_BY_OP: partial(loop, my_model, key, loops, awaited=False),
        COMPILED: partial(loop, compiled, key, loops, awaited=False),
        AWAITED: partial(loop, compiled, key, loops, awaited=True),
        STEP: partial(loop_of_steps, key, loops),
        SCAN: partial(in_one_call(chained), key, loops=loops),
        VMAP: partial(in_one_call(batched), key, loops=loops),
    }


#: Fewer loops than the tutorial makes once, because each variant repeats them.
AWAITING = Experiment(
    name="awaiting",
    title="Waiting for each call, or for the last",
    prepare=prepare,
    quick=grid(loops=(200,)),
    full=grid(loops=(1000,)),
)
