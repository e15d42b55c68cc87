"""All results of an experiment in one figure, with a panel for each combination of parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import cycle
from math import ceil
from typing import Any

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
    with_gaps,
)
from jaxcap.report.figures.style import MARKERS, SMALL, STYLE, escape_math, log_axis, palette
from jaxcap.report.figures.values import TIME, describe, limits_of
from jaxcap.results import Result, ResultSet
from jaxcap.results.tabulation import devices_of


@redrawable
def panels(
    results: ResultSet,
    *,
    title: str | None = None,
    xlabel: str | None = None,
    among: ResultSet | None = None,
    compare: bool = True,
    finding: str | None = None,
) -> Figure:
    """Draw the times of a whole experiment, whatever its parameters.

    There is a panel for each part that ``facets`` returns: with lines against its parameter, or below
    these, if that takes a single value, with a row for each variant. All have the same scale of time.

    Parameters
    ----------
    results
        Those of one experiment.
    title
        The subject; by default, the device.
    xlabel
        What the lines are drawn against; by default, the name of the parameter.
    among
        Choose the axis of time so that these have a place on it, for figures to be compared.
    compare
        Whether all variants do the same work, so that the headline may compare them.
    finding
        The headline; by default, what the times say.
    """
    x, parts = facets(results)
    limits = limits_of(result.time for result in (*results, *(among or ())))
    lines = {name: part for name, part in parts.items() if x in part.varying()}
    rows = {_with_place(name, part, x): part for name, part in parts.items() if name not in lines}
    ncols = min(2, len(lines))
    nrows = ceil(len(lines) / ncols) if lines else 0
    heights = (2.4 * nrows, 0.55 * len(rows) + 0.34 * sum(map(len, rows.values())))
    figure = plt.figure(figsize=(6.0, 1.4 + sum(heights)))
    drawn = [height + 0.7 for height in heights if height]
    blocks: list[SubFigure] = [
        *figure.subfigures(len(drawn), 1, squeeze=False, height_ratios=drawn).flat
    ]
    descriptions = []
    if x and lines:
        grid = blocks[0].subplots(nrows, ncols, sharey=True, squeeze=False)
        for unused in grid.flat[len(lines) :]:
            unused.remove()
        descriptions += _draw_line_panels(blocks[0], lines.values(), x, xlabel or x, limits)
    if rows:
        ratios = [len(part) + 1 for part in rows.values()]
        blocks[-1].subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=ratios)
        descriptions += _draw_point_panels(blocks[-1], rows.values(), limits)
    named = [*lines, *rows]
    for axes, name in zip(figure.axes, named, strict=True):
        axes.set_title(wrap(name, 7.0 / (ncols or 1)), fontsize=SMALL)
    subject = title or devices_of(results)
    if x:
        shown = [series_of(part, x, [r.time for r in part]) for part in lines.values()]
        subject = with_gaps(subject, shown)
    if len(parts) > 1:  # the only panel has the subject as its title
        size = STYLE["font.size"]
        blocks[0].suptitle(
            wrap(subject, 6.0), x=0.01, ha="left", fontsize=size, fontweight="normal"
        )
    pairs = zip(named, descriptions, strict=True)
    words = ". ".join(f"{name}, {text}" if name else text for name, text in pairs)
    finding = finding or findings.of_times(results, x=x, compare=compare)
    headline(figure, finding, subject, words)
    if len(parts) == 1 and rows:  # whose names take the left part of the figure
        figure.axes[0].set_title(wrap(subject, 3.0))
    if x and len(lines) == 1:
        (part,) = lines.values()
        label_lines(figure.axes[0], series_of(part, x, [result.time for result in part]))
    return figure


def _with_place(name: str, part: ResultSet, x: str | None) -> str:
    """Name a part without an axis for ``x`` by its only value of that, too, if it has one."""
    values = [result.parameters[x] for result in part if x and x in result.parameters]
    return ", ".join(filter(None, (name, _named(str(x), values[0]) if values else "")))


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
        return findings.place(parameter, value)
    return f"{parameter} {value}"


def _draw_line_panels(
    figure: SubFigure,
    parts: Iterable[ResultSet],
    x: str,
    xlabel: str,
    limits: tuple[float, float],
) -> list[str]:
    """Draw lines against ``x`` in a panel for each part, and describe each panel in words."""
    series_of_parts = [series_of(part, x, [result.time for result in part]) for part in parts]
    names = dict.fromkeys(name for series in series_of_parts for name in series)
    colours, markers = palette(names), dict(zip(names, cycle(MARKERS), strict=False))
    handles: dict[str, Any] = {}  # by label, because panels share their lines' names
    for axes, series in zip(figure.axes, series_of_parts, strict=True):
        draw_series(axes, series, colours, markers)
        log_axes(axes, series, limits=limits)
        axes.set_xlabel(escape_math(xlabel))
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
    figure: SubFigure, parts: Collection[ResultSet], limits: tuple[float, float]
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
