"""Public issues on performance, replayed: what was reported, and in which releases it shows here.

Each replay runs a few lines of our own, in ``jaxcap.releases.benchmarks.issues``, with smaller inputs
than most reports had, and on another machine. So a report that is not seen here may still be right.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from pathlib import Path
from typing import Literal

from jaxcap.releases.benchmarks import BENCHMARKS
from jaxcap.releases.changes.series import took_turns
from jaxcap.releases.changes.spans import name_span
from jaxcap.releases.quantities import JAX
from jaxcap.releases.recording.files import TWIN, version_key
from jaxcap.results import Result, ResultSet
from jaxcap.results.statistics import CONFIDENCE, NO_DIFFERENCE, Estimate, Speedup

# The columns of ``replays.csv`` that are texts; another one is a comment.
_TEXTS = ("thread", "report", "benchmark", "good", "alternative", "until")

ReplayOutcome = Literal["reproduced", "smaller", "not seen", "undecided"]
MOST_SPANS = 4  # in a sentence
#: What became of a report until the newest release that it was compared with.
ReplayStanding = Literal["still there", "fixed", "undecided", "not seen", "not measured"]


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A report that something is slow, and how to tell whether it is.

    It was either compared with an earlier release (``good``) or with another way to compute the same
    (``alternative``).

    Attributes
    ----------
    thread
        Where it was reported, such as ``"jax-ml/jax#26145"``.
    report
        What was reported, in a sentence of our own.
    benchmark
        The name of the benchmark that replays it, whose quantity is what was reported to be slow.
    factor
        How many times slower it was reported to be. Where that grows with the size of the input, it
        is scaled down to ours.
    good
        The last release that was reported to be fast.
    alternative
        The variant of the benchmark that was reported to be faster.
    until
        The last release that the report is about, if later ones were reported to be slower still.
    """

    thread: str
    report: str
    benchmark: str
    factor: float
    good: str = ""
    alternative: str = ""
    until: str = ""

    @property
    def url(self) -> str:
        """Address of the thread."""
        return "https://github.com/{}/issues/{}".format(*self.thread.split("#"))

    @property
    def threshold(self) -> float:
        """How many times slower it has to be to count as reproduced.

        The root of the reported factor, which is half of it on a log scale, because another machine
        rarely shows the same factor; and at least what other comparisons call a difference.
        """
        return max(sqrt(self.factor), NO_DIFFERENCE)


@dataclass(frozen=True)
class ReplayVerdict:
    """Whether a release shows what was reported.

    Attributes
    ----------
    speedup
        How many times as fast it is as what it is compared with, so that a number below 1 confirms
        the report.
    threshold
        From `Replay`.
    over
        The release or the variant that it is compared with.
    """

    speedup: Speedup
    threshold: float
    over: str = ""

    @property
    def slowdown(self) -> Estimate:
        """How many times as long it takes as what it is compared with."""
        return self.speedup.ratio_of(1)

    @property
    def is_seen(self) -> bool:
        """Whether there is certainly a slowdown, as large as reported or smaller."""
        return self.speedup.confidence >= CONFIDENCE and 1 / self.speedup.high >= NO_DIFFERENCE

    @property
    def outcome(self) -> ReplayOutcome:
        """The verdict, which holds for the whole interval of the slowdown.

        ``"smaller"`` is certainly there, and certainly less than the threshold. ``"not seen"`` may be
        no slowdown at all, and is less than `bound`. Otherwise it is ``"undecided"``.
        """
        least, most = 1 / self.speedup.high, 1 / self.speedup.low
        if self.speedup.confidence < CONFIDENCE:
            return "undecided"
        if least >= self.threshold:
            return "reproduced"
        if self.is_seen and most < self.threshold:
            return "smaller"
        return "not seen" if most < self.bound and not self.is_seen else "undecided"

    @property
    def bound(self) -> float:
        """How many times slower it may be and yet count as not seen.

        The root of the threshold, which is a quarter of the reported factor on a log scale, and at
        least what other comparisons call a difference.
        """
        return max(sqrt(self.threshold), NO_DIFFERENCE)


def judge(replay: Replay, recorded: Mapping[str, ResultSet]) -> dict[str, ReplayVerdict]:
    """Compare all releases with what was reported.

    Parameters
    ----------
    replay
        The report.
    recorded
        The results of each release.

    Returns
    -------
    dict
        The verdicts by release, oldest first. Releases without results of the benchmark are left
        out, as are twins. It is empty if no release is as old as the last good one.

    Raises
    ------
    ResultsError
        If the clock was too coarse for a variant.
    """
    releases = sorted((r for r in recorded if not r.endswith(TWIN)), key=version_key)
    slow = [
        r
        for r in releases
        if _find(recorded[r], replay.benchmark, JAX)
        and not (replay.until and version_key(r) > version_key(replay.until))
    ]
    if replay.alternative:
        fast = {release: release for release in slow}
    else:
        # The nearest release that was not yet slow. The fastest one of all would be fast by chance.
        good = [release for release in slow if version_key(release) <= version_key(replay.good)]
        fast = dict.fromkeys(slow, good[-1]) if good else {}
    verdicts = {}
    for release, other_release in fast.items():
        sets = recorded[release], recorded[other_release]
        result = _find(sets[0], replay.benchmark, JAX)
        other = _find(sets[1], replay.benchmark, replay.alternative or JAX)
        if result and other:
            speedup = _speedup(
                result,
                other,
                is_first_call=BENCHMARKS[replay.benchmark].quantity == "first call",
                in_turns=took_turns(*(results.environment.measured_at for results in sets)),
            )
            over = replay.alternative or other_release
            verdicts[release] = ReplayVerdict(speedup, replay.threshold, over)
    return verdicts


def _find(results: ResultSet, benchmark: str, variant: str) -> Result | None:
    for result in results:
        if result.parameters["benchmark"] == benchmark and result.variant == variant:
            return result
    return None


def _speedup(result: Result, other: Result, *, is_first_call: bool, in_turns: bool) -> Speedup:
    """Divide the times of ``other`` by those of a result.

    If they took turns, processes with the same number ran in the same round of the recording, so that
    what slows the machine for a while slows both. Otherwise the machine may have drifted between them.
    """
    if not in_turns:
        time, over = (r.first_call if is_first_call else r.time for r in (result, other))
        return Speedup.from_separate_times(time, over=over)
    if is_first_call:
        times = [run.first_call_s for run in result.runs]
        others = [run.first_call_s for run in other.runs]
    elif result.comparison == other.comparison:
        return result.speedup(other)
    else:
        times, others = list(result.time.medians), list(other.time.medians)
    # One that was interrupted may have fewer processes.
    ratios = [[slow / fast] for fast, slow in zip(times, others, strict=False)]
    return Speedup.from_runs(ratios, devices=(result.device,))


def summary(verdicts: Mapping[str, ReplayVerdict]) -> str:
    """Say in which releases it shows, such as ``"reproduced from 0.4.32 to 0.5.0, fixed in 0.5.3"``.

    Undecided releases are counted where they interrupt a span, and named at the end, where it is told
    whether any of what was seen before is certainly still there.

    Parameters
    ----------
    verdicts
        By release, oldest first.
    """
    releases = list(verdicts)
    decided = [
        (r, verdict.outcome) for r, verdict in verdicts.items() if verdict.outcome != "undecided"
    ]
    if not decided:
        return "undecided" if verdicts else "not measured"
    phrases = _phrases(decided, verdicts)
    newest_decided = decided[-1][0]
    if phrases and (later := releases[releases.index(newest_decided) + 1 :]):
        is_there = all(verdicts[release].is_seen for release in later)
        what = "at least in part" if is_there else "undecided"
        phrases.append(f"{what} {name_span(later, releases)}")
    if phrases or len(decided) == len(releases):
        return ", ".join(phrases) or "not seen here"
    return f"not seen {_count_of(len(decided), len(releases))}"


def _phrases(
    decided: Sequence[tuple[str, ReplayOutcome]], verdicts: Mapping[str, ReplayVerdict]
) -> list[str]:
    """Describe each span of releases with one outcome, from the first that shows it; many as one."""
    releases = list(verdicts)
    seen = [release for release, outcome in decided if outcome != "not seen"]
    spans = [
        ([release for release, _ in group], outcome)
        for outcome, group in groupby(decided, key=lambda item: item[1])
    ]
    phrases: list[str] = []
    for span, outcome in spans:
        if outcome != "not seen":
            what = "reproduced" if outcome == "reproduced" else "smaller than reported"
            phrases.append(f"{what} {_where(span, releases)}")
        elif phrases and span[-1] == decided[-1][0]:
            # Where the release before is undecided, it may have been fixed there already.
            before = releases[releases.index(span[0]) - 1]
            phrases.append(f"fixed {_in_or_by(before, verdicts)} {span[0]}")
        elif phrases:
            phrases.append(f"not seen {name_span(span, releases)}")
    if len(phrases) <= MOST_SPANS:
        return phrases
    on_and_off = f"seen on and off from {seen[0]} to {seen[-1]}"
    return [on_and_off, *phrases[-1:]] if decided[-1][1] == "not seen" else [on_and_off]


def standing(verdicts: Mapping[str, ReplayVerdict]) -> ReplayStanding:
    """Tell whether the newest release shows what was reported, and if not, whether any other does.

    Parameters
    ----------
    verdicts
        By release, oldest first.
    """
    if not verdicts:
        return "not measured"
    *earlier, newest = verdicts.values()
    if newest.is_seen:  # though how much of it is left may be undecided
        return "still there"
    outcomes = [verdict.outcome for verdict in (*earlier, newest)]
    if any(verdict.is_seen for verdict in earlier):
        return "fixed" if newest.outcome == "not seen" else "undecided"
    return "not seen" if "not seen" in outcomes else "undecided"


def _where(span: Sequence[str], releases: Sequence[str]) -> str:
    """Name the span of releases, and say how many of them lie between, undecided."""
    length = releases.index(span[-1]) - releases.index(span[0]) + 1
    if len(span) == length:
        return name_span(span, releases)
    count = _count_of(len(span), length)
    return count if length == len(releases) else f"{name_span(span, releases)} ({count})"


def _count_of(decided: int, releases: int) -> str:
    others = "other" if decided == releases - 1 else "others"
    return f"in {decided} of {releases} releases, undecided in the {others}"


def _in_or_by(before: str, verdicts: Mapping[str, ReplayVerdict]) -> str:
    return "by" if verdicts[before].outcome == "undecided" else "in"


def _load() -> tuple[Replay, ...]:
    with Path(__file__).with_name("replays.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Replay(factor=float(row["factor"]), **{name: row[name] for name in _TEXTS})
            for row in csv.DictReader(file)
        )


#: Those that are slower than an earlier release, and then those that are slower than another way.
#:
#: :meta hide-value:
REPLAYS = _load()
