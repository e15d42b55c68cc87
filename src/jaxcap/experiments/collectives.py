"""A step that several devices share in several ways, and the messages by which they share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import collectives, sharded_step
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

VIRTUAL_DEVICES = 8
ONE = "1 device"
COPY = "copy on one device"
PSUM, SCATTER, GATHER, PERMUTE = "psum", "psum_scatter", "all_gather", "ppermute"
IN_TWO = "psum_scatter, all_gather"


def several_devices() -> Sequence[jax.Device]:
    """Return accelerators if there are several, or else a CPU that acts as eight devices.

    They are as many as a power of two, which divides all sizes here.
    """
    with suppress(RuntimeError):  # JAX has already listed its devices
        jax.config.update("jax_num_cpu_devices", VIRTUAL_DEVICES)  # type: ignore[no-untyped-call]
    devices: Sequence[jax.Device] = jax.devices()
    if len(devices) == 1:
        devices = jax.devices("cpu")
    return devices[: 1 << (len(devices).bit_length() - 1)]


def uncounted(call: Callable[[], Any]) -> Callable[[], Any]:
    """Hide from XLA's analysis what a call costs, because it counts the part of one device only."""
    return lambda: call()


def prepare_steps(batch: int, width: int) -> Variants:
    """Prepare a training step of two layers on one device, and on several that share it in three ways."""
    devices = several_devices()
    alone, together = map(sharded_step.explicit_mesh, (devices[:1], devices))
    ways = (sharded_step.BATCH, sharded_step.UNITS, sharded_step.BY_HAND)
    steps = {way: uncounted(sharded_step.step_on_mesh(way, together, batch, width)) for way in ways}
    return {ONE: sharded_step.step_on_mesh(sharded_step.BATCH, alone, batch, width)} | steps


def prepare_messages(kilobytes: int) -> Variants:
    """Prepare messages between devices with a vector each, and a copy of all vectors on one device."""
    devices = several_devices()
    mesh = sharded_step.explicit_mesh(devices)
    length = 256 * kilobytes
    messages = {
        PSUM: collectives.add_up,
        SCATTER: collectives.add_up_parts,
        GATHER: collectives.collect_parts,
        IN_TWO: collectives.add_up_in_two,
        PERMUTE: collectives.pass_on,
    }
    numbers = jax.device_put(np.arange(mesh.size * length, dtype=np.float32), devices[0])
    return {COPY: partial(jax.jit(jnp.copy), numbers)} | {
        name: uncounted(collectives.on_mesh(message, mesh, length))
        for name, message in messages.items()
    }


#: Which way sends less depends on the ratio of the batch to the width.
SHARED_STEPS = Experiment(
    name="shared_steps",
    title="A step that devices share by its batch or by its units",
    prepare=prepare_steps,
    quick=grid(batch=(128, 2048), width=(64,)),
    full=grid(batch=(256, 4096), width=(128,)),
    empty_caches=False,  # each way is another program
)
#: Between the parts of one CPU, a message is a copy in memory.
COLLECTIVES = Experiment(
    name="collectives",
    title="Messages between devices",
    prepare=prepare_messages,
    quick=grid(kilobytes=(4, 64, 1024)),
    full=grid(kilobytes=(4, 256, 16384)),
    empty_caches=False,  # each message is another program
)
