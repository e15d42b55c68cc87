"""Which NVIDIA driver and plugins are installed. JAX, which may be broken, is not imported."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

# The packages of JAX's CUDA plugin; the group is the version of CUDA.
PLUGIN = re.compile(r"jax[-_]cuda(\d+)[-_](plugin|pjrt)", re.IGNORECASE)


def nvidia_driver() -> str | None:
    """Version of the driver of NVIDIA's devices, if there is one."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(r"\d+\.\d+(\.\d+)?", text)
    return match[0] if match else None


def cuda_plugins() -> dict[str, str]:
    """Version of each installed package of JAX's CUDA plugin, by name."""
    return {
        package.name: package.version
        for package in metadata.distributions()
        if package.name and PLUGIN.fullmatch(package.name)
    }
