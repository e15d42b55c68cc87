"""Diagnose whether JAX uses this machine's GPU and whether the machine is idle, with remedies.

Importing this module doesn't import JAX, which may be what is broken.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from typing import NamedTuple

from jaxcap.measure.machine.disturbance import BUSY_SHARE, other_work_now
from jaxcap.measure.machine.nvidia import PLUGIN, cuda_plugins, nvidia_driver

# The oldest drivers that support CUDA 12 and 13, according to JAX's installation guide.
OLDEST_DRIVER = {"12": "525", "13": "580"}

_PLATFORMS = "JAX_PLATFORMS"
_PREALLOCATE = "XLA_PYTHON_CLIENT_PREALLOCATE"
# Patterns of the values that let JAX use a GPU.
_ALLOWING_GPU = {_PLATFORMS: r"|.*\b(cuda|gpu)\b.*", "CUDA_VISIBLE_DEVICES": r"[^-].*"}


class Diagnosis(NamedTuple):
    """What was found out about a part of the installation.

    Attributes
    ----------
    subject
        What was examined.
    state
        What was found.
    remedy
        What to do; empty if there is no problem.
    is_transient
        Whether the problem may go away by itself, because the installation isn't to blame.
    """

    subject: str
    state: str
    remedy: str = ""
    is_transient: bool = False


@dataclass(frozen=True)
class Facts:
    """The facts about a machine that `diagnose` judges.

    Attributes
    ----------
    jax
        Version of JAX.
    jaxlib
        Version of jaxlib.
    backend
        Platform of JAX's default device; None if JAX doesn't start.
    failure
        First line of the error if JAX doesn't start.
    imports
        Whether JAX can be imported.
    driver
        Version of the NVIDIA driver, empty if it is unknown; None without a driver.
    plugins
        Version of each installed package of JAX's CUDA plugin.
    torch
        Version of PyTorch; None if it isn't installed.
    torch_sees_gpu
        Whether PyTorch can compute on a GPU.
    variables
        The environment variables that influence all this, if they are set.
    other_work
        The share of the CPU time that other work takes, from 0 to 1; None where it isn't counted.
    """

    jax: str
    jaxlib: str
    backend: str | None
    failure: str = ""
    imports: bool = True
    driver: str | None = None
    plugins: dict[str, str] = field(default_factory=dict)
    torch: str | None = None
    torch_sees_gpu: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    other_work: float | None = None


def examine() -> Facts:
    """Collect the facts about this machine.

    Starts JAX's backend, imports PyTorch if it is installed, and watches the CPU for a moment.
    """
    failure, backend = "", None
    try:
        import jax

        backend = jax.default_backend()
    # ImportError if versions don't match, OSError if a library can't be loaded, RuntimeError if a
    # backend doesn't start, AssertionError if that is CUDA without its plugin, AttributeError if a
    # dependency is too new.
    except Exception as error:  # noqa: BLE001 (what is broken may raise anything)
        failure = str(error).strip().partition("\n")[0] or "no reason given"
    names = (*_ALLOWING_GPU, _PREALLOCATE)
    return Facts(
        jax=_version("jax"),
        jaxlib=_version("jaxlib"),
        backend=backend,
        failure=failure,
        imports="jax" in sys.modules,
        driver=nvidia_driver() or ("" if shutil.which("nvidia-smi") else None),
        plugins=cuda_plugins(),
        torch=_version("torch") if find_spec("torch") else None,
        torch_sees_gpu=_torch_sees_gpu(),
        variables={name: os.environ[name] for name in names if name in os.environ},
        other_work=other_work_now(),
    )


def diagnose(facts: Facts) -> list[Diagnosis]:
    """Judge facts, and say what to do about each problem."""
    findings = [_jax(facts), _accelerator(facts)]
    if facts.plugins:
        findings.append(_plugins(facts))
    if facts.plugins and facts.driver:
        findings.append(_driver(facts, facts.driver))
    findings.append(_torch(facts))
    if facts.backend == "gpu" and facts.torch_sees_gpu:
        findings.append(_memory(facts))
    if facts.other_work is not None:
        findings.append(_other_work(facts.other_work))
    return findings


def _jax(facts: Facts) -> Diagnosis:
    state = f"jax {facts.jax}, jaxlib {facts.jaxlib}"
    if facts.backend:
        return Diagnosis("JAX", state)
    if not facts.imports:
        remedy = _reinstall(facts)
    elif facts.driver is not None:
        remedy = _reach_gpu(facts)
    elif facts.variables.get(_PLATFORMS):
        remedy = _unset(facts, _PLATFORMS)
    else:
        remedy = _reinstall(facts)
    return Diagnosis("JAX", f"{state}; it doesn't start: {facts.failure}", remedy)


def _accelerator(facts: Facts) -> Diagnosis:
    if facts.backend == "gpu":
        return Diagnosis("Accelerator", "JAX computes on the GPU")
    state = f"{'no' if facts.driver is None else 'an'} NVIDIA driver"
    if facts.backend is None:  # the line on JAX has the remedy
        return Diagnosis("Accelerator", state)
    state = f"{state}; JAX computes on the {facts.backend.upper()}"
    return Diagnosis("Accelerator", state, "" if facts.driver is None else _reach_gpu(facts))


def _plugins(facts: Facts) -> Diagnosis:
    """Compare the versions, because JAX ignores a plugin whose version isn't that of jaxlib."""
    state = ", ".join(f"{name} {version}" for name, version in sorted(facts.plugins.items()))
    matches = set(facts.plugins.values()) == {facts.jaxlib}
    return Diagnosis("CUDA plugin", state, "" if matches else _reinstall(facts))


def _driver(facts: Facts, driver: str) -> Diagnosis:
    cuda = max((m[1] for name in facts.plugins if (m := PLUGIN.fullmatch(name))), key=int)
    needed = OLDEST_DRIVER.get(cuda, "0")
    is_old = int(driver.partition(".")[0]) < int(needed)
    remedy = f"install NVIDIA driver {needed} or newer" if is_old else ""
    return Diagnosis("Driver", f"driver {driver}, for CUDA {cuda}", remedy)


def _torch(facts: Facts) -> Diagnosis:
    if facts.torch is None:
        return Diagnosis("PyTorch", "not installed; only comparisons with PyTorch need it")
    if facts.torch_sees_gpu:
        return Diagnosis("PyTorch", f"{facts.torch}, sees the GPU")
    remedy = "install PyTorch for CUDA (https://pytorch.org/get-started), or compare on the CPU"
    is_needed = facts.backend == "gpu"
    return Diagnosis("PyTorch", f"{facts.torch}, sees no GPU", remedy if is_needed else "")


def _memory(facts: Facts) -> Diagnosis:
    if facts.variables.get(_PREALLOCATE, "").lower() in ("false", "0"):
        return Diagnosis("GPU memory", "JAX takes only what it needs")
    state = "JAX reserves three quarters of it when it starts, which may leave PyTorch too little"
    return Diagnosis("GPU memory", state, f"export {_PREALLOCATE}=false")


def _other_work(share: float) -> Diagnosis:
    remedy = "stop it, or measure later" if share > BUSY_SHARE else ""
    return Diagnosis("Other work", f"takes {share:.0%} of the CPU", remedy, is_transient=True)


def _reach_gpu(facts: Facts) -> str:
    """Return what to do if JAX doesn't use the GPU although a driver is installed."""
    for name, allowing in _ALLOWING_GPU.items():
        if name in facts.variables and not re.fullmatch(allowing, facts.variables[name]):
            return _unset(facts, name)
    if not facts.plugins:
        return "install JAX for CUDA: python -m pip install 'jaxcap[cuda]'"
    return "run nvidia-smi to see whether the driver finds the GPU"


def _unset(facts: Facts, variable: str) -> str:
    return f"unset {variable}, which is {facts.variables[variable]!r}"


def _reinstall(facts: Facts) -> str:
    extra = "[cuda]" if facts.plugins else ""
    return f"install matching versions: python -m pip install --upgrade 'jaxcap{extra}'"


def _torch_sees_gpu() -> bool:
    try:
        import torch

        return bool(torch.cuda.is_available())
    except Exception:  # noqa: BLE001 (a broken installation, whatever it raises, sees no GPU either)
        return False


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
