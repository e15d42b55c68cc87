"""What ``jax.jit`` buys: elementwise functions op by op and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import jax
import jax.numpy as jnp

from jaxcap.experiment import Experiment, grid
from jaxcap.kernels import elementwise

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)

OP_BY_OP, COMPILED = "op by op", "jit"


def prepare(function: str, size: int, device: str) -> Mapping[str, Callable[[], jax.Array]]:
    """Prepare both variants of ``function`` on ``size`` float32 numbers from -10 to 10."""
    fn, arity = elementwise.FUNCTIONS[function]
    x = jax.device_put(jnp.linspace(-10.0, 10.0, size), jax.devices(device)[0])
    inputs = (x,) * arity
    return {OP_BY_OP: partial(fn, *inputs), COMPILED: partial(jax.jit(fn), *inputs)}


#: All functions at all sizes; with a GPU, on the GPU and on the CPU beside it.
JIT = Experiment(
    name="jit",
    prepare=prepare,
    quick=grid(function=elementwise.FUNCTIONS, size=SIZES, device=("cpu",)),
    full=grid(function=elementwise.FUNCTIONS, size=SIZES, device=("gpu", "cpu")),
)
