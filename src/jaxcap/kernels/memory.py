"""A deep stack of layers, whose gradient needs far more memory than its value.

Arrays have one floating-point dtype, which is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jax.ad_checkpoint import checkpoint_name

Weights = tuple[Array, Array]
Layer = Callable[[Array, Weights], Array]


def random_stack(layers: int, width: int) -> Weights:
    """Draw float32 weights of shapes ``(layers, width, 4 width)`` and ``(layers, 4 width, width)``.

    They are so small that numbers neither grow nor vanish on their way through the layers.
    """
    into, out = jax.random.split(jax.random.key(0))
    hidden = 4 * width
    return (
        jax.random.normal(into, (layers, width, hidden)) / width**0.5,
        jax.random.normal(out, (layers, hidden, width)) / (layers * hidden) ** 0.5,
    )


def layer(x: Array, weights: Weights) -> Array:
    """Pass a batch of shape ``(batch, width)`` through four times as many units.

    The first product has a name, by which `jax.checkpoint` may keep it.
    """
    into, out = weights
    product = checkpoint_name(x @ into, "product")
    return x + jnp.tanh(product) @ out


def loss(stack: Weights, x: Array, apply: Layer = layer) -> Array:
    """Pass a batch through a stack of layers, and take its mean square."""

    def step(x: Array, weights: Weights) -> tuple[Array, None]:
        return apply(x, weights), None

    x, _ = jax.lax.scan(step, x, stack)
    return jnp.mean(x**2)


def loss_unrolled(stack: Weights, x: Array, apply: Layer = layer) -> Array:
    """Compute the same as `loss`, in a loop that Python unrolls."""
    for weights in zip(*stack, strict=True):
        x = apply(x, weights)
    return jnp.mean(x**2)
