"""How far timings can be trusted, found by measuring things whose answer is known.

A call is as fast as itself, so a tool that finds it faster or slower raises a false alarm. And what
is measured now should predict what is measured next. The functions here count how often each tool was
right in an `~jaxcap.results.audit.Audit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import inf, isnan, log, nan, sqrt
from statistics import fmean, median, stdev
from types import MappingProxyType
from typing import Literal, Self

import numpy as np
import scipy  # imports its parts when they are first used, which takes long

from jaxcap.results.audit import (
    JAXCAP,
    LOADS,
    PYPERF,
    PYTORCH,
    TIMEIT,
    TOOLS,
    Audit,
    Load,
    Pair,
    Run,
)
from jaxcap.results.statistics import CONFIDENCE, DRIFT, Estimate, Speedup, prediction_interval
from jaxcap.results.tables import Table

# An interval whose ends differ by more than this factor says little.
WIDE = 2.0
# Both ends of a confidence interval, as quantiles.
TAIL = (1 - CONFIDENCE) / 2


@dataclass(frozen=True, slots=True)
class Interval:
    """A number, and the interval that a tool gives with it."""

    value: float
    low: float
    high: float

    def contains(self, number: float) -> bool:
        """Whether a number lies in the interval."""
        return self.low <= number <= self.high

    @property
    def width(self) -> float:
        """How many times its lower end the upper end is."""
        return self.high / self.low if self.low > 0 else inf


@dataclass(frozen=True, slots=True)
class Share:
    """How many of several statements are true."""

    hits: int
    total: int

    @classmethod
    def of(cls, flags: Iterable[bool]) -> Self:
        """Count the flags that are true."""
        listed = list(flags)
        return cls(sum(listed), len(listed))

    @property
    def interval(self) -> Interval:
        """The share, with Wilson's 95% interval; not a number if the total is zero."""
        if not self.total:
            return Interval(nan, nan, nan)
        wilson = scipy.stats.binomtest(self.hits, self.total).proportion_ci(
            CONFIDENCE, method="wilson"
        )
        return Interval(self.hits / self.total, float(wilson.low), float(wilson.high))

    def __str__(self) -> str:
        if not self.total:
            return "not measured"
        share = self.hits / self.total
        percent = f"{share:.0%}"
        if 0 < share < 1 and percent in {"0%", "100%"}:
            percent = f"{share:.1%}"
        return f"{percent} ({self.hits} of {self.total})"


def _minimum_and_range(samples: Sequence[float]) -> Interval:
    return Interval(min(samples), min(samples), max(samples))


def _median_and_quartiles(samples: Sequence[float]) -> Interval:
    low, middle, high = np.quantile(samples, (0.25, 0.5, 0.75)).tolist()
    return Interval(middle, low, high)


def _mean_and_deviation(samples: Sequence[float]) -> Interval:
    mean, deviation = fmean(samples), stdev(samples)
    return Interval(mean, mean - deviation, mean + deviation)


# The other tools promise no interval. What readers have to go by is what each of them shows beside its
# number: timeit all repeats, of which its documentation recommends the minimum
# (https://docs.python.org/3/library/timeit.html#timeit.Timer.repeat); PyTorch's Timer the median and
# the quartiles (https://docs.pytorch.org/docs/stable/benchmark_utils.html); pyperf mean and standard
# deviation (https://pyperf.readthedocs.io/en/latest/analyze.html).
_TIMES: Mapping[str, Callable[[Sequence[float]], Interval]] = MappingProxyType(
    {TIMEIT: _minimum_and_range, PYTORCH: _median_and_quartiles, PYPERF: _mean_and_deviation}
)


def time(tool: str, samples_s: Sequence[float]) -> Interval:
    """Return the time of a call as a tool gives it, in seconds."""
    if tool == JAXCAP:
        estimate = Estimate.from_runs([[sample] for sample in samples_s], unit="s")
        return Interval(estimate.value, estimate.low, estimate.high)
    return _TIMES[tool](samples_s)


def speedup(tool: str, pair: Pair) -> Interval:
    """Return how many times as fast as ``a`` a tool found ``b``: paired, or the quotient of times."""
    if tool == JAXCAP:
        estimate = _paired(pair)
        return Interval(estimate.value, estimate.low, estimate.high)
    a, b = time(tool, pair.a_s), time(tool, pair.b_s)
    highest = a.high / b.low if b.low > 0 else inf
    return Interval(a.value / b.value, a.low / b.high, highest)


def tells_apart(tool: str, pair: Pair) -> bool:
    """Whether a tool says that two calls differ.

    jaxcap has a verdict, and pyperf a t-test (``pyperf compare_to``). The other two leave it to their
    users, who compare what is printed: the calls differ if their ranges or interquartile ranges don't
    overlap.
    """
    if tool == JAXCAP:
        return _paired(pair).verdict != "undecided"
    if tool == PYPERF:
        return bool(scipy.stats.ttest_ind(pair.a_s, pair.b_s).pvalue <= 1 - CONFIDENCE)
    return not speedup(tool, pair).contains(1)


def _paired(pair: Pair) -> Speedup:
    return Speedup.from_runs([[ratio] for ratio in pair.ratios])


def false_alarms(audit: Audit, tool: str, load: Load) -> Share:
    """Count how often a tool found a difference between a call and itself."""
    pairs = chain.from_iterable(run.same.values() for run in audit.of(tool, load))
    return Share.of(tells_apart(tool, pair) for pair in pairs)


def matches(audit: Audit, load: Load) -> Share:
    """Count how often jaxcap found a call about as fast as itself, instead of leaving it undecided."""
    pairs = chain.from_iterable(run.same.values() for run in audit.of(JAXCAP, load))
    return Share.of(_paired(pair).verdict_in_words == "about as fast" for pair in pairs)


def detections(audit: Audit, tool: str, load: Load) -> Share:
    """Count how often a tool found a difference that exists."""
    return Share.of(tells_apart(tool, pair) for pair in waves(audit, tool, load).values())


def waves(audit: Audit, tool: str, load: Load) -> dict[int, Pair]:
    """Return the comparisons with a difference, by the number of the run."""
    return {run.number: run.wave for run in audit.of(tool, load) if run.wave}


def spread(audit: Audit, tool: str, load: Load) -> Interval:
    """Return the standard deviation of the logarithm of the wave's speed-up from run to run.

    Only runs in which all tools measured it count, so that all tools have equally many. The interval
    assumes that the logarithms are normally distributed. With fewer than two runs, neither is a
    number.
    """
    numbers = set.intersection(*(set(waves(audit, other, load)) for other in TOOLS))
    pairs = waves(audit, tool, load)
    logs = [log(speedup(tool, pairs[number]).value) for number in sorted(numbers)]
    freedom = len(logs) - 1
    if freedom < 1:
        return Interval(nan, nan, nan)
    deviation = stdev(logs)
    low, high = (
        deviation * sqrt(freedom / scipy.special.chdtri(freedom, tail)) for tail in (TAIL, 1 - TAIL)
    )
    return Interval(deviation, low, high)


# What a tool gave for one thing, run by run.
Intervals = list[Interval]


def times(audit: Audit, tool: str, load: Load) -> list[Intervals]:
    """Return the times of each kernel's call, run by run: of either side of its comparison."""
    return [[time(tool, samples) for samples in runs] for runs in _samples(audit, tool, load)]


def speedups(audit: Audit, tool: str, load: Load) -> list[Intervals]:
    """Return the speed-ups of each comparison, that of the wave included, run by run."""
    wave = list(waves(audit, tool, load).values())
    return [
        [speedup(tool, pair) for pair in pairs]
        for pairs in (*_same(audit, tool, load).values(), wave)
        if pairs
    ]


def next_inside(series: Iterable[Intervals]) -> Share:
    """Count how often the interval of a run contained the value of the next one."""
    return Share.of(now.contains(later.value) for runs in series for now, later in pairwise(runs))


def next_processes_inside(audit: Audit, load: Load) -> Share:
    """Count how often jaxcap's interval for one more process contained the next run's processes."""
    return Share.of(
        low <= sample <= high
        for runs in _samples(audit, JAXCAP, load)
        for now, later in pairwise(runs)
        for low, high, _ in (prediction_interval(now, processes=1),)
        for sample in later
    )


def median_width(series: Iterable[Intervals]) -> float:
    """Return the median of the intervals' widths; not a number if there is none."""
    widths = [interval.width for interval in chain.from_iterable(series)]
    return median(widths) if widths else nan


def wide(series: Iterable[Intervals]) -> Share:
    """Count the intervals whose ends differ by more than the factor ``WIDE``."""
    return Share.of(interval.width > WIDE for interval in chain.from_iterable(series))


def deviations(audit: Audit, load: Load) -> tuple[float, float]:
    """Split the variation of jaxcap's times into that inside of runs and that between them.

    Returns
    -------
    tuple
        The standard deviation of the logarithm of a call's time between the processes of a run, and
        between runs beyond what those processes explain. Both are typical for all calls, and not a
        number if no call was timed in two runs.
    """
    inside, between = [], []
    for runs in _samples(audit, JAXCAP, load):
        logs = [np.log(samples) for samples in runs]
        if len(logs) < 2:
            continue
        inside.append(fmean(float(run.var(ddof=1)) for run in logs))
        explained = fmean(float(run.var(ddof=1)) / len(run) for run in logs)
        between.append(float(np.var([run.mean() for run in logs], ddof=1)) - explained)
    if not inside:
        return nan, nan
    # Of a few calls a process may be many times slower, which a mean would take for typical.
    return sqrt(median(inside)), sqrt(max(median(between), 0.0))


def _same(audit: Audit, tool: str, load: Load) -> dict[str, list[Pair]]:
    """Group the comparisons of calls with themselves by kernel, run by run."""
    pairs: dict[str, list[Pair]] = {}
    for run in audit.of(tool, load):
        for kernel, pair in run.same.items():
            pairs.setdefault(kernel, []).append(pair)
    return pairs


def _samples(audit: Audit, tool: str, load: Load) -> Iterator[list[tuple[float, ...]]]:
    """Yield what was sampled of each call, run by run."""
    for pairs in _same(audit, tool, load).values():
        yield [pair.a_s for pair in pairs]
        yield [pair.b_s for pair in pairs]


def table_of_verdicts(audit: Audit) -> Table:
    """Tabulate how often each tool was wrong about equal calls, and how well it agrees with itself."""
    rows = [
        (
            tool,
            load,
            str(false_alarms(audit, tool, load)),
            str(detections(audit, tool, load)),
            _percent(spread(audit, tool, load)),
            f"{fmean(run.duration_s for run in runs):.1f} s",
        )
        for load, tool, runs in _measured(audit)
    ]
    headers = (
        "tool",
        "machine",
        "false alarms",
        "difference found",
        "spread of the speed-up",
        "time of a run",
    )
    return Table(f"Verdicts: {audit.where}", headers, rows)


def table_of_intervals(audit: Audit, quantity: Literal["time", "speed-up"]) -> Table:
    """Tabulate how wide each tool's intervals are, and how often they contained the next run."""
    series = times if quantity == "time" else speedups
    rows = []
    for load, tool, _ in _measured(audit):
        part = series(audit, tool, load)
        cells = str(next_inside(part)), _factor(median_width(part)), str(wide(part))
        rows.append((tool, load, *cells))
    headers = ("tool", "machine", f"next {quantity} inside", "width", f"wider than {WIDE:g}")
    return Table(f"Intervals of a {quantity}: {audit.where}", headers, rows)


def table_of_deviations(audit: Audit) -> Table:
    """Tabulate how much times differ between the processes of a run, and between runs."""
    rows = []
    for load in LOADS:
        if audit.of(JAXCAP, load):
            differ = [
                "not measured" if isnan(deviation) else f"{deviation:.1%}"
                for deviation in deviations(audit, load)
            ]
            processes = str(next_processes_inside(audit, load))
            rows.append((load, *differ, f"{DRIFT:.1%}", processes))
    differences = ("processes differ by", "runs differ by", "intervals allow for")
    headers = ("machine", *differences, "next process inside")
    return Table(f"Processes and runs: {audit.where}", headers, rows)


def _measured(audit: Audit) -> Iterator[tuple[Load, str, list[Run]]]:
    """Yield the loads and the tools that there are runs of."""
    for load in LOADS:
        for tool in TOOLS:
            if runs := audit.of(tool, load):
                yield load, tool, runs


def _percent(interval: Interval) -> str:
    if isnan(interval.value):
        return "not measured"
    return f"{interval.value:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _factor(width: float) -> str:
    return "not measured" if isnan(width) else f"{width:.3g}"
