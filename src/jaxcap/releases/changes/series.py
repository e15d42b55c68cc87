"""Series of a benchmark under all releases, and ratios between two of these, with intervals.

The processes of two releases are independent, and each gives one number: its median, or its first
call. Their logarithms are compared by Welch's test. So many comparisons are made that some would
look like changes by chance; therefore their p-values are corrected together, so that at most
`FALSE_SHARE` of what is called a change is expected to be due to chance.

Releases that were recorded together took turns, and whatever slowed the machine slowed all of them.
Between recordings machines drift, which no number of processes averages out: errors then include
that drift for each of the two.

This module needs no JAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from math import exp, floor, hypot, inf, isnan, log10, nan, sqrt

import numpy as np
import scipy  # imports its parts when they are first used, which takes long

from jaxcap.releases.quantities import Quantity
from jaxcap.releases.recording.files import TWIN
from jaxcap.results.statistics import CONFIDENCE, DRIFT, Estimate

#: Smaller differences don't count, however certain they are.
LEAST_CHANGE = 1.1
#: The false discovery rate, which is the share of the changes that may be none.
FALSE_SHARE = 0.05
#: With fewer processes of each release hardly any change can be certain.
FEW_PROCESSES = 4
#: A benchmark has modes if the processes of a release differ by this factor.
MODE_FACTOR = 1.5
#: Releases whose last processes ran further apart weren't recorded together, which takes an hour or two.
LONGEST_RECORDING = timedelta(hours=6)
# Deviation of logarithms below which no clock can see: equal numbers would have no deviation at all.
_LEAST_DEVIATION = 1e-3


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
    measured_at
        By release, when the last process measured it. Releases took turns if this isn't known.
    """

    benchmark: str
    topic: str
    variant: str
    quantity: Quantity
    estimates: Mapping[str, Estimate]
    measured_at: Mapping[str, datetime] = field(default_factory=dict)

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
        return self.scatter >= MODE_FACTOR

    @property
    def scatter(self) -> float:
        """The largest factor by which processes of one release differ."""
        return exp(max((np.ptp(logs) for logs in self.logs.values() if len(logs)), default=0.0))

    def compare(self, before: str, after: str) -> ReleaseChange:
        """Compare two releases that measured it."""
        ratio = self.estimates[after].value / self.estimates[before].value
        if self.is_exact:
            return ReleaseChange(self, before, after, ratio, ratio, ratio, nan)
        logs = self.logs[before], self.logs[after]
        moments = [self.measured_at.get(release) for release in (before, after)]
        mean = compare_logs(*logs, *self.deviation, drift=0.0 if took_turns(*moments) else DRIFT)
        # With few processes the median may lie beside the mean that the interval is about.
        low, high = min(mean.low, ratio), max(mean.high, ratio)
        return ReleaseChange(self, before, after, ratio, low, high, mean.p)


def times(factor: float) -> str:
    """Write a factor, such as ``"1.25 times"``, ``"3.1 times"`` or ``"12 times"``."""
    places = 2 if factor < 2 else int(factor < 10)
    return f"{factor:.{places}f} times"


def _range(low: float, high: float) -> str:
    """Write the ends of an interval with equally many decimal places, and two digits or more."""
    places = 2 if 1 <= low < 2 else max(1 - floor(log10(low)), 0)
    return f"{low:.{places}f} to {high:.{places}f}"


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
        The probability that chance alone makes so large a difference; nan if it can't be estimated,
        and for what is counted, where chance has no part.
    adjusted_p
        ``p``, corrected for all comparisons that were made together; nan until then.
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
        if self.factor < LEAST_CHANGE:
            return False
        if self.series.is_exact:
            return True
        if self.series.has_modes and self._ranges_overlap:
            return False
        return self.adjusted_p <= FALSE_SHARE  # which nan isn't

    @property
    def _ranges_overlap(self) -> bool:
        before, after = self.series.logs[self.before], self.series.logs[self.after]
        return bool(before.min() <= after.max() and after.min() <= before.max())

    @property
    def words(self) -> str:
        """The difference, such as ``"3.1 times slower"`` or ``"12% less memory"``."""
        exact = self.series.is_exact
        worse, better = ("more memory", "less memory") if exact else ("slower", "faster")
        if self.ratio == 1:
            return "the same"
        direction = worse if self.ratio > 1 else better
        if exact and self.factor < 2:
            return f"{100 * abs(self.ratio - 1):.0f}% {direction}"
        return f"{times(self.factor)} {direction}"

    @property
    def interval(self) -> str:
        """The interval of the ratio, such as ``"2.9 to 3.3"``; empty if there is none.

        There is none of a release's ratio to itself, which is known to be 1.
        """
        if self.before == self.after or not 0 < self.low < self.high < inf:
            return ""
        return _range(self.low, self.high)

    @property
    def interval_of_factor(self) -> str:
        """The interval of the factor by which it is slower or faster, as `words` says; or empty."""
        if self.ratio >= 1 or not self.interval:
            return self.interval
        return _range(1 / self.high, 1 / self.low)


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


def took_turns(moment: datetime | None, other: datetime | None) -> bool:
    """Whether what was measured until two moments was recorded together, as far as is known."""
    return moment is None or other is None or abs(moment - other) <= LONGEST_RECORDING


@dataclass(frozen=True)
class MeanRatio:
    """A ratio of geometric means, with its interval.

    Attributes
    ----------
    value
        The ratio.
    low
        The lower end of its interval; zero if it can't be estimated.
    high
        The upper end; infinite in that case.
    p
        The probability that chance alone makes it differ so much from 1; nan in that case.
    """

    value: float
    low: float
    high: float
    p: float


def compare_logs(
    before: np.ndarray, after: np.ndarray, deviation: float, freedom: int, *, drift: float = 0.0
) -> MeanRatio:
    """Compare what processes measured before a change with what they measured after it.

    Interval and probability come from the more cautious of two tests: Welch's test of the two
    releases, and a test with the benchmark's deviation in all releases. Welch's test alone would find
    a difference where all processes of a release happen to agree, as they sometimes do if times have
    modes.

    Parameters
    ----------
    before, after
        Logarithms, one for each process.
    deviation, freedom
        See `Series.deviation`.
    drift
        The standard deviation of either mean besides that of processes, as machines drift.
    """
    difference = float(after.mean() - before.mean())
    if min(len(before), len(after)) < 2:
        return MeanRatio(exp(difference), 0.0, inf, nan)
    variances = [
        max(float(logs.var(ddof=1)), _LEAST_DEVIATION**2) / len(logs) for logs in (before, after)
    ]
    own = sum(variances) ** 2 / sum(
        variance**2 / (len(logs) - 1)
        for variance, logs in zip(variances, (before, after), strict=True)
    )
    drifted = sqrt(2) * drift
    errors: Sequence[tuple[float, float]] = [
        (hypot(sqrt(sum(variances)), drifted), own),
        (hypot(deviation * sqrt(1 / len(before) + 1 / len(after)), drifted), freedom),
    ]
    reach = max(error * scipy.special.stdtrit(df, (1 + CONFIDENCE) / 2) for error, df in errors)
    p = max(2 * scipy.special.stdtr(df, -abs(difference) / error) for error, df in errors)
    return MeanRatio(exp(difference), exp(difference - reach), exp(difference + reach), float(p))
