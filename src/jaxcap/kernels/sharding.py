"""A gradient whose batch is spread over several devices, in three ways that send the same messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import Array
from jax.sharding import Mesh

Way = Callable[[Mesh], Any]


def loss(weights: Array, batch: Array) -> Array:
    """Mean square of the scores of a batch: ``(n,)`` and ``(m, n)`` to a scalar."""
    return ((batch @ weights) ** 2).mean()


def by_compiler(mesh: Mesh) -> Any:
    """Leave it to XLA: say how the arrays lie, and nothing else."""
    copied = jax.NamedSharding(mesh, jax.P())
    split = jax.NamedSharding(mesh, jax.P("data"))
    return jax.jit(jax.grad(loss), in_shardings=(copied, split))


def by_shard_map(mesh: Mesh) -> Any:
    """Write what one device does with its part, and the message at its end."""

    def part_of_loss(weights: Array, part: Array) -> Any:
        return jax.lax.pmean(loss(weights, part), "data")

    specs = (jax.P(), jax.P("data"))
    whole_loss = jax.shard_map(part_of_loss, mesh=mesh, in_specs=specs, out_specs=jax.P())
    return jax.jit(jax.grad(whole_loss))


def by_pmap(mesh: Mesh) -> Any:
    """Do the same in the style of older programs: the batch needs an axis for the devices."""

    def part_of_gradient(weights: Array, part: Array) -> Any:
        return jax.lax.pmean(jax.grad(loss)(weights, part), "data")

    mapped = jax.pmap(part_of_gradient, "data", in_axes=(None, 0))
    return lambda weights, batch: mapped(weights, batch.reshape(mesh.size, -1, batch.shape[1]))[0]
