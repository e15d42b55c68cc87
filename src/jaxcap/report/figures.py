"""Figures from results: bars, scaling lines and speed-ups, each point with its interval.

Figures are drawn for a light page. `on_dark` redraws one for a dark page; both have a transparent
background. A backend has the same colour in all figures, and each figure's label says in words what
it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import cycle
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec
from weakref import WeakKeyDictionary

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator, NullLocator

from jaxcap.results import Result, ResultSet
from jaxcap.results.statistics import Estimate

# Okabe and Ito's colours, told apart by all kinds of colour vision, less black and yellow, which
# vanish on a dark and on a light page.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
# What a name begins with decides on its colour, so that it is the same in all figures.
BACKENDS = {
    "NumPy": COLOURS[0],
    "jit": COLOURS[1],
    "JAX": COLOURS[1],
    "Flax": COLOURS[1],
    "op by op": COLOURS[2],
    "jnp": COLOURS[2],
    "PyTorch": COLOURS[3],
    "autograd": COLOURS[4],
    "SciPy": COLOURS[4],
    "Python": COLOURS[5],
}
INK, INK_ON_DARK = "#1f2328", "#e6edf3"
GRID = "#8b949e"

# Points by the name of their line: place on the x axis, and what was measured there.
Series = Mapping[str, list[tuple[float, Estimate]]]

STYLE: dict[Any, Any] = {
    "figure.figsize": (7.0, 4.0),
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "savefig.transparent": True,
    # Text stays text in vector graphics. Verdana is as wide, and is where DejaVu Sans isn't.
    "svg.fonttype": "none",
    "svg.hashsalt": "jaxcap",  # the same names in each run
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.alpha": 0.35,
    "grid.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=COLOURS),
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
}


# What a figure was drawn from, and how it is drawn from other results.
_drawn: WeakKeyDictionary[Figure, tuple[ResultSet, Callable[[ResultSet], Figure]]] = (
    WeakKeyDictionary()
)

P = ParamSpec("P")


def _remembered(
    draw: Callable[Concatenate[ResultSet, P], Figure],
) -> Callable[Concatenate[ResultSet, P], Figure]:
    @wraps(draw)
    def remembering(results: ResultSet, /, *args: P.args, **options: P.kwargs) -> Figure:
        figure = draw(results, *args, **options)
        _drawn[figure] = results, lambda others: draw(others, *args, **options)
        return figure

    return remembering


def drawn_from(figure: Figure) -> tuple[ResultSet, Callable[[ResultSet], Figure]] | None:
    """Tell from what results a figure of this module was drawn, and how to draw it from others."""
    return _drawn.get(figure)


def use_style() -> None:
    """Make matplotlib draw all figures from now on in this site's style."""
    plt.rcParams.update(STYLE)


@_remembered
def bars(
    results: ResultSet,
    *,
    title: str | None = None,
    value: Callable[[Result], Estimate] = attrgetter("time"),
    label: str = "time of a call",
) -> Figure:
    """Draw the time of each result, or another value, as a horizontal bar with its interval."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7.0, 1.3 + 0.5 * len(results)))
        colours = palette(result.variant for result in results.results)
        columns = results.varying()
        for row, result in enumerate(results.results):
            one = value(result)
            axes.barh(row, one.value, color=colours[result.variant], height=0.6)
            axes.errorbar(one.value, row, xerr=_ends(one), color=INK, capsize=4)
            axes.annotate(
                f" {one.short}",
                (one.high, row),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
            )
        labels = [
            ", ".join([r.variant, *(str(r.parameters[c]) for c in columns if c in r.parameters)])
            for r in results.results
        ]
        axes.set_yticks(range(len(labels)), list(map(plain, labels)))
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.15)
        axes.set_xlim(left=0)
        axes.set_xlabel(label)
        axes.xaxis.set_major_locator(MaxNLocator(6))  # labels with units are long
        if one.unit == "s":
            axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
        axes.set_title(plain(title or _where(results)))
        figure.set_label(_listed(zip(labels, map(value, results.results), strict=True)))
    return figure


@_remembered
def scaling(results: ResultSet, *, x: str, title: str | None = None) -> Figure:
    """Draw the time of each variant against parameter ``x``, both on log scales."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots()
        series = _series(results, x, lambda result: result.time)
        _lines(axes, series)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(EngFormatter(unit="s"))
        axes.set_ylabel("time of a call")
        _finish(axes, x, series, title or _where(results))
        figure.set_label(_where_lines_end(x, series))
    return figure


@_remembered
def speedups(results: ResultSet, *, over: str, x: str, title: str | None = None) -> Figure:
    """Draw how many times faster than ``over`` the other variants are, against parameter ``x``."""

    def speedup(result: Result) -> Estimate:
        return results.speedup_of(result, over=over)

    others = [result for result in results.results if result.variant != over]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots()
        chosen = results.model_copy(update={"results": tuple(others)})
        series = _series(chosen, x, speedup)
        _lines(axes, series)
        axes.axhline(1, color=GRID, linewidth=1.2, linestyle="--")
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
        axes.set_ylabel(f"speed-up over {over}")
        _finish(axes, x, series, title or _where(results))
        figure.set_label(_where_lines_end(x, series))
    return figure


@_remembered
def panels(results: ResultSet, *, title: str | None = None) -> Figure:
    """Draw the times of a whole experiment, whatever its parameters.

    A panel for each combination of those that are no numbers; in it, times against the number that
    takes most values, or where none takes several, a point for each variant.
    """
    x, parts = facets(results)
    colours = palette(result.variant for result in results.results)
    columns = min(2, len(parts))
    rows = -(-len(parts) // columns)
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(rows, columns, figsize=(7.0, 0.7 + 2.6 * rows), squeeze=False)
        for axes in grid.flat[len(parts) :]:
            axes.remove()
        found: dict[str, str] = {}
        for axes, (name, some) in zip(grid.flat, parts.items(), strict=False):
            if x:
                series = _series(some, x, attrgetter("time"))
                found[name] = _where_lines_end(x, series)
                _lines(axes, series, colours)
                axes.set_yscale("log")
                axes.yaxis.set_major_formatter(EngFormatter(unit="s"))
                axes.yaxis.set_minor_locator(NullLocator())  # hundreds of ticks take long to draw
                _log_sizes(axes, x, series, most=5)
            else:
                _points(axes, some, colours)
                found[name] = _listed((one.variant, one.time) for one in some.results)
            axes.set_title(plain(name), fontsize=STYLE["font.size"])
        if x:
            labels = dict(
                pair
                for axes in figure.axes
                for pair in zip(*reversed(axes.get_legend_handles_labels()), strict=True)
            )
            figure.legend(labels.values(), labels, loc="outside lower center", ncols=3)
        figure.suptitle(plain(title or _where(results)), x=0.01, ha="left", fontsize=12)
        figure.set_label(". ".join(", ".join(filter(None, pair)) for pair in found.items()))
    return figure


def facets(results: ResultSet) -> tuple[str | None, Mapping[str, ResultSet]]:
    """Choose the parameter for the x axis, if any, and split results by the others: by their values.

    The device counts as no parameter.
    """
    columns = [column for column in results.varying() if column != "device"]
    values = {c: {one.parameters.get(c) for one in results.results} for c in columns}
    numbers = [c for c in columns if {type(value) for value in values[c]} <= {int, float}]
    x = max(numbers, key=lambda c: len(values[c]), default=None)

    def split(by: Sequence[str]) -> dict[str, ResultSet]:
        groups: dict[str, list[Result]] = {}
        for one in results.results:
            name = ", ".join(f"{c} {one.parameters[c]}" for c in by if c in one.parameters)
            groups.setdefault(name, []).append(one)
        return {k: results.model_copy(update={"results": tuple(v)}) for k, v in groups.items()}

    found = split([column for column in columns if column != x])
    if x and any(len({one.parameters[x] for one in f.results}) > 1 for f in found.values()):
        return x, found
    return None, split(columns)


def _points(axes: Axes, results: ResultSet, colours: Mapping[str, str]) -> None:
    for row, result in enumerate(results.results):
        colour = colours[result.variant]
        one = result.time
        axes.errorbar(one.value, row, xerr=_ends(one), fmt="o", color=colour, capsize=3)
    axes.set_yticks(range(len(results)), [plain(result.variant) for result in results.results])
    axes.set_ylim(len(results) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.xaxis.set_minor_locator(NullLocator())


def plain(text: str) -> str:
    """Escape what matplotlib would take for mathematics: names may come from anybody's file."""
    return text.replace("$", r"\$")


def palette(names: Iterable[str]) -> Mapping[str, str]:
    """Give each name a colour: a backend that of its own, the others what is left, in their order."""
    names = tuple(dict.fromkeys(names))
    chosen: dict[str, str] = {}
    for name in names:
        colour = next((c for start, c in BACKENDS.items() if name.startswith(start)), None)
        if colour and colour not in chosen.values():
            chosen[name] = colour
    left = cycle([c for c in COLOURS if c not in chosen.values()] or COLOURS)
    return {name: chosen.get(name) or next(left) for name in names}


@contextmanager
def on_dark(figure: Figure) -> Iterator[None]:
    """Draw a figure's text and axes in ink for a dark page while the context lasts."""
    _replace_ink(figure, INK, INK_ON_DARK)
    try:
        yield
    finally:
        _replace_ink(figure, INK_ON_DARK, INK)


def _replace_ink(figure: Figure, old: str, new: str) -> None:
    for artist in figure.findobj():
        for kind in ("color", "edgecolor", "markeredgecolor"):
            get = getattr(artist, f"get_{kind}", None)
            if get is not None and np.array_equal(to_rgba_array(get()), to_rgba_array(old)):
                getattr(artist, f"set_{kind}")(new)


def _series(results: ResultSet, x: str, y: Callable[[Result], Estimate]) -> Series:
    """Points by line: a line for each variant and each value of the other parameters."""
    others = [column for column in results.varying() if column != x]
    several = len({result.variant for result in results.results}) > 1
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    for result in results.results:
        names = [result.variant] if several or not others else []
        names += [str(result.parameters[c]) for c in others if c in result.parameters]
        lines.setdefault(", ".join(names), []).append((float(result.parameters[x]), y(result)))
    return lines


def _lines(axes: Axes, series: Series, colours: Mapping[str, str] | None = None) -> None:
    colours = colours or palette(series)
    for (name, points), marker in zip(series.items(), cycle(MARKERS), strict=False):
        xs, estimates = zip(*sorted(points, key=lambda point: point[0]), strict=True)
        ends = [_ends(one) for one in estimates]
        axes.errorbar(
            xs,
            [one.value for one in estimates],
            yerr=[[low for (low,), _ in ends], [high for _, (high,) in ends]],
            label=plain(name),
            color=colours[name],
            marker=marker,
            capsize=3,
        )


def _listed(values: Iterable[tuple[str, Estimate]]) -> str:
    """Say what values there are, the smallest first."""
    ordered = sorted(values, key=lambda pair: pair[1].value)
    return "; ".join(f"{name}: {one.short}" for name, one in ordered)


def _where_lines_end(x: str, series: Series) -> str:
    """Say what the values are at the largest place, which is what a plot's lines lead to."""
    last = max(place for points in series.values() for place, _ in points)
    values = ((name, dict(points)[last]) for name, points in series.items() if last in dict(points))
    return f"at {x} {last:,.10g}, {_listed(values)}"


def _finish(axes: Axes, x: str, series: Series, title: str) -> None:
    _log_sizes(axes, x, series)
    axes.set_title(plain(title))
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend()


def _log_sizes(axes: Axes, x: str, series: Series, most: int | None = None) -> None:
    """Make the x axis logarithmic, and label the places of points; the last and few others if told."""
    axes.set_xscale("log")
    sizes = sorted({size for points in series.values() for size, _ in points})
    shown = sizes[:: -(-len(sizes) // most) * -1][::-1] if most else sizes
    short = EngFormatter(sep="")
    axes.set_xticks(shown, [short(size) if most else f"{size:,.10g}" for size in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(plain(x))


def _ends(one: Estimate) -> tuple[list[float], list[float]]:
    """Distances from the value to the ends of its interval, as matplotlib wants them."""
    return [one.value - one.low], [one.high - one.value]


def _where(results: ResultSet) -> str:
    return ", ".join(dict.fromkeys(str(result.device) for result in results.results))
