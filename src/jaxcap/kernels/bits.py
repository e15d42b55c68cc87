"""A count and the training of a network, in floating-point formats that may be too short for them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

Numbers = npt.NDArray[np.float64]
Weights = tuple[Array, Array]

RATE = 0.1  # of the descent


def count(steps: int, dtype: str) -> Array:
    """Add 1 to a total of ``dtype`` that starts at 0, ``steps`` times."""

    def add(total: Array, _: None) -> tuple[Array, None]:
        return total + jnp.ones((), dtype), None

    total, _ = jax.lax.scan(add, jnp.zeros((), dtype), length=steps)
    return total


def problem(width: int, unit: float = 1.0) -> tuple[tuple[Numbers, Numbers], Numbers, Numbers]:
    """Draw what a network of ``width`` units learns: its first weights, the inputs and the targets.

    ``unit`` is about how large the targets are.

    Returns
    -------
    tuple
        Weights of shapes ``(width // 4, width)`` and ``(width,)``, inputs of ``(2 * width, width //
        4)``, and targets of ``(2 * width,)``, which a network with other weights computed.
    """
    rng = np.random.default_rng(0)
    features = width // 4

    def draw() -> tuple[Numbers, Numbers]:
        into = rng.standard_normal((features, width)) / features**0.5
        return into, unit * rng.standard_normal(width) / width**0.5

    x = rng.standard_normal((2 * width, features))
    into, out = draw()
    return draw(), x, np.tanh(x @ into) @ out


def network(weights: Weights, x: Array) -> Array:
    """Return a number for each input, from one layer of units."""
    into, out = weights
    return jnp.tanh(x @ into) @ out


def loss(weights: Weights, x: Array, y: Array) -> Array:
    """Return the mean square of what the network is off by."""
    return jnp.mean((network(weights, x) - y) ** 2)


def cast(tree: Any, dtype: npt.DTypeLike) -> Any:
    """Convert all arrays of a tree to a format."""
    return jax.tree.map(lambda array: array.astype(dtype), tree)


def step(weights: Weights, x: Array, y: Array) -> Weights:
    """Descend along a gradient that is computed in the format of ``x`` and ``y``.

    The weights keep their own format.
    """
    slopes = jax.grad(loss)(cast(weights, x.dtype), x, y)

    def descend(weight: Array, slope: Array) -> Array:
        return weight - RATE * slope.astype(weight.dtype)

    stepped: Weights = jax.tree.map(descend, weights, slopes)
    return stepped


def losses(weights: Weights, x: Array, y: Array, steps: int) -> Array:
    """Train, and return the loss after each step, which is computed in float32."""
    x32, y32 = cast((x, y), "float32")

    def one(weights: Weights, _: None) -> tuple[Weights, Array]:
        weights = step(weights, x, y)
        return weights, loss(cast(weights, "float32"), x32, y32)

    _, history = jax.lax.scan(one, weights, length=steps)
    return history
