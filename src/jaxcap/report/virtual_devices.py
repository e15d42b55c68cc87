"""Python processes in which one CPU acts as several devices.

How many there are has to be known before JAX first looks for them, so a program that already uses JAX
starts another. ``python -m jaxcap.report.virtual_devices`` is such a program.
"""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import jax.numpy as jnp

from jaxcap.kernels import sharding


def start_python(*arguments: str, devices: int) -> subprocess.Popen[str]:
    """Start Python in a process of its own.

    Parameters
    ----------
    *arguments
        What follows ``python`` on the command line.
    devices
        As how many devices the CPU acts.
    """
    settings = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(devices)}
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_python(*arguments: str, devices: int) -> str:
    """Run Python as `start_python` does, to its end, and return what it prints.

    Raises
    ------
    RuntimeError
        If the process fails, with what it said.
    """
    return finish(start_python(*arguments, devices=devices))


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for the end of a process that `start_python` started, and return what it printed.

    Raises
    ------
    RuntimeError
        If the process fails, with what it said.
    """
    printed, complaints = process.communicate()
    if process.returncode:
        raise RuntimeError(f"Python failed with status {process.returncode}: {complaints.strip()}")
    return printed


def compare_ways() -> None:
    """Print how far each way to share a gradient is from one device, with all devices that there are."""
    mesh = jax.make_mesh((jax.device_count(),), ("data",), (jax.sharding.AxisType.Auto,))
    weights = jnp.ones(3)
    batch = jnp.linspace(0.0, 1.0, 2 * mesh.size * 3).reshape(-1, 3)
    alone = jax.grad(sharding.loss)(weights, batch)
    for way in (sharding.by_compiler, sharding.by_shard_map, sharding.by_pmap):
        off = abs(way(mesh)(weights, batch) - alone).max()
        print(f"{way.__name__:12} off by {off:.1g}")
    program = sharding.by_compiler(mesh).lower(weights, batch).compile()
    part = program.input_shardings[0][1].shard_shape(batch.shape)
    print(f"of a batch of {batch.shape}, each device has {part}")
    print("XLA's program has an all-reduce:", "all-reduce(" in program.as_text())


if __name__ == "__main__":
    compare_ways()
