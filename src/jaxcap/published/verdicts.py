"""Verdicts on published figures: rules, and the measurements that they are applied to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log
from types import MappingProxyType
from typing import NamedTuple

from jaxcap.published.evidence import Evidence, evidence, least_time_s
from jaxcap.published.recomputed import Computed, compute
from jaxcap.published.values import MISTAKES, NOT_AWAITED, Published
from jaxcap.results.recordings import Recording
from jaxcap.results.statistics import Estimate

#: Times that differ by less are taken for the same: another computer of the same kind does as much.
FACTOR = 2.0
#: A mistake explains a figure if it changes our time by so many times its distance from the figure,
#: in logarithms: by half of it at least, since libraries and devices changed too, and not by more than
#: twice of it, since it has to give such a number.
EXPLAINED = (0.5, 2.0)


class Verdict(StrEnum):
    """What became of a published figure."""

    REPRODUCED = "reproduced"
    FASTER_LIBRARY = "faster library"
    SLOWER_LIBRARY = "slower library"
    OTHER_DEVICE = "other device"
    MISTAKE = "measurement mistake"
    NOT_COMPARABLE = "not comparable"


#: What each verdict means.
MEANINGS: Mapping[Verdict, str] = MappingProxyType(
    {
        Verdict.REPRODUCED: (
            f"Our time for the same work, measured well, is within a factor of {FACTOR:g}. A value is "
            "equal but for the rounding of 32-bit numbers."
        ),
        Verdict.FASTER_LIBRARY: (
            f"We are faster by more than a factor of {FACTOR:g}, although NumPy, which has changed "
            "little, took the published computer about as long as ours: within that factor too."
        ),
        Verdict.SLOWER_LIBRARY: (
            "The reverse: we are slower, although NumPy is not, and with the document's mistakes too."
        ),
        Verdict.OTHER_DEVICE: (
            "The times differ, and no mistake explains it. NumPy took other times too, or no figure "
            "from the same computer tells the library's part from the device's, or the published "
            "device is known to need that long."
        ),
        Verdict.MISTAKE: (
            "The document made a mistake. We made it too, and that surely changes our time towards "
            f"the published one, by {EXPLAINED[0]:g} to {EXPLAINED[1]:g} times the distance between "
            "the two, in logarithms. Or the published device would have to be more than "
            f"{FACTOR:g} times better than its data sheet. Or we computed what shows it."
        ),
        Verdict.NOT_COMPARABLE: (
            "Nobody could do the same, because the document leaves out what it takes, or we have not "
            "measured it on such a device."
        ),
    }
)


@dataclass(frozen=True)
class Judgement:
    """A verdict on a figure.

    Attributes
    ----------
    figure
        Which.
    verdict
        What became of it.
    reason
        A sentence with the measurements that it follows from.
    evidence
        What was measured, on each device of the kind; the verdict follows from the first.
    computed
        What was computed in place of a measurement.
    mistake
        Which, if that is the verdict.
    """

    figure: Published
    verdict: Verdict
    reason: str
    evidence: Sequence[Evidence]
    computed: Computed | None
    mistake: str

    @property
    def label(self) -> str:
        """The verdict, with the mistake if it is one."""
        return f"{self.verdict}: {self.mistake}" if self.mistake else str(self.verdict)


class _Ruling(NamedTuple):
    verdict: Verdict
    reason: str
    mistake: str = ""


def judge(figure: Published, recordings: Iterable[Recording]) -> Judgement:
    """Judge a figure by what was measured.

    Parameters
    ----------
    figure
        One of `load`.
    recordings
        Of all machines. The first that measured the same work on the same kind of device decides.
    """
    recordings = list(recordings)
    found = evidence(figure, recordings)
    computed = compute(figure) if figure.computed else None
    ruling = _impossible(figure) or _incomparable(figure, computed)
    if ruling is None and computed:
        ruling = _of_value(figure, computed)
    elif ruling is None and figure.time_s and found:
        ruling = _of_time(figure, figure.time_s, found[0])
    ruling = ruling or _unmeasured(figure, recordings)
    return Judgement(figure, ruling.verdict, ruling.reason, found, computed, ruling.mistake)


def _impossible(figure: Published) -> _Ruling | None:
    """Refute a time in which the device could not have done the work."""
    least_s, theirs_s = least_time_s(figure), figure.time_s
    if not (least_s and theirs_s and NOT_AWAITED in figure.mistakes):
        return None
    if theirs_s * FACTOR >= least_s:
        return None
    reason = (
        f"{MISTAKES[NOT_AWAITED]}: by its data sheet the {figure.device} needs at least "
        f"{seconds(least_s)}, and {seconds(theirs_s)} was published."
    )
    return _Ruling(Verdict.MISTAKE, reason, NOT_AWAITED)


def _incomparable(figure: Published, computed: Computed | None) -> _Ruling | None:
    if not figure.incomparable:
        return None
    reason = figure.incomparable[0].upper() + figure.incomparable[1:]
    more = f"; {computed.reason}" if computed else "."
    return _Ruling(Verdict.NOT_COMPARABLE, reason + more)


def _of_value(figure: Published, computed: Computed) -> _Ruling:
    if not computed.agrees:
        return _Ruling(Verdict.NOT_COMPARABLE, f"We get {computed.text}, and nothing tells why.")
    if not figure.mistakes:
        return _Ruling(Verdict.REPRODUCED, computed.reason)
    mistake = figure.mistakes[0]
    return _Ruling(Verdict.MISTAKE, f"{MISTAKES[mistake]}: {computed.reason}", mistake)


def _unmeasured(figure: Published, recordings: Sequence[Recording]) -> _Ruling:
    kind = figure.platform.upper()
    results = (one for recording in recordings for one in recording.sets.values())
    measured = {result.device.platform for some in results for result in some.results}
    if not figure.variant:
        reason = "No machine of ours has done this yet."
    elif figure.platform not in measured:
        reason = f"No {kind} was measured yet."
    else:
        reason = f"This was not measured on a {kind} yet."
    return _Ruling(Verdict.NOT_COMPARABLE, reason)


def _of_time(figure: Published, theirs_s: float, found: Evidence) -> _Ruling:
    ours_s = found.right.value
    times = f"{seconds(theirs_s)} was published, and we measured {found.right.short}"
    if _is_near(theirs_s / ours_s):
        with_mistake = f", or {found.as_done.short} with its mistakes" if figure.mistakes else ""
        return _Ruling(Verdict.REPRODUCED, f"{times}{with_mistake}.")
    least_s = least_time_s(figure)
    if least_s and theirs_s < FACTOR * least_s:
        needs = f"the {figure.device} needs at least {seconds(least_s)} by its data sheet"
        return _Ruling(Verdict.OTHER_DEVICE, f"{times}; {needs}.")
    if _explains(found, theirs_s):
        too_short = theirs_s < ours_s and NOT_AWAITED in figure.mistakes
        mistake = NOT_AWAITED if too_short else figure.mistakes[0]
        both = f"in that way we measured {found.as_done.short}, and {found.right.short} otherwise"
        reason = f"{MISTAKES[mistake]}: {both}, where {seconds(theirs_s)} was published."
        return _Ruling(Verdict.MISTAKE, reason, mistake)
    if found.control is None:
        return _Ruling(Verdict.OTHER_DEVICE, f"{times}; no figure of that computer tells more.")
    control = f"NumPy took that computer {found.control:.2f} times as long as ours"
    if not _is_near(found.control):
        return _Ruling(Verdict.OTHER_DEVICE, f"{times}; {control}.")
    if theirs_s > ours_s:
        return _Ruling(Verdict.FASTER_LIBRARY, f"{times}, though {control}.")
    if found.as_done.value > FACTOR * theirs_s:
        return _Ruling(Verdict.SLOWER_LIBRARY, f"{times}, though {control}.")
    partly = f"{found.as_done.short} with its mistakes"
    return _Ruling(Verdict.OTHER_DEVICE, f"{times}, or {partly}; {control}.")


def _is_near(ratio: float) -> bool:
    return 1 / FACTOR <= ratio <= FACTOR


def _explains(found: Evidence, theirs_s: float) -> bool:
    """Whether the mistake surely changes our time, and about as far as to the published one."""
    right, as_done = found.right, found.as_done
    if as_done.low <= right.high and right.low <= as_done.high:
        return False
    least, most = EXPLAINED
    return least <= log(as_done.value / right.value) / log(theirs_s / right.value) <= most


def exact(value_s: float) -> Estimate:
    """Write a published time, which has no interval, as an estimate."""
    return Estimate(value_s, value_s, value_s, confidence=1.0, unit="s", basis="published")


def seconds(value_s: float) -> str:
    """Write a time with its unit, in four digits."""
    return exact(value_s).short
