"""Operations on arrays so small that calling them costs more than computing them.

Each is written once, for any module ``xp`` with NumPy's interface: `numpy`, `jax.numpy`,
``autograd.numpy``. Arrays keep their dtype.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

#: Multiplies two matrices element by element.
EINSUM = "ni,ni->ni"

#: By name of the operation, a function that returns a module's implementation of it.
#:
#: :meta hide-value:
OPERATIONS: Mapping[str, Callable[[Any], Callable[..., Any]]] = MappingProxyType(
    {
        "dot": lambda xp: xp.dot,
        "einsum": lambda xp: lambda a, b: xp.einsum(EINSUM, a, b),
        "eig": lambda xp: xp.linalg.eig,
        "svd": lambda xp: xp.linalg.svd,
    }
)


#: By name of the computation, a function of a module and an array: for the matrix product a square
#: matrix, otherwise of any size.
COMPUTATIONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "dot": lambda xp, x: xp.dot(x, x),
        "polynomial": lambda _, x: polynomial(x),
        "matrix product": lambda xp, x: xp.matmul(x, x),
    }
)


def inputs(operation: str, size: int) -> tuple[npt.NDArray[np.float32], ...]:
    """Draw the arguments of an operation from the standard normal distribution, in float32.

    Returns
    -------
    tuple
        Two arrays of shape ``(size,)`` for ``"dot"``, two of shape ``(size, size)`` for
        ``"einsum"``, and one of that shape for ``"eig"`` and ``"svd"``.
    """
    shape = (2, size) if operation == "dot" else (2, size, size)
    shape = (1, size, size) if operation in ("eig", "svd") else shape
    return tuple(np.random.default_rng(0).standard_normal(shape, dtype=np.float32))


def chain(xp: Any, x: Any, length: int) -> Any:
    """Apply the sine ``length`` times; ``x`` has any shape."""
    for _ in range(length):
        x = xp.sin(x)
    return x


def polynomial(x: Any) -> Any:
    """Evaluate ``1 + x + ... + x**10`` by Horner's rule: 19 operations on each element."""
    result = x + 1
    for _ in range(9):
        result = result * x + 1
    return result


def solve_and_reduce(xp: Any, c: Any, m: Any) -> tuple[Any, Any]:
    """Solve ``c w = m`` and weight the solution with ``m``, a common step of estimation.

    Parameters
    ----------
    xp
        A module with NumPy's interface.
    c
        A non-singular complex matrix of shape ``(n, n)``.
    m
        Complex right-hand sides of shape ``(n, k)``.

    Returns
    -------
    tuple
        ``w`` of shape ``(n, k)``, and ``-0.5 sum_i conj(m_ij) w_ij`` of shape ``(k,)``.

    References
    ----------
    The function comes from a question on Stack Overflow, https://stackoverflow.com/q/64517793,
    which gives no shapes.
    """
    w = xp.linalg.solve(c, m)
    return w, -0.5 * (m.conj() * w).sum(0)


def complex_system(n: int, k: int) -> tuple[npt.NDArray[np.complex64], npt.NDArray[np.complex64]]:
    """Draw a complex system of ``n`` equations with ``k`` right-hand sides, in complex64.

    The matrix is one of normal random numbers, whose eigenvalues lie in a disc of radius
    ``sqrt(2 n)``, plus ``4 sqrt(n)`` times the identity, so it is well conditioned.
    """
    c, m = (
        np.random.default_rng(0).standard_normal((n, 2 * columns), dtype=np.float32)
        for columns in (n, k)
    )
    shift = 4 * np.sqrt(n, dtype=np.float32) * np.eye(n, dtype=np.float32)
    return c.view(np.complex64) + shift, m.view(np.complex64)
