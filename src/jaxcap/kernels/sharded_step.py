"""A training step of two layers, whose arrays lie on several devices in one of several ways.

Weights have the shapes ``(width, 4 * width)`` and ``(4 * width, width)``, a batch and its targets
``(batch, width)``. All have one floating-point dtype, which is kept. A mesh has one axis, ``AXIS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import AbstractMesh, AxisType, Mesh

AXIS = "devices"
RATE = 0.1

Weights = tuple[Array, Array]
Loss = Callable[[Weights, Array, Array], Array]


def explicit_mesh(devices: Sequence[jax.Device]) -> Mesh:
    """Arrange devices along one axis, along which types say how an array is split."""
    return jax.make_mesh((len(devices),), (AXIS,), (AxisType.Explicit,), devices=devices)


def loss(weights: Weights, x: Array, y: Array) -> Array:
    """Predict the targets of a batch, and take the mean square of the errors."""
    into, out = weights
    hidden = jnp.tanh(x @ into)
    as_targets = jax.typeof(y).sharding
    errors = jnp.dot(hidden, out, out_sharding=as_targets) - y
    return jnp.mean(errors**2)


def loss_of_split_weights(weights: Weights, x: Array, y: Array) -> Array:
    """Compute the same as `loss`, with weights that each device has a part of."""
    mesh = jax.typeof(y).sharding.mesh
    copies = jax.NamedSharding(mesh, jax.P())
    return loss(jax.reshard(weights, copies), x, y)


def loss_on_one(weights: Weights, x: Array, y: Array) -> Any:
    """Compute the same on one of the devices, which has these parts."""
    into, out = (jax.lax.all_gather(part, AXIS, tiled=True) for part in weights)
    return jax.lax.pmean(loss((into, out), x, y), AXIS)


def step(loss: Loss, weights: Weights, x: Array, y: Array) -> Any:
    """Descend along the gradient of a loss."""
    slopes = jax.grad(loss)(weights, x, y)
    return jax.tree.map(lambda w, slope: w - RATE * slope, weights, slopes)


class Split(NamedTuple):
    """Along which axes the arrays of a step are split; the targets are split as the batch is."""

    into: jax.P
    out: jax.P
    batch: jax.P


COPIES = jax.P()
ROWS, COLUMNS = jax.P(AXIS), jax.P(None, AXIS)

BATCH, UNITS, WEIGHTS = "split batch", "split units", "split weights"
BY_HAND = "split weights, shard_map"
SPLITS = {
    BATCH: Split(into=COPIES, out=COPIES, batch=ROWS),
    UNITS: Split(into=COLUMNS, out=ROWS, batch=COPIES),
    WEIGHTS: Split(into=ROWS, out=ROWS, batch=ROWS),
    BY_HAND: Split(into=ROWS, out=ROWS, batch=ROWS),
}


def random_arrays(batch: int, width: int) -> Any:
    """Draw float32 weights, so small that numbers don't grow, a batch and its targets."""
    rng = np.random.default_rng(0)
    hidden = 4 * width
    shapes = (width, hidden), (hidden, width), (batch, width), (batch, width)
    into, out, x, y = (rng.standard_normal(shape, np.float32) for shape in shapes)
    return (into / width**0.5, out / hidden**0.5), x, y


def loss_on_mesh(way: str, mesh: Mesh | AbstractMesh) -> Loss:
    """Return the loss that goes with a way to split its arguments."""
    if way == BY_HAND:
        into, out, batch = SPLITS[way]
        in_specs = (into, out), batch, batch
        return jax.shard_map(loss_on_one, mesh=mesh, in_specs=in_specs, out_specs=COPIES)
    return loss_of_split_weights if way == WEIGHTS else loss


def step_on_mesh(way: str, mesh: Mesh, batch: int, width: int) -> partial[Weights]:
    """Return a compiled step that needs no arguments: its arrays lie on the mesh."""
    weights, x, y = random_arrays(batch, width)
    split = SPLITS[way]
    specs = (split.into, split.out), split.batch, split.batch
    shardings = jax.tree.map(partial(jax.NamedSharding, mesh), specs)
    arrays = jax.device_put((weights, x, y), shardings)
    return partial(jax.jit(partial(step, loss_on_mesh(way, mesh))), *arrays)
