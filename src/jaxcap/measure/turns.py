"""Fresh processes that take turns, so that a noisy minute affects all of them alike.

If they ran one after another, the drift of the machine would look like a difference between them.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from operator import itemgetter
from statistics import fmean
from typing import NamedTuple
from warnings import warn

from jaxcap.measure.machine import description
from jaxcap.measure.machine.disturbance import Monitor
from jaxcap.measure.processes import (
    ANSWER_LIMIT_S,
    Interpreter,
    WorkerProcess,
    cpu_s,
    prepare,
    start,
)
from jaxcap.measure.progress import progress_bar
from jaxcap.measure.timing import MAX_ROUNDS, NEXT_LOOK
from jaxcap.measure.worker import Task
from jaxcap.results import ProcessSamples, Result, ResultSet
from jaxcap.results.models import DISTURBED_SHARE, without_disturbed
from jaxcap.results.statistics import Estimate, Speedup, prediction_interval

# Intervals are over processes, so each needs few rounds: enough that some may be disturbed.
MIN_ROUNDS = 4
# A speed-up is precise when the ends of its interval differ by at most this factor, or by the
# second one where the interval excludes 1. More rounds narrow the part that is due to chance alone,
# so the drift from one run to the next doesn't count here.
PRECISE, PRECISE_IF_DECIDED = 1.09, 1.15
# Less time of the budget than this share is not worth giving to other points.
LEAST_SHARE = 0.05
# A larger share of disturbed samples is worth a warning.
MANY_DISTURBED = 1 / 3

logger = logging.getLogger(__name__)


def measure_in_turns(
    task: Task,
    *,
    processes: int,
    budget_s: float,
    code: str,
    on_progress: Callable[[float], object] | None = None,
) -> ResultSet:
    """Measure a task in fresh processes that take turns, and pool what they measured.

    Parameters
    ----------
    task
        What each process prepares.
    processes
        How many processes. Fewer are used, with a warning, if not all of them fit into memory.
    budget_s, on_progress
        See `measure_each_in_turns`. Points that are precise early leave their time to the others.
    code
        Digest of what is measured, for the results.

    Raises
    ------
    ProcessError
        If a process fails or hangs. All others are ended.
    """
    interpreters = [Interpreter()] * processes
    first, *others = measure_each_in_turns(
        task, interpreters, budget_s=budget_s, stops_early=True, on_progress=on_progress
    )
    for other in others:
        first.environment.require_same_machine(other.environment)
    return first.subset(
        results[0].model_copy(update={"runs": tuple(r.runs[0] for r in results), "code": code})
        for results in zip(first, *others, strict=True)
    )


def measure_each_in_turns(
    task: Task,
    interpreters: Sequence[Interpreter],
    *,
    budget_s: float,
    stops_early: bool = False,
    limit_s: float = ANSWER_LIMIT_S,
    on_progress: Callable[[float], object] | None = None,
) -> list[ResultSet]:
    """Measure a task in a fresh process of each interpreter, and return what each measured.

    All processes are alive at once. One at a time measures one round at one point, in random order,
    so that the rounds of each process and of each point are spread over the whole time. Warns if the
    machine is too busy to measure on, before and after, and logs how long measuring took, from the
    first call to the last sample (``measured_s``), and the mean share of other work meanwhile.

    Parameters
    ----------
    task
        What each process prepares.
    interpreters
        The Python that runs each of the processes.
    budget_s
        Seconds of sampling for each variant, in each process and at each point, on average. The
        variants of a point share the time, because all have the same number of samples. Up to as
        much again is spent on repeating disturbed rounds.
    stops_early
        Whether a point is no longer measured once all its speed-ups are precise. The numbers of
        all processes decide that together, so all have to measure the same.
    limit_s
        Seconds after which a process that doesn't answer counts as hanging.
    on_progress
        Called between rounds with the share of the work that is done. By default a bar is shown if
        standard error is a terminal.

    Returns
    -------
    list
        One set for each interpreter, in that order. The last ones are missing, with a warning, if
        not all processes fit into memory.

    Raises
    ------
    ProcessError
        If a process fails or hangs. All others are ended.
    """
    commit = description.capture().commit or ""  # the same for all, even if one is made meanwhile
    with ExitStack() as stack:
        workers = [
            stack.enter_context(WorkerProcess(task.name, commit, interpreter, limit_s=limit_s))
            for interpreter in interpreters
        ]
        start(workers, task)
        start_s = time.perf_counter()
        session = _Session(prepare(workers, task), budget_s, stops_early=stops_early)
        with progress_bar(hidden=on_progress is not None) as bar:
            shown = bar.add_task(task.name, total=1)
            session.measure(
                on_progress or (lambda share: bar.update(shown, completed=share, refresh=True))
            )
        session.tell(task.name, time.perf_counter() - start_s)
        return list(session.results())


class _Round(NamedTuple):
    """One sample of each variant, the variants that were disturbed, and the monitor's window."""

    samples_s: Mapping[str, float]
    slow: Collection[str]
    window: int


@dataclass
class _Point:
    """The rounds at one point, by process. The budget is for all of them together."""

    index: int
    variants: tuple[str, ...]
    budget_s: float
    rounds: list[list[_Round]]
    spent_s: float = 0.0
    disturbed: float = 0.0
    next_look: float = MIN_ROUNDS
    was_precise: bool = False
    is_precise: bool = False

    @property
    def left_s(self) -> float:
        return self.budget_s - self.spent_s

    @property
    def is_finished(self) -> bool:
        """Whether it is precise, or more rounds would only make files large."""
        disturbed = int(self.disturbed / len(self.rounds))
        return self.is_precise or len(self.rounds[-1]) - disturbed >= MAX_ROUNDS

    @property
    def needs_rounds(self) -> bool:
        return not self.is_finished and (len(self.rounds[-1]) < MIN_ROUNDS or self.left_s > 0)

    def look(self, shares_of_others: Sequence[float]) -> None:
        """Find out, at growing intervals, whether the speed-ups have been precise twice in a row.

        A rule that looked after every round would stop at a lucky one. Disturbed rounds don't
        count, as in the results.
        """
        if len(self.rounds[-1]) >= self.next_look:
            self.next_look *= NEXT_LOOK
            precise = all(map(_is_precise, self._estimates(shares_of_others)))
            self.is_precise, self.was_precise = self.was_precise and precise, precise

    def _estimates(self, shares_of_others: Sequence[float]) -> Iterator[Estimate]:
        """Yield each speed-up over the first variant, or the time of the only variant."""
        first, *others = self.variants
        if not others:
            yield Estimate.from_runs(self._kept(itemgetter(first), {first}, shares_of_others))
        for other in others:
            ratio = partial(_ratio, first, other)
            yield Speedup.from_runs(self._kept(ratio, {first, other}, shares_of_others))

    def _kept(
        self,
        number: Callable[[Mapping[str, float]], float],
        variants: set[str],
        shares_of_others: Sequence[float],
    ) -> Sequence[Sequence[float]]:
        """Return ``number`` of each round that the results will keep, as far as is known yet."""
        disturbed = {i for i, share in enumerate(shares_of_others) if share > DISTURBED_SHARE}
        return without_disturbed(
            [[number(round_.samples_s) for round_ in rounds] for rounds in self.rounds],
            [
                [
                    round_.window not in disturbed and variants.isdisjoint(round_.slow)
                    for round_ in rounds
                ]
                for rounds in self.rounds
            ],
        )


def _ratio(first: str, other: str, samples_s: Mapping[str, float]) -> float:
    return samples_s[first] / samples_s[other] if samples_s[other] else 0.0


def _is_precise(estimate: Estimate) -> bool:
    # A single process, or a clock too coarse to see a call, says nothing about the next process.
    if estimate.kind != "prediction":
        return False
    is_decided = isinstance(estimate, Speedup) and estimate.verdict != "undecided"
    low, high, _ = prediction_interval(estimate.medians, drift=0.0)
    return high <= low * (PRECISE_IF_DECIDED if is_decided else PRECISE)


class _Session:
    """The rounds of workers that are warmed up."""

    def __init__(
        self, workers: Sequence[WorkerProcess], budget_s: float, *, stops_early: bool
    ) -> None:
        self._workers = workers
        self._stops_early = stops_early
        self._points = [
            _Point(
                index,
                variants,
                budget_s=budget_s * len(workers) * len(variants),
                rounds=[[] for _ in workers],
            )
            for index, variants in enumerate(workers[0].variants)
        ]
        self._budget_s = sum(point.budget_s for point in self._points)
        self._repeated_s = 0.0
        self._monitor = Monitor(cpu_s(workers))
        # The rounds in the monitor's window, which may turn out to be disturbed: the share of each
        # that isn't yet known to be, and its seconds.
        self._window: list[tuple[_Point, float, float]] = []

    def measure(self, on_progress: Callable[[float], object]) -> None:
        """Let the workers take turns until each point is precise or its budget spent."""
        shuffle = random.Random().shuffle  # the user's own random state stays as it is
        active, done = self._points, 0.0
        while active:
            turns = list(product(active, range(len(self._workers))))
            shuffle(turns)
            for point, process in turns:
                self._measure_round(point, process)
            for point in active if self._stops_early else ():
                point.look(self._monitor.shares)
            active = [point for point in active if point.needs_rounds] or self._redistribute()
            left = sum(max(point.left_s, 0) / point.budget_s for point in active)
            done = max(done, 1 - left / len(self._points))  # time that was shared out looks undone
            on_progress(done)
        self._end_window(at_once=True)

    def _measure_round(self, point: _Point, process: int) -> None:
        start_s = time.perf_counter()
        answer = self._workers[process].ask("measure", point.index)
        seconds = time.perf_counter() - start_s
        window = len(self._monitor.shares)
        point.rounds[process].append(_Round(answer.samples_s, answer.slow, window))
        point.spent_s += seconds
        slow_share = len(answer.slow) / len(point.variants)
        self._give_back(point, slow_share, seconds)
        self._window.append((point, 1 - slow_share, seconds))
        self._end_window()

    def _end_window(self, *, at_once: bool = False) -> None:
        """Give points the time of disturbed rounds back, if the monitor's window has ended."""
        if not self._monitor.end_window(cpu_s(self._workers), at_once=at_once):
            return
        if self._monitor.shares[-1] > DISTURBED_SHARE:
            for point, share, seconds in self._window:
                self._give_back(point, share, seconds)
        self._window = []

    def _give_back(self, point: _Point, share: float, seconds: float) -> None:
        """Let a point repeat the disturbed share of a round, unless much was repeated already."""
        if self._repeated_s < self._budget_s:
            point.spent_s -= share * seconds
            point.disturbed += share
            self._repeated_s += share * seconds

    def _redistribute(self) -> list[_Point]:
        """Give the time that finished points have left to the others, and return those."""
        others = [point for point in self._points if not point.is_finished]
        left_s = sum(point.left_s for point in self._points)
        if left_s < LEAST_SHARE * self._budget_s:
            return []
        for point in self._points:
            point.budget_s = point.spent_s
        for point in others:
            point.budget_s += left_s / len(others)
        return others

    def tell(self, experiment: str, seconds: float) -> None:
        """Log how long measuring took, and warn if other work disturbed much of it."""
        shares = self._monitor.shares
        other_work = fmean(shares)
        disturbed = fmean(
            shares[round_.window] > DISTURBED_SHARE
            for point in self._points
            for round_ in chain(*point.rounds)
            for _ in point.variants
        )
        logger.info(
            "measured %r for %.1f s, while other work took %.0f%% of the CPU",
            experiment,
            seconds,
            100 * other_work,
            extra={"measured_s": seconds, "other_work": other_work},
        )
        if disturbed > MANY_DISTURBED:
            warn(
                f"other work took {other_work:.0%} of the CPU while experiment {experiment!r} was "
                f"measured, and disturbed {disturbed:.0%} of its samples: end it, and measure again",
                stacklevel=5,
            )

    def results(self) -> Iterator[ResultSet]:
        """Yield what each worker measured, with what disturbed it."""
        points = [point for point in self._points for _ in point.variants]
        for process, worker in enumerate(self._workers):
            report = worker.ask("report").results
            assert report, "a report has results"
            yield report.subset(
                result.model_copy(update={"runs": (self._run(point, process, result),)})
                for point, result in zip(points, report, strict=True)
            )

    def _run(self, point: _Point, process: int, result: Result) -> ProcessSamples:
        """Return the samples of a result, with the share of other work beside each."""
        shares = self._monitor.shares
        (run,) = result.runs
        other_work = tuple(shares[round_.window] for round_ in point.rounds[process])
        return run.model_copy(update={"other_work": other_work})
