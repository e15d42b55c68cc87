"""What is kept of a machine: the device that computed, and everything that a timing depends on.

These are only the types; `jaxcap.measure.machine.description` fills them. Whatever could identify a
person or a host (host name, user, paths) has no field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import AwareDatetime, NonNegativeInt, PositiveInt

from jaxcap.results.base import FrozenModel, PrintableText

Platform = Literal["cpu", "gpu", "tpu"]


class Device(FrozenModel):
    """Where work ran.

    Attributes
    ----------
    platform
        ``"cpu"``, ``"gpu"`` or ``"tpu"``.
    name
        The model as the device names itself, such as ``"NVIDIA H100 80GB HBM3"``.
    """

    platform: Platform
    name: PrintableText

    def __str__(self) -> str:
        return f"{self.name} ({self.platform.upper()})"


class Environment(FrozenModel):
    """A machine and its software at one moment.

    Attributes
    ----------
    device
        JAX's default device.
    device_count
        How many devices of its kind there are.
    platform_version
        Version of the compiler backend as it reports it: of XLA, and of CUDA where there is one.
    driver
        Version of the NVIDIA driver.
    cpu
        Model of the CPU.
    cores
        How many of its cores this process may use.
    cache_bytes
        Size of the largest cache that a core uses, which it may share with others.
    versions
        Version by library, for those installed.
    flags
        JAX's settings that change results or speed, and ``XLA_FLAGS``.
    python
        Version of the interpreter.
    os
        Operating system and its release.
    commit
        Abbreviated commit of jaxcap's sources, with ``-dirty`` if they were changed since.
    measured_at
        When, in UTC.
    """

    device: Device
    device_count: PositiveInt
    platform_version: PrintableText
    driver: PrintableText | None
    cpu: PrintableText
    cores: PositiveInt
    cache_bytes: NonNegativeInt | None
    versions: dict[PrintableText, PrintableText]
    flags: dict[PrintableText, PrintableText]
    python: PrintableText
    os: PrintableText
    commit: PrintableText | None
    measured_at: AwareDatetime

    def is_same_hardware(self, other: Environment) -> bool:
        """Whether both could be the same machine, whatever software it has by now."""
        names = ("device", "cpu", "cores", "cache_bytes")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def require_same_machine(self, other: Environment) -> None:
        """Check that all fields but ``measured_at`` are equal, so that results may be joined.

        Raises
        ------
        ValueError
            Naming the first field that differs, and both values.
        """
        for name in type(self).model_fields:
            ours, theirs = getattr(self, name), getattr(other, name)
            if name != "measured_at" and ours != theirs:
                raise ValueError(
                    f"results from different environments can't be joined ({name} is {ours!r} in one and "
                    f"{theirs!r} in the other): show them side by side instead"
                )


def provenance(environment: Environment) -> Mapping[str, str]:
    """Return what pages show about a machine and a moment: texts by label, in reading order."""
    # JAX can be told to take one CPU for several devices.
    count = 1 if environment.device.platform == "cpu" else environment.device_count
    facts = {
        "Device": f"{count} × {environment.device}",
        "CPU": f"{environment.cpu}, {environment.cores} cores available",
        "Driver": environment.driver,
        "Versions": ", ".join(f"{k} {v}" for k, v in environment.versions.items()),
        "Python": f"{environment.python} on {environment.os}",
        "Flags": ", ".join(f"{k}={v}" for k, v in environment.flags.items()),
        "Commit": environment.commit,
        "Measured": environment.measured_at.strftime("%Y-%m-%d %H:%M UTC"),
    }
    return {label: text for label, text in facts.items() if text}
