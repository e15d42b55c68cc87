"""Conclusions about published values: the rules, and their application to our measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import log

from jaxcap.published.recomputations import Recomputation, recompute
from jaxcap.published.replications import Replication, find_replications, least_time_s
from jaxcap.published.values import MISTAKES, NOT_AWAITED, PublishedValue, load
from jaxcap.results.recordings import Recording
from jaxcap.results.statistics import Estimate

#: Times that differ by no more than this factor count as equal, because two computers of the same kind
#: may differ as much.
FACTOR = 2.0
#: A mistake explains a published time if repeating it changes our time by this share of the distance
#: between the two, on a logarithmic scale. At least half will do, because libraries and devices
#: changed too. At most it is twice, because the mistake has to yield about that number.
EXPLAINED_SHARE = (0.5, 2.0)
#: No computer does work that takes ours so many times as long in about the same time.
MORE_TIME = 100
# Its code has changed little, so its times tell one computer from another.
_REFERENCE = "NumPy"


class Conclusion(StrEnum):
    """How a published value compares with our measurements."""

    REPRODUCED = "reproduced"
    FASTER_LIBRARY = "faster library"
    SLOWER_LIBRARY = "slower library"
    OTHER_DEVICE = "device or library"
    MISTAKE = "mistake"
    NOT_COMPARABLE = "not comparable"


#: What each conclusion means.
MEANINGS: Mapping[Conclusion, str] = {
    Conclusion.REPRODUCED: (
        "Our time for the same work, measured correctly, is within a factor of "
        f"{FACTOR:g} of the published one. A value that is not a time is equal, apart from the "
        "rounding of 32-bit numbers."
    ),
    Conclusion.FASTER_LIBRARY: (
        f"We are faster by more than a factor of {FACTOR:g}, even after we allow for the computer. In each "
        "task that we can compare, NumPy's two times are within that factor, and we divide by their ratio. "
        "(NumPy's code has changed little.)"
    ),
    Conclusion.SLOWER_LIBRARY: (
        "The reverse: we are slower, even with the document's mistakes, although NumPy is not."
    ),
    Conclusion.OTHER_DEVICE: (
        "The times differ, and by these rules no mistake explains it. Perhaps the computer does: NumPy's "
        "times differ as well, or its data sheet explains the published time. Or we can't tell, because no "
        "time of NumPy was published for that work."
    ),
    Conclusion.MISTAKE: (
        "The document made a mistake. If we repeat it, our time moves towards the published one, by "
        f"{EXPLAINED_SHARE[0]:g} to {EXPLAINED_SHARE[1]:g} times the distance between the two on a "
        "logarithmic scale. Three other things also count as proof: a "
        f"time of less than 1/{FACTOR:g} of what the device's data sheet allows, about the same time for "
        f"work that takes us {MORE_TIME} times as long, or a computation of ours that shows the mistake."
    ),
    Conclusion.NOT_COMPARABLE: (
        "The document omits what we would need to repeat the work, or we have not measured the "
        "same work on such a device."
    ),
}


@dataclass(frozen=True)
class Assessment:
    """A conclusion about a published value, and the evidence for it.

    Attributes
    ----------
    published
        The published value.
    conclusion
        How it compares with our measurements.
    reason
        What the conclusion follows from, beyond the published time and ours, in one or two sentences.
    mistake
        The mistake that explains the value, if that is the conclusion; otherwise empty.
    replications
        Our measurement on each device of the same kind; the conclusion follows from the first.
    recomputation
        Our computation of a value that is not a time.
    """

    published: PublishedValue
    conclusion: Conclusion
    reason: str
    mistake: str = ""
    replications: Sequence[Replication] = ()
    recomputation: Recomputation | None = None

    @property
    def label(self) -> str:
        """The conclusion, with the mistake if it is one."""
        return f"{self.conclusion}: {self.mistake}" if self.mistake else str(self.conclusion)


def assess(published: PublishedValue, recordings: Sequence[Recording]) -> Assessment:
    """Compare a published value with our measurements.

    Parameters
    ----------
    published
        One of the values of `load`.
    recordings
        Recordings of all machines. The first that measured the same work on the same kind of device
        decides.
    """
    replications = find_replications(published, recordings)
    recomputation = recompute(published) if published.computation else None
    assessment = _refute_by_data_sheet(published)
    if assessment is None:
        if published.incomparable:
            assessment = _explain_incomparable(published, recomputation)
        elif recomputation:
            assessment = _assess_value(published, recomputation)
        elif published.time_s and replications:
            assessment = _assess_time(published, published.time_s, replications[0], recordings)
        else:
            assessment = _explain_unmeasured(published)
    return replace(assessment, replications=replications, recomputation=recomputation)


def assess_all(recordings: Sequence[Recording]) -> list[Assessment]:
    """Compare all published values with our measurements."""
    return [assess(published, recordings) for published in load().values()]


def _refute_by_data_sheet(published: PublishedValue) -> Assessment | None:
    """Refute a time in which the device could not have done the work."""
    least_s, published_s = least_time_s(published), published.time_s
    if not (least_s and published_s and NOT_AWAITED in published.mistakes):
        return None
    if FACTOR * published_s >= least_s:
        return None
    reason = (
        f"{MISTAKES[NOT_AWAITED]}. By its data sheet, the {published.device} needs at least "
        f"{format_time(least_s)}."
    )
    return Assessment(published, Conclusion.MISTAKE, reason, NOT_AWAITED)


def _explain_incomparable(
    published: PublishedValue, recomputation: Recomputation | None
) -> Assessment:
    reason = published.incomparable[0].upper() + published.incomparable[1:]
    reason += f"; {recomputation.reason}" if recomputation else "."
    return Assessment(published, Conclusion.NOT_COMPARABLE, reason)


def _explain_unmeasured(published: PublishedValue) -> Assessment:
    reason = "None of our machines has done this yet."
    if published.variant:
        reason = f"This has not been measured on a {published.platform.upper()} yet."
    return Assessment(published, Conclusion.NOT_COMPARABLE, reason)


def _assess_value(published: PublishedValue, recomputation: Recomputation) -> Assessment:
    if not recomputation.agrees:
        reason = f"We get {recomputation.text}, and nothing explains the difference."
        return Assessment(published, Conclusion.NOT_COMPARABLE, reason)
    if not published.mistakes:
        return Assessment(published, Conclusion.REPRODUCED, recomputation.reason)
    mistake = published.mistakes[0]
    return Assessment(
        published, Conclusion.MISTAKE, f"{MISTAKES[mistake]}: {recomputation.reason}", mistake
    )


def _assess_time(
    published: PublishedValue,
    published_s: float,
    replication: Replication,
    recordings: Sequence[Recording],
) -> Assessment:
    ours, mistaken = replication.correct_time, replication.mistaken_time
    if _is_near(published_s / ours.value):
        repeated = f", and with the mistakes ours is {mistaken.short}" if published.mistakes else ""
        reason = f"The times are within a factor of {FACTOR:g}{repeated}."
        return Assessment(published, Conclusion.REPRODUCED, reason)
    least_s = least_time_s(published)
    if least_s and published_s < FACTOR * least_s:
        reason = f"By its data sheet, the {published.device} needs at least {format_time(least_s)}."
        return Assessment(published, Conclusion.OTHER_DEVICE, reason)
    if _mistakes_explain(replication, published_s):
        too_short = published_s < ours.value and NOT_AWAITED in published.mistakes
        mistake = NOT_AWAITED if too_short else published.mistakes[0]
        reason = f"{MISTAKES[mistake]}. With this mistake, our time is {mistaken.short}."
        return Assessment(published, Conclusion.MISTAKE, reason, mistake)
    if same := _same_for_more_work(published, recordings):
        reason = f"{MISTAKES[NOT_AWAITED]}. {same}"
        return Assessment(published, Conclusion.MISTAKE, reason, NOT_AWAITED)
    return _assess_by_reference(published, published_s, replication)


def _same_for_more_work(published: PublishedValue, recordings: Sequence[Recording]) -> str:
    """Say if a time without waiting hardly grows over sizes over which ours grows; else nothing."""
    if NOT_AWAITED not in published.mistakes or "size" not in published.parameters:
        return ""

    def series(value: PublishedValue) -> tuple[object, ...]:
        others = {name: v for name, v in value.parameters.items() if name != "size"}
        return value.document, value.implementation, value.experiment, others

    alike = [value for value in load().values() if series(value) == series(published)]
    alike.sort(key=lambda value: int(value.parameters["size"]))
    times = [value.time_s for value in alike if value.time_s]
    ours = [r.correct_time.value for v in alike for r in find_replications(v, recordings)[:1]]
    if max(times) > FACTOR * min(times) or max(ours) < MORE_TIME * min(ours):
        return ""
    return (
        f"From {alike[0].task} to {alike[-1].task}, the published times only range from "
        f"{format_time(min(times))} to {format_time(max(times))}."
    )


def _assess_by_reference(
    published: PublishedValue, published_s: float, replication: Replication
) -> Assessment:
    """Tell a different library from a different device by what NumPy took on both computers."""
    ratios, mistaken = replication.reference_ratios, replication.mistaken_time
    if not ratios:
        lacks = "No time of NumPy was published that tells that computer from ours for this work."
        if published.implementation == _REFERENCE:
            lacks = f"This is a time of {_REFERENCE}, by which we compare computers."
        if published.reference_numbers:
            lacks = "A time of NumPy was published for that computer, but we have none of our own."
        return Assessment(published, Conclusion.OTHER_DEVICE, lacks)
    reference = _compare_computers(published, ratios)
    if not all(map(_is_near, ratios)):
        return Assessment(published, Conclusion.OTHER_DEVICE, reference)
    if published_s > FACTOR * max(1, *ratios) * replication.correct_time.value:
        return Assessment(published, Conclusion.FASTER_LIBRARY, reference)
    if min(1, *ratios) * mistaken.value > FACTOR * published_s:
        return Assessment(published, Conclusion.SLOWER_LIBRARY, reference)
    repeated = f"With the mistakes, our time is {mistaken.short}. " if published.mistakes else ""
    return Assessment(published, Conclusion.OTHER_DEVICE, f"{repeated}{reference}")


def _compare_computers(published: PublishedValue, ratios: Sequence[float]) -> str:
    """Say how long NumPy took on the published computer, for one task or for several."""
    task = load()[published.reference_numbers[0]].task.partition(",")[0]
    share = f"{ratios[0]:.2f}"
    if len(ratios) > 1:
        task, share = f"{len(ratios)} tasks", f"{min(ratios):.2f} to {max(ratios):.2f}"
    return f"NumPy took {share} times as long for {task} on that computer as on ours."


def _is_near(ratio: float) -> bool:
    return 1 / FACTOR <= ratio <= FACTOR


def _mistakes_explain(replication: Replication, published_s: float) -> bool:
    """Whether the mistakes clearly change our time, and bring it close to the published one."""
    ours, mistaken = replication.correct_time, replication.mistaken_time
    if mistaken.low <= ours.high and ours.low <= mistaken.high:
        return False
    least, most = EXPLAINED_SHARE
    share = log(mistaken.value / ours.value) / log(published_s / ours.value)
    return least <= share <= most


def format_time(seconds: float) -> str:
    """Format a published time, which has no interval, with its unit and in four digits."""
    return Estimate(seconds, seconds, seconds, confidence=1.0, unit="s", basis="").short
