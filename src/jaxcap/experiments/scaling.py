"""The same training on one device and on several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import jax

from jaxcap.measure.experiment import Experiment, grid
from jaxcap.mnist import data
from jaxcap.mnist.config import Settings
from jaxcap.mnist.train_flax import FlaxTrainer, data_mesh
from jaxcap.mnist.training import shuffled

VIRTUAL_DEVICES = 8


def several_devices() -> Sequence[jax.Device]:
    """All accelerators, if there are several, or else a CPU that pretends to be eight devices.

    It can do so only before JAX is asked for devices.
    """
    with suppress(RuntimeError):  # JAX has devices already
        jax.config.update("jax_num_cpu_devices", VIRTUAL_DEVICES)  # type: ignore[no-untyped-call]
    found: Sequence[jax.Device] = jax.devices()
    return found if len(found) > 1 else jax.devices("cpu")


def prepare(batch: int, steps: int) -> Mapping[str, Callable[[], Any]]:
    """Prepare so many steps on batches of so many images, by one device and by all."""
    devices = several_devices()
    settings = Settings(batch_size_training=batch)
    train = data.load("subset").train
    order = shuffled(len(train.labels), 1, settings)[:steps]
    variants = {}
    for number in sorted({1, len(devices)}):
        trainer = FlaxTrainer(settings, train, mesh=data_mesh(devices[:number]))
        variants[named(number)] = partial(trainer.train_epoch, order, 1)
    return variants


def named(devices: int) -> str:
    """Name of the variant on so many devices."""
    return f"{devices} device{'s' if devices > 1 else ''}"


SCALING = Experiment(
    name="mnist scaling",
    title="One training on several devices",
    prepare=prepare,
    quick=grid(batch=(32,), steps=(2,)),
    full=grid(batch=(128, 1024), steps=(8,)),
    empty_caches=False,  # another number of devices is another program
)
