"""All results of an experiment in one figure, with a panel for each combination of parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import cycle
from math import ceil
from typing import Any, cast

import matplotlib.pyplot as plt
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import EngFormatter

from jaxcap.report import findings
from jaxcap.report.figures.drawing import redrawable
from jaxcap.report.figures.labels import headline, wrap
from jaxcap.report.figures.rows import draw_dots
from jaxcap.report.figures.series import (
    describe_ends,
    draw_series,
    label_lines,
    log_axes,
    series_of,
)
from jaxcap.report.figures.style import MARKERS, SMALL, STYLE, escape_math, log_axis, palette
from jaxcap.report.figures.values import TIME, describe, limits_of
from jaxcap.results import Result, ResultSet
from jaxcap.results.tabulation import devices_of


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
    limits = limits_of(shown)
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
    subject = title or devices_of(results)
    size = STYLE["font.size"]
    if len(parts) > 1:  # the only panel has the subject as its title
        below.suptitle(wrap(subject, 6.0), x=0.01, ha="left", fontsize=size, fontweight="normal")
    named = zip(parts, descriptions, strict=True)
    words = ". ".join(f"{name}, {text}" if name else text for name, text in named)
    headline(figure, findings.of_times(results, x=x), subject, words)
    if x and len(parts) == 1:
        label_lines(figure.axes[0], series_of(results, x, [result.time for result in results]))
    return figure


def facets(results: ResultSet) -> tuple[str | None, Mapping[str, ResultSet]]:
    """Choose a parameter for the x axis, and split results by the values of the other parameters.

    The parameter is the numeric one with the most values, or None if it takes only one value in each
    part; the device does not count as a parameter. Parts are named like ``"wave, size 10"``.
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
        name = ", ".join(_named(c, value) for c, value in values.items())
        groups.setdefault(name, []).append(result)
    return {name: results.subset(group) for name, group in groups.items()}


def _named(parameter: str, value: object) -> str:
    """Name the value of a parameter, which needs the parameter's name unless it is a word."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{parameter} {findings.in_words(value)}"
    return f"{parameter} {value}"


def _draw_line_panels(
    figure: Figure, parts: Iterable[ResultSet], x: str, limits: tuple[float, float]
) -> list[str]:
    """Draw lines against ``x`` in a panel for each part, and describe each panel in words."""
    series_of_parts = [series_of(part, x, [result.time for result in part]) for part in parts]
    names = dict.fromkeys(name for series in series_of_parts for name in series)
    colours, markers = palette(names), dict(zip(names, cycle(MARKERS), strict=False))
    handles: dict[str, Any] = {}  # by label, because panels share their lines' names
    for axes, series in zip(figure.axes, series_of_parts, strict=True):
        draw_series(axes, series, colours, markers)
        log_axes(axes, series, limits=limits)
        axes.set_xlabel(escape_math(x))
        axes.label_outer(remove_inner_ticks=False)
        axes.tick_params(labelbottom=True, labelsize=SMALL)
        handles |= {
            name: line for line, name in zip(*axes.get_legend_handles_labels(), strict=True)
        }
    figure.axes[0].set_ylabel("time of a call\n(lower is better)")
    if len(series_of_parts) > 1:
        figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=2)
    return [describe_ends(x, series) for series in series_of_parts]


def _draw_point_panels(
    figure: Figure, parts: Collection[ResultSet], limits: tuple[float, float]
) -> list[str]:
    """Draw a point for each variant in a panel for each part, and describe each panel in words."""
    colours = palette(result.variant for part in parts for result in part)
    for axes, part in zip(figure.axes, parts, strict=True):
        draw_dots(axes, [r.time for r in part], [colours[result.variant] for result in part])
        axes.set_yticks(range(len(part)), [escape_math(result.variant) for result in part])
        log_axis(axes.xaxis, *limits, EngFormatter(unit="s"))
        axes.tick_params(labelsize=SMALL)
    figure.axes[-1].set_xlabel(TIME)
    return [describe((result.variant, result.time) for result in part) for part in parts]
