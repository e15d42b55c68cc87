"""Find the release in which something changed, by a sequential test on fresh processes.

Each release under test is measured by a few fresh processes, then by a few more, until a confidence
interval decides, or a limit is reached. The logarithms of what processes measure are compared by
Yuen's t intervals of trimmed means, because releases may differ in how much their processes scatter,
and because a process may be far off on a busy machine. The rate of errors of a whole search is at most
`ERROR_RATE`: it is divided by the number of comparisons of a search, and of looks at the numbers in
each (Bonferroni's correction; Jennison and Turnbull, 2000).

References
----------
K. K. Yuen, "The two-sample trimmed t for unequal population variances", Biometrika 61 (1974),
165-170.

C. Jennison and B. W. Turnbull, "Group Sequential Methods with Applications to Clinical Trials",
Chapman & Hall (2000).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, exp, log, log2, sqrt
from statistics import fmean, median, variance
from typing import Literal, NamedTuple

import scipy

from jaxcap.releases.changes.series import took_turns
from jaxcap.releases.quantities import JAX, LEAST, Quantity, estimate_of
from jaxcap.results import ResultSet
from jaxcap.results.base import FrozenModel
from jaxcap.results.statistics import DRIFT

#: The probability that the verdict of a search is wrong, at most.
ERROR_RATE = 0.05
#: How many processes measure each release before the next look at the numbers. Where processes have two
#: modes, three would too often be all of one mode, and look as if they didn't scatter at all.
PROCESSES = 4
#: How often a comparison looks at its numbers, at most.
LOOKS = 4
#: The share of the processes that is left out at either end, once that is a whole process.
TRIMMED = 0.2

# What a search ends with. ``"gradual"`` means that no single release changed it by the threshold.
Verdict = Literal["found", "no change", "gradual", "undecided"]

# Returns what each of so many fresh processes measured under each of the releases: positive numbers.
Measure = Callable[[Sequence[str], int], Mapping[str, Sequence[float]]]


class ReleaseError(RuntimeError):
    """Nothing can be measured under a release.

    Attributes
    ----------
    release
        Its name.
    """

    def __init__(self, release: str, reason: str) -> None:
        super().__init__(reason)
        self.release = release


class Ratio(FrozenModel):
    """How many times as large a quantity is under a later release, with its confidence interval."""

    value: float
    low: float
    high: float

    def is_beyond(self, threshold: float) -> bool:
        """Whether the whole interval is a change by more than a factor, to either side."""
        return self.low > threshold or self.high < 1 / threshold

    def is_within(self, threshold: float) -> bool:
        """Whether the whole interval is a change by less than a factor."""
        return 1 / threshold < self.low and self.high < threshold


class Step(FrozenModel):
    """A comparison of two or three releases.

    Attributes
    ----------
    values
        What each process measured, by release, oldest first.
    followed
        The two of them between which the search went on.
    has_several_changes
        Whether the middle release is like neither of the others, so that the larger change was
        followed.
    """

    values: dict[str, tuple[float, ...]]
    followed: tuple[str, str]
    has_several_changes: bool = False


class SearchResult(FrozenModel):
    """What a search ended with.

    Attributes
    ----------
    verdict
        ``"found"``, ``"no change"``, ``"gradual"`` if no single release changed it by the threshold, or
        ``"undecided"``.
    older
        The last release before the change, or the older one of the last two that were compared.
    newer
        The release that changed it, or the newer one of the last two that were compared.
    ratio
        Of the newer one to the older one, with a confidence of ``confidence``.
    confidence
        The probability that the verdict is right, at least.
    steps
        What was compared, in order.
    skipped
        Why nothing could be measured, by release.
    """

    verdict: Verdict
    older: str
    newer: str
    ratio: Ratio
    confidence: float
    steps: tuple[Step, ...]
    skipped: dict[str, str]

    @property
    def processes(self) -> int:
        """How many processes measured."""
        return sum(len(values) for step in self.steps for values in step.values.values())


def most_comparisons(releases: int) -> int:
    """Return how many comparisons a search among so many releases takes, at most."""
    # One of the ends, one for each halving, and one of the neighbours that remain.
    return 2 + ceil(log2(max(releases - 1, 1)))


def bisect(
    releases: Sequence[str],
    measure: Measure,
    *,
    threshold: float,
    on_comparison: Callable[[Sequence[str]], object] = lambda _: None,
) -> SearchResult:
    """Find the two neighbouring releases between which a quantity changed.

    If it changed several times, the largest change is followed, as far as the releases that are
    looked at show. A release in the middle under which nothing can be measured is skipped.

    Parameters
    ----------
    releases
        At least two, oldest first.
    measure
        Measures in fresh processes. What it raises for the first or the last release, or for
        anything that was measured before, ends the search.
    threshold
        The least factor that counts as a change: more than 1.
    on_comparison
        Called before each comparison with its releases.

    Raises
    ------
    ReleaseError
        If nothing can be measured under the first or the last release.
    """
    return _Search(measure, threshold, most_comparisons(len(releases)), on_comparison).run(releases)


def changed_benchmarks(
    older: ResultSet, newer: ResultSet, *, quantity: Quantity, threshold: float
) -> dict[str, Ratio]:
    """Find the benchmarks that changed between two releases that were recorded, largest first.

    The error rate is that of a whole search, for all benchmarks together. Those that only one process
    measured can't be judged. Releases of different days may differ by a drift of the machine as well.
    """
    moments = (results.environment.measured_at for results in (older, newer))
    drift = 0.0 if took_turns(*moments) else DRIFT
    sets = [_values_by_benchmark(results, quantity) for results in (older, newer)]
    names = [name for name in sets[0] if all(len(values.get(name, ())) > 1 for values in sets)]
    ratios = {}
    for name in names:
        comparison = _SequentialTest(ERROR_RATE / len(names), drift)
        comparison.add({"older": sets[0][name], "newer": sets[1][name]})
        ratios[name] = comparison.ratio("older", "newer")
    changed = {name: ratio for name, ratio in ratios.items() if ratio.is_beyond(threshold)}
    return dict(sorted(changed.items(), key=lambda item: -abs(log(item[1].value))))


def _values_by_benchmark(results: ResultSet, quantity: Quantity) -> dict[str, list[float]]:
    values = {}
    for result in results:
        if result.variant == JAX and (estimate := estimate_of(result, quantity)):
            measured = estimate.medians or (estimate.value,) * len(result.runs)
            least = LEAST[estimate.unit]
            values[str(result.parameters["benchmark"])] = [max(v, least) for v in measured]
    return values


@dataclass(frozen=True)
class _SequentialTest:
    """What processes measured, by release, and the error rate of each interval.

    Each release may have drifted, which has this standard deviation.

    The ``logs`` are logarithms relative to the other processes of the same time, so that a machine that
    is slow for some of the time doesn't look as if processes differed (randomised blocks).
    """

    error_rate: float
    drift: float = 0.0
    values: dict[str, list[float]] = field(default_factory=dict)
    logs: dict[str, list[float]] = field(default_factory=dict)

    def add(self, measured: Mapping[str, Sequence[float]]) -> None:
        """Add what processes, equally many of each release, measured at the same time."""
        level = fmean(median(map(log, values)) for values in measured.values())
        for release, values in measured.items():
            self.values.setdefault(release, []).extend(values)
            self.logs.setdefault(release, []).extend(log(value) - level for value in values)

    def ratio(self, older: str, newer: str) -> Ratio:
        value, low, high = self._interval({older: -1.0, newer: 1.0})
        return Ratio(value=exp(value), low=exp(low), high=exp(min(high, 700)))

    def larger_change(self, older: str, middle: str, newer: str) -> tuple[tuple[str, str], bool]:
        """Return the two releases with the larger change between them, and whether that is certain.

        With logarithms x, y and z, the change from x to y is larger than that from y to z if y lies
        beyond the middle of x and z, seen from x.
        """
        direction = 1.0 if self.ratio(older, newer).value > 1 else -1.0
        weights = {older: -direction / 2, middle: direction, newer: -direction / 2}
        value, low, high = self._interval(weights)
        return (older, middle) if value > 0 else (middle, newer), not low <= 0 <= high

    def _interval(self, weights: Mapping[str, float]) -> tuple[float, float, float]:
        """Return a weighted sum of the releases' mean logarithms, and the ends of its interval."""
        samples = {release: _Trimmed.of(self.logs[release]) for release in weights}
        middle = sum(weight * samples[release].mean for release, weight in weights.items())
        parts = [weight**2 * samples[release].error_2 for release, weight in weights.items()]
        if not sum(parts):
            return middle, middle, middle
        # Welch's degrees of freedom.
        freedom = sum(parts) ** 2 / sum(
            part**2 / sample.freedom for part, sample in zip(parts, samples.values(), strict=True)
        )
        t = float(scipy.special.stdtrit(freedom, 1 - self.error_rate / 2))
        drifted = self.drift**2 * sum(weight**2 for weight in weights.values())
        reach = t * sqrt(sum(parts) + drifted)
        return middle, middle - reach, middle + reach


class _Trimmed(NamedTuple):
    """The mean of logarithms without the outer ones, its squared standard error and its freedom."""

    mean: float
    error_2: float
    freedom: int

    @classmethod
    def of(cls, logs: Sequence[float]) -> _Trimmed:
        logs = sorted(logs)
        cut = int(TRIMMED * len(logs))
        inner = logs[cut : len(logs) - cut]
        winsorized = [inner[0]] * cut + inner + [inner[-1]] * cut
        freedom = len(inner) - 1
        squares = variance(winsorized) * (len(logs) - 1)
        return cls(fmean(inner), squares / (freedom * len(inner)), freedom)


@dataclass
class _Search:
    measure: Measure
    threshold: float
    comparisons: int
    on_comparison: Callable[[Sequence[str]], object]
    steps: list[Step] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def run(self, releases: Sequence[str]) -> SearchResult:
        older, *between, newer = releases
        verdict, ratio = self._compare_pair(older, newer)
        if verdict != "found" or not between:
            return self._outcome(verdict, older, newer, ratio)
        while between:
            middle = between[len(between) // 2]
            try:
                step, is_certain, ratio = self._compare_middle(older, middle, newer)
            except ReleaseError as error:
                if error.release != middle:
                    raise
                self.skipped[middle] = str(error)
                between.remove(middle)
                continue
            if not is_certain:
                verdict = "gradual" if ratio.is_within(self.threshold) else "undecided"
                return self._outcome(verdict, older, newer, ratio)
            index = between.index(middle)
            between = between[:index] if step.followed[1] == middle else between[index + 1 :]
            older, newer = step.followed
        # Anew, because the comparison that led here was chosen for what it showed.
        verdict, ratio = self._compare_pair(older, newer)
        return self._outcome("gradual" if verdict == "no change" else verdict, older, newer, ratio)

    def _compare_pair(self, older: str, newer: str) -> tuple[Verdict, Ratio]:
        def verdict(comparison: _SequentialTest) -> Verdict:
            ratio = comparison.ratio(older, newer)
            if ratio.is_beyond(self.threshold):
                return "found"
            return "no change" if ratio.is_within(self.threshold) else "undecided"

        comparison = self._compare((older, newer), lambda c: verdict(c) != "undecided")
        self._note(comparison, (older, newer))
        return verdict(comparison), comparison.ratio(older, newer)

    def _compare_middle(self, older: str, middle: str, newer: str) -> tuple[Step, bool, Ratio]:
        """Compare three; return where to go on, whether that is certain, and the whole change."""
        releases = older, middle, newer
        comparison = self._compare(releases, lambda c: c.larger_change(*releases)[1])
        followed, is_certain = comparison.larger_change(*releases)
        # Of two changes of the same size either may be followed, if there are two.
        changes = comparison.ratio(older, middle), comparison.ratio(middle, newer)
        several = all(change.is_beyond(self.threshold) for change in changes)
        step = self._note(comparison, followed, several)
        return step, is_certain or several, comparison.ratio(older, newer)

    def _compare(
        self, releases: Sequence[str], is_decided: Callable[[_SequentialTest], bool]
    ) -> _SequentialTest:
        self.on_comparison(releases)
        # At its end, a comparison may also be decided by the two intervals of the middle release.
        comparison = _SequentialTest(ERROR_RATE / self.comparisons / (LOOKS + 2))
        for _ in range(LOOKS):
            comparison.add(self.measure(releases, PROCESSES))
            if is_decided(comparison):
                break
        return comparison

    def _note(
        self, comparison: _SequentialTest, followed: tuple[str, str], several: bool = False
    ) -> Step:
        values = {release: tuple(values) for release, values in comparison.values.items()}
        step = Step(values=values, followed=followed, has_several_changes=several)
        self.steps.append(step)
        return step

    def _outcome(self, verdict: Verdict, older: str, newer: str, ratio: Ratio) -> SearchResult:
        return SearchResult(
            verdict=verdict,
            older=older,
            newer=newer,
            ratio=ratio,
            confidence=1 - ERROR_RATE,
            steps=tuple(self.steps),
            skipped=self.skipped,
        )
