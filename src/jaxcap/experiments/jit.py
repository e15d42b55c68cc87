"""What ``jax.jit`` gains: elementwise functions op by op and compiled."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from jaxcap.kernels import elementwise
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)

OP_BY_OP, COMPILED = "op by op", "jit"


def prepare(function: str, size: int, device: str) -> Variants:
    """Prepare ``function`` on ``size`` float32 numbers from -10 to 10, op by op and compiled."""
    fn, arity = elementwise.FUNCTIONS[function]
    x = jax.device_put(jnp.linspace(-10.0, 10.0, size), jax.devices(device)[0])
    inputs = (x,) * arity
    return {OP_BY_OP: partial(fn, *inputs), COMPILED: partial(jax.jit(fn), *inputs)}


#: With a GPU, all functions at all sizes, on the GPU and on the CPU. Without one, one function at all
#: sizes and the others at one.
JIT = Experiment(
    name="jit",
    title="Elementwise functions, op by op and compiled",
    prepare=prepare,
    quick=[
        *grid(function=("wave",), size=SIZES, device=("cpu",)),
        *grid(
            function=[name for name in elementwise.FUNCTIONS if name != "wave"],
            size=(1_000_000,),
            device=("cpu",),
        ),
    ],
    full=grid(function=elementwise.FUNCTIONS, size=SIZES, device=("gpu", "cpu")),
)
#: What the first page shows of it: one function at one size.
INTRODUCTION = Experiment(
    name="introduction",
    title="A first function, compiled",
    prepare=prepare,
    quick=grid(function=("wave",), size=(100_000,), device=("cpu",)),
    full=grid(function=("wave",), size=(100_000,), device=("gpu",)),
)
#: The same on a CPU, at one point, where malloc decides which memory to give back.
ALLOCATOR = Experiment(
    name="jit, default allocator",
    title="A compiled function, and malloc's default",
    prepare=prepare,
    quick=grid(function=("wave",), size=(1_000_000,), device=("cpu",)),
    allocator="default",
)
#: What `ALLOCATOR` is compared with: malloc keeps all memory, as in most experiments.
KEPT = Experiment(
    name="jit, memory kept",
    title="A compiled function, and memory that is kept",
    prepare=prepare,
    quick=ALLOCATOR.quick,
)
