"""Whether JAX computes on what this machine has, and what to do if it doesn't."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from typing import NamedTuple

# The oldest driver that runs programs for CUDA 12 and 13, as JAX's installation guide has it.
OLDEST_DRIVER = {"12": "525", "13": "580"}

_PLUGIN = re.compile(r"jax[-_]cuda(\d+)[-_](plugin|pjrt)", re.IGNORECASE)
_NO_PREALLOCATION = ("false", "0")


class Finding(NamedTuple):
    """What was found out about a subject.

    Attributes
    ----------
    subject
        What was looked at.
    found
        What was seen.
    remedy
        What to do; empty if all is well.
    """

    subject: str
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Facts:
    """What `diagnose` looks at.

    Attributes
    ----------
    driver
        Version of the NVIDIA driver, empty if it doesn't tell; None without one.
    jax
        Version.
    jaxlib
        Version.
    plugins
        Version of each package of JAX's CUDA plugin that is installed.
    backend
        Platform of JAX's default device; None if JAX doesn't start.
    failure
        How it failed.
    torch
        Version; None if it isn't installed.
    torch_sees_gpu
        Whether PyTorch can compute on a GPU.
    variables
        Environment variables that decide about all this.
    """

    jax: str
    jaxlib: str
    backend: str | None
    failure: str = ""
    driver: str | None = None
    plugins: dict[str, str] = field(default_factory=dict)
    torch: str | None = None
    torch_sees_gpu: bool = False
    variables: dict[str, str] = field(default_factory=dict)


def examine() -> Facts:
    """Find out about this machine. Starts JAX's backend, and imports PyTorch if it is installed."""
    failure, backend, driver = "", None, None
    try:
        import jax

        from jaxcap.measure.machine import nvidia_driver

        driver = nvidia_driver()
        backend = jax.default_backend()
    except (ImportError, OSError, RuntimeError) as error:  # versions, libraries, backends
        failure = str(error).strip().partition("\n")[0]
    if driver is None and shutil.which("nvidia-smi"):
        driver = ""
    has_torch = find_spec("torch") is not None
    names = ("JAX_PLATFORMS", "CUDA_VISIBLE_DEVICES", "XLA_PYTHON_CLIENT_PREALLOCATE")
    return Facts(
        jax=_version("jax"),
        jaxlib=_version("jaxlib"),
        backend=backend,
        failure=failure,
        driver=driver,
        plugins={
            found.name: found.version
            for found in metadata.distributions()
            if found.name and _PLUGIN.fullmatch(found.name)
        },
        torch=_version("torch") if has_torch else None,
        torch_sees_gpu=has_torch and _torch_sees_gpu(),
        variables={name: os.environ[name] for name in names if name in os.environ},
    )


def diagnose(facts: Facts) -> list[Finding]:
    """Judge what was found."""
    findings = [_jax(facts), _accelerator(facts)]
    if facts.plugins:
        findings.append(_plugins(facts))
    if facts.plugins and facts.driver:
        findings.append(_driver(facts, facts.driver))
    findings.append(_torch(facts))
    if facts.backend == "gpu" and facts.torch_sees_gpu:
        findings.append(_memory(facts))
    return findings


def _jax(facts: Facts) -> Finding:
    found = f"jax {facts.jax}, jaxlib {facts.jaxlib}"
    if facts.backend is None and facts.driver is None:
        return Finding("JAX", f"{found}: {facts.failure}", _reinstall(facts))
    return Finding("JAX", found)


def _accelerator(facts: Facts) -> Finding:
    subject = "Accelerator"
    if facts.driver is None:
        found = f"no NVIDIA driver; JAX computes on {(facts.backend or 'nothing').upper()}"
        return Finding(subject, found)
    if facts.backend == "gpu":
        return Finding(subject, "JAX computes on the GPU")
    found = f"an NVIDIA driver, and JAX computes on {(facts.backend or 'nothing').upper()}"
    if not facts.plugins:
        return Finding(subject, found, "install JAX for CUDA: python -m pip install 'jaxcap[cuda]'")
    for name, allows in (
        ("JAX_PLATFORMS", r"|.*\b(cuda|gpu)\b.*"),
        ("CUDA_VISIBLE_DEVICES", r"[^-].*"),
    ):
        value = facts.variables.get(name)
        if value is not None and not re.fullmatch(allows, value):
            return Finding(subject, f"{found}; {name} is {value!r}", f"unset {name}")
    said = f" ({facts.failure})" if facts.failure else ""
    return Finding(subject, found + said, "see whether nvidia-smi lists the GPU")


def _plugins(facts: Facts) -> Finding:
    """JAX passes over a plugin of another version than jaxlib's."""
    found = ", ".join(f"{name} {version}" for name, version in sorted(facts.plugins.items()))
    fit = set(facts.plugins.values()) == {facts.jaxlib}
    return Finding("CUDA plugin", found, "" if fit else _reinstall(facts))


def _driver(facts: Facts, driver: str) -> Finding:
    cuda = max((m[1] for name in facts.plugins if (m := _PLUGIN.fullmatch(name))), key=int)
    needed = OLDEST_DRIVER.get(cuda, "0")
    is_old = int(driver.partition(".")[0]) < int(needed)
    remedy = f"install the NVIDIA driver {needed} or a newer one" if is_old else ""
    return Finding("Driver", f"driver {driver}, for CUDA {cuda}", remedy)


def _torch(facts: Facts) -> Finding:
    if facts.torch is None:
        return Finding("PyTorch", "not installed; only comparisons with it need it")
    found = f"{facts.torch}, {'sees' if facts.torch_sees_gpu else 'sees no'} GPU"
    if facts.backend == "gpu" and not facts.torch_sees_gpu:
        remedy = "install PyTorch for CUDA (https://pytorch.org/get-started), or compare on the CPU"
        return Finding("PyTorch", found, remedy)
    return Finding("PyTorch", found)


def _memory(facts: Facts) -> Finding:
    name = "XLA_PYTHON_CLIENT_PREALLOCATE"
    if facts.variables.get(name, "").lower() in _NO_PREALLOCATION:
        return Finding("GPU memory", "JAX takes what it needs")
    found = "JAX takes three quarters of it when it starts, which may leave PyTorch too little"
    return Finding("GPU memory", found, f"export {name}=false")


def _reinstall(facts: Facts) -> str:
    extra = "[cuda]" if facts.plugins else ""
    return f"install versions that fit: python -m pip install --upgrade 'jaxcap{extra}'"


def _torch_sees_gpu() -> bool:
    try:
        import torch
    except (ImportError, OSError):  # a broken installation is one that sees no GPU
        return False
    return torch.cuda.is_available()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
