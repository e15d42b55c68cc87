"""Figures of results against a parameter, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, StrMethodFormatter

from jaxcap.report import findings
from jaxcap.report.figures.drawing import redrawable
from jaxcap.report.figures.labels import headline
from jaxcap.report.figures.series import (
    Lines,
    describe_ends,
    draw_series,
    label_lines,
    log_axes,
    series_of,
    with_gaps,
)
from jaxcap.report.figures.style import INK, escape_math, palette
from jaxcap.report.figures.values import MAX_BAR_RATIO, TIME, getter, limits_of, paired
from jaxcap.results import Result, ResultSet
from jaxcap.results.statistics import Estimate
from jaxcap.results.tabulation import devices_of


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
    about: str | None = None,
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
    title, value, label, over, about, among
        As of `bars`.
    """
    series = series_of(results, x, map(getter(value), results))
    figure, axes = plt.subplots()
    draw_series(axes, series, palette(series))
    limits = limits_of(map(getter(value), (*results, *(among or ()))))
    log_axes(axes, series, limits=limits)
    axes.set(xlabel=escape_math(xlabel or x), ylabel=label)
    if value == "time":
        finding = findings.of_times(results, over=over, about=about, x=x)
    else:
        finding = _spread_at_end(x, series)
    subject = with_gaps(title or devices_of(results), [series])
    headline(figure, finding, subject, describe_ends(x, series))
    label_lines(axes, series)
    return figure


def _spread_at_end(x: str, series: Lines) -> str:
    """Say between which values lines lie at the last place that all of them reach, if there is one."""
    lines = {name: dict(points) for name, points in series.items()}
    shared = set.intersection(*map(set, lines.values()))
    if not shared:
        return findings.spread({name: points[-1][1] for name, points in series.items()})
    last = max(shared)
    spread = findings.spread({name: values[last] for name, values in lines.items()})
    return f"{spread} at {findings.place(x, last)}"


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
    pairs = paired(results, over)
    compared = results.subset([result for result, _ in pairs])
    series = series_of(compared, x, [speedup for _, speedup in pairs])
    figure, axes = plt.subplots()
    draw_series(axes, series, palette(series))
    speedups = [speedup for _, speedup in (*pairs, *(among or results).paired_speedups(over))]
    low, high = limits_of(speedups)
    log_axes(axes, series, FuncFormatter(lambda ratio, _: f"{ratio:g}×"), limits=(low, high))
    if high <= MAX_BAR_RATIO * max(low, 1 / MAX_BAR_RATIO):
        axes.set_yscale("linear")
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}×"))
        axes.set_ylim(0, max(high, 1) * 1.08)
    axes.axhline(1, color=INK, linewidth=1, linestyle="--")
    axes.set(xlabel=escape_math(xlabel or x), ylabel=f"times as fast as {over}\n(higher is better)")
    finding = findings.of_times(results, over=over, x=x)
    subject = with_gaps(title or devices_of(results), [series])
    headline(figure, finding, subject, describe_ends(x, series))
    label_lines(axes, series)
    return figure
