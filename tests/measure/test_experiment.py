"""Experiments run in fresh processes, and say why when they can't."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import sample_experiments
from fakes import ENVIRONMENT, make_result, make_run, make_set
from sample_experiments import SUMS, prepare_sums

from jaxcap.measure import machine, processes
from jaxcap.measure.experiment import Experiment, Points, grid
from jaxcap.measure.machine import capture
from jaxcap.measure.processes import ProcessError, Task
from jaxcap.results import ResultSet

POINT: Points = [{"size": 10}]
Answering = Callable[..., list[Task]]


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
        first, first_again, second, second_again = log.read_text(encoding="ascii").split()
        assert first == first_again
        assert second == second_again
        assert len({first, second, str(os.getpid())}) == 3

    def test_has_a_first_call_in_each(self, results: ResultSet) -> None:
        first_call = results.one("JAX", size=10).first_call
        assert (first_call.basis, first_call.confidence) == ("2 processes", 0.95)

    def test_speedups_are_over_both(self, results: ResultSet) -> None:
        assert results.speedup("NumPy", over="JAX", size=10).basis == "2 processes"

    def test_records_the_digest_of_their_code(self, results: ResultSet) -> None:
        assert {result.code for result in results} == {SUMS.code}

    def test_records_options_and_machine(self, results: ResultSet) -> None:
        assert {result.allocator for result in results.results} == {"default"}
        results.environment.require_same_machine(capture())


def make_task(**changes: Any) -> Task:
    settings: dict[str, Any] = {
        "name": "sums",
        "reference": SUMS.reference,
        "points": POINT,
        "budget_s": 1e-6,
        "allocator": "default",
        "empty_caches": False,
    }
    return Task(**(settings | changes))


def test_one_process_can_do_a_task_by_itself() -> None:
    results = make_task(points=[{"size": 10}, {"size": 20}]).run()
    assert results.varying() == ["size"]
    assert {result.time.basis for result in results.results} == {"one process"}


def test_a_process_finds_what_a_class_prepares() -> None:
    experiment = replace(SUMS, prepare=sample_experiments.Sums.prepare)
    assert experiment.reference == "sample_experiments:Sums.prepare"
    assert make_task(reference=experiment.reference).run().variants == ("NumPy", "JAX")


def test_the_whole_budget_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {}

    def record(*_: object, **given: Any) -> ResultSet:
        options.update(given)
        return make_set()

    monkeypatch.setattr(processes, "sweep", record)
    given = {"budget_s": 0.5, "allocator": "steady", "empty_caches": False}
    make_task(**given).run()
    assert options["precision"] == 0
    assert {name: options[name] for name in given} == given


def test_tasks_keep_the_types_of_parameters_on_their_way() -> None:
    task = make_task(points=[{"n": 1, "x": 1.0, "flag": True, "dtype": "float32"}])
    received = Task.model_validate_json(task.model_dump_json(), strict=True)
    assert received == task
    assert [type(value) for value in received.points[0].values()] == [int, float, bool, str]


def test_a_task_may_be_longer_than_a_pipe_holds() -> None:
    points = [{"size": 10, "note": "x" * 900, "number": number} for number in range(200)]
    task = make_task(reference="sample_experiments:prepare_and_name_the_point", points=points)
    with pytest.raises(ProcessError, match="ValueError: number 0 of the points"):
        processes._run_in_process(task, "")


@pytest.mark.parametrize(
    ("prepare", "size", "message"),
    [
        (sample_experiments.prepare_and_raise, 10, "code 1): ValueError: no size 10 here"),
        (sample_experiments.prepare_and_raise_in_jax, 10, "code 1): TypeError: "),
        (sample_experiments.prepare_and_exit, 3, "code 3): it printed nothing"),
        (sample_experiments.prepare_and_exit, 0, "code 0): it printed nothing"),
    ],
)
def test_failed_process_is_reported_with_its_last_line(
    prepare: Callable[..., Any], size: int, message: str
) -> None:
    expected = f"experiment 'broken' failed in a fresh process (exit {message}"
    with pytest.raises(ProcessError, match=f"^{re.escape(expected)}"):
        make_experiment(prepare, [{"size": size}]).run(processes=1)


def test_a_process_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "START_LIMIT_S", 0.5)
    monkeypatch.setattr(processes, "POINT_LIMIT_S", 0.2)
    monkeypatch.setattr(processes, "BUDGETS_LIMIT", 3)
    with pytest.raises(ProcessError, match="experiment 'broken' was stopped after 1 s in a fresh"):
        make_experiment(prepare_sums).run(processes=1, budget_s=0.1)


def test_processes_import_what_their_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jaxcap.py").write_text("raise RuntimeError('not this one')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert SUMS.run(points=POINT, processes=1, budget_s=1e-6)
    assert capfd.readouterr() == ("", "")  # what variants print stays with them


def test_processes_import_from_the_current_folder_where_their_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "/somewhere/else"])  # an interactive session
    variables = processes._environment("")
    assert variables["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "/somewhere/else"]


@pytest.mark.parametrize(("setting", "expected"), [(None, "false"), ("true", "true")])
def test_processes_leave_memory_of_a_gpu_to_other_libraries(
    setting: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = "XLA_PYTHON_CLIENT_PREALLOCATE"
    monkeypatch.delenv(variable, raising=False)
    if setting:
        monkeypatch.setenv(variable, setting)
    assert processes._environment("")[variable] == expected


MEASURE_LONG = """
import sys
from sample_experiments import SUMS

SUMS.run(points=[{"size": 10, "log": sys.argv[1]}], processes=1, budget_s=60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="ps and signals")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_process_ends_with_its_parent_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    log, temporary = tmp_path / "log", tmp_path / "temporary"
    temporary.mkdir()
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-c", MEASURE_LONG, log], env=os.environ | paths, stderr=subprocess.PIPE
    ) as parent:
        wait_until(lambda: log.exists() and bool(log.read_text(encoding="ascii")))
        worker = int(log.read_text(encoding="ascii"))
        assert is_running(worker)
        parent.send_signal(getattr(signal, name))
    try:
        wait_until(lambda: not is_running(worker), seconds=20)
    finally:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    assert list(temporary.iterdir()) == []


def wait_until(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(process: int) -> bool:
    command = ["ps", "-o", "stat=", "-p", str(process)]
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return bool(state) and not state.startswith("Z")


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
        ([{"size": 10}, {"size": None}], "parameter 'size' is None: give a finite number"),
        ([{"size": 10}, {"size": 20}, {"size": 10}], r"is given the point \{'size': 10\} twice"),
    ],
)
def test_points_are_checked_before_anything_is_measured(
    points: Points, message: str, answering: Answering
) -> None:
    answering()
    with pytest.raises(ValueError, match=message):
        SUMS.run(points=points)


def test_names_are_checked_before_anything_is_measured(answering: Answering) -> None:
    answering()
    with pytest.raises(ValueError, match="experiment cannot be named 'a/b'"):
        replace(SUMS, name="a/b").run()


def test_scalars_of_numpy_may_be_parameters(answering: Answering) -> None:
    tasks = answering(make_set())
    SUMS.run(points=grid(size=np.array([10, 20])), processes=1)
    assert [type(point["size"]) for point in tasks[0].points] == [int, int]


def test_points_are_required() -> None:
    with pytest.raises(ValueError, match="experiment 'sums' has no points: give at least one"):
        SUMS.run(points=[])


@pytest.mark.parametrize("number", [0, -1])
def test_processes_are_required(number: int) -> None:
    with pytest.raises(ValueError, match=f"processes must be at least 1, got {number}"):
        SUMS.run(processes=number)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Let fresh processes return given sets of results. Returns the list of their tasks."""

    def set_up(*sets: ResultSet) -> list[Task]:
        answers = iter(sets)
        tasks: list[Task] = []

        def run(task: Task, _: str) -> ResultSet:
            tasks.append(task)
            return next(answers)

        monkeypatch.setattr(processes, "_run_in_process", run)
        return tasks

    return set_up


def test_processes_of_different_machines_are_not_pooled(
    answering: Answering,
) -> None:
    other = ENVIRONMENT.model_copy(update={"cores": 1})
    answering(make_set(), make_set().model_copy(update={"environment": other}))
    with pytest.raises(ValueError, match="cores is 2 in one and 1 in the other"):
        SUMS.run(processes=2)


def test_processes_that_prepared_other_variants_are_not_pooled(answering: Answering) -> None:
    both = make_result("a"), make_result("b")
    answering(make_set(*both), make_set(*reversed(both)))
    with pytest.raises(ProcessError, match="prepared different variants, or in another order"):
        SUMS.run(processes=2)


def test_runs_of_one_result_are_pooled_in_order(
    answering: Answering, capsys: pytest.CaptureFixture[str]
) -> None:
    times = (1e-3, 2e-3, 3e-3)
    answering(*(make_set(make_result("jit", make_run([time] * 6))) for time in times))
    (pooled,) = SUMS.run(processes=3).results
    assert [run.samples_s[0] for run in pooled.runs] == list(times)
    assert pooled.time.value == 2e-3
    assert capsys.readouterr() == ("", "")  # progress is for terminals


def test_a_callback_follows_each_process(answering: Answering) -> None:
    tasks = answering(*[make_set()] * 3)
    finished: list[int] = []
    SUMS.run(processes=3, on_process=lambda: finished.append(len(tasks)))
    assert finished == [1, 2, 3]


@pytest.mark.parametrize("empty_caches", [True, False])
def test_points_and_options_are_handed_to_the_processes(
    empty_caches: bool, answering: Answering
) -> None:
    tasks = answering(*[make_set()] * 4)
    replace(SUMS, empty_caches=empty_caches).run(budget_s=0.5)
    assert len(tasks) == 4
    assert tasks[0] == make_task(
        points=SUMS.quick, budget_s=0.5, allocator="steady", empty_caches=empty_caches
    )
