"""Processes take turns, until the speed-ups are precise or the budget is spent."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import pytest
from fakes import ENVIRONMENT, FakeClock, make_result, make_run

from jaxcap.measure import turns
from jaxcap.measure.machine import description, disturbance
from jaxcap.measure.machine.disturbance import CpuTimes
from jaxcap.measure.processes import Interpreter, ProcessError
from jaxcap.measure.timing import MAX_ROUNDS
from jaxcap.measure.turns import MIN_ROUNDS, measure_each_in_turns, measure_in_turns
from jaxcap.measure.worker import Action, Answer, Request, Task
from jaxcap.results import Result, ResultSet

MS = 1e-3
TASK = Task(
    name="test",
    reference="nowhere:prepare",
    points=({"size": 1}, {"size": 2}),
    sample_s=MS,
    allocator="steady",
    empty_caches=True,
)
Duration = Callable[[int, int, str], float]


@dataclass
class Machine:
    """A made-up machine: its clock, its work, and what its processes were asked for, in order."""

    clock: FakeClock = field(default_factory=FakeClock)
    #: Seconds that a call takes, given the number of the process, the size, and the variant.
    duration: Duration = lambda *_: MS
    #: The share of the CPU time that other work takes at a time.
    others: Callable[[float], float] = lambda _: 0.0
    #: Whether it is slow while a variant is sampled, given the time and the variant.
    is_slow: Callable[[float, str], bool] = lambda *_: False
    #: Names of the variants, given the number of the process.
    variants: Callable[[int], tuple[str, ...]] = lambda _: ("a", "b")
    memory_bytes: int = 0
    free_bytes: int | None = None
    #: Seconds that a process takes to start, and to calibrate its samples.
    start_s: float = 0.0
    calibration_s: float = 0.0
    log: list[tuple[int, str, int]] = field(default_factory=list)
    processes: list[FakeProcess] = field(default_factory=list)
    busy_s: float = 0.0

    def work(self, seconds: float) -> None:
        """Keep one of two cores busy, while other work takes its share of both."""
        self.busy_s += seconds + 2 * seconds * self.others(self.clock.now_s)
        self.clock.advance(seconds)

    def cpu_times(self) -> CpuTimes:
        return CpuTimes(2 * self.clock.now_s, 2 * self.clock.now_s - self.busy_s, 0.0)


class FakeProcess:
    """Stands in for `jaxcap.measure.processes.WorkerProcess`."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.number = machine, len(machine.processes)
        self.cpu_s, self.memory_bytes = 0.0, 0
        self.variants: list[tuple[str, ...]] = []
        self.is_alive = True
        self.samples: dict[tuple[int, str], list[float]] = {}
        machine.processes.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.is_alive = False

    def send(self, message: Task | Request) -> None:
        if isinstance(message, Request):
            self.machine.log.append((self.number, message.action, message.point))
        else:
            self.work(self.machine.start_s)

    def answer(self) -> None:
        """It is not used."""

    def ask(self, action: Action, point: int = 0) -> Answer:
        self.send(Request(action=action, point=point))
        content: dict[str, Any] = {}
        if action == "prepare":
            self.memory_bytes += self.machine.memory_bytes
            content["variants"] = self.machine.variants(self.number)
        elif action == "calibrate":
            self.work(self.machine.calibration_s)
        elif action == "measure":
            variants, now_s = self.variants[point], self.machine.clock.now_s
            content["slow"] = tuple(v for v in variants if self.machine.is_slow(now_s, v))
            content["samples_s"] = {v: self.sample(point, v) for v in variants}
        elif action == "report":
            content["results"] = self.results()
        return Answer(cpu_s=self.cpu_s, memory_bytes=0, **content)

    def sample(self, point: int, variant: str) -> float:
        seconds = self.machine.duration(self.number, point + 1, variant)
        self.work(seconds)
        self.samples.setdefault((point, variant), []).append(seconds)
        return seconds

    def work(self, seconds: float) -> None:
        self.machine.work(seconds)
        self.cpu_s += seconds

    def results(self) -> ResultSet:
        return ResultSet(
            environment=ENVIRONMENT,
            results=tuple(
                make_result(variant, make_run(samples), parameters=TASK.points[point])
                for (point, variant), samples in sorted(self.samples.items())
            ),
        )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(turns, "WorkerProcess", lambda *_, **__: FakeProcess(machine))
    monkeypatch.setattr(description, "free_memory_bytes", lambda _: machine.free_bytes)
    monkeypatch.setattr(time, "perf_counter", machine.clock)
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    monkeypatch.setattr(disturbance, "cpu_times", machine.cpu_times)
    return machine


def measure(processes: int = 3, budget_s: float = 0.02, **options: Any) -> ResultSet:
    given: dict[str, Any] = {"code": "c0de", "on_progress": lambda _: None} | options
    return measure_in_turns(TASK, processes=processes, budget_s=budget_s, **given)


def wide(process: int, _: int, variant: str) -> float:
    """A duration whose ratios differ from process to process: no budget makes them precise."""
    return MS * (1 + process if variant == "a" else 1)


def rounds(results: ResultSet) -> list[list[int]]:
    """How many samples each process has, by result."""
    return [[len(run.samples_s) for run in result.runs] for result in results]


class TestPreparation:
    def test_is_one_process_after_another(self, machine: Machine) -> None:
        measure()
        prepared = [(p, point) for p, action, point in machine.log if action == "prepare"]
        assert prepared == [(p, point) for p in range(3) for point in range(2)]

    @pytest.mark.parametrize("variants", [("b", "a"), ("a",)])
    def test_fails_before_measuring_if_processes_differ(
        self, variants: tuple[str, ...], machine: Machine
    ) -> None:
        machine.variants = lambda process: variants if process else ("a", "b")
        with pytest.raises(ProcessError, match="prepared different variants, or in another order"):
            measure()
        assert "measure" not in {action for _, action, _ in machine.log}

    def test_counts_what_a_call_does_in_one_process(self, machine: Machine) -> None:
        measure()
        assert [p for p, action, _ in machine.log if action == "analyse"] == [0]

    @pytest.mark.parametrize(("analysed", "processes"), [("all", [0, 1]), ("none", [])])
    def test_counts_what_a_call_does_where_that_is_asked_for(
        self, analysed: str, processes: list[int], machine: Machine
    ) -> None:
        measure_each(TASK.model_copy(update={"analysed": analysed}))
        assert [p for p, action, _ in machine.log if action == "analyse"] == processes


def measure_each(task: Task = TASK, budget_s: float = 0.02) -> list[ResultSet]:
    interpreters = [Interpreter("old/python"), Interpreter("new/python")]
    return measure_each_in_turns(task, interpreters, budget_s=budget_s, on_progress=lambda _: None)


class TestEach:
    def test_runs_its_own_interpreter_and_gets_what_that_measured(
        self, machine: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        executables: list[str] = []

        def start(_: str, __: str, interpreter: Interpreter, **___: Any) -> FakeProcess:
            executables.append(interpreter.executable)
            return FakeProcess(machine)

        monkeypatch.setattr(turns, "WorkerProcess", start)
        machine.duration = lambda process, *_: MS * (1 + process)
        old, new = measure_each()
        assert executables == ["old/python", "new/python"]
        assert all(len(result.runs) == 1 for result in (*old, *new))
        assert {sample for result in old for sample in result.runs[0].samples_s} == {MS}
        assert {sample for result in new for sample in result.runs[0].samples_s} == {2 * MS}

    def test_is_measured_for_the_whole_budget_however_alike_they_are(
        self, machine: Machine
    ) -> None:
        measure_each(budget_s=0.1)
        # Two processes, two points, two variants.
        assert machine.clock.now_s == pytest.approx(0.1 * 8, rel=0.1)


class TestOrder:
    def test_is_drawn_anew_for_each_round_of_all_processes_and_points(
        self, machine: Machine
    ) -> None:
        machine.duration = wide
        measure()
        order = [(process, point) for process, action, point in machine.log if action == "measure"]
        cycles = [tuple(order[i : i + 6]) for i in range(0, 6 * MIN_ROUNDS, 6)]
        everyone = {(process, point) for process in range(3) for point in range(2)}
        assert all(set(cycle) == everyone for cycle in cycles)
        assert len(set(cycles)) > 1

    @pytest.mark.usefixtures("machine")
    def test_leaves_the_random_state_of_the_user_alone(self) -> None:
        state = random.getstate()
        measure()
        assert random.getstate() == state


class TestBudget:
    def test_is_spent_where_nothing_becomes_precise(self, machine: Machine) -> None:
        machine.duration = wide
        measure(budget_s=0.05)
        # Three processes, two points, two variants.
        assert machine.clock.now_s == pytest.approx(0.05 * 12, rel=0.1)

    def test_is_exceeded_for_the_fewest_rounds(self, machine: Machine) -> None:
        machine.duration = wide
        results = measure(budget_s=1e-6)
        assert rounds(results) == [[MIN_ROUNDS] * 3] * 4

    @pytest.mark.usefixtures("machine")
    def test_is_not_spent_on_what_is_precise(self) -> None:
        results = measure(budget_s=1.0)
        # Precise at the first look, and at the second: rounds grow by half.
        assert rounds(results) == [[6] * 3] * 4

    def test_of_precise_points_goes_to_the_others(self, machine: Machine) -> None:
        machine.duration = lambda process, size, variant: (
            wide(process, size, variant) if size == 2 else MS
        )
        results = measure(budget_s=0.03)
        counts = rounds(results)
        assert counts[0] == [6] * 3
        # Alone, it would have 30 ms for each variant and process, and 1.5 ms a sample on average.
        assert min(counts[-1]) > 30
        assert machine.clock.now_s == pytest.approx(0.03 * 12, rel=0.15)

    def test_takes_no_more_samples_than_files_should_hold(self, machine: Machine) -> None:
        machine.duration = wide
        assert rounds(measure(budget_s=100.0)) == [[MAX_ROUNDS] * 3] * 4

    def test_of_one_process_is_spent(self, machine: Machine) -> None:
        measure(processes=1, budget_s=0.05)  # one process tells nothing about the next
        assert machine.clock.now_s == pytest.approx(0.05 * 4, rel=0.1)

    def test_progress_ends_at_one(self, machine: Machine) -> None:
        shares: list[float] = []
        machine.duration = wide
        measure(budget_s=0.05, on_progress=shares.append)
        assert 0 < shares[0] < 0.5
        assert shares[-1] == 1
        assert len(shares) >= MIN_ROUNDS


class TestDisturbance:
    def test_is_recorded_with_each_sample(self, machine: Machine) -> None:
        machine.duration = lambda *_: 0.1
        machine.others = lambda now_s: 0.4 if now_s >= 3 else 0.0
        results = measure(budget_s=1e-6)
        shares = Counter(
            share for result in results for run in result.runs for share in run.other_work
        )
        assert shares.keys() >= {0.0, 0.4}
        assert all(len(run.other_work) == len(run.samples_s) for r in results for run in r.runs)

    def test_makes_rounds_be_repeated(self, machine: Machine) -> None:
        machine.duration = lambda *given: 10 * wide(*given)
        machine.others = lambda now_s: 0.5 if now_s < 2 else 0.0
        measure(budget_s=0.5)
        assert machine.clock.now_s == pytest.approx(0.5 * 12 + 2, rel=0.1)

    @pytest.mark.parametrize(("slow", "share"), [("ab", 1.0), ("a", 0.5)])
    def test_by_a_slow_machine_makes_samples_be_repeated(
        self, machine: Machine, slow: str, share: float
    ) -> None:
        machine.duration = lambda *given: 10 * wide(*given)
        machine.is_slow = lambda now_s, variant: now_s < 2 and variant in slow
        measure(budget_s=0.5)
        assert machine.clock.now_s == pytest.approx(0.5 * 12 + share * 2, rel=0.05)

    def test_does_not_keep_a_point_from_being_precise(self, machine: Machine) -> None:
        rng = random.Random(0)
        machine.is_slow = lambda now_s, _: now_s % 0.2 < 0.05
        machine.duration = lambda *_: (
            MS * rng.uniform(1, 9) if machine.is_slow(machine.clock.now_s, "") else MS
        )
        measure(budget_s=5.0)
        assert machine.clock.now_s < 5

    def test_that_never_ends_doubles_the_time_at_most(self, machine: Machine) -> None:
        machine.duration = lambda *given: 10 * wide(*given)
        machine.others = lambda _: 0.5
        measure(budget_s=0.5)
        assert machine.clock.now_s == pytest.approx(2 * 0.5 * 12, rel=0.15)


class TestBusyMachine:
    @pytest.fixture(autouse=True)
    def long_calls(self, machine: Machine) -> None:
        machine.duration, machine.calibration_s = lambda *_: 0.1, 0.5

    def test_is_warned_of_before_and_after(self, machine: Machine) -> None:
        machine.others = lambda _: 0.38
        with pytest.warns(UserWarning, match="^other work t(akes|ook) 38%") as warnings:
            measure(budget_s=0.5)
        before, after = (str(warning.message) for warning in warnings)
        assert before.startswith("other work takes 38% of the CPU, so times will be too long")
        assert after == (
            "other work took 38% of the CPU while experiment 'test' was measured, and disturbed "
            "100% of its samples: end it, and measure again"
        )

    @pytest.mark.filterwarnings("error")
    def test_is_not_one_with_a_little_other_work(self, machine: Machine) -> None:
        machine.others = lambda _: 0.04
        measure(budget_s=0.5)

    def test_is_warned_of_though_it_was_quiet_at_first(self, machine: Machine) -> None:
        machine.others = lambda now_s: 0.5 if now_s > 2 else 0.0
        with pytest.warns(UserWarning, match="other work took .* its samples") as warnings:
            measure(budget_s=0.5)
        assert len(warnings) == 1


def test_logs_how_long_measuring_took(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    machine.start_s, machine.calibration_s = 7.0, 0.5
    measure()
    (record,) = [record for record in caplog.records if record.name == turns.__name__]
    assert vars(record)["measured_s"] == pytest.approx(machine.clock.now_s - 3 * 7.0)
    assert vars(record)["other_work"] == 0


class TestMemory:
    def test_decides_how_many_processes_there_are(self, machine: Machine) -> None:
        machine.memory_bytes, machine.free_bytes = 100, 500  # at each of two points
        with pytest.warns(UserWarning, match="fits into this machine's memory 2 times"):
            results = measure(processes=6)
        assert {len(result.runs) for result in results} == {2}

    def test_is_no_matter_where_there_is_enough(self, machine: Machine) -> None:
        machine.memory_bytes, machine.free_bytes = 100, 1000
        assert {len(result.runs) for result in measure(processes=3)} == {3}


class TestResults:
    def test_have_the_samples_of_each_process_in_order(self, machine: Machine) -> None:
        machine.duration = lambda process, *_: MS * (process + 1)
        result: Result = measure()[0]
        assert [run.samples_s[0] for run in result.runs] == [MS, 2 * MS, 3 * MS]
        assert result.code == "c0de"

    @pytest.mark.usefixtures("machine")
    def test_of_different_machines_are_not_pooled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def results(process: FakeProcess) -> ResultSet:
            environment = ENVIRONMENT.model_copy(update={"cores": process.number})
            return original(process).model_copy(update={"environment": environment})

        original = FakeProcess.results
        monkeypatch.setattr(FakeProcess, "results", results)
        with pytest.raises(ValueError, match="cores is 0 in one and 1 in the other"):
            measure()

    @pytest.mark.parametrize("error", [ProcessError("failed"), KeyboardInterrupt()])
    def test_no_process_is_left_when_one_fails(
        self, error: BaseException, machine: Machine
    ) -> None:
        def fail(*_: object) -> float:
            raise error

        machine.duration = fail
        with pytest.raises(type(error)):
            measure()
        assert not any(process.is_alive for process in machine.processes)
