"""What changed from release to release: ratios with intervals, and which of them count as changes.

The processes of two releases are independent, and each gives one number: its median, or its first
call. Their logarithms are compared by Welch's test. So many comparisons are made that some would
look like changes by chance; therefore their p-values are corrected together, so that at most
`FALSE_SHARE` of what is called a change is expected to be due to chance.

This module needs no JAX.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import exp, inf, isnan, log, nan, sqrt
from pathlib import Path
from typing import Literal, Self

import numpy as np
import scipy  # imports its parts when they are first used, which takes long

from jaxcap.releases.files import TWIN, ReleaseFiles, version_key
from jaxcap.releases.quantities import JAX, NUMPY, QUANTITIES, Quantity, estimate_of
from jaxcap.results import ResultSet
from jaxcap.results.statistics import CONFIDENCE, Estimate

#: Smaller differences don't count, however certain they are.
LEAST_CHANGE = 1.1
#: The false discovery rate, which is the share of the changes that may be none.
FALSE_SHARE = 0.05
#: With fewer processes of each release hardly any change can be certain.
FEW_PROCESSES = 4
#: A benchmark has modes if the processes of a release differ by this factor.
MODE_FACTOR = 1.5
# Deviation of logarithms below which no clock can see: equal numbers would have no deviation at all.
_LEAST_DEVIATION = 1e-3

#: What a second recording says about a change.
Confirmation = Literal["seen again", "contradicted", "undecided"]

#: The topic of benchmarks that the package doesn't have any more.
OTHER = "others"


@dataclass(frozen=True)
class Series:
    """A quantity of a benchmark under all releases that measured it on one machine.

    Attributes
    ----------
    benchmark
        Its name.
    topic
        That of the benchmark.
    variant
        As in the files.
    quantity
        What is compared.
    estimates
        By release, oldest first; in seconds, or in bytes.
    """

    benchmark: str
    topic: str
    variant: str
    quantity: Quantity
    estimates: Mapping[str, Estimate]

    @property
    def releases(self) -> list[str]:
        """Those that measured it, oldest first, without the twin."""
        return [release for release in self.estimates if not release.endswith(TWIN)]

    @property
    def processes(self) -> int:
        """How many processes measured it under a release, at most."""
        return max(len(estimate.medians) for estimate in self.estimates.values())

    @property
    def is_exact(self) -> bool:
        """Whether the numbers are counted, not measured."""
        return self.quantity == "temporary memory"

    @cached_property
    def logs(self) -> Mapping[str, np.ndarray]:
        """The logarithms of what each process measured, by release."""
        return {release: np.log(e.medians) for release, e in self.estimates.items()}

    @cached_property
    def deviation(self) -> tuple[float, int]:
        """The pooled standard deviation of the logarithms in a release, and its degrees of freedom."""
        groups = [logs for logs in self.logs.values() if len(logs) > 1]
        freedom = sum(len(logs) - 1 for logs in groups)
        if not freedom:
            return nan, 0
        squares = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in groups)
        return max(sqrt(squares / freedom), _LEAST_DEVIATION), freedom

    @property
    def has_modes(self) -> bool:
        """Whether processes of one release differ by `MODE_FACTOR` or more."""
        ranges = [np.ptp(logs) for logs in self.logs.values() if len(logs)]
        return max(ranges, default=0.0) >= log(MODE_FACTOR)

    def compare(self, before: str, after: str) -> ReleaseChange:
        """Compare two releases that measured it."""
        ratio = self.estimates[after].value / self.estimates[before].value
        if self.is_exact:
            return ReleaseChange(self, before, after, ratio, ratio, ratio, float(ratio == 1))
        low, high, p = compare_logs(self.logs[before], self.logs[after], *self.deviation)
        # With few processes the median may lie beside the mean that the interval is about.
        return ReleaseChange(self, before, after, ratio, min(low, ratio), max(high, ratio), p)


@dataclass(frozen=True)
class ReleaseChange:
    """A benchmark under two releases.

    Attributes
    ----------
    series
        What is compared.
    before
        The release that it is compared with.
    after
        The release that is compared.
    ratio
        How many times as long it takes, or as much memory.
    low
        The lower end of the ratio's interval; zero where a release was measured by one process.
    high
        The upper end of the ratio's interval; infinite in that case.
    p
        The probability that chance alone makes so large a difference; nan if it can't be estimated.
    adjusted_p
        The same, corrected for all comparisons that were made together.
    """

    series: Series
    before: str
    after: str
    ratio: float
    low: float
    high: float
    p: float
    adjusted_p: float = nan

    @property
    def factor(self) -> float:
        """The ratio in the direction in which it is at least 1."""
        return max(self.ratio, 1 / self.ratio)

    @property
    def is_change(self) -> bool:
        """Whether it is large enough, certain enough, and not a matter of modes."""
        if isnan(self.adjusted_p) or self.factor < LEAST_CHANGE:
            return False
        if self.series.has_modes and self._ranges_overlap:
            return False
        return self.adjusted_p <= FALSE_SHARE

    @property
    def _ranges_overlap(self) -> bool:
        before, after = self.series.logs[self.before], self.series.logs[self.after]
        return bool(before.min() <= after.max() and after.min() <= before.max())

    @property
    def words(self) -> str:
        """The difference, such as ``"3.1 times slower"`` or ``"12 % less memory"``."""
        exact = self.series.is_exact
        worse, better = ("more memory", "less memory") if exact else ("slower", "faster")
        if self.ratio == 1:
            return "the same"
        direction = worse if self.ratio > 1 else better
        if self.factor < 2:
            share = self.ratio - 1 if self.ratio > 1 or exact else 1 / self.ratio - 1
            return f"{100 * abs(share):.0f} % {direction}"
        return f"{self.factor:.{1 if self.factor < 10 else 0}f} times {direction}"

    @property
    def interval(self) -> str:
        """The interval of the ratio, such as ``"2.9 to 3.3"``; empty if there is none."""
        if not 0 < self.low < self.high < inf:
            return ""
        return f"{self.low:.3g} to {self.high:.3g}"


def adjust(comparisons: Iterable[ReleaseChange]) -> list[ReleaseChange]:
    """Correct the p-values of comparisons for their number."""
    comparisons = list(comparisons)
    corrected = false_discovery_control([comparison.p for comparison in comparisons])
    return [replace(c, adjusted_p=p) for c, p in zip(comparisons, corrected, strict=True)]


def false_discovery_control(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number, by Benjamini and Hochberg's procedure; nan stays nan."""
    known = [p for p in p_values if not isnan(p)]
    corrected = iter(scipy.stats.false_discovery_control(known, method="bh") if known else ())
    return [nan if isnan(p) else float(next(corrected)) for p in p_values]


@dataclass(frozen=True)
class Releases:
    """What was recorded of the releases on one machine.

    Attributes
    ----------
    files
        Where it was read.
    sets
        By release, oldest first; a twin follows its release.
    topics
        The topic of each benchmark, in the order in which pages show them.
    quantities
        What each benchmark is about; the time if it isn't given.
    again
        A second recording of the largest changes, if there is one.
    """

    files: ReleaseFiles
    sets: Mapping[str, ResultSet]
    topics: Mapping[str, str]
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    again: Releases | None = None

    @classmethod
    def load(
        cls, files: ReleaseFiles, topics: Mapping[str, str], quantities: Mapping[str, Quantity]
    ) -> Self | None:
        """Read all files; None if there are none.

        Raises
        ------
        OSError, ResultsError
            If one can't be read, isn't valid or holds something else.
        """
        sets = {name: results for name in files.releases() if (results := files.load(name))}
        if not sets:
            return None
        return cls(files, sets, topics, quantities, cls.load(files.again, topics, quantities))

    @property
    def names(self) -> list[str]:
        """The releases, oldest first, without the twin."""
        return [name for name in self.sets if not name.endswith(TWIN)]

    @property
    def newest(self) -> str:
        """The release that others are compared with."""
        return self.names[-1]

    @property
    def device(self) -> str:
        """Where the newest release was measured."""
        return str(self.sets[self.newest].environment.device)

    @property
    def twin(self) -> str | None:
        """The newest release as it was measured once more, if it was."""
        twin = f"{self.newest}{TWIN}"
        return twin if twin in self.sets else None

    @property
    def processes(self) -> tuple[int, int]:
        """The smallest and the largest number of processes that measured a benchmark."""
        counts = [len(result.runs) for results in self.sets.values() for result in results]
        return min(counts), max(counts)

    @cached_property
    def series(self) -> list[Series]:
        """All quantities of all benchmarks and variants, by topic."""
        estimates: dict[tuple[str, str, Quantity], dict[str, Estimate]] = {}
        for release, results in self.sets.items():
            for result in results:
                for quantity in QUANTITIES:
                    estimate = estimate_of(result, quantity)
                    # Zeros have no logarithm: most programs need no temporary memory.
                    if estimate and min((estimate.value, *estimate.medians)) > 0:
                        key = str(result.parameters["benchmark"]), result.variant, quantity
                        estimates.setdefault(key, {})[release] = estimate
        series = [
            Series(benchmark, self.topics.get(benchmark, OTHER), variant, quantity, by_release)
            for (benchmark, variant, quantity), by_release in estimates.items()
        ]
        places = {benchmark: place for place, benchmark in enumerate(self.topics)}
        return sorted(series, key=lambda s: places.get(s.benchmark, len(places)))

    def of_jax(self, quantity: Quantity | None = None) -> list[Series]:
        """Return the series of JAX of a quantity, or of what each benchmark is about."""
        return [
            series
            for series in self.series
            if series.variant == JAX
            and series.quantity == (quantity or self.quantities.get(series.benchmark, "time"))
        ]

    def control_of(self, series: Series) -> Series | None:
        """Return the same benchmark without JAX, if there is one."""
        for other in self.series:
            same = other.benchmark == series.benchmark and other.quantity == series.quantity
            if same and other.variant == NUMPY:
                return other
        return None

    def by_topic(self) -> dict[str, list[Series]]:
        """Split the series of what each benchmark is about by topic."""
        topics: dict[str, list[Series]] = {}
        for series in self.of_jax():
            topics.setdefault(series.topic, []).append(series)
        return topics

    @cached_property
    def steps(self) -> list[ReleaseChange]:
        """Each benchmark under each two releases that follow each other."""
        return adjust(
            series.compare(before, after)
            for series in self.of_jax()
            for before, after in pairwise(series.releases)
        )

    @cached_property
    def changes(self) -> list[ReleaseChange]:
        """The steps that count as changes and are JAX's own, the largest first.

        Those that a second recording contradicts are left out.
        """
        changes = [
            c
            for c in self.steps
            if c.is_change and not self._control_moved(c) and not self._is_contradicted(c)
        ]
        return sorted(changes, key=lambda c: c.factor, reverse=True)

    @property
    def contradicted(self) -> list[ReleaseChange]:
        """The steps that would count as changes if a second recording didn't contradict them."""
        return [c for c in self.steps if c.is_change and self._is_contradicted(c)]

    def second(self, change: ReleaseChange) -> ReleaseChange | None:
        """Return what a second recording says about a change; None if it didn't measure it."""
        wanted = change.series
        for series in self.again.of_jax(wanted.quantity) if self.again else ():
            measured = {change.before, change.after} <= series.estimates.keys()
            if series.benchmark == wanted.benchmark and measured:
                return series.compare(change.before, change.after)
        return None

    def confirmation(self, change: ReleaseChange) -> Confirmation | None:
        """Tell whether a second recording shows a change too; None if it didn't measure it.

        It contradicts a change if its whole interval excludes one of `LEAST_CHANGE` in the same
        direction.
        """
        second = self.second(change)
        if second is None:
            return None
        if change.ratio > 1:
            likeliest, most = second.ratio, second.high
        else:
            likeliest, most = 1 / second.ratio, 1 / second.low if second.low else inf
        if most < LEAST_CHANGE:
            return "contradicted"
        # Without an interval, the p-value is nan.
        is_seen = likeliest >= LEAST_CHANGE and second.p <= FALSE_SHARE
        return "seen again" if is_seen else "undecided"

    def _is_contradicted(self, change: ReleaseChange) -> bool:
        return self.confirmation(change) == "contradicted"

    @property
    def moved_with_control(self) -> list[ReleaseChange]:
        """The steps that would count as changes if the same work without JAX hadn't changed as well."""
        return [c for c in self.steps if c.is_change and self._control_moved(c)]

    def _control_moved(self, change: ReleaseChange) -> bool:
        """Tell whether NumPy's time changed there too: in the same direction, and half as much."""
        control = self.control_of(change.series)
        if not control or not {change.before, change.after} <= control.estimates.keys():
            return False
        same = control.compare(change.before, change.after)
        return same.p <= FALSE_SHARE and log(same.ratio) / log(change.ratio) >= 0.5

    @cached_property
    def regressions(self) -> list[ReleaseChange]:
        """The newest release beside the best earlier one, where it is slower; the worst first."""
        changes = adjust(
            series.compare(release, self.newest)
            for series in self.of_jax()
            if self.newest in series.estimates
            for release in series.releases[:-1]
        )
        worst: dict[str, ReleaseChange] = {}
        for change in changes:
            name = change.series.benchmark
            is_own = not self._control_moved(change) and not self._is_contradicted(change)
            if change.ratio > 1 and change.is_change and is_own:
                worst[name] = max(change, worst.get(name, change), key=lambda c: c.ratio)
        return sorted(worst.values(), key=lambda c: c.ratio, reverse=True)

    @cached_property
    def then_and_now(self) -> list[ReleaseChange]:
        """Each benchmark under the oldest and under the newest release."""
        oldest = self.names[0]
        return adjust(
            series.compare(oldest, self.newest)
            for series in self.of_jax()
            if oldest != self.newest and {oldest, self.newest} <= series.estimates.keys()
        )

    @cached_property
    def without_cause(self) -> list[ReleaseChange]:
        """The newest release and its twin, which differ by chance alone.

        They are corrected together with the steps, because the p-value that is small enough depends
        on how many others are small. By themselves they would have to pass a stricter test.
        """
        twin = self.twin
        comparisons = [
            series.compare(self.newest, twin)
            for series in self.of_jax()
            if twin and {self.newest, twin} <= series.estimates.keys() and not series.is_exact
        ]
        return adjust([*self.steps, *comparisons])[len(self.steps) :]


@dataclass(frozen=True)
class Cause:
    """What somebody found out about a change, written by hand.

    Attributes
    ----------
    release
        The first one with the change.
    topic
        What changed, if all benchmarks of a topic did; else empty.
    benchmark
        What changed, if a single benchmark did; else empty.
    cause
        A sentence.
    link
        Where it is shown.
    direction
        ``"slower"`` or ``"faster"``, if it is the cause of such changes only; else empty.
    """

    release: str
    topic: str
    benchmark: str
    cause: str
    link: str
    direction: str = ""

    def explains(self, change: ReleaseChange) -> bool:
        """Tell whether a change is of this kind, and the release lies between those compared."""
        series = change.series
        is_meant = series.benchmark == self.benchmark or series.topic == self.topic
        if self.direction:
            is_meant &= (self.direction == "slower") == (change.ratio > 1)
        return is_meant and self.lies_between(change.before, change.after)

    def lies_between(self, older: str, newer: str) -> bool:
        """Tell whether its release comes after one and isn't later than the other."""
        return version_key(older) < version_key(self.release) <= version_key(newer)


def causes() -> list[Cause]:
    """Read the known causes of changes."""
    path = Path(__file__).with_name("causes.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return [Cause(**row) for row in csv.DictReader(file)]


def compare_logs(
    before: np.ndarray, after: np.ndarray, deviation: float, freedom: int
) -> tuple[float, float, float]:
    """Return the ends of a ratio's interval, and the probability that chance alone makes it so large.

    Both come from the more cautious of two tests: Welch's test of the two releases, and a test with
    the benchmark's deviation in all releases. Welch's test alone would find a difference where all
    processes of a release happen to agree, as they sometimes do if times have modes.
    """
    if min(len(before), len(after)) < 2:
        return 0.0, inf, nan
    difference = float(after.mean() - before.mean())
    variances = [
        max(float(logs.var(ddof=1)), _LEAST_DEVIATION**2) / len(logs) for logs in (before, after)
    ]
    own = sum(variances) ** 2 / sum(
        variance**2 / (len(logs) - 1)
        for variance, logs in zip(variances, (before, after), strict=True)
    )
    errors: Sequence[tuple[float, float]] = [
        (sqrt(sum(variances)), own),
        (deviation * sqrt(1 / len(before) + 1 / len(after)), freedom),
    ]
    reach = max(error * scipy.special.stdtrit(df, (1 + CONFIDENCE) / 2) for error, df in errors)
    p = max(2 * scipy.special.stdtr(df, -abs(difference) / error) for error, df in errors)
    return exp(difference - reach), exp(difference + reach), float(p)
