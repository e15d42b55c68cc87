"""Dense linear algebra.

Functions of arrays keep the dtype. Computing in float64 needs JAX's 64-bit mode (`jax.enable_x64`).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

NumPyMatrix = npt.NDArray[np.floating[Any]]
Matrix = Array | NumPyMatrix


def uniform(key: Array, size: int, dtype: str = "float32") -> Array:
    """Draw a ``(size, size)`` matrix of uniform numbers from 0 to 1, by JAX."""
    return jax.random.uniform(key, (size, size), dtype)


def uniform_moments(size: int) -> dict[str, tuple[float, float]]:
    """Give the expected mean and sum of a `uniform` matrix, each with its standard deviation.

    A uniform number from 0 to 1 has mean 1/2 and variance 1/12. For ``size**2`` independent numbers
    both add up.
    """
    count = size**2
    std = (count / 12) ** 0.5
    return {"mean": (0.5, std / count), "sum": (count / 2, std)}


def mean_and_sum(x: Any) -> tuple[Any, Any]:
    """Mean and sum of all elements of a NumPy, JAX or PyTorch array."""
    return x.mean(), x.sum()


def offsets_from_identity(a: NumPyMatrix) -> NumPyMatrix:
    """Absolute differences of ``a`` with shape ``(n, n)`` from the identity, in float64."""
    return abs(np.asarray(a, np.float64) - np.eye(len(a)))


def product(a: Matrix, b: Matrix) -> Array:
    """Matrix product of ``a`` with shape ``(m, k)`` and ``b`` with shape ``(k, n)``, by JAX.

    NumPy arrays are brought to JAX's default device in each call.
    """
    return jnp.matmul(a, b)


def product_flops(m: int, k: int, n: int) -> int:
    """Floating-point operations of a product of an ``(m, k)`` and a ``(k, n)`` matrix.

    One multiplication and one addition for each of the ``m k n`` pairs.
    """
    return 2 * m * k * n


def inverse_flops(n: int) -> int:
    """Floating-point operations of inverting an ``(n, n)`` matrix, to leading order.

    Two thirds of ``n**3`` for the LU factorisation, and four thirds for the inverse from it.

    References
    ----------
    S. Blackford, J. Dongarra, "Installation Guide for LAPACK", LAPACK Working Note 41 (1999),
    operation counts of xGETRF and xGETRI.
    """
    return 2 * n**3
