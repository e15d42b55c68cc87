"""Digests of the code behind a measurement, which show whether a result is one of today's code."""

from __future__ import annotations

import ast
import sys
from functools import cache
from hashlib import sha256
from importlib.util import resolve_name
from pathlib import Path

import jaxcap

ROOT = Path(jaxcap.__file__).parent

# What a measurement depends on. The other parts of jaxcap keep, check and show what was measured.
_MEASURED = {"experiments", "kernels", "mnist", "prng", "transforms"}
_MEASURING = {
    f"jaxcap.measure.{name}"
    for name in [
        "allocator",
        "arrays",
        "compilation",
        "experiment",
        "processes",
        "timing",
        "worker",
    ]
}


@cache
def digest(module: str) -> str:
    """Digest the `sources` that measurements of a module's functions depend on.

    Parameters
    ----------
    module
        The name of a module that has been imported.

    Returns
    -------
    str
        12 hexadecimal digits.
    """
    text = "\n".join(f"{name}\n{source}" for name, source in sorted(sources(module).items()))
    return sha256(text.encode()).hexdigest()[:12]


def sources(module: str) -> dict[str, str]:
    """Read the module, the modules that time it, and all measured modules that it imports.

    Imports inside functions count, and so do those of imported modules.

    Returns
    -------
    dict
        Source text by name of the module.
    """
    texts: dict[str, str] = {}
    waiting = {module, *_MEASURING}
    while waiting:
        name = waiting.pop()
        if path := _path(name):
            texts[name] = path.read_text(encoding="utf-8")
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting |= set(filter(_is_measured, _imports(texts[name], package))) - set(texts)
    return texts


def _is_measured(module: str) -> bool:
    package, _, rest = module.partition(".")
    return package == "jaxcap" and rest.partition(".")[0] in _MEASURED


@cache
def _imports(source: str, package: str) -> set[str]:
    """Name the modules that a source text imports anywhere, given the package it belongs to.

    A package counts only where something is imported that it defines itself.
    """
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            submodules = (f"{origin}.{alias.name}" for alias in node.names)
            modules.update(name if _path(name) else origin for name in submodules)
    return modules


def _path(module: str) -> Path | None:
    """Where the source of a module is, if it has one."""
    package, *names = module.split(".")
    if package != "jaxcap":
        file = getattr(sys.modules.get(module), "__file__", None)
        return Path(file) if file else None
    place = ROOT.joinpath(*names)
    return next(filter(Path.is_file, (place.with_suffix(".py"), place / "__init__.py")), None)
