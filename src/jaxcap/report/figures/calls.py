"""Figures of the calls of a function: when they return, and what many of them take."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import cast

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import EngFormatter

from jaxcap.report import findings
from jaxcap.report.figures.drawing import redrawable
from jaxcap.report.figures.labels import headline, label_ends
from jaxcap.report.figures.series import describe_ends, draw_series, log_axes, series_of, with_gaps
from jaxcap.report.figures.style import (
    BLUE,
    GRID,
    INK,
    ORANGE,
    STYLE,
    escape_math,
    log_axis,
    palette,
)
from jaxcap.report.figures.values import TIME, limits_of, paired, positive_range
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.statistics import Estimate
from jaxcap.results.tabulation import devices_of


@redrawable
def running_total(results: ResultSet, *, over: str, title: str | None = None) -> Figure:
    """Draw what a number of calls takes in all, the first and its compilation included.

    Only the first calls of the other variants are counted: those of ``over`` may well have been
    compiled before. Where such a variant has earned its first call back, the lines cross. The band is
    the interval of that number of calls.

    Raises
    ------
    ResultsError
        If no other variant took turns with ``over``.
    """
    pairs = paired(results, over)
    compared = [result for result, _ in pairs]
    other = results.paired_result(compared[0], over)
    assert other is not None  # or there would be no pair
    paid = {result.variant: (speedup, result.pays_off_after(other)) for result, speedup in pairs}
    after_each = [calls for _, calls in paid.values()]
    most = max([1e3, *(10 * calls.value for calls in after_each if calls)])
    calls = np.geomspace(1, most, 60)
    figure, axes = plt.subplots()
    colours = palette(results.variants)
    totals = {over: calls * other.time.value}
    for result in compared:
        totals[result.variant] = result.first_call.value + (calls - 1) * result.time.value
    for name, total in totals.items():
        axes.plot(calls, total, color=colours[name], label=escape_math(name))
    log_axis(axes.xaxis, 1, most, EngFormatter(sep=""))
    log_axis(axes.yaxis, *positive_range(np.concatenate([*totals.values()])), EngFormatter("s"))
    for result, estimate in zip(compared, after_each, strict=True):
        if estimate and (crossing := _crossing(result, other)):
            axes.axvspan(estimate.low, estimate.high, color=GRID, alpha=0.25, linewidth=0)
            height = crossing * other.time.value
            axes.plot(crossing, height, "o", color=INK, markersize=9, fillstyle="none")
    axes.set(xlabel="calls", ylabel="time of all calls so far\n(lower is better)")
    finding = "; ".join(findings.pay_off(name, over, *paid[name]) for name in paid)
    headline(figure, finding, subject := title or devices_of(results))
    figure.set_label(subject)
    label_ends(axes)
    return figure


@redrawable
def returns(
    results: ResultSet, *, x: str, title: str | None = None, xlabel: str | None = None
) -> Figure:
    """Draw when a call returns and when its result is ready, against ``x``: a panel for each variant.

    The label of the horizontal axis is ``x``, if none is given.

    Raises
    ------
    ResultsError
        If a variant has several results with the same ``x``.
    """
    figure = plt.figure(figsize=(6.0, 1.1 + 2.3 * len(results.variants)))
    below = cast(SubFigure, figure.subfigures())
    grid = below.subplots(len(results.variants), sharex=True, sharey=True, squeeze=False)
    moments = {"result is ready": attrgetter("time"), "call returns": attrgetter("dispatch")}
    ends = limits_of(get(result) for result in results for get in moments.values())
    words, described, drawn = [], [], []
    for axes, name in zip(grid.flat, results.variants, strict=True):
        part = results.select(variant=name)
        series = {moment: _line(part, x, map(get, part)) for moment, get in moments.items()}
        drawn.append(series)
        draw_series(axes, series, dict(zip(moments, (ORANGE, BLUE), strict=True)))
        log_axes(axes, series, limits=ends)
        axes.set_title(escape_math(name))
        ready, returned = (series[moment][-1][1] for moment in moments)
        words.append(f"{name} returns {findings.moment(returned, ready)}")
        described.append(f"{name}, {describe_ends(x, series)}")
    below.supylabel(TIME, fontsize=STYLE["font.size"])
    figure.axes[-1].set_xlabel(escape_math(xlabel or x))
    finding = f"At the largest {x}, {' and '.join(words)}"
    subject = with_gaps(title or devices_of(results), drawn)
    headline(figure, finding, subject, ". ".join(described))
    for axes in figure.axes:
        label_ends(axes)
    return figure


def _crossing(result: Result, other: Result) -> float | None:
    """Return the number of calls at which the lines of two results cross, if they do."""
    gain = other.time.value - result.time.value
    return (result.first_call.value - result.time.value) / gain if gain > 0 else None


def _line(
    results: ResultSet, x: str, estimates: Iterable[Estimate]
) -> list[tuple[float, Estimate]]:
    """Return the points of the only line of results."""
    lines = series_of(results, x, estimates)
    if len(lines) > 1:
        raise ResultsError(f"there are lines for {', '.join(lines)}: select one of them")
    (points,) = lines.values()
    return points
