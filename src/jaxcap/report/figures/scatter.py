"""A scatter plot of paired times, which agree where their point is near the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from jaxcap.report.figures.labels import headline
from jaxcap.report.figures.style import COLOURS, GRID, MARKERS, STYLE


@dataclass(frozen=True)
class Group:
    """Points that share a colour, a marker and an entry in the legend.

    Attributes
    ----------
    label
        The entry in the legend.
    xs
        Seconds along the horizontal axis.
    ys
        Seconds along the vertical axis, for each of ``xs``.
    other_ys
        Other seconds for each of ``xs``, drawn as hollow markers; empty if there are none.
    other_label
        The entry of the hollow markers in the legend.
    color
        Of the points; by default, the next of the style's.
    series
        Identifies the group in a vector graphic, where each part is named so, with a dot and a number.
    """

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    other_ys: Sequence[float] = ()
    other_label: str = ""
    color: str = ""
    series: str = ""


def scatter(
    groups: Sequence[Group],
    *,
    factor: float,
    xlabel: str,
    ylabel: str,
    finding: str,
    subject: str = "",
) -> Figure:
    """Draw groups of points on logarithmic axes, and a band where times differ by up to ``factor``.

    A group without points is left out.
    """
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(6.0, 5.6))
        styles = zip(cycle(COLOURS), cycle(MARKERS), strict=False)
        for group, (next_colour, marker) in zip(groups, styles, strict=False):
            if not group.xs:  # whose colour stays its own
                continue
            colour = group.color or next_colour
            drawn: list[Artist] = []
            drawn += axes.loglog(group.xs, group.ys, marker, color=colour, label=group.label)
            if group.other_label:
                label, others = group.other_label, group.other_ys
                drawn += axes.loglog(
                    group.xs, others, marker, color=colour, mfc="none", label=label
                )
                look: dict[str, Any] = {"colors": colour, "lw": 0.6, "alpha": 0.6, "zorder": 1}
                drawn.append(axes.vlines(group.xs, group.ys, others, **look))
            for number, artist in enumerate(drawn if group.series else ()):
                artist.set_gid(f"{group.series}.{number}")
        if any(group.xs for group in groups):
            _draw_band(axes, factor)
            figure.legend(loc="outside lower center", ncols=2)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(EngFormatter(unit="s"))
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        headline(figure, finding, subject)
    return figure


def _draw_band(axes: Axes, factor: float) -> None:
    ends = [
        min(axes.get_xlim()[0], axes.get_ylim()[0]),
        max(axes.get_xlim()[1], axes.get_ylim()[1]),
    ]
    axes.plot(ends, ends, color=GRID, lw=1.2, zorder=0)
    low, high = [end / factor for end in ends], [end * factor for end in ends]
    axes.fill_between(ends, low, high, color=GRID, alpha=0.2, lw=0, zorder=0)
    axes.set(xlim=ends, ylim=ends)
