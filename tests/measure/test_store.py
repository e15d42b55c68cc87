"""Kept results: when they are taken, when they are measured again, and what can go wrong."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import ENVIRONMENT, GPU, make_result, make_run, make_set
from sample_experiments import SUMS

from jaxcap.experiments import catalogue
from jaxcap.measure import experiment as experiment_module
from jaxcap.measure import settings, store
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.machine import description
from jaxcap.measure.store import NotRecordedError, Store
from jaxcap.measure.worker import Task
from jaxcap.results import ResultsError, ResultSet

Run = Callable[..., ResultSet]
# A parameter that no experiment has, so that a point with it is another one.
OTHER_POINT = {"of another plan": True}


class Machine:
    """A pretended machine, which notes what is measured on it."""

    def __init__(self) -> None:
        self.environment = ENVIRONMENT
        self.measured: list[Task] = []
        self.fits = 6

    def measure(self, task: Task, *, processes: int, code: str, **_: object) -> ResultSet:
        self.measured.append(task)
        runs = [make_run()] * min(processes, self.fits)
        results = [
            make_result(
                "jit",
                *runs,
                experiment=task.name,
                parameters=dict(p),
                code=code,
                comparison=f"{p} {len(self.measured)}",
            )
            for p in task.points
        ]
        return ResultSet(environment=self.environment, results=tuple(results))

    def change(self, **facts: Any) -> None:
        self.environment = self.environment.model_copy(update=facts)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """A machine with an empty store, from which builds take what is current."""
    made = Machine()
    monkeypatch.setattr(store, "_of_session", {})
    monkeypatch.setattr(experiment_module, "measure_in_turns", made.measure)
    monkeypatch.setattr(description, "capture", lambda: made.environment)
    for name in (settings.MACHINE, settings.QUICK, settings.SESSION_START):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(settings.STORE, str(tmp_path / "store"))
    monkeypatch.setenv(settings.REUSE, "1")
    return made


def files(tmp_path: Path) -> list[Path]:
    return Store(tmp_path / "store").files()


def test_what_is_current_is_taken_as_it_was(machine: Machine) -> None:
    first = SUMS.run()
    assert SUMS.run() == first
    assert len(machine.measured) == 1


def test_a_build_that_measures_afresh_keeps_what_it_measured(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(settings.REUSE)
    SUMS.run()
    newest = SUMS.run()
    assert len(machine.measured) == 2
    monkeypatch.setenv(settings.REUSE, "1")
    assert SUMS.run() == newest


@pytest.mark.parametrize("is_quick", ["", "1"])
def test_a_build_measures_nothing_twice(
    is_quick: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(settings.REUSE)
    monkeypatch.setenv(settings.QUICK, is_quick)
    monkeypatch.setenv(settings.SESSION_START, "0")
    results = SUMS.run()
    assert SUMS.run() is results
    assert len(machine.measured) == 1
    SUMS.run(points=grid(size=(1234,)))
    assert len(machine.measured) == 2


def test_without_a_store_everything_is_measured(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(settings.STORE)
    SUMS.run()
    SUMS.run()
    assert len(machine.measured) == 2


@pytest.mark.parametrize("name", catalogue())
@pytest.mark.parametrize(
    "change",
    [
        {"versions": {**ENVIRONMENT.versions, "jax": "99"}},
        {"versions": {**ENVIRONMENT.versions, "torch": "99"}},
        {"flags": {**ENVIRONMENT.flags, "XLA_FLAGS": "--xla_cpu_enable_fast_math=true"}},
        {"device": GPU},
        {"cores": 64},
    ],
    ids=["JAX", "PyTorch", "setting", "device", "cores"],
)
def test_another_machine_or_software_is_measured(
    change: dict[str, Any], name: str, machine: Machine
) -> None:
    experiment = catalogue()[name]
    experiment.run()
    machine.change(**change)
    experiment.run()
    assert [task.name for task in machine.measured] == [name, name]
    experiment.run()
    assert len(machine.measured) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"os": "Linux 99"},
        {"commit": "another"},
        {"python": "3.99.0"},
        {"versions": {**ENVIRONMENT.versions, "matplotlib": "99", "jaxcap": "99"}},
    ],
    ids=["system", "commit", "Python", "libraries that only draw"],
)
def test_what_no_time_depends_on_costs_no_measurement(
    change: dict[str, Any], machine: Machine
) -> None:
    SUMS.run()
    machine.change(**change)
    SUMS.run()
    assert len(machine.measured) == 1


@pytest.mark.parametrize("changed", catalogue())
def test_changed_code_is_measured_again_and_no_other(
    changed: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments = catalogue()
    for experiment in experiments.values():
        experiment.run()
    code = vars(Experiment)["code"].fget
    other = property(lambda e: "another" if e.name == changed else code(e))
    monkeypatch.setattr(Experiment, "code", other)
    machine.measured.clear()
    for experiment in experiments.values():
        experiment.run()
    assert [task.name for task in machine.measured] == [changed]


@pytest.mark.parametrize(
    ("plan", "is_measured"),
    [
        ({}, False),
        ({"processes": 7}, True),
        ({"processes": 2}, False),
        ({"budget_s": 2.0}, True),
        ({"budget_s": 0.5}, False),
        ({"points": grid(size=(10,))}, False),
        ({"points": grid(size=(20, 10))}, False),
        ({"points": grid(size=(10, 50))}, True),
    ],
)
def test_more_than_was_measured_is_measured(
    plan: dict[str, Any], is_measured: bool, machine: Machine
) -> None:
    SUMS.run()
    results = SUMS.run(**plan)
    assert len(machine.measured) == 1 + is_measured
    wanted = plan.get("points", SUMS.points)
    assert [result.parameters for result in results] == list(map(dict, wanted))


@pytest.mark.parametrize("changed", catalogue())
@pytest.mark.parametrize(
    "more",
    [
        lambda plan: {"processes": plan.processes + 1},
        lambda plan: {"budget_s": 2 * plan.budget_s},
        lambda plan: {"points": [*plan.points, {**plan.points[0], **OTHER_POINT}]},
    ],
    ids=["processes", "budget", "points"],
)
def test_a_larger_plan_is_measured_again_and_no_other(
    more: Callable[[store.Plan], dict[str, Any]], changed: str, machine: Machine
) -> None:
    experiments = catalogue()
    for experiment in experiments.values():
        experiment.run()
    machine.measured.clear()
    larger = more(experiments[changed].plan())
    for name, experiment in experiments.items():
        experiment.run(**(larger if name == changed else {}))
    assert [task.name for task in machine.measured] == [changed]
    experiments[changed].run(**larger)
    assert len(machine.measured) == 1


def test_a_point_with_a_boolean_is_not_one_with_a_number() -> None:
    kept = make_set(make_result(parameters={"flag": True}))
    assert SUMS.plan([{"flag": True}]).choose(kept) == kept
    assert SUMS.plan([{"flag": 1}]).choose(kept) is None
    assert SUMS.plan([{"flag": True, "size": 1}]).choose(kept) is None


def test_a_part_is_kept_beside_the_whole(machine: Machine, tmp_path: Path) -> None:
    part = SUMS.run(points=grid(size=(50,)))
    whole = SUMS.run()
    assert SUMS.run(points=grid(size=(50,))) == part
    assert SUMS.run() == whole
    assert len(machine.measured) == len(files(tmp_path)) == 2


def test_allocators_are_questions_of_their_own(machine: Machine) -> None:
    SUMS.run()
    other = replace(SUMS, name="sums by default", allocator="default")
    other.run()
    assert [task.allocator for task in machine.measured] == ["steady", "default"]


def test_an_experiment_that_fits_fewer_times_is_not_measured_each_time(machine: Machine) -> None:
    machine.fits = 2
    assert len(SUMS.run()[0].runs) == 2
    SUMS.run()
    assert len(machine.measured) == 1


def test_machines_of_one_name_keep_theirs_apart(machine: Machine, tmp_path: Path) -> None:
    mine = SUMS.run()
    machine.change(cores=64)
    SUMS.run()
    machine.change(cores=ENVIRONMENT.cores)
    assert SUMS.run() == mine
    assert len(machine.measured) == 2
    assert [path.parent.name for path in files(tmp_path)] == ["test-cpu", "test-cpu-2"]


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def age(path: Path) -> None:
    """Give a file a version that nobody reads any more."""
    content = json.loads(path.read_bytes())
    path.write_text(json.dumps(content | {"schema_version": 0}), encoding="utf-8")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def turn_into_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [cut_short, age, empty])
def test_a_damaged_file_is_measured_again(
    damage: Callable[[Path], None],
    machine: Machine,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    SUMS.run()
    other = replace(SUMS, name="other sums").run()
    damaged = files(tmp_path)[-1]
    assert damaged.stem == "sums"
    damage(damaged)
    SUMS.run()
    (message,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert message.startswith(str(damaged))
    assert message.endswith("'sums' is measured again")
    assert "\n" not in message
    assert SUMS.run() == ResultSet.load(damaged)  # it is whole again
    assert replace(SUMS, name="other sums").run() == other
    assert len(machine.measured) == 3


@pytest.mark.parametrize("obstacle", [turn_into_folder, lambda path: path.chmod(0o444)])
def test_results_that_cannot_be_kept_are_used_nevertheless(
    obstacle: Callable[[Path], None],
    machine: Machine,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    SUMS.run()
    (path,) = files(tmp_path)
    obstacle(path)
    machine.change(versions={"jax": "99"})
    assert SUMS.run().environment.versions == {"jax": "99"}
    assert "the results of 'sums' could not be kept: " in caplog.text


def test_a_disk_that_is_full_loses_nothing(
    machine: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = SUMS.run()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    machine.change(versions={"jax": "99"})
    assert SUMS.run() != kept
    assert "No space left on device" in caplog.text
    (path,) = files(tmp_path)
    assert ResultSet.load(path) == kept


def test_quick_results_are_never_kept(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.QUICK, "1")
    assert len(SUMS.run()[0].runs) == 1
    assert machine.measured[0].sample_s < 1e-4
    assert files(tmp_path) == []


class TestOfAnotherMachine:
    """Results that a machine recorded, shown on another one."""

    @pytest.fixture
    def folder(self, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        machine.change(device=GPU, versions={"jax": "0.9.0"})
        plan = SUMS.plan(SUMS.full)
        results = machine.measure(
            Task(
                name="sums",
                reference="",
                points=tuple(map(dict, SUMS.full)),
                sample_s=1.0,
                allocator="steady",
                empty_caches=True,
            ),
            processes=6,
            code="another",
        )
        path = Store(tmp_path / "recorded").save(results, replace(plan, is_complete=True))
        machine.measured.clear()
        machine.environment = ENVIRONMENT
        monkeypatch.setenv(settings.MACHINE, str(path.parent))
        return path.parent

    @pytest.mark.usefixtures("folder")
    def test_are_taken_whatever_has_changed(self, machine: Machine) -> None:
        results = SUMS.run(processes=100)
        assert results.environment.device == GPU
        assert [result.parameters for result in results] == list(map(dict, SUMS.full))
        assert machine.measured == []

    @pytest.mark.usefixtures("folder")
    def test_decide_the_sizes(self) -> None:
        assert store.measured_platform() == "gpu"
        assert SUMS.points == SUMS.full

    @pytest.mark.usefixtures("folder")
    def test_are_asked_for_where_they_are_missing(self) -> None:
        with pytest.raises(
            NotRecordedError, match="test-gpu has no recording of experiment 'others'"
        ):
            replace(SUMS, name="others").run()
        with pytest.raises(NotRecordedError, match="run `jaxcap record 'sums'` on that machine"):
            SUMS.run(points=grid(size=(12345,)))

    def test_need_a_machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(settings.MACHINE, str(tmp_path / "nobody"))
        with pytest.raises(ResultsError, match="set it to the folder of a machine's recordings"):
            SUMS.run()
