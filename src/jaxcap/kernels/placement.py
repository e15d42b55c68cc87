"""Points placed on a plane so that their distances agree with a table in which some are wrong.

Positions have the shape ``(n, 2)`` and distances ``(n, n)``; all are float32.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Distances = Callable[[Array], Array]
Stress = Callable[[Array, Array], Array]


def random_table(count: int) -> tuple[Array, Array]:
    """Draw a start for ``count`` points, and a table of other points' distances, a tenth three times too large."""
    rng = np.random.default_rng(0)
    start, places = rng.standard_normal((2, count, 2), dtype=np.float32)
    table = np.linalg.norm(places[:, None] - places, axis=-1)
    wrong = np.triu(rng.random(table.shape) < 0.1)
    return jnp.asarray(start), jnp.asarray(np.where(wrong | wrong.T, 3 * table, table))


def distances(positions: Array) -> Array:
    """Return the distance of each point to each."""
    offsets = positions[:, None] - positions
    return jnp.sqrt((offsets**2).sum(axis=-1))


def safe_distances(positions: Array) -> Array:
    """Return the same as `distances`, with a gradient of 0 where a distance is 0."""
    offsets = positions[:, None] - positions
    squares = (offsets**2).sum(axis=-1)
    apart = squares > 0
    roots = jnp.sqrt(jnp.where(apart, squares, 1))
    return jnp.where(apart, roots, 0)


def stress(
    positions: Array,
    table: Array,
    distances: Distances = safe_distances,
    typical: Callable[[Array], Array] = jnp.mean,
) -> Array:
    """Compare distances with a table; an error above the typical one isn't squared."""
    with jax.named_scope("distances"):
        errors = jnp.abs(distances(positions) - table)
    with jax.named_scope("limit"):
        limit = jax.lax.stop_gradient(typical(errors))
    with jax.named_scope("loss"):
        large = limit * (errors - limit / 2)
        return jnp.where(errors < limit, errors**2 / 2, large).mean()


def step(positions: Array, table: Array, stress: Stress = stress) -> tuple[Array, Array]:
    """Move all points downhill; return where they are then, and the stress before."""
    value, slope = jax.value_and_grad(stress)(positions, table)
    with jax.named_scope("update"):
        return positions - len(positions) / 2 * slope, value
