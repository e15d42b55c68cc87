"""Figures of results: bars, scaling lines and speed-ups, each point with its interval.

Figures are drawn in ``INK`` on a transparent background, for a light page; a dark page shows them in
``INK_ON_DARK``. A backend has the same colour in all figures, and the label of each figure states its
main numbers in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import cycle
from math import ceil
from operator import attrgetter, itemgetter
from typing import Any, Concatenate, ParamSpec
from weakref import WeakKeyDictionary

import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator, NullLocator

from jaxcap.results import Result, ResultSet
from jaxcap.results.statistics import Estimate

# Okabe and Ito's colours, which all kinds of colour vision can distinguish, without black and yellow,
# which vanish on a dark and on a light page.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
# The colour of names that begin so, which is the same in all figures.
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

# Points by the name of their line: the position on the x axis, and the estimate there.
Series = Mapping[str, list[tuple[float, Estimate]]]

STYLE: dict[Any, Any] = {
    "figure.figsize": (7.0, 4.0),
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "savefig.transparent": True,
    # Text stays text in vector graphics. Verdana is as wide as DejaVu Sans, and more common.
    "svg.fonttype": "none",
    "svg.hashsalt": "jaxcap",  # the same identifiers in each run
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


# The results that each figure was drawn from, and a function that draws it from others.
_drawn: WeakKeyDictionary[Figure, tuple[ResultSet, Callable[[ResultSet], Figure]]] = (
    WeakKeyDictionary()
)

P = ParamSpec("P")


def _redrawable(
    draw: Callable[Concatenate[ResultSet, P], Figure],
) -> Callable[Concatenate[ResultSet, P], Figure]:
    """Draw in this site's style, and remember for `drawn_from` how that was done."""

    @wraps(draw)
    def draw_and_remember(results: ResultSet, /, *args: P.args, **options: P.kwargs) -> Figure:
        def redraw(results: ResultSet) -> Figure:
            with plt.rc_context(STYLE):
                return draw(results, *args, **options)

        figure = redraw(results)
        _drawn[figure] = results, redraw
        return figure

    return draw_and_remember


def drawn_from(figure: Figure) -> tuple[ResultSet, Callable[[ResultSet], Figure]] | None:
    """Return the results that a figure of this module shows, and a function to draw it from others."""
    return _drawn.get(figure)


def use_style() -> None:
    """Draw all further figures of matplotlib in this site's style."""
    plt.rcParams.update(STYLE)


@_redrawable
def bars(
    results: ResultSet,
    *,
    title: str | None = None,
    value: Callable[[Result], Estimate] = attrgetter("time"),
    label: str = "time of a call",
) -> Figure:
    """Draw the time of each result, or another value, as a horizontal bar with its interval."""
    columns = results.varying()
    names = [
        ", ".join([r.variant, *(str(r.parameters[c]) for c in columns if c in r.parameters)])
        for r in results.results
    ]
    estimates = [value(result) for result in results.results]
    colours = palette(result.variant for result in results.results)
    figure, axes = plt.subplots(figsize=(7.0, 1.3 + 0.5 * len(results)))
    for row, (result, estimate) in enumerate(zip(results.results, estimates, strict=True)):
        axes.barh(row, estimate.value, color=colours[result.variant], height=0.6)
        axes.errorbar(estimate.value, row, xerr=_errors([estimate]), color=INK, capsize=4)
        axes.annotate(
            f" {estimate.short}",
            (estimate.high, row),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
        )
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.15)
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(6))  # labels with units are long
    if estimates[0].unit == "s":
        axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.set_title(plain(title or _devices(results)))
    figure.set_label(_in_words(zip(names, estimates, strict=True)))
    return figure


@_redrawable
def scaling(results: ResultSet, *, x: str, title: str | None = None) -> Figure:
    """Draw the time of each variant against parameter ``x``, both on log scales."""
    series = _series(results, x, attrgetter("time"))
    figure, axes = _plot(series, x, title or _devices(results))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.set_ylabel("time of a call")
    return figure


@_redrawable
def speedups(results: ResultSet, *, over: str, x: str, title: str | None = None) -> Figure:
    """Draw how many times faster than ``over`` the other variants are, against parameter ``x``."""

    def speedup(result: Result) -> Estimate:
        return results.speedup_of(result, over=over)

    others = [r for r in results if r.variant != over and results.paired_result(r, over)]
    series = _series(results.subset(others), x, speedup)
    figure, axes = _plot(series, x, title or _devices(results))
    axes.axhline(1, color=GRID, linewidth=1.2, linestyle="--")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.set_ylabel(f"speed-up over {over}")
    return figure


@_redrawable
def panels(results: ResultSet, *, title: str | None = None) -> Figure:
    """Draw the times of a whole experiment, whatever its parameters.

    There is a panel for each part that `facets` returns: with lines against its parameter, or, if
    it has none, with a point for each variant.
    """
    x, parts = facets(results)
    if x:
        lines = {name: _series(part, x, attrgetter("time")) for name, part in parts.items()}
        colours = palette(line for series in lines.values() for line in series)
    else:
        colours = palette(result.variant for result in results)
    columns = min(2, len(parts))
    rows = ceil(len(parts) / columns)
    figure, grid = plt.subplots(rows, columns, figsize=(7.0, 0.7 + 2.6 * rows), squeeze=False)
    for axes in grid.flat[len(parts) :]:
        axes.remove()
    descriptions = []
    for axes, (name, part) in zip(grid.flat, parts.items(), strict=False):
        if x:
            series = lines[name]
            _lines(axes, series, colours)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(EngFormatter(unit="s"))
            axes.yaxis.set_minor_locator(NullLocator())  # hundreds of ticks take long to draw
            _label_sizes(axes, x, series, max_labels=5)
            description = _ends_in_words(x, series)
        else:
            _points(axes, part, colours)
            description = _in_words((result.variant, result.time) for result in part.results)
        axes.set_title(plain(name), fontsize=STYLE["font.size"])
        descriptions.append(f"{name}, {description}" if name else description)
    if x:
        handles = {
            label: handle
            for axes in figure.axes
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=3)
    figure.suptitle(plain(title or _devices(results)), x=0.01, ha="left", fontsize=12)
    figure.set_label(". ".join(descriptions))
    return figure


def facets(results: ResultSet) -> tuple[str | None, Mapping[str, ResultSet]]:
    """Choose a parameter for the x axis, and split results by the values of the other parameters.

    It is the numeric one that takes most values, or None if it takes several in no part; the device
    does not count as a parameter. Parts are named like ``"function wave"``.
    """
    columns = [column for column in results.varying() if column != "device"]
    values = {c: {result.parameters.get(c) for result in results.results} for c in columns}
    numeric = [c for c in columns if {type(value) for value in values[c]} <= {int, float}]
    if numeric:
        x = max(numeric, key=lambda column: len(values[column]))
        parts = _split(results, [column for column in columns if column != x])
        for part in parts.values():
            if len({result.parameters[x] for result in part.results}) > 1:
                return x, parts
    return None, _split(results, columns)


def _split(results: ResultSet, columns: Sequence[str]) -> dict[str, ResultSet]:
    groups: dict[str, list[Result]] = {}
    for result in results.results:
        name = ", ".join(f"{c} {result.parameters[c]}" for c in columns if c in result.parameters)
        groups.setdefault(name, []).append(result)
    return {
        name: results.model_copy(update={"results": tuple(group)}) for name, group in groups.items()
    }


def _points(axes: Axes, results: ResultSet, colours: Mapping[str, str]) -> None:
    for row, result in enumerate(results.results):
        time, colour = result.time, colours[result.variant]
        axes.errorbar(time.value, row, xerr=_errors([time]), fmt="o", color=colour, capsize=3)
    axes.set_yticks(range(len(results)), [plain(result.variant) for result in results.results])
    axes.set_ylim(len(results) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.xaxis.set_minor_locator(NullLocator())


def plain(text: str) -> str:
    """Escape what matplotlib would take for mathematics: names may come from anybody's file."""
    return text.replace("$", r"\$")


def palette(names: Iterable[str]) -> Mapping[str, str]:
    """Give each backend its own colour, and the other names the rest in turn, over and over."""
    names = tuple(dict.fromkeys(names))
    chosen: dict[str, str] = {}
    for name in names:
        colour = next((c for start, c in BACKENDS.items() if name.startswith(start)), None)
        if colour and colour not in chosen.values():
            chosen[name] = colour
    remaining = cycle([c for c in COLOURS if c not in chosen.values()] or COLOURS)
    return {name: chosen.get(name) or next(remaining) for name in names}


def _series(results: ResultSet, x: str, y: Callable[[Result], Estimate]) -> Series:
    """Group points by line: one for each variant and each value of the other parameters."""
    others = [column for column in results.varying() if column != x]
    several = len({result.variant for result in results.results}) > 1
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    for result in results.results:
        names = [result.variant] if several or not others else []
        names += [str(result.parameters[c]) for c in others if c in result.parameters]
        lines.setdefault(", ".join(names), []).append((float(result.parameters[x]), y(result)))
    return lines


def _plot(series: Series, x: str, title: str) -> tuple[Figure, Axes]:
    figure, axes = plt.subplots()
    _lines(axes, series)
    _label_sizes(axes, x, series)
    axes.set_title(plain(title))
    if len(series) > 1:
        axes.legend()
    figure.set_label(_ends_in_words(x, series))
    return figure, axes


def _lines(axes: Axes, series: Series, colours: Mapping[str, str] | None = None) -> None:
    colours = colours or palette(series)
    for (name, points), marker in zip(series.items(), cycle(MARKERS), strict=False):
        points = sorted(points, key=itemgetter(0))
        estimates = [estimate for _, estimate in points]
        axes.errorbar(
            [position for position, _ in points],
            [estimate.value for estimate in estimates],
            yerr=_errors(estimates),
            label=plain(name),
            color=colours[name],
            marker=marker,
            capsize=3,
        )


def _in_words(estimates: Iterable[tuple[str, Estimate]]) -> str:
    """List named values, the smallest first."""
    ordered = sorted(estimates, key=lambda pair: pair[1].value)
    return "; ".join(f"{name}: {estimate.short}" for name, estimate in ordered)


def _ends_in_words(x: str, series: Series) -> str:
    """List the values at the right end of a plot, to which its lines lead."""
    last = max(position for points in series.values() for position, _ in points)
    estimates = [
        (name, estimate)
        for name, points in series.items()
        for position, estimate in points
        if position == last
    ]
    return f"at {x} {last:,.10g}, {_in_words(estimates)}"


def _label_sizes(axes: Axes, x: str, series: Series, max_labels: int | None = None) -> None:
    """Make the x axis logarithmic, and label where points are: everywhere, or briefly at a few."""
    axes.set_xscale("log")
    sizes = sorted({size for points in series.values() for size, _ in points})
    labels = [f"{size:,.10g}" for size in sizes]
    if max_labels:
        step = ceil(len(sizes) / max_labels)
        sizes = sizes[::-step][::-1]  # the last size is always labelled
        labels = [EngFormatter(sep="")(size) for size in sizes]
    axes.set_xticks(sizes, labels)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(plain(x))


def _errors(estimates: Sequence[Estimate]) -> tuple[list[float], list[float]]:
    """Distances from each value to the lower and upper end of its interval, for error bars."""
    return [e.value - e.low for e in estimates], [e.high - e.value for e in estimates]


def _devices(results: ResultSet) -> str:
    return ", ".join(dict.fromkeys(str(result.device) for result in results.results))
