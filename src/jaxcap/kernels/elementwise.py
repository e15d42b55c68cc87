"""Elementwise functions, which do little arithmetic for much memory traffic.

All of them take and return arrays of one shape and one floating-point dtype, which they keep.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
from jax import Array


def selu(x: Array, alpha: float = 1.67, scale: float = 1.05) -> Array:
    """Scaled exponential linear unit, with its constants rounded to three digits.

    ``scale * x`` where ``x > 0``, else ``scale * alpha * (exp(x) - 1)``.

    References
    ----------
    G. Klambauer et al., "Self-Normalizing Neural Networks", NeurIPS 2017.
    """
    return scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def sigmoid(x: Array) -> Array:
    """Logistic function ``1 / (1 + exp(-x))``."""
    return 1 / (1 + jnp.exp(-x))


def add(x: Array, y: Array) -> Array:
    """Evaluate ``(x + y) exp(x) - 2.05 + 0.56 y``: a sum with some arithmetic around it."""
    return jnp.add(x, y) * jnp.exp(x) - 2.05 + y * 0.56


def wave(x: Any, xp: Any = jnp) -> Any:
    """Evaluate ``0.2 x + sin x + cos 2x``, two waves on a slope, by the functions of module ``xp``."""
    return 0.2 * x + xp.sin(x) + xp.cos(2 * x)


#: Each function, and the number of arrays that it takes.
FUNCTIONS: Mapping[str, tuple[Callable[..., Array], int]] = MappingProxyType(
    {"selu": (selu, 1), "sigmoid": (sigmoid, 1), "add": (add, 2), "wave": (wave, 1)}
)
