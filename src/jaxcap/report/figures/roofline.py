"""A roofline: the ceilings of a device as lines, and results as points below them.

`jaxcap.report.roofline` has the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from operator import attrgetter
from typing import Any, NamedTuple, cast

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import EngFormatter, FuncFormatter

from jaxcap.report import findings
from jaxcap.report.figures.labels import headline
from jaxcap.report.figures.style import (
    COLOURS,
    GRID,
    INK,
    MARKERS,
    STYLE,
    escape_math,
    log_axis,
    palette,
)
from jaxcap.results import Cost, Result
from jaxcap.results.ceilings import Ceilings

# Rates whose labels have a line each share a label if they differ by less than this factor.
MIN_LABEL_RATIO = 1.6

# The points of a panel's group, and those of the others.
OWN_POINT: Mapping[str, Any] = {"color": COLOURS[1], "markersize": 5}
GREY_POINT: Mapping[str, Any] = {"color": GRID, "markersize": 2.5, "alpha": 0.5}


def roofline(
    ceilings: Ceilings,
    results_and_costs: Iterable[tuple[Result, Cost]],
    *,
    title: str | None = None,
    label: Callable[[Result], str] = attrgetter("variant"),
    name: Callable[[Result], str] | None = None,
    dtype: Callable[[Result], str] = lambda _: "float32",
    finding: str | None = None,
    rates: Collection[float] = (),
) -> Figure:
    """Draw the roofline of a device, and results below it.

    Parameters
    ----------
    ceilings
        A line is drawn for each dtype; where results are named, only for theirs.
    results_and_costs
        Results, each with the cost of a call. Results of other devices and those
        without floating-point operations are left out.
    title
        Subject of the figure; by default, the device.
    label
        Returns the group of a result. Groups share a plot, with a colour each, if each result has a
        ``name``. Otherwise each group has a panel of its own, with the others in grey.
    name
        Returns the name of a result's computation, which is written beside its points.
    dtype
        Returns the dtype of a result's arithmetic, which decides what limits it.
    finding
        What the figure shows; by default, which result comes nearest to its limit.
    rates
        Choose the vertical axis so that these have a place on it, for figures to be compared.
    """
    shown = [
        (result, cost)
        for result, cost in results_and_costs
        if result.device == ceilings.device and cost.flops > 0
    ]
    points = [
        _Point(
            group=label(result),
            name=name(result) if name else "",
            intensity=cost.flops / cost.bytes_moved,
            rate=cost.flops / result.time.value,
            share=ceilings.least_time_s(cost, dtype(result)) / result.time.value,
        )
        for result, cost in shown
    ]
    if name and shown:
        dtypes = {dtype(result) for result, _ in shown}
        limits = {d: rate for d, rate in ceilings.flops_per_s.items() if d in dtypes}
        ceilings = replace(ceilings, flops_per_s=limits)
    with plt.rc_context(STYLE):
        draw = _named if name else _in_panels
        figure = draw(ceilings, points, rates)
        finding = (finding or _finding(points)) if points else "No kernel has a known cost"
        subject = title or str(ceilings.device)
        headline(figure, finding, subject)
        figure.set_label(subject)
    return figure


class _Point(NamedTuple):
    group: str
    name: str
    intensity: float
    rate: float
    share: float  # of its limit


def _finding(points: Sequence[_Point]) -> str:
    best = max(points, key=attrgetter("share"))
    called = ", ".join(filter(None, (best.name, best.group)))
    if best.share > 1:
        return f"{called} beats the measured roof by {best.share - 1:.0%}"
    return f"The nearest to a limit reaches {best.share:.0%} of it: {called}"


def _named(ceilings: Ceilings, points: Sequence[_Point], rates: Collection[float]) -> Figure:
    """Draw all points in one plot, with the name of each computation and its best share."""
    figure, axes = plt.subplots(figsize=(6.0, 4.6))
    _draw_roof(axes, ceilings, points, rates, with_names=True)
    groups = dict.fromkeys(point.group for point in points)
    colours = palette(groups)
    for group, marker in zip(groups, cycle(MARKERS), strict=False):
        own = [point for point in points if point.group == group]
        xs, ys = [point.intensity for point in own], [point.rate for point in own]
        axes.plot(xs, ys, marker, color=colours[group], label=escape_math(group))
    fastest: dict[str, _Point] = {}
    for point in sorted(points, key=attrgetter("rate")):
        fastest[point.name] = point
    for number, point in enumerate(sorted(fastest.values(), key=attrgetter("intensity"))):
        share = max(other.share for other in points if other.name == point.name)
        # To the left and to the right by turns, because computations may do as much for each byte.
        left = number % 2 == 1
        axes.annotate(
            f"{escape_math(point.name)}\n{share:.0%}",
            (point.intensity, point.rate),
            xytext=(-9 if left else 9, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",  # or the roof would strike out the name of a computation that reaches it
        )
    axes.set_ylabel("operations a second (higher is better)")
    axes.set_xlabel("operations for each byte moved")
    if points:
        figure.legend(loc="outside lower center", ncols=3)
    return figure


def _in_panels(ceilings: Ceilings, points: Sequence[_Point], rates: Collection[float]) -> Figure:
    """Draw a panel for each group, in which the others are grey."""
    groups = list(dict.fromkeys(point.group for point in points)) or [""]
    rows = -(-len(groups) // 2)
    figure = plt.figure(figsize=(6.0, 1.6 + 1.75 * rows))
    below = cast(SubFigure, figure.subfigures())
    grid = below.subplots(rows, 2, sharex=True, sharey=True, squeeze=False)
    for unused in grid.flat[len(groups) :]:
        unused.remove()
    for axes, group in zip(grid.flat, groups, strict=False):
        _draw_roof(axes, ceilings, points, rates, most_ticks=4)
        for own, look in ((False, GREY_POINT), (True, OWN_POINT)):
            chosen = [point for point in points if (point.group == group) is own]
            axes.plot([p.intensity for p in chosen], [p.rate for p in chosen], "o", **look)
        axes.set_title(escape_math(group), fontsize=10.5)
        axes.tick_params(labelsize=10.5)
    for lowest in grid.flat[max(len(groups) - 2, 0) : len(groups)]:  # of each column
        lowest.tick_params(labelbottom=True)
    below.supxlabel("operations for each byte moved", fontsize=12)
    below.supylabel("operations a second (higher is better)", fontsize=12)
    return figure


def _draw_roof(
    axes: Axes,
    ceilings: Ceilings,
    points: Sequence[_Point],
    rates: Collection[float],
    *,
    with_names: bool = False,
    most_ticks: int = 7,
) -> None:
    """Draw the ceilings where there are points, and axes that hold both."""
    intensities = [point.intensity for point in points] or [1.0]
    left, right = min(intensities) / 3, max(intensities) * 3
    xs = np.geomspace(left, right)
    roofs = {
        dtype: np.minimum(rate, xs * ceilings.bytes_per_s)
        for dtype, rate in ceilings.flops_per_s.items()
    }
    for ys in roofs.values():
        axes.plot(xs, ys, color=INK, linewidth=1, alpha=0.6)
    highest = max(ceilings.flops_per_s.values())
    rates = [*rates, *(point.rate for point in points)] or [highest / 100]
    words = FuncFormatter(lambda intensity, _: findings.in_words(intensity))
    log_axis(axes.xaxis, left, right, words, margin=0.0, most_ticks=most_ticks)
    units = EngFormatter(unit="FLOP/s")
    log_axis(axes.yaxis, min(rates), max(highest, *rates), units, most_ticks=most_ticks)
    if with_names:
        for dtypes in _close_together(ceilings.flops_per_s):
            axes.annotate(
                escape_math("\n".join(dtypes)),
                (xs[-1], roofs[dtypes[0]][-1]),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                annotation_clip=False,
            )


def _close_together(rates: Mapping[str, float]) -> list[list[str]]:
    """Group dtypes whose lines would be too close for separate labels, the fastest first.

    The label of a group has a line for each dtype, and its middle is at the fastest.
    """
    groups: list[list[str]] = []
    for dtype in sorted(rates, key=rates.__getitem__, reverse=True):
        lines_apart = (len(groups[-1]) + 1) / 2 if groups else 0
        if groups and rates[groups[-1][0]] < MIN_LABEL_RATIO**lines_apart * rates[dtype]:
            groups[-1].append(dtype)
        else:
            groups.append([dtype])
    return groups
