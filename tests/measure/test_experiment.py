"""Experiments run in fresh processes, and say why when they can't."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jax
import pytest
import sample_experiments
from fakes import ENVIRONMENT, make_result, make_run, make_set
from sample_experiments import SUMS, prepare_sums

from jaxcap.measure import Experiment, grid, machine, processes
from jaxcap.measure.machine import capture
from jaxcap.measure.processes import ProcessError, run_task
from jaxcap.results import ResultSet

POINT = [{"size": 10}]


def make_experiment(prepare: Any) -> Experiment:
    return Experiment(name="broken", prepare=prepare, quick=POINT, full=POINT)


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


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each process notes its number, once for each point."""
    return tmp_path_factory.mktemp("experiment") / "processes.txt"


@pytest.fixture(scope="module")
def results(log: Path) -> ResultSet:
    points = grid(size=(10, 20), log=(str(log),))
    return SUMS.run(points=points, processes=2, budget_s=0.01, allocator="default")


def test_commit_is_the_same_for_all_processes(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAXCAP_COMMIT", "at the start")
    prepared = capture()
    monkeypatch.delenv("JAXCAP_COMMIT")
    monkeypatch.setattr(machine, "capture", lambda: prepared)
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
        one, same, other, too = map(int, log.read_text(encoding="ascii").split())
        assert one == same
        assert other == too
        assert len({one, other, os.getpid()}) == 3

    def test_has_a_first_call_in_each(self, results: ResultSet) -> None:
        first_call = results.one("JAX", size=10).first_call
        assert (first_call.basis, first_call.confidence) == ("2 processes", 0.95)

    def test_speedups_are_over_both(self, results: ResultSet) -> None:
        assert results.speedup("NumPy", over="JAX", size=10).basis == "2 processes"

    def test_records_options_and_machine(self, results: ResultSet) -> None:
        assert {result.allocator for result in results.results} == {"default"}
        results.environment.require_same_machine(capture())


def test_one_process_can_do_a_task_by_itself() -> None:
    task = {
        "name": "sums",
        "reference": "sample_experiments:prepare_sums",
        "points": [{"size": 10}, {"size": 20}],
        "budget_s": 1e-6,
        "allocator": "default",
        "empty_caches": False,
    }
    results = run_task(task)
    assert results.varying() == ["size"]
    assert {result.basis for result in results.results} == {"one process"}


def test_the_whole_budget_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {}

    def record(*_: object, **given: Any) -> ResultSet:
        options.update(given)
        return make_set()

    monkeypatch.setattr(processes, "sweep", record)
    task = {"name": "sums", "reference": SUMS.reference, "points": POINT}
    given = {"budget_s": 0.5, "allocator": "steady", "empty_caches": True}
    run_task(task | given)
    assert options["precision"] == 0
    assert {name: options[name] for name in given} == given


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (sample_experiments.prepare_and_raise, r"\(exit code 1\): ValueError: no size 10 here$"),
        (sample_experiments.prepare_and_raise_in_jax, r"\(exit code 1\): TypeError: .*\(11,\)"),
        (sample_experiments.prepare_and_exit, r"\(exit code 3\): nothing was said$"),
    ],
)
def test_failed_process_is_reported_with_its_last_words(
    prepare: Callable[..., Any], message: str
) -> None:
    with pytest.raises(ProcessError, match=f"experiment 'broken' failed .* {message}"):
        make_experiment(prepare).run(processes=1)


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


def test_points_are_required() -> None:
    with pytest.raises(ValueError, match="experiment 'sums' has no points: give at least one"):
        SUMS.run(points=[])


@pytest.mark.parametrize("number", [0, -1])
def test_processes_are_required(number: int) -> None:
    with pytest.raises(ValueError, match=f"processes must be at least 1, got {number}"):
        SUMS.run(processes=number)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let fresh processes return what they are told to."""

    def set_up(*sets: ResultSet) -> None:
        answers: Iterator[ResultSet] = iter(sets)
        monkeypatch.setattr(processes, "_run_process", lambda *_: next(answers))

    return set_up


def test_processes_of_different_machines_are_not_pooled(
    answering: Callable[..., None],
) -> None:
    other = ENVIRONMENT.model_copy(update={"cores": 1})
    answering(make_set(), make_set().model_copy(update={"environment": other}))
    with pytest.raises(ValueError, match="cores is 2 in one and 1 in the other"):
        SUMS.run(processes=2)


def test_runs_of_one_result_are_pooled_in_order(
    answering: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    times = (1e-3, 2e-3, 3e-3)
    answering(*(make_set(make_result("jit", make_run([time] * 6))) for time in times))
    (pooled,) = SUMS.run(processes=3).results
    assert [run.samples_s[0] for run in pooled.runs] == list(times)
    assert pooled.time.value == 2e-3
    assert capsys.readouterr() == ("", "")  # progress is for terminals


def test_points_and_options_are_handed_to_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[Mapping[str, Any]] = []

    def record(task: Mapping[str, Any], _: str) -> ResultSet:
        tasks.append(task)
        return make_set()

    monkeypatch.setattr(processes, "_run_process", record)
    SUMS.run(budget_s=0.5)
    assert len(tasks) == 4
    assert tasks[0] == {
        "name": "sums",
        "reference": "sample_experiments:prepare_sums",
        "points": SUMS.quick,
        "budget_s": 0.5,
        "allocator": "steady",
        "empty_caches": True,
    }
