"""The published values and ours: a chart for an overview, and tables to look things up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from jaxcap.published.values import DOCUMENTS
from jaxcap.published.verdicts import FACTOR, Assessment, Verdict, exact_time, format_time
from jaxcap.report import figures
from jaxcap.results.environment import Device
from jaxcap.results.recordings import Recording
from jaxcap.results.statistics import Speedup
from jaxcap.results.tables import Table

# The colour and the marker of each verdict.
_LOOKS: Mapping[Verdict, tuple[str, str]] = MappingProxyType(
    dict(zip(Verdict, zip(figures.COLOURS, figures.MARKERS, strict=True), strict=True))
)


def chart(assessments: Sequence[Assessment]) -> Figure:
    """Draw our times against the published ones, coloured and marked by verdict.

    A hollow marker shows what we measured with the document's mistake, where that is the verdict.
    Values that we have no time for appear only in the legend's counts.
    """
    with plt.rc_context(figures.STYLE):
        figure, axes = plt.subplots(figsize=(7.0, 6.0))
        for verdict in Verdict:
            _points(axes, verdict, [each for each in assessments if each.verdict is verdict])
        if any(assessment.evidence for assessment in assessments):
            _diagonal(axes)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(EngFormatter(unit="s"))
        axes.set_xlabel("published time of a call")
        axes.set_ylabel("our time of a call")
        axes.set_title(f"{len(assessments)} published values, then and now")
        figure.legend(loc="outside lower center", ncols=3, fontsize=9.5)
    return figure


def _points(axes: Axes, verdict: Verdict, assessments: Sequence[Assessment]) -> None:
    colour, marker = _LOOKS[verdict]
    measured = [
        (assessment.published.time_s, assessment.evidence[0])
        for assessment in assessments
        if assessment.published.time_s and assessment.evidence
    ]
    xs = [published_s for published_s, _ in measured]
    ys = [evidence.corrected.value for _, evidence in measured]
    axes.loglog(xs, ys, marker, color=colour, label=f"{verdict} ({len(assessments)})")
    if verdict is Verdict.MISTAKE:
        mistaken = [evidence.as_published.value for _, evidence in measured]
        label = f"with the mistake ({len(mistaken)})"
        axes.loglog(xs, mistaken, marker, color=colour, mfc="none", label=label)
        axes.vlines(xs, ys, mistaken, colors=colour, lw=0.6, alpha=0.6, zorder=1)


def _diagonal(axes: Axes) -> None:
    """Draw the line of equal times, and the band of those within the factor."""
    ends = [
        min(axes.get_xlim()[0], axes.get_ylim()[0]),
        max(axes.get_xlim()[1], axes.get_ylim()[1]),
    ]
    axes.plot(ends, ends, color=figures.GRID, lw=1.2, zorder=0)
    low, high = ([end * factor for end in ends] for factor in (1 / FACTOR, FACTOR))
    axes.fill_between(ends, low, high, color=figures.GRID, alpha=0.2, lw=0, zorder=0)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)


def tables(assessments: Sequence[Assessment], recordings: Iterable[Recording]) -> Iterator[Table]:
    """Tabulate assessments, one table for each document.

    Columns show the time on each device, in the order of the recordings.
    """
    devices = dict.fromkeys(
        result.device
        for recording in recordings
        for results in recording.sets.values()
        for result in results.results
    )
    for document, title in DOCUMENTS.items():
        rows = [each for each in assessments if each.published.document == document]
        if rows:
            yield _table(title, rows, devices)


def _table(title: str, assessments: Sequence[Assessment], devices: Iterable[Device]) -> Table:
    measured = {evidence.device for each in assessments for evidence in each.evidence}
    devices = [device for device in devices if device in measured]
    is_computed = any(each.computed for each in assessments)
    headers = ["what", "by", "verdict", "on", "then"]
    headers += [text for device in devices for text in (f"now: {device}", "then / now")]
    headers += [*(["computed"] if is_computed else []), "why", "as published"]
    rows = [
        (
            each.published.task,
            each.published.implementation,
            each.label,
            each.published.device,
            format_time(each.published.time_s) if each.published.time_s else "",
            *(text for device in devices for text in _cells(each, device)),
            *([each.computed.text if each.computed else ""] if is_computed else []),
            each.reason,
            each.published.printed,
        )
        for each in assessments
    ]
    counts = Counter(str(each.verdict) for each in assessments).most_common()
    note = f"{len(rows)} values: {', '.join(f'{count} {verdict}' for verdict, count in counts)}."
    return Table(title, headers, rows, [note])


def _cells(assessment: Assessment, device: Device) -> tuple[str, str]:
    published_s = assessment.published.time_s
    for evidence in assessment.evidence:
        if published_s is not None and evidence.device == device:
            time = evidence.corrected
            speedup = Speedup.from_separate_times(time, over=exact_time(published_s))
            return time.short_with_range, speedup.short
    return "", ""
