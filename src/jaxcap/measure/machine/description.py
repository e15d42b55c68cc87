"""A description of this machine: all that a timing depends on and that may be published.

It leaves out whatever could identify a person or a host (host name, user, paths). An unknown fact
is ``None`` or absent rather than guessed.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

import jax

from jaxcap.measure.machine.nvidia import cuda_plugins, nvidia_driver
from jaxcap.results import Device, Environment

LIBRARIES = (
    *("jaxcap", "jax", "jaxlib", "numpy", "scipy", "torch", "flax", "optax", "autograd"),
    "matplotlib",
)


def capture() -> Environment:
    """Describe this machine and process. Starts JAX's backend."""
    devices = jax.devices()
    return Environment(
        device=device_of(devices[0]),
        device_count=len(devices),
        platform_version=devices[0].client.platform_version.replace("\n", " ").strip(),
        driver=nvidia_driver(),
        cpu=cpu_name(),
        cores=_cores(),
        cache_bytes=_cache_bytes(),
        versions=dict(_versions()),
        flags=_flags(),
        python=platform.python_version(),
        os=_os(),
        commit=_commit(),
        measured_at=datetime.now(UTC).replace(microsecond=0),
    )


def _os() -> str:
    """Name the system and its release, without the suffix of a custom kernel."""
    release = re.match(r"\d+(\.\d+)*", platform.release())
    return f"{platform.system()} {release[0] if release else ''}".strip()


def device_of(device: jax.Device) -> Device:
    """Name a JAX device; a CPU by its model, since JAX calls every CPU ``"cpu"``."""
    if device.platform == "cpu":
        return cpu()
    return Device(platform=device.platform, name=device.device_kind)


def cpu() -> Device:
    """Name this machine's CPU."""
    return Device(platform="cpu", name=cpu_name())


@cache
def cpu_name() -> str:
    """Return the model of the CPU, or its architecture where the system does not name it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return model[1].strip() if model else platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cache_bytes() -> int | None:
    """Return the size of the first core's largest cache; None except on Linux."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        size = re.fullmatch(r"(\d+)([KM]?)", path.read_text(encoding="ascii").strip())
        if size:
            sizes.append(int(size[1]) * {"": 1, "K": 1024, "M": 1024**2}[size[2]])
    return max(sizes, default=None)


def free_memory_bytes(platform: str) -> int | None:
    """Return the free memory of a platform's first device; None where it is unknown."""
    if platform != "cpu":
        stats = jax.devices(platform)[0].memory_stats()
        return stats.get("bytes_limit", 0) - stats.get("bytes_in_use", 0) if stats else None
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    available = re.search(r"^MemAvailable:\s*(\d+) kB$", text, re.MULTILINE)
    return int(available[1]) * 1024 if available else None


def peak_memory_bytes(platform: str) -> int | None:
    """Return the most memory that this process has held on a device; None where it is unknown."""
    if platform != "cpu":
        stats = jax.devices(platform)[0].memory_stats()
        return stats.get("peak_bytes_in_use") if stats else None
    # Not getrusage's maximum, in which Linux counts what the parent held when it started this process.
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    peak = re.search(r"^VmHWM:\s*(\d+) kB$", text, re.MULTILINE)
    return int(peak[1]) * 1024 if peak else None


@cache  # every comparison needs them, and finding them reads a file for each package
def _versions() -> Mapping[str, str]:
    versions = {}
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions | dict(sorted(cuda_plugins().items()))


def _flags() -> dict[str, str]:
    names = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable")
    flags = {name: str(getattr(jax.config, name, None)) for name in names}
    xla = os.environ.get("XLA_FLAGS", "")
    if xla:
        # A path, as a flag's value or as the file to read flags from, may identify a person.
        flags["XLA_FLAGS"] = re.sub(r"[^\s=]*[/\\]\S*", "(path)", xla)
    return flags


def _commit() -> str | None:
    """Return the commit of the sources: from the environment, or from git in a checkout."""
    if commit := os.environ.get("JAXCAP_COMMIT"):
        return commit
    file = Path(__file__)
    try:
        # An installed copy may lie inside another repository: only tracked sources count.
        _git(file.parent, "ls-files", "--error-unmatch", file.name)
        return _git(file.parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *command: str) -> str:
    return subprocess.run(
        ["git", "-C", folder, *command], capture_output=True, text=True, timeout=10, check=True
    ).stdout.strip()
