"""When calls return: what makes Python wait, what its lead gains, and what runs inside the call."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from timeit import repeat
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxcap.kernels.linalg import product
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

USES, OVERLAP, INSIDE = "what waits", "overlap", "inside the call"
WAIT, MEANWHILE = "wait, then read", "read meanwhile"

multiply: Callable[[Array, Array], Array] = jax.jit(product)


def prepare(question: str, size: int) -> Variants:
    """Prepare calls on a ``(size, size)`` float32 matrix, mostly its product with itself."""
    # JAX's own random numbers would take longer to compile than most of the calls to run.
    numbers = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
    x = jax.device_put(numbers / np.float32(size**0.5))
    variants = {USES: prepare_uses, OVERLAP: prepare_overlap, INSIDE: prepare_inside}
    return variants[question](x)


def prepare_uses(x: Array) -> Variants:
    """Prepare calls that compute a product, use it in one way, and return both."""
    uses: dict[str, Callable[[Array], Any]] = {
        "its shape": lambda y: y.shape,
        "another product": lambda y: multiply(y, y),
        "its first number": lambda y: float(y[0, 0]),
        "to NumPy": np.asarray,
        "block_until_ready": jax.block_until_ready,
    }

    def compute_and(use: Callable[[Array], Any]) -> tuple[Array, Any]:
        y = multiply(x, x)
        return y, use(y)

    return {name: partial(compute_and, use) for name, use in uses.items()}


def prepare_overlap(x: Array) -> Variants:
    """Prepare a product and a pause of the same length, one after the other or at the same time."""
    multiply(x, x).block_until_ready()  # compile
    seconds = min(repeat(lambda: multiply(x, x).block_until_ready(), number=1, repeat=5))

    def wait_then_read() -> Array:
        y = multiply(x, x)
        y.block_until_ready()
        time.sleep(seconds)
        return y

    def read_meanwhile() -> Array:
        y = multiply(x, x)
        time.sleep(seconds)
        return y

    return {WAIT: wait_then_read, MEANWHILE: read_meanwhile}


def prepare_inside(x: Array) -> Variants:
    """Prepare a product and a cosine, which a CPU computes inside the call if they are small."""
    return {"product": partial(multiply, x, x), "cosine": partial(jax.jit(jnp.cos), x)}


_SIZES = grid(question=(INSIDE,), size=(4, 16, 64, 256, 1024))
#: Large matrices for what makes Python wait and for its lead, and all sizes for what it computes.
ASYNCHRONOUS = Experiment(
    name="asynchronous dispatch",
    title="When a call returns, and when its result is there",
    prepare=prepare,
    quick=[*grid(question=(USES, OVERLAP), size=(512,)), *_SIZES],
    full=[*grid(question=(USES, OVERLAP), size=(4096,)), *_SIZES],
)
