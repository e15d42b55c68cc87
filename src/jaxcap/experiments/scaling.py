"""The same training on one device and on several."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import jax

from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants
from jaxcap.mnist import data
from jaxcap.mnist.config import Settings
from jaxcap.mnist.train_flax import FlaxTrainer, data_mesh
from jaxcap.mnist.training import shuffled

VIRTUAL_DEVICES = 8


def several_devices() -> Sequence[jax.Device]:
    """Return all accelerators if there are several, or else a CPU that acts as eight devices.

    The CPU can do so only if JAX hasn't listed its devices yet.
    """
    with suppress(RuntimeError):  # JAX has already listed its devices
        jax.config.update("jax_num_cpu_devices", VIRTUAL_DEVICES)  # type: ignore[no-untyped-call]
    devices: Sequence[jax.Device] = jax.devices()
    return devices if len(devices) > 1 else jax.devices("cpu")


def prepare(batch: int, steps: int) -> Variants:
    """Prepare ``steps`` steps on batches of ``batch`` images, on one device and on all of them."""
    devices = several_devices()
    settings = Settings(batch_size_training=batch)
    train = data.load("subset").train
    order = shuffled(len(train.labels), 1, settings)[:steps]
    variants = {}
    for count in sorted({1, len(devices)}):
        trainer = FlaxTrainer(settings, train, mesh=data_mesh(devices[:count]))
        variants[variant_name(count)] = partial(trainer.train_epoch, order, 1)
    return variants


def variant_name(devices: int) -> str:
    """Return the name of the variant on a number of devices."""
    return f"{devices} device{'s' if devices > 1 else ''}"


SCALING = Experiment(
    name="mnist scaling",
    title="One training on several devices",
    prepare=prepare,
    quick=grid(batch=(32,), steps=(2,)),
    full=grid(batch=(128, 1024), steps=(8,)),
    empty_caches=False,  # another number of devices is another program
)
