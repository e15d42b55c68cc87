"""Digests of the code behind a measurement, which show whether a result is out of date."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.util import resolve_name
from pathlib import Path

import jaxcap

ROOT = Path(jaxcap.__file__).parent

# A measurement depends on the code that it times, and on the code that times it. The other parts of
# jaxcap save, check and show the results.
_TIMED_PACKAGES = {"experiments", "kernels", "mnist", "tools"}
_TIMING_MODULES = {
    "jaxcap.measure.arrays",
    "jaxcap.measure.compilation",
    "jaxcap.measure.experiment",
    "jaxcap.measure.machine.allocator",
    "jaxcap.measure.machine.disturbance",
    "jaxcap.measure.machine.speed",
    "jaxcap.measure.processes",
    "jaxcap.measure.sampling",
    "jaxcap.measure.timing",
    "jaxcap.measure.turns",
    "jaxcap.measure.worker",
}

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def digest(module: str) -> str:
    """Digest the code of the `sources` that measurements of a module's functions depend on.

    Comments, docstrings and line breaks don't count, since no timing depends on them.

    Parameters
    ----------
    module
        The name of a module that has been imported.

    Returns
    -------
    str
        12 hexadecimal digits, the same for all versions of Python.
    """
    lines = [f"{name} {_code(source)}\n" for name, source in sorted(sources(module).items())]
    return sha256("".join(lines).encode()).hexdigest()[:12]


@cache
def _code(source: str) -> str:
    """Write a source's syntax tree as text, without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            del node.body[0]
    return _dump(tree)


def _dump(node: object) -> str:
    """Write a syntax tree as `ast.dump` does, without the empty fields that newer Pythons add."""
    if isinstance(node, list):
        return f"[{', '.join(map(_dump, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [
        f"{name}={_dump(value)}" for name, value in ast.iter_fields(node) if value not in (None, [])
    ]
    return f"{type(node).__name__}({', '.join(fields)})"


def sources(module: str) -> dict[str, str]:
    """Read the module, the modules that time it, and all measured modules that it imports.

    Imports inside functions count, and so do those of imported modules.

    Returns
    -------
    dict
        Source text by name of the module.
    """
    return _reachable({module, *_TIMING_MODULES}, _is_timed)


def sources_of_script(script: str) -> dict[str, str]:
    """Read all modules of jaxcap that a script imports, directly or not.

    Parameters
    ----------
    script
        Its source text.

    Returns
    -------
    dict
        Source text by name of the module.
    """

    def is_ours(module: str) -> bool:
        return module.partition(".")[0] == "jaxcap"

    return _reachable(set(filter(is_ours, _imports(script, ""))), is_ours)


def _reachable(waiting: set[str], is_wanted: Callable[[str], bool]) -> dict[str, str]:
    """Read modules, and those that they import, directly or not, if they are wanted."""
    texts: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if path := _path(name):
            texts[name] = path.read_text(encoding="utf-8")
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting |= set(filter(is_wanted, _imports(texts[name], package))) - set(texts)
    return texts


def _is_timed(module: str) -> bool:
    return module.startswith(tuple(f"jaxcap.{package}" for package in _TIMED_PACKAGES))


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
    """Return the path of a module's source, if it has one."""
    package, *names = module.split(".")
    if package != "jaxcap":
        file = getattr(sys.modules.get(module), "__file__", None)
        return Path(file) if file else None
    base = ROOT.joinpath(*names)
    return next(filter(Path.is_file, (base.with_suffix(".py"), base / "__init__.py")), None)
