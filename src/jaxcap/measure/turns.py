"""Fresh processes that take turns, so that a noisy minute hits all of them alike.

One process after another would take the drift of the machine for a difference between processes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from statistics import median
from warnings import warn

import jax

from jaxcap.measure import machine
from jaxcap.measure.disturbance import Monitor
from jaxcap.measure.processes import START_LIMIT_S, ProcessError, Task, Worker
from jaxcap.measure.progress import progress_bar
from jaxcap.measure.timing import MAX_ROUNDS, MIN_ROUNDS, NEXT_LOOK
from jaxcap.results import Parameter, ProcessSamples, Result, ResultSet
from jaxcap.results.models import DISTURBED_SHARE
from jaxcap.results.statistics import prediction_interval

# A point is finished early when the intervals of its speed-ups span at most this factor, or this
# one where the speed-up is decided.
PRECISE, PRECISE_ENOUGH_IF_DECIDED = 1.05, 1.15
# Processes may fill this share of the memory that is free.
MEMORY_SHARE = 0.8

OnProgress = Callable[[float], object]


def measure_in_turns(
    task: Task,
    *,
    processes: int,
    budget_s: float,
    code: str,
    on_progress: OnProgress | None = None,
) -> ResultSet:
    """Measure a task in fresh processes that take turns, and pool what they measured.

    All are alive at once. One at a time measures one round at one point, in random order, so that
    the rounds of each process and of each point are spread over the whole time.

    Parameters
    ----------
    task
        What each process prepares.
    processes
        How many processes. Fewer are used, with a warning, if so many don't fit into memory.
    budget_s
        Seconds of sampling for each variant, in each process and at each point. Points that are
        precise early leave their time to the others, and disturbed rounds are repeated for as long
        again.
    code
        Digest of what is measured, for the results.
    on_progress
        Called between rounds with the share of the work that is done. By default a bar is shown if
        standard error is a terminal.

    Raises
    ------
    ProcessError
        If a process fails or hangs. None is left behind.
    """
    commit = machine.capture().commit or ""  # the same for all, even if somebody commits meanwhile
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(task, commit)) for _ in range(processes)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.answer(START_LIMIT_S)
        session = _Session(_prepared(workers, task), task, budget_s)
        with progress_bar(hidden=on_progress is not None) as bar:
            shown = bar.add_task(task.name, total=1)
            session.measure(
                on_progress or (lambda share: bar.update(shown, completed=share, refresh=True))
            )
        return session.results(code)


def _prepared(workers: Sequence[Worker], task: Task) -> Sequence[Worker]:
    """Prepare all points in as many of the processes as fit into memory."""
    free = machine.free_memory_bytes(jax.default_backend())
    for number, worker in enumerate(workers, start=1):
        before = worker.memory_bytes
        for point in range(len(task.points)):
            worker.ask("prepare", point)
        if free is None or before is None or worker.memory_bytes is None:
            continue
        taken = worker.memory_bytes - before
        free -= taken
        if taken > MEMORY_SHARE * free and number < len(workers):
            warn(
                f"experiment {task.name!r} was measured in fewer than {len(workers)} processes, "
                f"because it fits into this machine's memory {number} times",
                stacklevel=4,
            )
            workers = workers[:number]
            break
    for worker in workers:  # nothing is timed meanwhile, so they may compile at the same time
        worker.request("compile")
    for worker in workers:
        worker.answer()
    workers[0].ask("analyse")
    for worker in workers:
        worker.ask("calibrate")
    return workers


@dataclass
class _Point:
    """What has been measured at one point.

    ``rounds[process][i]`` has the time of a call of each variant, and ``windows[process][i]`` the
    window of the monitor in which that round ended.
    """

    index: int
    parameters: dict[str, Parameter]
    budget_s: float
    rounds: list[list[dict[str, float]]]
    windows: list[list[int]]
    spent_s: float = 0.0
    disturbed: int = 0
    next_look: float = MIN_ROUNDS
    was_precise: bool = False
    is_precise: bool = False

    @property
    def samples_of_a_round(self) -> int:
        """How many samples all processes together take in a round."""
        return len(self.rounds) * len(self.rounds[0][0])

    @property
    def left_s(self) -> float:
        """Time of the budget that is left."""
        return self.budget_s * self.samples_of_a_round - self.spent_s

    @property
    def is_full(self) -> bool:
        """Whether further rounds would only make files large."""
        disturbed = self.disturbed // len(self.rounds)
        return len(self.rounds[-1]) - disturbed >= MAX_ROUNDS

    def look(self) -> None:
        """Find out whether the speed-ups are precise: at growing distances, and twice in a row.

        A rule that looked after each round would stop at the luckiest one.
        """
        if len(self.rounds[-1]) >= self.next_look:
            self.next_look *= NEXT_LOOK
            precise = all(map(_is_precise, self._speedups()))
            self.is_precise, self.was_precise = self.was_precise and precise, precise

    def _speedups(self) -> Iterator[list[float]]:
        """Each speed-up over the first variant, by process; of a single variant its time."""
        first, *others = self.rounds[0][0]
        if not others:
            yield [median(r[first] for r in rounds) for rounds in self.rounds]
        for other in others:
            yield [
                median(r[first] / r[other] if r[other] else 0.0 for r in rounds)
                for rounds in self.rounds
            ]


def _is_precise(speedups: Sequence[float]) -> bool:
    """Whether the speed-up in the next process is known well enough, given those in some."""
    if len(speedups) < 2 or min(speedups) <= 0:  # by a coarse clock a call may take no time
        return False
    low, high, _ = prediction_interval(speedups)
    return high <= low * (PRECISE if low <= 1 <= high else PRECISE_ENOUGH_IF_DECIDED)


class _Session:
    """The turns that processes take, once they are prepared."""

    def __init__(self, workers: Sequence[Worker], task: Task, budget_s: float) -> None:
        self._workers = workers
        self._points = [
            _Point(index, point, budget_s, [[] for _ in workers], [[] for _ in workers])
            for index, point in enumerate(task.points)
        ]
        self._monitor = Monitor(self._cpu_s())
        # The rounds of the monitor's window, which may turn out to be disturbed.
        self._window: list[tuple[_Point, float]] = []
        self._repeated_s = 0.0

    def measure(self, on_progress: OnProgress) -> None:
        """Let the processes take turns until each point is precise or its budget spent."""
        shuffle = random.Random().shuffle  # the user's own random state stays as it is
        active = self._points
        while active:
            turns = list(product(active, range(len(self._workers))))
            shuffle(turns)
            for point, process in turns:
                self._measure_round(point, process)
            for point in active:
                point.look()
            active = [point for point in active if self._goes_on(point)] or self._share_out()
            left = sum(max(p.left_s, 0) / p.samples_of_a_round / p.budget_s for p in active)
            on_progress(1 - left / len(self._points))
        self._end_window(at_once=True)

    def _measure_round(self, point: _Point, process: int) -> None:
        start = time.perf_counter()
        samples_s = self._workers[process].ask("measure", point.index).samples_s
        seconds = time.perf_counter() - start
        point.rounds[process].append(samples_s)
        point.windows[process].append(len(self._monitor.shares))
        point.spent_s += seconds
        self._window.append((point, seconds))
        self._end_window()

    def _end_window(self, *, at_once: bool = False) -> None:
        """Give the time of disturbed rounds back, if it is time to look at the monitor."""
        if not self._monitor.end_window(self._cpu_s(), at_once=at_once):
            return
        if self._monitor.shares[-1] > DISTURBED_SHARE and self._repeated_s < self._budget_s():
            for point, seconds in self._window:
                point.spent_s -= seconds
                point.disturbed += 1
                self._repeated_s += seconds
        self._window = []

    def _budget_s(self) -> float:
        return sum(p.budget_s * p.samples_of_a_round for p in self._points if p.rounds[0])

    def _cpu_s(self) -> float:
        return time.process_time() + sum(worker.cpu_s for worker in self._workers)

    def _goes_on(self, point: _Point) -> bool:
        if point.is_precise or point.is_full:
            return False
        return len(point.rounds[-1]) < MIN_ROUNDS or point.left_s > 0

    def _share_out(self) -> list[_Point]:
        """Give the time that finished points have left to those that are still wide."""
        wide = [point for point in self._points if not (point.is_precise or point.is_full)]
        finished = [point for point in self._points if point.is_precise or point.is_full]
        left_s = sum(point.left_s for point in self._points)
        if not wide or left_s < 0.05 * self._budget_s():
            return []
        for point in finished:
            point.budget_s = point.spent_s / point.samples_of_a_round
        for point in wide:
            point.budget_s = (point.spent_s + left_s / len(wide)) / point.samples_of_a_round
        return wide

    def results(self, code: str) -> ResultSet:
        """Pool what the processes measured.

        Raises
        ------
        ProcessError
            If they did not measure the same.
        """
        sets = [worker.ask("report").results for worker in self._workers]
        first, *others = [results for results in sets if results]
        for other in others:
            first.environment.require_same_machine(other.environment)
        if any([r.key for r in other] != [r.key for r in first] for other in others):
            raise ProcessError("fresh processes prepared different variants, or in another order")
        pooled = [
            result.model_copy(
                update={"runs": tuple(self._runs(results)), "code": code},
            )
            for result, *results in zip(first, first, *others, strict=True)
        ]
        return first.subset(pooled)

    def _runs(self, results: Sequence[Result]) -> Iterator[ProcessSamples]:
        """Yield the samples of one result in each process, with what disturbed them."""
        point = next(p for p in self._points if p.parameters == results[0].parameters)
        shares = self._monitor.shares
        for result, windows in zip(results, point.windows, strict=True):
            (run,) = result.runs
            yield run.model_copy(update={"other_work": tuple(shares[window] for window in windows)})
