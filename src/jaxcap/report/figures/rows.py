"""Figures with a row for each result: bars, or dots where bars could not be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, StrMethodFormatter

from jaxcap.report import findings
from jaxcap.report.figures.drawing import redrawable
from jaxcap.report.figures.labels import fit_texts, headline
from jaxcap.report.figures.style import GRID, INK, escape_math, linear_axis, log_axis, palette
from jaxcap.report.figures.values import (
    MAX_BAR_RATIO,
    PROCESS,
    TIME,
    describe,
    getter,
    limits_of,
    paired,
)
from jaxcap.results import Result, ResultSet
from jaxcap.results.statistics import Estimate
from jaxcap.results.tabulation import devices_of


@redrawable
def bars(
    results: ResultSet,
    *,
    title: str | None = None,
    value: str | Callable[[Result], Estimate] = "time",
    label: str = TIME,
    over: str | None = None,
    about: str | None = None,
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
        The variant that the title compares the others with. By default, it is the first if times
        are drawn, and the title tells other values without comparing.
    about
        The only one that it compares with that, if the figure is about this pair.
    among
        Choose the axis so that these have a place on it, too, for figures to be compared.
    """
    names = [findings.name_of(results, result) for result in results]
    estimates = [*map(getter(value), results)]
    limits = limits_of([*estimates, *map(getter(value), among or ())])
    figure, axes = plt.subplots(figsize=(6.0, 1.5 + 0.5 * len(results)))
    colours = palette(results.variants)
    told = [estimate.short for estimate in estimates]
    if value == "time":
        told = _with_factors(results, over or findings.first_everywhere(results))
    colour = [colours[result.variant] for result in results]
    _draw_rows(axes, estimates, colour, told, limits=limits)
    axes.set_yticks(range(len(names)), [escape_math(name) for name in names])
    axes.set_xlabel(label)
    named = dict(zip(names, estimates, strict=True))
    finding = findings.spread(named)
    if value == "time" or over:
        finding = findings.of_times(results, over=over, about=about)
    headline(figure, finding, title or devices_of(results), describe(named.items()))
    fit_texts(axes)
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
    pairs = paired(results, over)
    compared = results.subset([result for result, _ in pairs])
    named = {findings.name_of(compared, result): speedup for result, speedup in pairs}
    figure, axes = plt.subplots(figsize=(6.0, 1.7 + 0.5 * len(pairs)))
    colours = palette(results.variants)
    colour = [colours[result.variant] for result, _ in pairs]
    told = [speedup.short for speedup in named.values()]
    formatter = StrMethodFormatter("{x:g}×")
    _draw_rows(axes, [*named.values()], colour, told, formatter=formatter, dots=True)
    axes.set_yticks(range(len(named)), [escape_math(name) for name in named])
    low, high = limits_of(named.values())
    reach = (band or 1.1) ** 1.5
    # Twice as fast and half as fast are equally far from 1.
    log_axis(axes.xaxis, min(low, 1 / reach), max(high, reach), StrMethodFormatter("{x:g}×"))
    axes.axvline(1, color=INK, linewidth=1)
    if band:
        axes.axvspan(1 / band, band, color=GRID, alpha=0.25, linewidth=0)
    axes.set_xlabel(f"times as fast as {over} (higher is better)")
    finding = findings.extremes(over, named)
    headline(figure, finding, title or devices_of(results), describe(named.items()))
    fit_texts(axes)
    return figure


def _with_factors(results: ResultSet, over: str) -> list[str]:
    """Tell each time, and below it the factor within rounds, which isn't the quotient of two times."""
    factors = {
        result.key: f"\n{speedup.verdict_in_words}"
        for result, speedup in results.paired_speedups(over)
    }
    return [f"{result.time.short}{factors.get(result.key, '')}" for result in results]


def _draw_rows(
    axes: Axes,
    estimates: Sequence[Estimate],
    colours: Sequence[str],
    texts: Sequence[str],
    formatter: Any = None,
    *,
    limits: tuple[float, float] | None = None,
    dots: bool = False,
) -> None:
    """Draw a row for each value and its text: bars, or dots if asked for, or if values lie far apart."""
    low, high = limits or limits_of(estimates)
    if formatter is None:
        is_time = estimates[0].unit == "s"
        formatter = EngFormatter(unit="s") if is_time else EngFormatter(sep="")
    is_wide = high > MAX_BAR_RATIO * low
    if is_wide or dots:
        draw_dots(axes, estimates, colours, texts)
    else:
        _draw_bars(axes, estimates, colours, texts)
    if is_wide:
        log_axis(axes.xaxis, low, high, formatter, margin=0.08)
        axes.set_xlim(right=high * (high / low) ** 0.3)  # room for the values
    else:
        linear_axis(axes.xaxis, high, formatter)
        axes.set_xlim(0, high * 1.25)


def _draw_bars(
    axes: Axes, estimates: Sequence[Estimate], colours: Sequence[str], texts: Sequence[str]
) -> None:
    rows = range(len(estimates))
    values = np.array([estimate.value for estimate in estimates])
    ends = np.array([estimate.observed for estimate in estimates])
    ranges = (values - ends[:, 0], ends[:, 1] - values)
    drawn = axes.barh(rows, values, xerr=ranges, height=0.6, color=colours, ecolor=INK)
    for row, estimate in enumerate(estimates):
        axes.plot(estimate.medians, [row] * len(estimate.medians), color=INK, **PROCESS)
    axes.bar_label(drawn, texts, padding=9)
    axes.set_ylim(len(estimates) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def draw_dots(
    axes: Axes,
    estimates: Sequence[Estimate],
    colours: Sequence[str],
    texts: Sequence[str] = (),
) -> None:
    """Draw the processes of each row as dots on their range, a line through their median, and a text."""
    for row, (estimate, colour) in enumerate(zip(estimates, colours, strict=True)):
        low, high = estimate.observed
        axes.hlines(row, low, high, color=colour, linewidth=1.2)
        axes.plot(estimate.medians, [row] * len(estimate.medians), "o", color=colour)
        axes.plot(estimate.value, row, "|", color=INK, markersize=14, markeredgewidth=2)
    for row, (estimate, text) in enumerate(zip(estimates, texts, strict=False)):
        right = max(estimate.observed[1], estimate.value)
        axes.annotate(text, (right, row), (9, 0), textcoords="offset points", va="center")
    axes.set_ylim(len(estimates) - 0.5, -0.5)
