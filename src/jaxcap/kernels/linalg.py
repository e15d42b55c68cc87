"""Dense linear algebra."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

NumPyMatrix = npt.NDArray[np.floating[Any]]
Matrix = Array | NumPyMatrix


def product(a: Matrix, b: Matrix) -> Array:
    """Matrix product of ``a`` with shape ``(m, k)`` and ``b`` with shape ``(k, n)``, by JAX.

    NumPy arrays are moved to JAX's default device first, in each call.
    """
    return jnp.matmul(a, b)


def product_numpy(a: NumPyMatrix, b: NumPyMatrix) -> NumPyMatrix:
    """Matrix product of ``a`` with shape ``(m, k)`` and ``b`` with shape ``(k, n)``, by NumPy."""
    product: NumPyMatrix = np.matmul(a, b)
    return product


def product_flops(m: int, k: int, n: int) -> int:
    """Floating-point operations of a product of an ``(m, k)`` and a ``(k, n)`` matrix.

    One multiplication and one addition for each of the ``m k n`` pairs.
    """
    return 2 * m * k * n
