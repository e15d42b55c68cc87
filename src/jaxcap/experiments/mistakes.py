"""Mistakes in timing: the same work, done in ways that a careless comparison confuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from jaxcap.kernels.elementwise import wave
from jaxcap.kernels.linalg import product
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

PRODUCTS, COMPILING, SENDING = "products", "compiling", "sending"
WRAPPING, OPPONENTS = "wrapping", "opponents"

NUMPY_64, NUMPY_32, JAX_32 = "NumPy float64", "NumPy float32", "JAX float32"
OP_BY_OP, COMPILED = "op by op", "jit"
SENT, ON_DEVICE = "sent each time", "already there"
NEW_LAMBDA, NEW_WRAPPER, WRAPPED_ONCE = "a new lambda", "a new wrapper", "wrapped once"
LOOP, NUMPY = "Python loop", "NumPy"

# JAX shares the memory of NumPy arrays that begin at a multiple of this many bytes with the CPU.
_SHARED_ALIGNMENT = 64


def prepare(question: str, size: int) -> Variants:
    """Prepare calls that are often mistaken for one another, on arrays of ``size`` numbers or rows."""
    variants: dict[str, Callable[[int], Variants]] = {
        PRODUCTS: prepare_products,
        COMPILING: prepare_compiling,
        SENDING: prepare_sending,
        WRAPPING: prepare_wrapping,
        OPPONENTS: prepare_opponents,
    }
    return variants[question](size)


def prepare_products(size: int) -> Variants:
    """Prepare the square of a matrix, by NumPy in two dtypes and by JAX in one of them."""
    wide = np.random.default_rng(0).standard_normal((size, size))
    narrow = wide.astype(np.float32)
    on_device = jax.device_put(narrow)
    return {
        NUMPY_64: partial(np.matmul, wide, wide),
        NUMPY_32: partial(np.matmul, narrow, narrow),
        JAX_32: partial(jax.jit(product), on_device, on_device),
    }


def prepare_compiling(size: int) -> Variants:
    """Prepare ``wave`` as it is and compiled."""
    x = jnp.linspace(0.0, 10.0, size)
    return {OP_BY_OP: partial(wave, x), COMPILED: partial(jax.jit(wave), x)}


def prepare_sending(size: int) -> Variants:
    """Prepare the same addition on an array in the host's memory and on one that JAX holds."""
    x = unaligned(np.linspace(0, 10, size, dtype=np.float32))
    increment = jax.jit(lambda x: x + 1)
    return {SENT: partial(increment, x), ON_DEVICE: partial(increment, jnp.array(x))}


def prepare_wrapping(size: int) -> Variants:
    """Prepare calls of ``wave`` that compile a new function, wrap it again, or do neither."""
    x = jnp.linspace(0.0, 10.0, size)
    return {
        NEW_LAMBDA: lambda: jax.jit(lambda x: wave(x))(x),
        NEW_WRAPPER: lambda: jax.jit(wave)(x),
        WRAPPED_ONCE: partial(jax.jit(wave), x),
    }


def prepare_opponents(size: int) -> Variants:
    """Prepare ``wave`` by JAX, by NumPy, and by NumPy for one number after another."""
    x = np.linspace(0, 10, size, dtype=np.float32)
    return {
        COMPILED: partial(jax.jit(wave), jax.device_put(x)),
        NUMPY: partial(wave, x, np),
        LOOP: lambda: [wave(number, np) for number in x],
    }


def unaligned(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Copy an array of shape ``(n,)`` to an address at which JAX on a CPU can't share its memory.

    Otherwise chance would decide, in each process anew, whether a call copies the array.
    """
    memory = np.empty(len(x) + _SHARED_ALIGNMENT // x.itemsize, x.dtype)
    is_aligned = memory.ctypes.data % _SHARED_ALIGNMENT == 0
    copied = memory[is_aligned : len(x) + is_aligned]
    copied[:] = x
    return copied


_SMALL = [
    *grid(question=(COMPILING, SENDING), size=(1_000_000,)),
    *grid(question=(WRAPPING,), size=(100,)),
    *grid(question=(OPPONENTS,), size=(1000,)),
]
#: One question for each mistake that several variants show.
MISTAKES = Experiment(
    name="mistakes",
    title="What mistakes in timing are about",
    prepare=prepare,
    quick=[*grid(question=(PRODUCTS,), size=(1000,)), *_SMALL],
    full=[*grid(question=(PRODUCTS,), size=(4000,)), *_SMALL],
)
