"""What devices send each other, written from the view of one device of a mesh with one axis.

Each function takes a vector that this device has, of a length that the number of devices divides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh

from jaxcap.kernels.sharded_step import AXIS

Collective = Callable[[Array], Any]


def add_up(vector: Array) -> Any:
    """Give every device the sum of all vectors."""
    return jax.lax.psum(vector, AXIS)


def add_up_parts(vector: Array) -> Any:
    """Give each device its part of the sum."""
    return jax.lax.psum_scatter(vector, AXIS, tiled=True)


def collect_parts(part: Array) -> Any:
    """Give every device the parts of all."""
    return jax.lax.all_gather(part, AXIS, tiled=True)


def add_up_in_two(vector: Array) -> Any:
    """Compute the same as `add_up`, by two messages."""
    return collect_parts(add_up_parts(vector))


def pass_on(vector: Array) -> Any:
    """Give each vector to the next device, and that of the last to the first."""
    count = jax.lax.axis_size(AXIS)
    ring = [(i, (i + 1) % count) for i in range(count)]
    return jax.lax.ppermute(vector, AXIS, ring)


def on_mesh(collective: Collective, mesh: Mesh, length: int) -> partial[Array]:
    """Return a compiled collective that needs no argument: a vector lies on each device.

    Each has ``length`` numbers, or for `collect_parts` its part of so many. Their results are joined.
    """
    mapped = jax.shard_map(collective, mesh=mesh, in_specs=jax.P(AXIS), out_specs=jax.P(AXIS))
    size = length if collective is collect_parts else mesh.size * length
    numbers = np.arange(size, dtype=np.float32)  # by JAX, each length would be compiled
    vectors = jax.device_put(numbers, jax.NamedSharding(mesh, jax.P(AXIS)))
    return partial(jax.jit(mapped), vectors)
