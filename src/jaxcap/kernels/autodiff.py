"""Functions to differentiate, and approximations to check their derivatives against."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike


def cubic(x: ArrayLike) -> ArrayLike:
    """Evaluate ``14 x**3 + 13 x``, in the type of ``x``, for numbers and arrays of any shape."""
    return 14 * x**3 + 13 * x


def wave_derivative(x: Any, xp: Any = jnp) -> Any:
    """Evaluate ``0.2 + cos x - 2 sin 2x``, the derivative of `~jaxcap.kernels.elementwise.wave`.

    Takes and returns an array of module ``xp``, of any shape and of a floating-point dtype, which it
    keeps.
    """
    return 0.2 + xp.cos(x) - 2 * xp.sin(2 * x)


def forward_difference(fn: Callable[[Array], Array], x: Array, step: ArrayLike) -> Array:
    """Approximate the derivative of ``fn`` by the slope between ``x`` and ``x + step``.

    Parameters
    ----------
    fn
        A function that treats each element by itself.
    x
        The points, an array of any shape and of a floating-point dtype.
    step
        Positive numbers, of a shape that broadcasts with that of ``x``. With a power of two,
        ``x + step`` is exact unless ``x`` is too large for its precision.

    Returns
    -------
    Array
        The derivative, apart from a truncation error, which to first order is ``step / 2`` times the
        second derivative, and a rounding error that grows as ``step`` shrinks.
    """
    return (fn(x + step) - fn(x)) / step


def central_difference(fn: Callable[[Array], Array], x: Array, step: ArrayLike) -> Array:
    """Approximate the derivative of ``fn`` by the slope between ``x - step`` and ``x + step``.

    The parameters are those of `forward_difference`. To first order the truncation error is
    ``step**2 / 6`` times the third derivative.
    """
    return (fn(x + step) - fn(x - step)) / (2 * step)
