"""Functions of one example or one pair, for `jax.vmap` to map, and the same batched by hand.

Arrays have one floating-point dtype, which is kept.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import Array


def logistic_loss(weights: Array, features: Array, label: Array) -> Array:
    """Loss of logistic regression for one example.

    Parameters
    ----------
    weights
        Shape ``(d,)``.
    features
        Shape ``(d,)``.
    label
        0 or 1, shape ``()``.

    Returns
    -------
    Array
        ``log(1 + exp(s)) - label s`` with the score ``s``, the product of weights and features;
        shape ``()``.
    """
    score = jnp.dot(weights, features)
    return jnp.logaddexp(0, score) - label * score


def logistic_losses(weights: Array, features: Array, labels: Array) -> Array:
    """Loss of each of ``n`` examples, batched by hand.

    Takes weights of shape ``(d,)``, features of shape ``(n, d)`` and labels of shape ``(n,)``;
    returns shape ``(n,)``.
    """
    scores = features @ weights
    return jnp.logaddexp(0, scores) - labels * scores


def logistic_losses_in_turn(weights: Array, features: Array, labels: Array) -> Array:
    """Compute the same as `logistic_losses`, one example after another inside one program."""
    losses: Array = jax.lax.map(
        lambda example: logistic_loss(weights, *example), (features, labels)
    )
    return losses


def losses_by_loop(
    loss: Callable[[Array, Array, Array], Array],
    weights: Array,
    examples: Sequence[tuple[Array, Array]],
) -> list[Array]:
    """Call `logistic_loss`, its gradient, or either compiled, for each example in a Python loop."""
    return [loss(weights, features, label) for features, label in examples]


def logistic_gradients(weights: Array, features: Array, labels: Array) -> Array:
    """Gradient of each example's loss with respect to the weights, derived and batched by hand.

    ``(1 / (1 + exp(-s)) - label) features``. Takes what `logistic_losses` takes; returns shape
    ``(n, d)``.
    """
    return (jax.nn.sigmoid(features @ weights) - labels)[:, None] * features


def clip(gradient: Array, max_norm: float) -> Array:
    """Scale a gradient down to the Euclidean norm ``max_norm`` if it is longer.

    References
    ----------
    M. Abadi et al., "Deep Learning with Differential Privacy", CCS 2016, algorithm 1.
    """
    return gradient / jnp.maximum(1, jnp.linalg.norm(gradient) / max_norm)


def distance(a: Array, b: Array) -> Array:
    """Euclidean distance between two points, both of shape ``(d,)``; shape ``()``."""
    return jnp.sqrt(jnp.sum((a - b) ** 2))


def distances(a: Array, b: Array) -> Array:
    """Distance between the points of each pair, batched by hand.

    Takes shapes ``(m, d)`` and ``(n, d)``; returns shape ``(m, n)``.
    """
    return jnp.sqrt(jnp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1))
