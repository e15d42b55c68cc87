"""Lines of estimates: through medians, with the processes and their range beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, cycle
from math import nan
from operator import itemgetter
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter
from matplotlib.transforms import Transform, offset_copy

from jaxcap.report import findings
from jaxcap.report.figures.labels import label_ends
from jaxcap.report.figures.style import MARKERS, escape_math, log_axis, size_axis
from jaxcap.report.figures.values import PROCESS, describe, limits_of
from jaxcap.results import ResultsError, ResultSet
from jaxcap.results.statistics import NO_DIFFERENCE, Estimate

#: Points by the name of their line: the position on the x axis, and the estimate there.
Lines = Mapping[str, list[tuple[float, Estimate]]]

# Lines that end at more heights have their names there, but not their values.
_MAX_VALUES = 4
# Ends that are closer are on each other.
_TOGETHER_PT = 6.0
# The distance between neighbours at the same place, whose processes would lie on each other.
_DODGE_PT = 5.0


def series_of(results: ResultSet, x: str, estimates: Iterable[Estimate]) -> Lines:
    """Group estimates by line: one for each variant and each value of the other parameters.

    Raises
    ------
    ResultsError
        If a result has no parameter ``x``.
    """
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    for result, estimate in zip(results, estimates, strict=True):
        if x not in result.parameters:
            raise ResultsError(f"a result of {result.variant!r} has no {x}: leave it out")
        name = findings.name_of(results, result, x)
        lines.setdefault(name, []).append((float(result.parameters[x]), estimate))
    return {name: sorted(points, key=itemgetter(0)) for name, points in lines.items()}


def draw_series(
    axes: Axes,
    series: Lines,
    colours: Mapping[str, str],
    markers: Mapping[str, str] | None = None,
) -> None:
    """Draw lines through medians, and at each the processes with their range, beside its neighbours.

    Lines that cross aren't moved beside each other, because they would seem to cross elsewhere. A line
    has gaps where its processes disagree so much that no median is typical of them.
    """
    dodge_pt = 0.0 if _cross(series.values()) else min(_DODGE_PT, 16 / len(series))
    markers = markers or dict(zip(series, cycle(MARKERS), strict=False))
    for number, (name, points) in enumerate(series.items()):
        beside = _beside(axes, (number - (len(series) - 1) / 2) * dodge_pt)
        xs = [position for position, _ in points]
        look: Mapping[str, Any] = {"color": colours[name], "transform": beside}
        ends = [estimate.observed for _, estimate in points]
        axes.vlines(xs, [low for low, _ in ends], [high for _, high in ends], linewidth=1, **look)
        for position, estimate in points:
            axes.plot([position] * len(estimate.medians), estimate.medians, **PROCESS, **look)
        values = [estimate.value for _, estimate in points]
        typical = [estimate.value if estimate.is_typical else nan for _, estimate in points]
        style = "-"
        if typical != values:
            axes.plot(xs, typical, **look)
            style = "none"
        label = escape_math(name)
        axes.plot(xs, values, marker=markers[name], linestyle=style, label=label, **look)


def with_gaps(subject: str, series: Iterable[Lines]) -> str:
    """Add to the subject of a figure why lines have gaps, if they do."""
    estimates = (e for lines in series for points in lines.values() for _, e in points)
    is_whole = all(estimate.is_typical for estimate in estimates)
    return subject if is_whole else f"{subject}; no line where processes disagree"


def _cross(lines: Iterable[Sequence[tuple[float, Estimate]]]) -> bool:
    """Whether a line is well above another at one place, and well below it at another place."""
    for one, other in combinations(map(dict, lines), 2):
        pairs = [(one[x].value, other[x].value) for x in one.keys() & other.keys()]
        is_above = any(value > NO_DIFFERENCE * beside for value, beside in pairs)
        if is_above and any(beside > NO_DIFFERENCE * value for value, beside in pairs):
            return True
    return False


def _beside(axes: Axes, shift: float) -> Transform:
    return offset_copy(axes.transData, axes.get_figure(root=True), x=shift, units="points")


def log_axes(
    axes: Axes,
    series: Lines,
    formatter: Any = None,
    limits: tuple[float, float] | None = None,
) -> None:
    """Make both axes logarithmic, so that all points have a place, or all between the limits."""
    sizes = [position for points in series.values() for position, _ in points]
    size_axis(axes.xaxis, min(sizes), max(sizes), sizes)
    low, high = limits or limits_of(e for points in series.values() for _, e in points)
    log_axis(axes.yaxis, low, high, formatter or EngFormatter(unit="s"))


def label_lines(axes: Axes, series: Lines) -> None:
    """Name lines at their ends, with their last values if they are few; a single one needs no name.

    Lines that end together have their value below the lowest name.
    """
    if len(series) < 2:
        return
    texts = {}
    end = max(points[-1][0] for points in series.values())
    groups = _ending_together(axes, series)
    for lowest, *others in groups if len(groups) <= _MAX_VALUES else ():
        last, low = series[lowest][-1]
        # A value from another place must not be compared with the others.
        where = "" if last == end else f" at {findings.in_words(last, digits=3)}"
        high = series[others[-1] if others else lowest][-1][1]
        start = low.short.removesuffix(f" {high.short.partition(' ')[2]}")  # the unit
        value = low.short if low.short == high.short else f"{start} to {high.short}"
        texts[escape_math(lowest)] = f"{escape_math(lowest)}\n{value}{where}"
        texts |= {escape_math(name): f"{escape_math(name)}," for name in others}
    label_ends(axes, texts)


def _ending_together(axes: Axes, series: Lines) -> list[list[str]]:
    """Group lines whose ends lie on each other, and whose processes don't say which one is below."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    apart_px = _TOGETHER_PT * figure.dpi / 72
    groups: list[list[str]] = []
    ends = {name: points[-1] for name, points in series.items()}
    for name, (last, estimate) in sorted(ends.items(), key=lambda end: end[1][1].value):
        place = axes.transData.transform((last, estimate.value))
        for group in groups:
            lowest_last, lowest = ends[group[0]]
            distance = abs(place - axes.transData.transform((lowest_last, lowest.value))).max()
            if distance < apart_px and estimate.observed[0] <= lowest.observed[1]:
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def describe_ends(x: str, series: Lines) -> str:
    """List the values at the right end of a plot, to which its lines lead."""
    last = max(position for points in series.values() for position, _ in points)
    estimates = [
        (name, estimate)
        for name, points in series.items()
        for position, estimate in points
        if position == last
    ]
    return f"at {x} {last:,.10g}, {describe(estimates)}"
