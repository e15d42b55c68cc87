"""From the naive loop on MNIST to the fastest training: trainers that differ by one change each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from flax import nnx
from jax import Array
from typing_extensions import override

from jaxcap.kernels.convolution import by_patches, by_winograd
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

LOSSES_LATE = f"{NAIVE}, losses read late"
ON_DEVICE = f"{NAIVE}, images on the device"
BYTES = f"{NAIVE}, bytes on the device"
PURE = f"{STEPS}, no donation"
POOL = f"{STEPS}, our own pool"
WINOGRAD_ALONE = f"{WINOGRAD} alone"
SUMS = f"{WINOGRAD}, with sums"
PARTS = f"{WINOGRAD}, in parts"

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
    LOSSES_LATE: Change(NAIVE, "losses read at the end"),
    ON_DEVICE: Change(LOSSES_LATE, "images on the device"),
    BYTES: Change(ON_DEVICE, "images as bytes"),
    PURE: Change(BYTES, "a pure function"),
    STEPS: Change(PURE, "donation"),
    SCAN: Change(STEPS, "scan"),
    POOL: Change(STEPS, "our own pool"),
    PATCHES: Change(POOL, "patches"),
    WINOGRAD_ALONE: Change(PATCHES, "Winograd's algorithm"),
    SUMS: Change(WINOGRAD_ALONE, "sums in the first layer"),
    PARTS: Change(SUMS, "a few images at a time"),
    WINOGRAD: Change(PARTS, "fewer random numbers"),
    SCAN_WINOGRAD: Change(WINOGRAD, "scan"),
}


class _LossesLate(NaiveFlaxTrainer):
    """Waits for no loss before the end of the epoch."""

    @override
    def _step(self, indices: Order, key: Array | None) -> Array:
        images, labels = self._images[indices], self._labels[indices]
        return naive_step(self._model, self._optimizer, images, labels, key)


class _OnDevice(NaiveFlaxTrainer):
    """Waits for no loss either, and keeps all images on the device, where the step takes its batch.

    Parameters
    ----------
    settings, train
        See `~jaxcap.mnist.training.Trainer`.
    as_bytes
        Keep the images as they are, so that the step has to normalise its batch.
    """

    def __init__(self, settings: Settings, train: Split, *, as_bytes: bool = False) -> None:
        super().__init__(settings, train)
        images = train.images if as_bytes else self._images
        self._on_device = jnp.asarray(images), jnp.asarray(self._labels)
        self._moments = (self._mean, self._std) if as_bytes else None

    @override
    def _step(self, indices: Order, key: Array | None) -> Array:
        data = self._on_device
        return _step_on_device(self._model, self._optimizer, *data, indices, key, self._moments)


@nnx.jit
def _step_on_device(
    model: CNN,
    optimizer: nnx.Optimizer[CNN],
    images: Array,
    labels: Array,
    indices: Any,
    key: Array | None,
    moments: tuple[float, float] | None,
) -> Array:
    batch = images[indices]
    if moments:
        mean, std = moments
        batch = (batch[..., None] / 255.0 - mean) / std
    return naive_step(model, optimizer, batch, labels[indices], key)


def _patches_or_winograd(images: Array, kernel: Array) -> Array:
    """Convolve by Winograd's algorithm, but in the first layer by patches."""
    return (by_patches if kernel.shape[2] == 1 else by_winograd)(images, kernel)


_steps = partial(FlaxTrainer, steps_per_program=1)
_patches, _winograd = layer_options("patches"), layer_options("winograd")
_at_once = {name: _winograd[name] for name in ("convolve", "pool")}

#: Makes each trainer.
FACTORIES: Mapping[str, TrainerFactory] = {
    NAIVE: NaiveFlaxTrainer,
    LOSSES_LATE: _LossesLate,
    ON_DEVICE: _OnDevice,
    BYTES: partial(_OnDevice, as_bytes=True),
    PURE: partial(_steps, layers=layer_options("xla"), donate=False),
    STEPS: partial(_steps, layers=layer_options("xla")),
    POOL: partial(_steps, layers={"pool": _patches["pool"]}),
    PATCHES: partial(_steps, layers=_patches),
    WINOGRAD_ALONE: partial(_steps, layers=_patches | {"convolve": _patches_or_winograd}),
    SUMS: partial(_steps, layers=_at_once),
    PARTS: partial(_steps, layers=_at_once | {"apply": _winograd["apply"]}),
    WINOGRAD: partial(_steps, layers=_winograd),
    SCAN: partial(FlaxTrainer, layers=layer_options("xla")),
    SCAN_WINOGRAD: partial(FlaxTrainer, layers=_winograd),
}
