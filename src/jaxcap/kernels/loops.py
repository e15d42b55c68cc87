"""Loops and array lengths that depend on a number: compiled for each number, or once for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

Vector = npt.NDArray[np.floating[Any]]


def cosines_unrolled(x: Array, steps: int) -> Array:
    """Replace ``x`` by its cosine ``steps`` times, in Python; ``steps`` cannot be traced.

    ``x`` may have any shape and floating-point dtype, which are kept. From any start the values
    converge to 0.739085, the only number that is its own cosine.
    """
    for _ in range(steps):
        x = jnp.cos(x)
    return x


def cosines(x: Array, steps: Array | int) -> Array:
    """Compute the same as `cosines_unrolled`, in a loop that runs on the device.

    ``steps``, an integer scalar, can be traced.
    """
    result: Array = jax.lax.fori_loop(0, steps, lambda _, x: jnp.cos(x), x)
    return result


def measurements(count: int) -> list[Vector]:
    """Draw ``count`` float32 arrays of normal numbers, of random lengths from 1 to 999."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(n, dtype=np.float32) for n in rng.integers(1, 1000, size=count)]


def means(mean: Callable[[Vector], Array], arrays: Iterable[Vector]) -> list[Array]:
    """Call ``mean`` for one array after another."""
    return [mean(x) for x in arrays]


def means_padded(mean: Callable[[Vector, int], Array], arrays: Iterable[Vector]) -> list[Array]:
    """Call `mean_of_first`, as it is or compiled, for one array after another, each `padded`."""
    return [mean(padded(x), len(x)) for x in arrays]


def padded(x: Vector) -> Vector:
    """Append zeros to ``x`` with shape ``(n,)`` until its length is a power of two.

    NumPy does this, because JAX would compile the padding for each length.
    """
    next_power_of_two = 1 << (len(x) - 1).bit_length()
    return np.pad(x, (0, next_power_of_two - len(x)))


def mean_of_first(x: Array | Vector, count: Array | int) -> Array:
    """Mean of the first ``count`` elements of ``x`` with shape ``(n,)``; ``count`` can be traced."""
    return jnp.sum(jnp.where(jnp.arange(x.size) < count, x, 0)) / count
