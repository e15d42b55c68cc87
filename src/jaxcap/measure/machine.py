"""What this machine is: everything that a timing depends on and that a reader may know.

Whatever could identify a person or a host (host name, user, paths) is left out, and a fact that
cannot be found out is ``None`` or absent rather than guessed.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import jax

from jaxcap.doctor import cuda_plugins, nvidia_driver
from jaxcap.results.environment import Device, Environment

LIBRARIES = ("jaxcap", "jax", "jaxlib", "numpy", "scipy", "torch", "flax", "optax", "matplotlib")


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
        versions=dict(_installed()),
        flags=_flags(),
        python=platform.python_version(),
        os=_os(),
        commit=_commit(),
        code=_code(),
        measured_at=datetime.now(UTC).replace(microsecond=0),
    )


def _os() -> str:
    """Name the system and its release, without what somebody who builds kernels adds to that."""
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
    """Model of the CPU, or its architecture where the system does not tell."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cache_bytes() -> int | None:
    """Largest cache that the first core sees, as Linux tells it."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        found = re.fullmatch(r"(\d+)([KM]?)", path.read_text(encoding="ascii").strip())
        if found:
            sizes.append(int(found.group(1)) * {"": 1, "K": 1024, "M": 1024**2}[found.group(2)])
    return max(sizes, default=None)


def free_memory_bytes(platform: str) -> int | None:
    """Memory that the first device of a platform could still give, where that can be known."""
    if platform != "cpu":
        told = jax.devices(platform)[0].memory_stats() or {}
        free: int = told.get("bytes_limit", 0) - told.get("bytes_in_use", 0)
        return free if told else None
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s*(\d+) kB$", text, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


@cache  # each comparison asks, and it takes reading a file for each package
def _installed() -> tuple[tuple[str, str], ...]:
    return tuple(_versions())


def _versions() -> Iterator[tuple[str, str]]:
    for name in LIBRARIES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    yield from sorted(cuda_plugins().items())


@cache
def _code() -> str:
    """Hash the sources that a timing depends on."""
    package = Path(__file__).parent
    sources = [package / f"{name}.py" for name in ("arrays", "compilation", "experiment", "timing")]
    for folder in "experiments", "kernels", "mnist":
        sources += sorted(package.glob(f"{folder}/[!_]*.py"))
    digest = sha256(b"".join(source.read_bytes() for source in sources))
    return digest.hexdigest()[:12]


def _flags() -> dict[str, str]:
    flags = {
        name: str(getattr(jax.config, name))
        for name in (
            "jax_enable_x64",
            "jax_default_matmul_precision",
            "jax_threefry_partitionable",
        )
    }
    xla = os.environ.get("XLA_FLAGS", "")
    if xla:
        # A flag's value, or the file that flags are read from, may tell who built the page.
        flags["XLA_FLAGS"] = re.sub(r"[^\s=]*[/\\]\S*", "(path)", xla)
    return flags


def _commit() -> str | None:
    """Commit of the sources: told by the build, or asked of git where they are a checkout."""
    told = os.environ.get("JAXCAP_COMMIT")
    if told:
        return told
    here = Path(__file__)

    def git(*command: str) -> str | None:
        try:
            asked = subprocess.run(
                ["git", "-C", here.parent, *command],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return asked.stdout.strip() if asked.returncode == 0 else None

    # An installed copy may lie inside somebody else's repository: only tracked sources count.
    if git("ls-files", "--error-unmatch", here.name) is None:
        return None
    return git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
