"""The command that records: what it refuses before it measures, and how it fails."""

from __future__ import annotations

import errno
import importlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import ENVIRONMENT, make_result, make_run, make_set

from jaxcap import experiments
from jaxcap.cli import cli
from jaxcap.measure import record_experiments
from jaxcap.measure.experiment import Experiment
from jaxcap.measure.machine import description, lock
from jaxcap.measure.processes import ProcessError
from jaxcap.results import ResultSet


@pytest.fixture(autouse=True)
def measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """Names of the experiments that are measured, which is pretended."""
    names: list[str] = []

    def run(experiment: Experiment, processes: int, **_: Any) -> ResultSet:
        names.append(experiment.name)
        runs = [make_run()] * processes
        facts: dict[str, Any] = {"experiment": experiment.name, "code": experiment.code}
        points = (dict(point) for point in experiment.points)
        return make_set(*(make_result("jit", *runs, parameters=p, **facts) for p in points))

    monkeypatch.setattr(Experiment, "run", run)
    for module in description, record_experiments:
        monkeypatch.setattr(module, "capture", lambda: ENVIRONMENT)
    monkeypatch.setattr(lock, "LOCK", tmp_path_factory.mktemp("lock") / "lock")
    return names


def record(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["record", *map(str, arguments)], catch_exceptions=False)


def fail_at(name: str, error: Exception) -> Callable[..., ResultSet]:
    def run(experiment: Experiment, **_: Any) -> ResultSet:
        if experiment.name == name:
            raise error
        return make_set(make_result(experiment=experiment.name))

    return run


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ProcessError("killed"), "Error: 'product' was not recorded: killed. Earlier recordings"),
        (
            OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
            "Error: 'product' was not recorded: [Errno 12] Cannot allocate memory. Earlier",
        ),
        (ValueError("other machine"), "Error: 'product' was not recorded: other machine. Earlier"),
    ],
)
def test_a_failure_names_the_experiment_and_keeps_the_others(
    error: Exception, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Experiment, "run", fail_at("product", error))
    result = record("--folder", tmp_path, "jit", "product", "batching")
    assert result.exit_code == 1
    assert result.stderr.startswith(message)
    assert "repeat the command to continue" in result.stderr
    assert str(tmp_path) not in result.stderr
    assert (tmp_path / "test-cpu" / "jit.json").exists()
    assert not (tmp_path / "test-cpu" / "batching.json").exists()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_refused_before_measuring(
    place: str, tmp_path: Path, measured: list[str]
) -> None:
    (tmp_path / "file").touch()
    result = record("--folder", tmp_path / place, "jit")
    assert result.exit_code == 2
    assert result.stderr.count("Error: ") == 1
    assert measured == []


def test_a_folder_of_an_unknown_machine_is_refused_before_measuring(
    tmp_path: Path, measured: list[str]
) -> None:
    unreadable = tmp_path / "test-cpu" / "environment.json"
    unreadable.parent.mkdir()
    unreadable.write_text("{", encoding="utf-8")
    result = record("--folder", tmp_path, "jit")
    assert result.exit_code == 2
    assert (
        f"Error: {unreadable}, which says which machine the folder belongs to, can't be read"
        in " ".join(result.stderr.split())
    )
    assert measured == []


def test_a_full_disk_is_refused_before_measuring(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, room_bytes: int) -> None:
        assert room_bytes > 0
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("jaxcap.results.atomic.require_writable", full)
    result = record("--folder", tmp_path, "jit")
    assert result.exit_code == 2
    assert "can't be written (No space left on device)" in result.stderr
    assert measured == []
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_is_read_only_is_refused_before_measuring(
    tmp_path: Path, measured: list[str]
) -> None:
    file = tmp_path / "test-cpu" / "jit.json"
    file.parent.mkdir()
    file.touch(mode=0o444)
    result = record("--folder", tmp_path, "jit")
    assert result.exit_code == 2
    assert "jit.json can't be written (Permission denied)" in result.stderr
    assert measured == []


def test_an_experiment_needs_only_its_own_libraries(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lack_torch(monkeypatch)
    assert record("--folder", tmp_path, "jit").exit_code == 0
    assert measured == ["jit"]
    unknown = record("--folder", tmp_path, "nope")
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith("Error: there is no experiment named nope: choose from '")
    assert "'jit, default allocator', " in unknown.stderr  # a single name
    assert "mnist (needs torch)" in unknown.stderr


def test_experiments_that_lack_a_library_are_named(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lack_torch(monkeypatch)
    result = record("--folder", tmp_path)
    assert result.exit_code == 0
    assert "skipped, because a library isn't installed: mnist (needs torch)" in result.stdout
    assert "'jaxcap[all]'` installs them all" in result.stdout
    assert "jit" in measured
    assert "mnist throughput" not in measured


def lack_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that the experiments on MNIST can't import PyTorch."""

    def import_module(name: str) -> ModuleType:
        if name == "jaxcap.experiments.mnist":
            raise ModuleNotFoundError(name="torch")
        return importlib.import_module(name)

    monkeypatch.setattr(experiments, "import_module", import_module)


def test_warnings_are_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(experiment: Experiment, **_: Any) -> ResultSet:
        warnings.simplefilter("always")  # pytest has it ignored
        warnings.warn("other work takes 88% of the CPU", stacklevel=1)
        return make_set(make_result(experiment=experiment.name))

    monkeypatch.setattr(Experiment, "run", run)
    done = record("--folder", tmp_path, "jit")
    assert done.stderr == "Warning: other work takes 88% of the CPU\n"


def test_list_measures_nothing(tmp_path: Path, measured: list[str]) -> None:
    assert record("--folder", tmp_path, "jit").exit_code == 0
    result = record("--folder", tmp_path, "--list", "jit", "product")
    assert measured == ["jit"]
    jit, product = [line.split() for line in result.output.splitlines()[-3:-1]]
    assert jit[:-3] == ["jit", "up", "to", "date"]
    assert product[:-3] == ["product", "to", "be", "recorded"]
    points = len(experiments.catalogue()["product"].points)
    assert product[-3:] == [str(points), str(3 * points), "s"]


def test_a_line_says_which_experiment_is_being_recorded(tmp_path: Path) -> None:
    lines = record("--folder", tmp_path, "jit", "product").output.splitlines()
    assert lines[1:3] == ["recording jit (1 of 2)", "recording product (2 of 2)"]
