"""Figures of changes that were made one after the other, and of what each of them did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import fill

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from jaxcap.report import findings
from jaxcap.report.figures.drawing import redrawable
from jaxcap.report.figures.labels import fit_texts, headline
from jaxcap.report.figures.style import BLUE, GREY, INK, ORANGE, escape_math, linear_axis
from jaxcap.report.figures.values import PROCESS, TIME
from jaxcap.results import ResultSet
from jaxcap.results.statistics import Estimate
from jaxcap.results.tabulation import devices_of

_COLOURS = {"faster": BLUE, "slower": ORANGE, "undecided": GREY}
_NAME_WIDTH = 18  # in letters


@redrawable
def waterfall(
    results: ResultSet,
    *,
    changes: Mapping[str, str],
    names: Mapping[str, str] | None = None,
    title: str | None = None,
    label: str = TIME,
) -> Figure:
    """Draw what each of several changes did to the time, with a row for each.

    A bar reaches from the time before a change to the one after it, and its colour says whether that
    is certainly less or more.

    Parameters
    ----------
    results
        Of one comparison.
    changes
        By the name of a variant, the one from which it differs by one change. The rows lead to the
        fastest of all these, from one that no change leads to.
    names
        By the name of a variant, what to call the change that leads to it; by default the variant.
    title
        The subject; by default, the device.
    label
        What is drawn.
    """
    path = _path_to_fastest(results, changes)
    rows = [(names or {}).get(variant, variant) for variant in path]
    times = [results.only(variant).time for variant in path]
    speedups = [results.speedup(variant, over=before) for before, variant in pairwise(path)]
    verdicts = ["", *(f"\n{speedup.verdict_in_words}" for speedup in speedups)]
    texts = [f"{time.short}{verdict}" for time, verdict in zip(times, verdicts, strict=True)]
    figure, axes = plt.subplots(figsize=(6.0, 1.6 + 0.6 * len(path)))
    _draw_bars(axes, times, ["undecided", *(speedup.verdict for speedup in speedups)])
    _write_beside(axes, times, texts)
    axes.set_yticks(range(len(rows)), [fill(escape_math(row), _NAME_WIDTH) for row in rows])
    axes.set_xlabel(label)
    finding = f"{path[0]} takes the least time"
    if speedups:
        whole = results.speedup(path[-1], over=path[0])
        finding = findings.comparison(path[-1], path[0], whole)
    subject = title or devices_of(results.results)
    headline(figure, finding, subject)
    fit_texts(axes)
    told = (f"{row}: {text}" for row, text in zip(rows, texts, strict=True))
    figure.set_label(f"{subject}. {'; '.join(told)}".replace("\n", ", "))
    return figure


def _path_to_fastest(results: ResultSet, changes: Mapping[str, str]) -> list[str]:
    ways = [result for result in results if result.variant in {*changes, *changes.values()}]
    path = [min(ways, key=lambda way: way.time.value).variant]
    while path[0] in changes:
        path.insert(0, changes[path[0]])
    return path


def _draw_bars(axes: Axes, times: Sequence[Estimate], verdicts: Sequence[str]) -> None:
    """Draw a bar from each time to the next, the first one from zero, and the processes at its end."""
    start = 0.0
    for row, (time, verdict) in enumerate(zip(times, verdicts, strict=True)):
        axes.barh(row, time.value - start, left=start, height=0.55, color=_COLOURS[verdict])
        axes.plot(time.medians, [row] * len(time.medians), color=INK, **PROCESS)
        if row:
            axes.vlines(start, row - 1, row, color=INK, linewidth=0.8)
        start = time.value
    longest = max(time.observed[1] for time in times)
    linear_axis(axes.xaxis, longest, EngFormatter(unit="s"))
    axes.set_xlim(0, 1.05 * longest)
    axes.set_ylim(len(times) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def _write_beside(axes: Axes, times: Sequence[Estimate], texts: Sequence[str]) -> None:
    """Write a text to the right of each bar, and of its processes."""
    starts = [0.0, *(time.value for time in times)]
    for row, (time, start, text) in enumerate(zip(times, starts, texts, strict=False)):
        right = max(start, time.value, *time.observed)
        axes.annotate(text, (right, row), (9, 0), textcoords="offset points", va="center")
