"""What limits how much of the machine this process may use: its cores, its container, its threads.

A container with half a core shows all cores of its host, and libraries start a thread for each of
them. Everything then takes longer than the model of the CPU suggests. Linux tells such limits;
elsewhere they are unknown. JAX, which may be broken, is not imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Environment variables that limit the threads of libraries.
_THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    "NPROC",  # the size of XLA's pool of threads
)
_SYSTEM = Path("/")


@dataclass(frozen=True)
class Limits:
    """What this process may use of the machine.

    Attributes
    ----------
    cores
        Cores of the machine.
    usable_cores
        Those that this process may run on.
    cpu_quota
        How many cores' time its container may use; None if that isn't limited, or isn't known.
    memory_bytes
        Memory of the machine; None if it isn't known.
    memory_limit_bytes
        The most that its container may hold; None if that is no less than the machine's, or isn't
        known.
    variables
        Environment variables that limit the threads of libraries, if they are set.
    """

    cores: int
    usable_cores: int
    cpu_quota: float | None = None
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def effective_cores(self) -> float:
        """The cores that all threads of this process can keep busy together."""
        return min(self.usable_cores, self.cpu_quota or self.usable_cores)


def limits(system: Path = _SYSTEM) -> Limits:
    """Read the limits of this process.

    Parameters
    ----------
    system
        The folder in which ``proc`` and ``sys`` lie.
    """
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    memory = _memory_bytes(system)
    limit = min(_memory_limits(system), default=None)
    return Limits(
        cores=cores,
        usable_cores=usable,
        cpu_quota=min(_cpu_quotas(system), default=None),
        memory_bytes=memory,
        memory_limit_bytes=limit if limit is not None and limit < (memory or limit + 1) else None,
        variables={name: os.environ[name] for name in _THREADS if name in os.environ},
    )


def _cpu_quotas(system: Path) -> Iterator[float]:
    """Yield the cores' time that each control group allows, in either version of the interface."""
    for folder in _groups(system, ""):
        if quota := re.fullmatch(r"(\d+) (\d+)", _read(folder / "cpu.max")):
            yield int(quota[1]) / int(quota[2])
    for folder in _groups(system, "cpu"):
        quota_us, period_us = (_read(folder / f"cpu.cfs_{part}_us") for part in ("quota", "period"))
        if quota_us.isdigit() and period_us.isdigit() and int(period_us):  # -1 stands for no limit
            yield int(quota_us) / int(period_us)


def _memory_limits(system: Path) -> Iterator[int]:
    files = [folder / "memory.max" for folder in _groups(system, "")]
    files += [folder / "memory.limit_in_bytes" for folder in _groups(system, "memory")]
    for file in files:
        if (limit := _read(file)).isdigit():  # "max" stands for no limit
            yield int(limit)


def _groups(system: Path, controller: str) -> Iterator[Path]:
    """Yield the folder of this process's control group and those above it, which limit it too.

    In a container the path may be that of the host, of which only the root can be seen.
    """
    lines = _read(system / "proc/self/cgroup").splitlines()
    for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if controller in controllers.split(","):
            root = system / "sys/fs/cgroup" / controller
            own = root / path.strip("/")
            yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(root))


def _memory_bytes(system: Path) -> int | None:
    total = re.search(r"^MemTotal:\s*(\d+) kB$", _read(system / "proc/meminfo"), re.MULTILINE)
    return int(total[1]) * 1024 if total else None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
