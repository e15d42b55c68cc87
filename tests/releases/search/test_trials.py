"""The reader's function in fresh processes. Both releases are pretended: they are this Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jaxcap.measure.functions import prepare
from jaxcap.measure.processes import Interpreter
from jaxcap.releases.quantities import Quantity
from jaxcap.releases.recording import environments
from jaxcap.releases.recording.environments import InstallationError
from jaxcap.releases.search import trials
from jaxcap.releases.search.bisection import ReleaseError
from jaxcap.releases.search.trials import FunctionTrials

SCRIPT = """
import time

import jax
import numpy as np


def inputs():
    return np.ones(1000), 2.0


def product(x, factor):
    return x * factor


@jax.jit
def smoothed(x, factor):
    return jax.numpy.convolve(x, x[:10]) * factor


def broken():
    raise ArithmeticError("no luck")


def endless():
    time.sleep(1000)


def no_tuple():
    return [1]


number = 3
"""


@dataclass
class FakeEnvironment:
    interpreter: Interpreter = field(default_factory=Interpreter)
    requirements: str = ""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    def install(release: str, folder: Path, **_: Any) -> FakeEnvironment:
        if release == "0.1":
            raise InstallationError("no wheel")
        return FakeEnvironment()

    monkeypatch.setattr(trials, "install", install)
    monkeypatch.setattr(environments, "python_version", lambda python: f"{python}.1")
    monkeypatch.setattr(sys, "path", sys.path.copy())
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    yield str(path)
    sys.modules.pop(str(path), None)


def trial(
    script: str,
    function: str,
    *,
    setup: str = "",
    quantity: Quantity = "time",
    limit_s: float = 100.0,
    releases: Sequence[str] = ("0.2",),
    processes: int = 1,
) -> Any:
    setup = setup and f"{script}:{setup}"
    measure = FunctionTrials(f"{script}:{function}", setup, quantity, Path("made"), limit_s=limit_s)
    return measure(releases, processes)


def test_each_process_of_each_release_measures_a_time(script: str) -> None:
    values = trial(script, "product", setup="inputs", releases=("0.2", "0.3"), processes=2)
    assert {release: len(v) for release, v in values.items()} == {"0.2": 2, "0.3": 2}
    assert all(0 < value < 1 for v in values.values() for value in v)


def test_a_first_call_compiles(script: str) -> None:
    (first_call_s,) = trial(script, "smoothed", setup="inputs", quantity="first call")["0.2"]
    assert first_call_s > 1e-3  # compiling takes no less, anywhere


def test_temporary_memory_is_a_number_of_bytes(script: str) -> None:
    (size_bytes,) = trial(script, "smoothed", setup="inputs", quantity="temporary memory")["0.2"]
    assert size_bytes >= 1
    assert size_bytes == int(size_bytes)


@pytest.mark.parametrize(
    ("function", "options", "reason"),
    [
        ("broken", {}, "ArithmeticError: no luck"),
        ("product", {}, r"TypeError: .* missing 2 required positional arguments"),
        ("product", {"setup": "inputs", "quantity": "temporary memory"}, "jax.jit returned"),
        ("absent", {}, r"AttributeError: .* has no function 'absent'"),
        (
            "product",
            {"setup": "no_tuple"},
            "must return a tuple of arguments, but returned an object of type list",
        ),
        ("product", {"setup": "inputs", "releases": ("0.2", "0.1")}, "no wheel"),
        ("endless", {"limit_s": 8.0}, "a process was stopped after 8 s without an answer"),
    ],
)
def test_a_failure_names_the_release_and_the_reason(
    script: str, function: str, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ReleaseError, match=reason) as caught:
        trial(script, function, **options)
    assert caught.value.release == options.get("releases", ("0.2",))[-1]
    assert "exit code" not in str(caught.value)


def test_a_script_runs_once_for_function_and_setup(script: str) -> None:
    Path(script).write_text(SCRIPT + "calls = []\ndef add():\n    calls.append(1)\n", "utf-8")
    prepare("", add=f"{script}:add")["add"]()
    again = prepare("", copy=f"{script}:calls.copy")["copy"]
    assert again() == [1]


def test_functions_of_modules_are_found_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lying_here.py").write_text("def three():\n    return 3\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    assert prepare("", three="lying_here:three")["three"]() == 3
    with pytest.raises(TypeError, match="must return a tuple"):
        prepare("lying_here:three", function="math:sqrt")


def test_what_is_no_function_is_refused(script: str) -> None:
    with pytest.raises(TypeError, match="is not a function"):
        prepare("", number=f"{script}:number")
