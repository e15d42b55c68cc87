"""From the naive loop on MNIST to the fastest training, in steps that were each measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from flax import nnx
from jax import Array
from typing_extensions import override

from jaxcap.mnist.config import Settings
from jaxcap.mnist.data import Split
from jaxcap.mnist.model import CNN
from jaxcap.mnist.train_flax import FlaxTrainer, NaiveFlaxTrainer, layer_options, naive_step
from jaxcap.mnist.training import Order, Trainer

NAIVE = "Flax, naive"
STEPS = "Flax, steps on the device"
PATCHES = "Flax, steps with patches"
WINOGRAD = "Flax, steps with Winograd"
SCAN = "Flax, scan"
SCAN_WINOGRAD = "Flax, scan with Winograd"

BYTES = f"{NAIVE}, bytes on the device"
PURE = f"{STEPS}, no donation"
POOL = f"{STEPS}, our own pool"
SUMS = f"{WINOGRAD}, with sums"

#: Makes a trainer from settings and images to train on, and maybe from options.
TrainerFactory = Callable[..., Trainer]


class Change(NamedTuple):
    """A step on the way from the naive loop.

    Attributes
    ----------
    before
        The way to train that it changes.
    name
        What it changes.
    """

    before: str
    name: str


#: The change that leads to each way to train.
CHANGES: Mapping[str, Change] = {
    BYTES: Change(NAIVE, "data on the device, losses late"),
    PURE: Change(BYTES, "a pure function"),
    STEPS: Change(PURE, "donation"),
    SCAN: Change(STEPS, "scan"),
    POOL: Change(STEPS, "our own pool"),
    PATCHES: Change(POOL, "patches"),
    SUMS: Change(PATCHES, "Winograd and sums"),
    WINOGRAD: Change(SUMS, "a few images at a time, fewer random numbers"),
    SCAN_WINOGRAD: Change(WINOGRAD, "scan"),
}


class _OnDevice(NaiveFlaxTrainer):
    """Keeps all images on the device, as bytes, and waits for no loss before the end of the epoch."""

    def __init__(self, settings: Settings, train: Split) -> None:
        super().__init__(settings, train)
        self._on_device = jnp.asarray(train.images), jnp.asarray(self._labels)

    @override
    def _step(self, indices: Order, key: Array | None) -> Array:
        data, moments = self._on_device, (self._mean, self._std)
        return _step_on_device(self._model, self._optimizer, *data, indices, key, moments)


@nnx.jit
def _step_on_device(
    model: CNN,
    optimizer: nnx.Optimizer[CNN],
    images: Array,
    labels: Array,
    indices: Any,
    key: Array | None,
    moments: tuple[float, float],
) -> Array:
    mean, std = moments
    batch = (images[indices][..., None] / 255.0 - mean) / std
    return naive_step(model, optimizer, batch, labels[indices], key)


_steps = partial(FlaxTrainer, steps_per_program=1)
_patches, _winograd = layer_options("patches"), layer_options("winograd")

#: Makes each trainer.
FACTORIES: Mapping[str, TrainerFactory] = {
    NAIVE: NaiveFlaxTrainer,
    BYTES: _OnDevice,
    PURE: partial(_steps, layers=layer_options("xla"), donate=False),
    STEPS: partial(_steps, layers=layer_options("xla")),
    POOL: partial(_steps, layers={"pool": _patches["pool"]}),
    PATCHES: partial(_steps, layers=_patches),
    SUMS: partial(_steps, layers={name: _winograd[name] for name in ("convolve", "pool")}),
    WINOGRAD: partial(_steps, layers=_winograd),
    SCAN: partial(FlaxTrainer, layers=layer_options("xla")),
    SCAN_WINOGRAD: partial(FlaxTrainer, layers=_winograd),
}
