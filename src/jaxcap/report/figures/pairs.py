"""Figures of pairs of numbers, such as a wrong time beside the right one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter

from jaxcap.report.figures.labels import headline
from jaxcap.report.figures.style import GRID, STYLE, escape_math, log_axis, palette
from jaxcap.results.statistics import Estimate

# So many different counts have a tick each, at which they can be read.
_MOST_COUNTS = 6


def dumbbell(
    pairs: Mapping[str, tuple[float, float]],
    names: tuple[str, str],
    *,
    label: str,
    finding: str,
    unit: str = "s",
) -> Figure:
    """Draw pairs of positive numbers on a logarithmic axis: a row each, with a line from one to the other.

    Parameters
    ----------
    pairs
        By the name of the row.
    names
        What the first and the second number of each pair is: a cross and a dot.
    label
        Of the axis.
    finding
        The title.
    unit
        Of the numbers: ``"s"`` for times, and ``""`` for counts.
    """
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(6.0, 1.9 + 0.42 * len(pairs)))
        first, second = zip(*pairs.values(), strict=True)
        draw_pairs(axes, first, second, names)
        axes.set_yticks(range(len(pairs)), [escape_math(name) for name in pairs])
        axes.set_ylim(len(pairs) - 0.5, -0.5)
        formatter = EngFormatter("s") if unit == "s" else FuncFormatter(lambda n, _: f"{n:,.10g}")
        log_axis(axes.xaxis, min(*first, *second), max(*first, *second), formatter)
        if not unit and len(counts := {*first, *second}) <= _MOST_COUNTS:
            axes.set_xticks(sorted(counts))
        axes.set_xlabel(label)
        figure.legend(loc="outside lower center", ncols=2)
        headline(figure, finding)
        numbers = (
            f"{name}: {names[0]} {_short(a, unit)}, {names[1]} {_short(b, unit)}"
            for name, (a, b) in pairs.items()
        )
        figure.set_label("; ".join(numbers))
    return figure


def draw_pairs(
    axes: Axes, first: Sequence[float], second: Sequence[float], names: tuple[str, str]
) -> None:
    """Draw a cross and a dot in each row, with a line between them, in the colours of the names."""
    rows, size = range(len(first)), 1.5 * plt.rcParams["lines.markersize"]
    axes.hlines(rows, first, second, color=GRID, linewidth=2)
    colours = palette(names)
    for numbers, marker, name in zip((first, second), "Xo", names, strict=True):
        axes.plot(numbers, rows, marker, color=colours[name], markersize=size, label=name)


def _short(number: float, unit: str) -> str:
    return Estimate.from_runs([[number]], unit=unit).short if unit else f"{number:,.10g}"
