"""Experiments run in fresh processes, and say why when they can't."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import sample_experiments
from fakes import make_set
from sample_experiments import SUMS, prepare_sums

from jaxcap.measure import experiment as experiment_module
from jaxcap.measure.experiment import Experiment, Points, grid
from jaxcap.measure.machine import description
from jaxcap.measure.machine.description import capture
from jaxcap.measure.timing import MAX_ROUNDS
from jaxcap.measure.worker import Task
from jaxcap.results import ResultSet

POINT: Points = [{"size": 10}]


def make_experiment(prepare: Any, points: Points = POINT) -> Experiment:
    return Experiment(name="broken", prepare=prepare, quick=points, full=points)


def test_grid_combines_all_values() -> None:
    assert grid(size=(1, 2), device=("cpu", "gpu")) == [
        {"size": 1, "device": "cpu"},
        {"size": 1, "device": "gpu"},
        {"size": 2, "device": "cpu"},
        {"size": 2, "device": "gpu"},
    ]


@pytest.mark.parametrize(("backend", "points"), [("cpu", SUMS.quick), ("gpu", SUMS.full)])
def test_points_suit_the_default_device(
    backend: str, points: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    assert SUMS.points == points


def test_title_is_the_name_by_default() -> None:
    assert SUMS.title == "sums"
    assert replace(SUMS, title="Sums of vectors").title == "Sums of vectors"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each process notes its number, once for each point."""
    return tmp_path_factory.mktemp("experiment") / "processes.txt"


@pytest.fixture(scope="module")
def results(log: Path) -> ResultSet:
    points = grid(size=(10, 20), log=(str(log),))
    return replace(SUMS, allocator="default").run(points=points, processes=2, budget_s=0.01)


def test_commit_is_the_same_for_all_processes(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAXCAP_COMMIT", "at the start")
    prepared = capture()
    monkeypatch.delenv("JAXCAP_COMMIT")
    monkeypatch.setattr(description, "capture", lambda: prepared)
    points = grid(size=(10,), log=(str(log.with_name("other.txt")),))
    results = SUMS.run(points=points, processes=1, budget_s=0.01)
    assert results.environment.commit == "at the start"


class TestInTwoProcesses:
    def test_has_a_result_for_each_variant_and_point(self, results: ResultSet) -> None:
        assert [(r.variant, r.parameters["size"]) for r in results.results] == [
            ("NumPy", 10),
            ("JAX", 10),
            ("NumPy", 20),
            ("JAX", 20),
        ]
        assert {result.experiment for result in results.results} == {"sums"}

    def test_pools_the_runs_of_both(self, results: ResultSet) -> None:
        assert {len(result.runs) for result in results.results} == {2}
        assert {result.time.basis for result in results.results} == {"2 processes"}
        # Two processes measure alike, but not to six digits.
        assert all(first != second for first, second in (r.runs for r in results.results))

    @pytest.mark.usefixtures("results")
    def test_is_measured_in_fresh_ones(self, log: Path) -> None:
        first, first_again, second, second_again = log.read_text(encoding="ascii").split()
        assert first == first_again
        assert second == second_again
        assert len({first, second, str(os.getpid())}) == 3

    def test_has_a_first_call_in_each(self, results: ResultSet) -> None:
        first_call = results.only("JAX", size=10).first_call
        assert (first_call.basis, first_call.confidence) == ("2 processes", 0.95)

    def test_speedups_are_over_both(self, results: ResultSet) -> None:
        assert results.speedup("NumPy", over="JAX", size=10).basis == "2 processes"

    def test_records_the_digest_of_their_code(self, results: ResultSet) -> None:
        assert {result.code for result in results} == {SUMS.code}

    def test_records_options_and_machine(self, results: ResultSet) -> None:
        assert {result.allocator for result in results.results} == {"default"}
        results.environment.require_same_machine(capture())


def test_a_process_finds_what_a_class_prepares() -> None:
    sums = replace(SUMS, prepare=sample_experiments.Sums.prepare)
    assert sums.reference == "sample_experiments:Sums.prepare"
    results = sums.run(points=POINT, processes=1, budget_s=1e-6)
    assert results.variants == ("NumPy", "JAX")


def test_an_experiment_may_choose_the_devices_of_its_processes() -> None:
    chosen = make_experiment(sample_experiments.prepare_and_choose_devices, [{"size": 3}])
    assert chosen.run(processes=1, budget_s=1e-6).variants == ("3 devices",)


def make_local_function() -> Callable[..., Any]:
    def local(size: int) -> Mapping[str, Callable[[], Any]]:
        return {}

    return local


def function_of_a_script(size: int) -> Mapping[str, Callable[[], Any]]:
    return {}


function_of_a_script.__module__ = "__main__"


@pytest.mark.parametrize(
    "prepare",
    [lambda **_: {}, make_local_function(), function_of_a_script, partial(prepare_sums)],
    ids=["lambda", "local", "script", "partial"],
)
def test_what_cannot_be_imported_is_refused(prepare: Callable[..., Any]) -> None:
    expected = "'broken' cannot run in fresh processes.*: move it to the top level of a module"
    with pytest.raises(ValueError, match=expected):
        make_experiment(prepare).run()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([{"size": 10}, {"size": None}], "parameter 'size' cannot be None: give it a name"),
        ([{"size": 10}, {"size": 20}, {"size": 10}], r"is given the point \{'size': 10\} twice"),
    ],
)
def test_points_are_checked_before_anything_is_measured(
    points: Points, message: str, tasks: list[dict[str, Any]]
) -> None:
    with pytest.raises(ValueError, match=message):
        SUMS.run(points=points)
    assert not tasks


def test_names_are_checked_before_anything_is_measured(tasks: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="experiment cannot be named 'a/b'"):
        replace(SUMS, name="a/b").run()
    assert not tasks


def test_scalars_of_numpy_may_be_parameters(tasks: list[dict[str, Any]]) -> None:
    SUMS.run(points=grid(size=np.array([10, 20])), processes=1)
    assert [type(point["size"]) for point in tasks[0]["task"].points] == [int, int]


def test_points_are_required() -> None:
    with pytest.raises(ValueError, match="experiment 'sums' has no points: give at least one"):
        SUMS.run(points=[])


@pytest.mark.parametrize("number", [0, -1])
def test_processes_are_required(number: int) -> None:
    with pytest.raises(ValueError, match=f"processes must be at least 1, got {number}"):
        SUMS.run(processes=number)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The tasks that would have been measured, with the options given."""
    tasks: list[dict[str, Any]] = []

    def measure_in_turns(task: Task, **options: Any) -> ResultSet:
        tasks.append({"task": task, **options})
        return make_set()

    monkeypatch.setattr(experiment_module, "measure_in_turns", measure_in_turns)
    return tasks


@pytest.mark.parametrize("empty_caches", [True, False])
def test_points_and_options_are_handed_to_the_processes(
    empty_caches: bool, tasks: list[dict[str, Any]]
) -> None:
    replace(SUMS, empty_caches=empty_caches).run(budget_s=0.5)
    (options,) = tasks
    assert options["task"] == Task(
        name="sums",
        reference="sample_experiments:prepare_sums",
        points=tuple(map(dict, SUMS.quick)),
        sample_s=0.5 / MAX_ROUNDS,
        allocator="steady",
        empty_caches=empty_caches,
    )
    assert (options["processes"], options["budget_s"], options["code"]) == (6, 0.5, SUMS.code)


def test_a_callback_is_handed_over(tasks: list[dict[str, Any]]) -> None:
    shares: list[float] = []
    SUMS.run(on_progress=shares.append)
    assert tasks[0]["on_progress"] == shares.append


def test_progress_is_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    SUMS.run(points=POINT, processes=1, budget_s=1e-6)
    assert capsys.readouterr() == ("", "")
