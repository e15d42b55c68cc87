"""The published figures and ours: a chart to take in at a glance, and tables to look things up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from jaxcap.published.evidence import Evidence
from jaxcap.published.values import DOCUMENTS
from jaxcap.published.verdicts import FACTOR, Judgement, Verdict, exact, seconds
from jaxcap.report import figures
from jaxcap.results.environment import Device
from jaxcap.results.exports import times_faster
from jaxcap.results.recordings import Recording
from jaxcap.results.tables import Table

_LOOKS: Mapping[Verdict, tuple[str, str]] = MappingProxyType(
    dict(zip(Verdict, zip(figures.COLOURS, figures.MARKERS, strict=True), strict=False))
)


def chart(judgements: Sequence[Judgement]) -> Figure:
    """Draw our times against the published ones, coloured and marked by verdict.

    A hollow marker shows what we measured with the document's mistake, where that is the verdict.
    Figures that we have no time for are in the legend's counts only.
    """
    with plt.rc_context(figures.STYLE):
        figure, axes = plt.subplots(figsize=(7.0, 6.0))
        for verdict in Verdict:
            _points(axes, verdict, [one for one in judgements if one.verdict is verdict])
        if any(one.evidence for one in judgements):
            _diagonal(axes)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(EngFormatter(unit="s"))
        axes.set_xlabel("published time of a call")
        axes.set_ylabel("our time of a call")
        axes.set_title(f"{len(judgements)} published figures, then and now")
        figure.legend(loc="outside lower center", ncols=3, fontsize=9.5)
    return figure


def _points(axes: Axes, verdict: Verdict, judgements: Sequence[Judgement]) -> None:
    colour, marker = _LOOKS[verdict]
    drawn = [
        (one.figure.time_s, one.evidence[0])
        for one in judgements
        if one.figure.time_s and one.evidence
    ]
    xs = [theirs_s for theirs_s, _ in drawn]
    label = f"{verdict} ({len(judgements)})"
    axes.loglog(xs, [found.right.value for _, found in drawn], marker, color=colour, label=label)
    if verdict is Verdict.MISTAKE:
        mistaken = [found.as_done.value for _, found in drawn]
        hollow = f"with the mistake ({len(mistaken)})"
        axes.loglog(xs, mistaken, marker, color=colour, mfc="none", label=hollow)
        for theirs_s, found in drawn:
            ends = [found.right.value, found.as_done.value]
            axes.plot([theirs_s] * 2, ends, color=colour, lw=0.6, alpha=0.6, zorder=1)


def _diagonal(axes: Axes) -> None:
    """Draw where both times are equal, with all that is within the factor."""
    ends = [
        min(axes.get_xlim()[0], axes.get_ylim()[0]),
        max(axes.get_xlim()[1], axes.get_ylim()[1]),
    ]
    axes.plot(ends, ends, color=figures.GRID, lw=1.2, zorder=0)
    low, high = ([end * factor for end in ends] for factor in (1 / FACTOR, FACTOR))
    axes.fill_between(ends, low, high, color=figures.GRID, alpha=0.2, lw=0, zorder=0)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)


def tables(judgements: Sequence[Judgement], recordings: Iterable[Recording]) -> Iterator[Table]:
    """Tabulate judgements, a table for each document.

    Columns show what each device took, in the order of the recordings that judged.
    """
    sets = (results for recording in recordings for results in recording.sets.values())
    devices = list(dict.fromkeys(result.device for some in sets for result in some.results))
    for document, title in DOCUMENTS.items():
        if some := [one for one in judgements if one.figure.document == document]:
            yield _table(title, some, devices)


def _table(title: str, judgements: Sequence[Judgement], devices: Sequence[Device]) -> Table:
    shown = {found.device for one in judgements for found in one.evidence}
    devices = [device for device in devices if device in shown]
    is_computed = any(one.computed for one in judgements)
    headers = ["what", "by", "verdict", "on", "then"]
    headers += [text for device in devices for text in (f"now: {device}", "then / now")]
    headers += [*(["computed"] if is_computed else []), "why", "as published"]
    rows = [
        (
            one.figure.task,
            one.figure.way,
            one.label,
            one.figure.device,
            seconds(one.figure.time_s) if one.figure.time_s else "",
            *(text for device in devices for text in _cells(one, device)),
            *([one.computed.text if one.computed else ""] if is_computed else []),
            one.reason,
            one.figure.printed,
        )
        for one in judgements
    ]
    counts = Counter(str(one.verdict) for one in judgements).most_common()
    note = f"{len(rows)} figures: {', '.join(f'{count} {verdict}' for verdict, count in counts)}."
    return Table(title, headers, rows, [note])


def _cells(judgement: Judgement, device: Device) -> tuple[str, str]:
    found: Evidence | None = next((one for one in judgement.evidence if one.device == device), None)
    theirs_s = judgement.figure.time_s
    if found is None or theirs_s is None:
        return "", ""
    ratio = times_faster(found.right, exact(theirs_s))
    return f"{found.right.short} ({found.right.range})", ratio.short
