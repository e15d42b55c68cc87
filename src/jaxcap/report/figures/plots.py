"""The figures of results: times, their ratios and running totals, with a dot for each process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import cycle
from math import ceil, inf
from operator import attrgetter, itemgetter
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator, StrMethodFormatter
from matplotlib.transforms import Transform, offset_copy

from jaxcap.report import findings
from jaxcap.report.figures.drawing import redrawable
from jaxcap.report.figures.labels import headline, label_ends, wrap
from jaxcap.report.figures.style import (
    BLUE,
    GRID,
    INK,
    MARKERS,
    ORANGE,
    SMALL,
    STYLE,
    escape_math,
    log_axis,
    palette,
    size_axis,
)
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.statistics import Estimate
from jaxcap.results.tabulation import devices_of

# Points by the name of their line: the position on the x axis, and the estimate there.
Series = Mapping[str, list[tuple[float, Estimate]]]

#: Values that differ by more than this factor are drawn on a logarithmic axis, and so not as bars.
MAX_BAR_RATIO = 20.0
TIME = "time of a call (lower is better)"
# More lines have their names at their ends, but not their values.
_MAX_VALUES = 4
# The distance between neighbours at the same place, whose processes would lie on each other.
_DODGE_PT = 5.0
_PROCESS: Mapping[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 4}


@redrawable
def bars(
    results: ResultSet,
    *,
    title: str | None = None,
    value: str | Callable[[Result], Estimate] = "time",
    label: str = TIME,
    over: str | None = None,
    among: ResultSet | None = None,
) -> Figure:
    """Draw the time of each result, or another value, with its processes, as bars or as dots.

    Values that lie far apart are dots on a logarithmic axis, on which a bar has no beginning.

    Parameters
    ----------
    results
        Each has a row.
    title
        The subject; by default, the device.
    value
        Returns what is drawn of a result, or is the name of its attribute.
    label
        What that is.
    over
        The variant that the title compares the others with; by default, the first.
    among
        Choose the axis so that these have a place on it, too, for figures to be compared.
    """
    names = [findings.name_of(results, result) for result in results]
    estimates = [*map(_getter(value), results)]
    limits = _ends([*estimates, *map(_getter(value), among or ())])
    figure, axes = plt.subplots(figsize=(6.0, 1.5 + 0.5 * len(results)))
    colours = palette(results.variants)
    _draw_rows(axes, estimates, [colours[result.variant] for result in results], limits=limits)
    axes.set_yticks(range(len(names)), [escape_math(name) for name in names])
    axes.set_xlabel(label)
    named = dict(zip(names, estimates, strict=True))
    finding = findings.spread(named)
    if value == "time":
        finding = findings.of_times(results, over=over)
    subject = title or devices_of(results.results)
    headline(figure, finding, subject)
    figure.set_label(f"{subject}. {_describe(named.items())}")
    return figure


@redrawable
def ratios(
    results: ResultSet, *, over: str, title: str | None = None, band: float | None = None
) -> Figure:
    """Draw how many times as fast as ``over`` the other variants are: a row of dots for each.

    Parameters
    ----------
    results
        Those of other variants than ``over`` have a row, if they took turns with it.
    over
        What they are compared with.
    title
        The subject; by default, the device.
    band
        Draw the band in which ratios differ from 1 by less than this factor.

    Raises
    ------
    ResultsError
        If no other variant took turns with ``over``.
    """
    pairs = _paired(results, over)
    compared = results.subset([result for result, _ in pairs])
    named = {findings.name_of(compared, result): speedup for result, speedup in pairs}
    figure, axes = plt.subplots(figsize=(6.0, 1.7 + 0.5 * len(pairs)))
    colours = palette(results.variants)
    colour = [colours[result.variant] for result, _ in pairs]
    _draw_rows(axes, [*named.values()], colour, formatter=StrMethodFormatter("{x:g}×"), dots=True)
    axes.set_yticks(range(len(named)), [escape_math(name) for name in named])
    low, high = _ends(named.values())
    if high <= MAX_BAR_RATIO * low:  # else the axis is logarithmic
        reach = (band or 1.1) ** 1.5
        axes.set_xlim(min(low / 1.05, 1 / reach), max(high * 1.2, reach))
    axes.axvline(1, color=INK, linewidth=1)
    if band:
        axes.axvspan(1 / band, band, color=GRID, alpha=0.25, linewidth=0)
    axes.set_xlabel(f"times as fast as {over} (higher is better)")
    finding = findings.extremes(over, named)
    subject = title or devices_of(results.results)
    headline(figure, finding, subject)
    figure.set_label(f"{subject}. {_describe(named.items())}")
    return figure


@redrawable
def scaling(
    results: ResultSet,
    *,
    x: str,
    title: str | None = None,
    xlabel: str | None = None,
    value: str | Callable[[Result], Estimate] = "time",
    label: str = TIME,
    over: str | None = None,
    among: ResultSet | None = None,
) -> Figure:
    """Draw the time of each variant, or another value in seconds, on log scales.

    Parameters
    ----------
    results
        Each variant has a line, for each combination of its other parameters.
    x
        The parameter along the horizontal axis.
    xlabel
        What that is, if its name doesn't say it.
    title, value, label, over, among
        As of `bars`.
    """
    series = _series(results, x, map(_getter(value), results))
    figure, axes = plt.subplots()
    _draw_series(axes, series, palette(series))
    limits = _ends(map(_getter(value), (*results, *(among or ()))))
    _log_axes(axes, series, limits=limits)
    axes.set(xlabel=escape_math(xlabel or x), ylabel=label)
    last = {name: points[-1][1] for name, points in series.items()}
    finding = findings.spread(last)
    if value == "time":
        finding = findings.of_times(results, over=over, x=x)
    subject = title or devices_of(results.results)
    headline(figure, finding, subject)
    _label(axes, series)
    figure.set_label(f"{subject}. {_describe_ends(x, series)}")
    return figure


@redrawable
def speedups(
    results: ResultSet,
    *,
    over: str,
    x: str,
    title: str | None = None,
    xlabel: str | None = None,
    among: ResultSet | None = None,
) -> Figure:
    """Draw how many times as fast as ``over`` the other variants are, against parameter ``x``.

    Results are left out for which the clock was too coarse. The options are those of `scaling`.

    Raises
    ------
    ResultsError
        If no other variant took turns with ``over``.
    """
    pairs = _paired(results, over)
    compared = results.subset([result for result, _ in pairs])
    series = _series(compared, x, [speedup for _, speedup in pairs])
    figure, axes = plt.subplots()
    _draw_series(axes, series, palette(series))
    speedups = [speedup for _, speedup in (*pairs, *(among or results).paired_speedups(over))]
    low, high = _ends(speedups)
    _log_axes(axes, series, FuncFormatter(lambda ratio, _: f"{ratio:g}×"), limits=(low, high))
    if high <= MAX_BAR_RATIO * max(low, 1 / MAX_BAR_RATIO):
        axes.set_yscale("linear")
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}×"))
        axes.set_ylim(0, max(high, 1) * 1.08)
    axes.axhline(1, color=INK, linewidth=1, linestyle="--")
    axes.set(xlabel=escape_math(xlabel or x), ylabel=f"times as fast as {over}\n(higher is better)")
    finding = findings.of_times(results, over=over, x=x)
    subject = title or devices_of(results.results)
    headline(figure, finding, subject)
    _label(axes, series)
    figure.set_label(f"{subject}. {_describe_ends(x, series)}")
    return figure


@redrawable
def running_total(results: ResultSet, *, over: str, title: str | None = None) -> Figure:
    """Draw what a number of calls takes in all, the first and its compilation included.

    Only the first calls of the other variants are counted: those of ``over`` may well have been
    compiled before. Where such a variant has earned its first call back, the lines cross.

    Raises
    ------
    ResultsError
        If no other variant took turns with ``over``.
    """
    pairs = _paired(results, over)
    compared = [result for result, _ in pairs]
    other = results.paired_result(compared[0], over)
    assert other is not None  # or there would be no pair
    paid = {result.variant: (speedup, result.pays_off_after(other)) for result, speedup in pairs}
    after = [calls for _, calls in paid.values() if calls]
    most = max([1e3, *(10 * calls.value for calls in after)])
    calls = np.geomspace(1, most, 60)
    figure, axes = plt.subplots()
    colours = palette(results.variants)
    totals = {over: calls * other.time.value}
    for result in compared:
        totals[result.variant] = result.first_call.value + (calls - 1) * result.time.value
    for name, total in totals.items():
        axes.plot(calls, total, color=colours[name], label=escape_math(name))
    log_axis(axes.xaxis, 1, most, EngFormatter(sep=""))
    low, high = min(map(min, totals.values())), max(map(max, totals.values()))
    log_axis(axes.yaxis, low, high, EngFormatter(unit="s"))
    for estimate in after:
        height = estimate.value * other.time.value
        axes.plot(estimate.value, height, "o", color=INK, markersize=9, fillstyle="none")
    axes.set(xlabel="calls", ylabel="time of all calls so far\n(lower is better)")
    finding = "; ".join(findings.pay_off(name, over, *paid[name]) for name in paid)
    subject = title or devices_of(results.results)
    headline(figure, finding, subject)
    figure.set_label(subject)
    label_ends(axes)
    return figure


@redrawable
def panels(
    results: ResultSet, *, title: str | None = None, among: ResultSet | None = None
) -> Figure:
    """Draw the times of a whole experiment, whatever its parameters.

    There is a panel for each part that ``facets`` returns: with lines against its parameter, or, if
    it has none, with a point for each variant. All panels have the same axis of time.

    Parameters
    ----------
    results
        Those of one experiment.
    title
        The subject; by default, the device.
    among
        Choose the axis of time so that these have a place on it, for figures to be compared.
    """
    x, parts = facets(results)
    shown = [result.time for result in (*results, *(among or ()))]
    limits = _ends(shown)
    rows = 0 if x else max(map(len, parts.values()))
    ncols = min(2, len(parts)) if x else 1
    nrows = ceil(len(parts) / ncols)
    height = 2.4 * nrows if x else 0.55 * nrows + 0.34 * sum(map(len, parts.values()))
    figure = plt.figure(figsize=(6.0, 1.4 + height))
    below = cast(SubFigure, figure.subfigures())  # which can have a title of its own
    ratios = None if x else [len(part) + 1 for part in parts.values()]
    grid = below.subplots(
        nrows, ncols, sharex=rows > 0, sharey=bool(x), squeeze=False, height_ratios=ratios
    )
    for unused in grid.flat[len(parts) :]:
        unused.remove()
    if x:
        descriptions = _draw_line_panels(figure, parts.values(), x, limits)
    else:
        descriptions = _draw_point_panels(figure, parts.values(), limits)
    for axes, name in zip(figure.axes, parts, strict=True):
        axes.set_title(wrap(name, 7.0 / ncols), fontsize=SMALL)
    subject = title or devices_of(results.results)
    size = STYLE["font.size"]
    below.suptitle(wrap(subject, 6.0), x=0.01, ha="left", fontsize=size, fontweight="normal")
    headline(figure, findings.of_times(results, x=x))
    if x and len(parts) == 1:
        _label(figure.axes[0], _series(results, x, [result.time for result in results]))
    named = zip(parts, descriptions, strict=True)
    described = ". ".join(f"{name}, {words}" if name else words for name, words in named)
    figure.set_label(f"{subject}. {described}")
    return figure


@redrawable
def returns(results: ResultSet, *, x: str, title: str | None = None) -> Figure:
    """Draw when a call returns and when its result is ready, against ``x``: a panel for each variant."""
    figure = plt.figure(figsize=(6.0, 1.1 + 2.3 * len(results.variants)))
    below = cast(SubFigure, figure.subfigures())
    grid = below.subplots(len(results.variants), sharex=True, sharey=True, squeeze=False)
    moments = {"result is ready": attrgetter("time"), "call returns": attrgetter("dispatch")}
    ends = _ends(get(result) for result in results for get in moments.values())
    words, described = [], []
    for axes, name in zip(grid.flat, results.variants, strict=True):
        part = results.select(variant=name)
        xs = {k: _series(part, x, map(get, part)) for k, get in moments.items()}
        series = {moment: points for moment, lines in xs.items() for points in lines.values()}
        _draw_series(axes, series, dict(zip(moments, (ORANGE, BLUE), strict=True)))
        _log_axes(axes, series, limits=ends)
        axes.set_title(escape_math(name))
        ready, returned = (series[moment][-1][1] for moment in moments)
        words.append(f"{name} returns after {returned.words} of {ready.words}")
        described.append(f"{name}, {_describe_ends(x, series)}")
    below.supylabel(TIME, fontsize=STYLE["font.size"])
    figure.axes[-1].set_xlabel(escape_math(x))
    headline(figure, f"At the largest {x}, {' and '.join(words)}")
    for axes in figure.axes:
        label_ends(axes)
    figure.set_label(". ".join([title or devices_of(results.results), *described]))
    return figure


def facets(results: ResultSet) -> tuple[str | None, Mapping[str, ResultSet]]:
    """Choose a parameter for the x axis, and split results by the values of the other parameters.

    The parameter is the numeric one with the most values, or None if it takes only one value in each
    part; the device does not count as a parameter. Parts are named like ``"function wave"``.
    """
    columns = [column for column in results.varying() if column != "device"]
    values = {c: {result.parameters.get(c) for result in results} for c in columns}
    numeric = [c for c in columns if {type(value) for value in values[c]} <= {int, float}]
    if numeric:
        x = max(numeric, key=lambda column: len(values[column]))
        parts = _parts_by(results, [column for column in columns if column != x])
        if any(x in part.varying() for part in parts.values()):
            return x, parts
    return None, _parts_by(results, columns)


def _parts_by(results: ResultSet, columns: Sequence[str]) -> dict[str, ResultSet]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        values = {c: result.parameters[c] for c in columns if c in result.parameters}
        name = ", ".join(f"{c} {_shown(value)}" for c, value in values.items())
        groups.setdefault(name, []).append(result)
    return {name: results.subset(group) for name, group in groups.items()}


def _shown(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return findings.in_words(value)
    return str(value)


def _draw_line_panels(
    figure: Figure, parts: Iterable[ResultSet], x: str, limits: tuple[float, float]
) -> list[str]:
    """Draw lines against ``x`` in a panel for each part, and describe each panel in words."""
    series_of_parts = [_series(part, x, [result.time for result in part]) for part in parts]
    names = dict.fromkeys(name for series in series_of_parts for name in series)
    colours, markers = palette(names), dict(zip(names, cycle(MARKERS), strict=False))
    handles: dict[str, Any] = {}  # by label, because panels share their lines' names
    for axes, series in zip(figure.axes, series_of_parts, strict=True):
        _draw_series(axes, series, colours, markers)
        _log_axes(axes, series, limits=limits)
        axes.set_xlabel(escape_math(x))
        axes.label_outer(remove_inner_ticks=False)
        axes.tick_params(labelbottom=True, labelsize=SMALL)
        handles |= {
            name: line for line, name in zip(*axes.get_legend_handles_labels(), strict=True)
        }
    figure.axes[0].set_ylabel("time of a call\n(lower is better)")
    if len(series_of_parts) > 1:
        figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=2)
    return [_describe_ends(x, series) for series in series_of_parts]


def _draw_point_panels(
    figure: Figure, parts: Collection[ResultSet], limits: tuple[float, float]
) -> list[str]:
    """Draw a point for each variant in a panel for each part, and describe each panel in words."""
    colours = palette(result.variant for part in parts for result in part)
    for axes, part in zip(figure.axes, parts, strict=True):
        _draw_dots(axes, [r.time for r in part], [colours[result.variant] for result in part])
        axes.set_yticks(range(len(part)), [escape_math(result.variant) for result in part])
        log_axis(axes.xaxis, *limits, EngFormatter(unit="s"))
        axes.tick_params(labelsize=SMALL)
    figure.axes[-1].set_xlabel(TIME)
    return [_describe((result.variant, result.time) for result in part) for part in parts]


def _getter(value: str | Callable[[Result], Estimate]) -> Callable[[Result], Estimate]:
    return attrgetter(value) if isinstance(value, str) else value


def _paired(results: ResultSet, over: str) -> list[tuple[Result, Any]]:
    pairs = results.paired_speedups(over)
    if not pairs:
        results.select(variant=over)  # lists the variants, if this is none of them
        raise ResultsError(f"no other variant was measured in turns with {over!r} by a fine clock")
    return pairs


def _series(results: ResultSet, x: str, estimates: Iterable[Estimate]) -> Series:
    """Group estimates by line: one for each variant and each value of the other parameters."""
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    for result, estimate in zip(results, estimates, strict=True):
        name = findings.name_of(results, result, x)
        lines.setdefault(name, []).append((float(result.parameters[x]), estimate))
    return {name: sorted(points, key=itemgetter(0)) for name, points in lines.items()}


def _draw_series(
    axes: Axes,
    series: Series,
    colours: Mapping[str, str],
    markers: Mapping[str, str] | None = None,
) -> None:
    """Draw lines through medians, and at each the processes with their range, beside its neighbours."""
    markers = markers or dict(zip(series, cycle(MARKERS), strict=False))
    for number, (name, points) in enumerate(series.items()):
        shift = (number - (len(series) - 1) / 2) * min(_DODGE_PT, 16 / len(series))
        beside = _beside(axes, shift)
        xs = [position for position, _ in points]
        look: Mapping[str, Any] = {"color": colours[name], "transform": beside}
        ends = [estimate.observed for _, estimate in points]
        axes.vlines(xs, [low for low, _ in ends], [high for _, high in ends], linewidth=1, **look)
        for position, estimate in points:
            axes.plot([position] * len(estimate.medians), estimate.medians, **_PROCESS, **look)
        values = [estimate.value for _, estimate in points]
        axes.plot(xs, values, marker=markers[name], label=escape_math(name), **look)


def _beside(axes: Axes, shift: float) -> Transform:
    return offset_copy(axes.transData, axes.get_figure(root=True), x=shift, units="points")


def _log_axes(
    axes: Axes,
    series: Series,
    formatter: Any = None,
    limits: tuple[float, float] | None = None,
) -> None:
    sizes = [position for points in series.values() for position, _ in points]
    size_axis(axes.xaxis, min(sizes), max(sizes), sizes)
    low, high = limits or _ends(e for points in series.values() for _, e in points)
    log_axis(axes.yaxis, low, high, formatter or EngFormatter(unit="s"))


def _label(axes: Axes, series: Series) -> None:
    """Name lines at their ends, with their last values if they are few; a single one needs no name."""
    if len(series) < 2:
        return
    texts = {}
    for name, points in series.items():
        value = f"\n{points[-1][1].short}" if len(series) <= _MAX_VALUES else ""
        texts[escape_math(name)] = escape_math(name) + value
    label_ends(axes, texts)


def _draw_rows(
    axes: Axes,
    estimates: Sequence[Estimate],
    colours: Sequence[str],
    formatter: Any = None,
    *,
    limits: tuple[float, float] | None = None,
    dots: bool = False,
) -> None:
    """Draw a row for each value: bars, or dots if asked for, or if values lie far apart."""
    low, high = limits or _ends(estimates)
    if formatter is None:
        is_time = estimates[0].unit == "s"
        formatter = EngFormatter(unit="s") if is_time else EngFormatter(sep="")
    is_wide = high > MAX_BAR_RATIO * low
    if is_wide or dots:
        _draw_dots(axes, estimates, colours, with_values=True)
    else:
        _draw_bars(axes, estimates, colours)
    if is_wide:
        log_axis(axes.xaxis, low, high, formatter, margin=0.08)
        axes.set_xlim(right=high * (high / low) ** 0.3)  # room for the values
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))  # labels are long
        axes.xaxis.set_major_formatter(formatter)
        axes.set_xlim(0, high * 1.25)


def _draw_bars(axes: Axes, estimates: Sequence[Estimate], colours: Sequence[str]) -> None:
    rows = range(len(estimates))
    values = np.array([estimate.value for estimate in estimates])
    ends = np.array([estimate.observed for estimate in estimates])
    ranges = (values - ends[:, 0], ends[:, 1] - values)
    drawn = axes.barh(rows, values, xerr=ranges, height=0.6, color=colours, ecolor=INK)
    for row, estimate in enumerate(estimates):
        axes.plot(estimate.medians, [row] * len(estimate.medians), color=INK, **_PROCESS)
    axes.bar_label(drawn, [estimate.short for estimate in estimates], padding=9)
    axes.set_ylim(len(estimates) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def _draw_dots(
    axes: Axes,
    estimates: Sequence[Estimate],
    colours: Sequence[str],
    *,
    with_values: bool = False,
) -> None:
    """Draw the processes of each row as dots on their range, and a line through their median."""
    for row, (estimate, colour) in enumerate(zip(estimates, colours, strict=True)):
        low, high = estimate.observed
        axes.hlines(row, low, high, color=colour, linewidth=1.2)
        axes.plot(estimate.medians, [row] * len(estimate.medians), "o", color=colour, alpha=0.6)
        axes.plot(estimate.value, row, "|", color=INK, markersize=14, markeredgewidth=2)
        if with_values:
            axes.annotate(
                estimate.short,
                (max(high, estimate.value), row),
                (9, 0),
                textcoords="offset points",
                va="center",
            )
    axes.set_ylim(len(estimates) - 0.5, -0.5)


def _ends(estimates: Iterable[Estimate]) -> tuple[float, float]:
    """Return the smallest and the largest positive number that processes saw, or that is drawn."""
    seen = [number for e in estimates for number in (e.value, *e.observed)]
    # A clock may have been too coarse to see any time, or any but for a rate.
    positive = [number for number in seen if 0 < number < inf] or [1e-9]
    return min(positive), max(positive)


def _describe(estimates: Iterable[tuple[str, Estimate]]) -> str:
    """List named values, the smallest first."""
    ordered = sorted(estimates, key=lambda pair: pair[1].value)
    return "; ".join(f"{name}: {estimate.short}" for name, estimate in ordered)


def _describe_ends(x: str, series: Series) -> str:
    """List the values at the right end of a plot, to which its lines lead."""
    last = max(position for points in series.values() for position, _ in points)
    estimates = [
        (name, estimate)
        for name, points in series.items()
        for position, estimate in points
        if position == last
    ]
    return f"at {x} {last:,.10g}, {_describe(estimates)}"
