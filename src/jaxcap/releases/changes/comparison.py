"""What changed from release to release, among all benchmarks that were recorded on a machine.

This module needs no JAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf, log
from typing import Literal, Self

from jaxcap.releases.changes.series import (
    FALSE_SHARE,
    LEAST_CHANGE,
    ReleaseChange,
    Series,
    adjust,
)
from jaxcap.releases.quantities import JAX, NUMPY, QUANTITIES, Quantity, estimate_of
from jaxcap.releases.recording.files import TWIN, ReleaseFiles
from jaxcap.results import ResultSet
from jaxcap.results.statistics import Estimate

#: What a second recording says about a change.
Confirmation = Literal["seen again", "contradicted", "undecided"]

#: The topic of benchmarks that the package doesn't have any more.
OTHER = "others"


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
    second_recording
        A second recording of the largest changes, if there is one.
    """

    files: ReleaseFiles
    sets: Mapping[str, ResultSet]
    topics: Mapping[str, str]
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    second_recording: Releases | None = None

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
        measured_at = {
            release: results.environment.measured_at for release, results in self.sets.items()
        }
        series = [
            Series(
                benchmark=benchmark,
                topic=self.topics.get(benchmark, OTHER),
                variant=variant,
                quantity=quantity,
                estimates=by_release,
                measured_at=measured_at,
            )
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
        return _largest_first(filter(self.is_own_change, self.steps))

    def is_own_change(self, change: ReleaseChange) -> bool:
        """Tell whether a change counts: it is JAX's own, and no second recording contradicts it."""
        return (
            change.is_change
            and not self._control_moved(change)
            and not self._is_contradicted(change)
        )

    @property
    def contradicted(self) -> list[ReleaseChange]:
        """The steps that would count as changes if a second recording didn't contradict them."""
        return [c for c in self.steps if c.is_change and self._is_contradicted(c)]

    def change_in_second_recording(self, change: ReleaseChange) -> ReleaseChange | None:
        """Return what a second recording says about a change; None if it didn't measure it."""
        wanted = change.series
        for series in (
            self.second_recording.of_jax(wanted.quantity) if self.second_recording else ()
        ):
            measured = {change.before, change.after} <= series.estimates.keys()
            if series.benchmark == wanted.benchmark and measured:
                return series.compare(change.before, change.after)
        return None

    def confirmation(self, change: ReleaseChange) -> Confirmation | None:
        """Tell whether a second recording shows a change too; None if it didn't measure it.

        It contradicts a change if its whole interval excludes one in the same direction that would be
        large enough to count.
        """
        second = self.change_in_second_recording(change)
        if second is None:
            return None
        if change.ratio > 1:
            likeliest, most = second.ratio, second.high
        else:
            likeliest, most = 1 / second.ratio, 1 / second.low if second.low else inf
        if most < LEAST_CHANGE:
            return "contradicted"
        # Without an interval, the p-value is nan; what is counted needs neither.
        is_certain = second.series.is_exact or second.p <= FALSE_SHARE
        return "seen again" if is_certain and likeliest >= LEAST_CHANGE else "undecided"

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
        """The newest release beside the earlier one that it trails by most; the worst first."""
        changes = adjust(
            series.compare(release, self.newest)
            for series in self.of_jax()
            if self.newest in series.estimates
            for release in series.releases[:-1]
        )
        worst: dict[str, ReleaseChange] = {}
        for change in changes:
            name = change.series.benchmark
            if change.ratio > 1 and self.is_own_change(change):
                worst[name] = max(change, worst.get(name, change), key=lambda c: c.ratio)
        return sorted(worst.values(), key=lambda c: c.ratio, reverse=True)

    def between(self, before: str, after: str) -> list[ReleaseChange]:
        """Compare two releases: the changes that are JAX's own, the largest first."""
        compared = adjust(
            series.compare(before, after)
            for series in self.of_jax()
            if {before, after} <= series.estimates.keys()
        )
        return _largest_first(filter(self.is_own_change, compared))

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
    def twin_comparisons(self) -> list[ReleaseChange]:
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


def _largest_first(changes: Iterable[ReleaseChange]) -> list[ReleaseChange]:
    return sorted(changes, key=lambda change: change.factor, reverse=True)
