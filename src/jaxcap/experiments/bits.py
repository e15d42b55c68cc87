"""A sum, a product and a step of training, by the format of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import bits
from jaxcap.kernels.precision import with_x64
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

FLOAT64, FLOAT32, FLOAT16, BFLOAT16 = FORMATS = "float64", "float32", "float16", "bfloat16"
#: bfloat16 for what is stored and multiplied, float32 for sums, products and weights.
MIXED = "bfloat16 and float32"
SUM, PRODUCT, TRAINING = "sum", "product", "training step"

SHORT: dict[str, Callable[..., Any]] = {
    SUM: jnp.sum,
    PRODUCT: jnp.matmul,
    TRAINING: bits.step,
}
LONG: dict[str, Callable[..., Any]] = {
    SUM: partial(jnp.sum, dtype=FLOAT32),
    PRODUCT: partial(jnp.matmul, preferred_element_type=FLOAT32),
    TRAINING: bits.step,
}


def inputs(task: str, size: int) -> Any:
    """Draw what a task takes, in float64: numbers, two matrices, or weights and a batch."""
    if task == TRAINING:
        return bits.problem(size)
    shape = (1, size) if task == SUM else (2, size, size)
    return tuple(np.random.default_rng(0).random(shape))


def prepare(task: str, size: int) -> Variants:
    """Prepare a sum, a product or a training step in each format, and in a mixture of two.

    Parameters
    ----------
    task
        ``"sum"``, ``"product"`` or ``"training step"``.
    size
        The numbers of the sum, the rows of the square matrices, or the units of the network.
    """
    arrays = inputs(task, size)
    variants = {name: _call(SHORT[task], bits.cast(arrays, name), name) for name in FORMATS}
    short = bits.cast(arrays, BFLOAT16)
    if task == TRAINING:
        short = bits.cast(arrays[0], FLOAT32), *short[1:]
    variants[MIXED] = _call(LONG[task], short, MIXED)
    return variants


def error(found: Any, exact: Any) -> float:
    """Return the largest error, relative to the largest exact number."""
    difference = np.asarray(found, np.float64) - exact
    return float(np.max(abs(difference)) / np.max(np.abs(exact)))


def _call(function: Callable[..., Any], arrays: Any, name: str) -> Callable[[], Any]:
    if name != FLOAT64:
        return partial(jax.jit(function), *jax.device_put(arrays))
    return partial(with_x64(jax.jit(function)), *with_x64(jax.device_put)(arrays))


#: The same work on fewer bytes. Whether that takes less time is up to the device and the compiler.
BITS = Experiment(
    name="bits",
    title="The same work in fewer bits",
    prepare=prepare,
    quick=[
        *grid(task=(SUM,), size=(1_000_000,)),
        *grid(task=(PRODUCT,), size=(500,)),
        *grid(task=(TRAINING,), size=(512,)),
    ],
    full=[
        *grid(task=(SUM,), size=(100_000_000,)),
        *grid(task=(PRODUCT, TRAINING), size=(4096,)),
    ],
    empty_caches=False,  # each format is compiled for itself
)
