"""The command that times a reader's function, in real processes, and what it refuses before that."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jaxcap.cli import cli
from jaxcap.measure.machine import lock
from jaxcap.results import ResultSet

SCRIPT = """
import jax
import jax.numpy as jnp


def inputs():
    return (jnp.ones(100),)


def doubled(x):
    print("printed by a function")
    return x * 2


added = jax.jit(lambda x: x + x)


def broken(x):
    raise ArithmeticError("no luck")
"""


@pytest.fixture(autouse=True)
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lock, "LOCK", tmp_path / "lock")
    monkeypatch.chdir(tmp_path)
    Path("my script.py").write_text(SCRIPT, encoding="utf-8")


def time(*arguments: object) -> Result:
    command = ["time", *map(str, arguments), "--processes", "1", "--budget", "0.01"]
    return CliRunner().invoke(cli, command, catch_exceptions=False)


def test_two_functions_are_compared_and_saved() -> None:
    function, over = "my script.py:added", "my script.py:doubled"
    done = time(function, "--over", over, "--setup", "my script.py:inputs", "--json", "times.json")
    assert done.exit_code == 0, done.output
    table, _, sentence = done.stdout.rstrip().rpartition("\n")
    assert "first call" in table
    assert f"Compared with {over}" in table
    assert sentence.endswith("(one process).")
    assert "printed by a function" not in done.stdout
    results = ResultSet.load("times.json")
    assert results.variants == (over, function)
    assert not any(result.parameters for result in results)
    assert sentence.startswith((f"“{function}”", "Undecided")) or "equally fast" in sentence


def test_a_function_without_arguments_is_timed_alone() -> None:
    done = time("my script.py:inputs", "--json", "-")
    assert done.exit_code == 0, done.output
    (result,) = ResultSet.model_validate_json(done.stdout)
    assert result.variant == "my script.py:inputs"
    assert len(result.runs) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["my script.py"], "SCRIPT.PY:FUNCTION: 'my script.py' names no function"),
        (["absent.py:step"], "SCRIPT.PY:FUNCTION: there is no script absent.py"),
        (
            ["my script.py:inputs", "--setup", "absent.py:f"],
            "--setup: there is no script absent.py",
        ),
        (["my script.py:inputs", "--over", "inputs"], "--over: 'inputs' names no function"),
        (["my script.py:inputs", "--over", "my script.py:inputs"], "that is the same function"),
        (["my script.py:broken", "--setup", "my script.py:inputs"], "ArithmeticError: no luck"),
        (["my script.py:nothing"], "has no function 'nothing'"),
        (["my script.py:doubled"], "argument: 'x': with --setup, name a function that returns"),
    ],
)
def test_input_errors_are_one_sentence(arguments: list[str], complaint: str) -> None:
    done = time(*arguments, "--json", "times.json")
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not Path("times.json").exists()
