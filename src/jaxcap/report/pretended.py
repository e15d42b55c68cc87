"""Python processes in which one CPU acts as several devices.

How many there are has to be known before JAX first looks for them, so a program that already uses JAX
starts another.
"""

from __future__ import annotations

import os
import subprocess
import sys


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
    process = start_python(*arguments, devices=devices)
    printed, complaints = process.communicate()
    if process.returncode:
        raise RuntimeError(f"Python failed with status {process.returncode}: {complaints.strip()}")
    return printed
