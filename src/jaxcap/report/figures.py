"""Figures of results: bars, scaling lines and speed-ups, with a dot for what each process measured.

Figures are drawn in ``INK`` on a transparent background, for a light page; a dark page shows them in
``INK_ON_DARK``. A backend has the same colour in all figures, and the label of each figure states its
main numbers in words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from itertools import cycle
from math import ceil
from operator import attrgetter, itemgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Concatenate, ParamSpec
from weakref import WeakKeyDictionary

import matplotlib.pyplot as plt
from matplotlib import rc_params_from_file
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, NullLocator, StrMethodFormatter

from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.base import FrozenModel
from jaxcap.results.statistics import Estimate
from jaxcap.results.tabulation import devices_of

STYLE_FILE = Path(__file__).with_name("jaxcap.mplstyle")
STYLE = rc_params_from_file(STYLE_FILE, use_default_template=False)
COLOURS: tuple[str, ...] = tuple(STYLE["axes.prop_cycle"].by_key()["color"])
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
INK, INK_ON_DARK = STYLE["text.color"], "#e6edf3"
GRID = STYLE["grid.color"]

# How the dots of processes look.
_PROCESSES: Mapping[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 4, "zorder": 3}

# Points by the name of their line: the position on the x axis, and the estimate there.
Series = Mapping[str, list[tuple[float, Estimate]]]

P = ParamSpec("P")

# The functions below that draw results, by name.
_functions: dict[str, Callable[..., Figure]] = {}
# For each figure the results that it shows, the name of the function that drew it, and its options.
_origins: WeakKeyDictionary[Figure, tuple[ResultSet, str, Mapping[str, Any]]] = WeakKeyDictionary()


class Reference(FrozenModel):
    """Where a function is found, as ``"module:name"``."""

    reference: str


class Drawing(FrozenModel):
    """How a figure was drawn, as data: with it the same can be drawn from other results.

    Attributes
    ----------
    function
        The name of a function of this module.
    options
        Its keyword arguments.
    """

    function: str
    options: dict[str, bool | int | float | str | Reference | None]

    def draw(self, results: ResultSet) -> Figure:
        """Draw results in the same way.

        Raises
        ------
        ValueError
            If the results lack what is drawn, or a function can't be imported any more.
        """
        try:
            options = {
                name: resolve_name(value.reference) if isinstance(value, Reference) else value
                for name, value in self.options.items()
            }
            return _functions[self.function](results, **options)
        except (AttributeError, ImportError, KeyError) as error:
            raise ValueError(f"{self.function} can't draw these results: {error!r}") from error


def origin(figure: Figure) -> tuple[ResultSet, Drawing] | None:
    """Return the results that a figure shows, and how it was drawn.

    None if no function of this module drew the figure, or if it couldn't be drawn again because an
    option is neither a plain value nor a function that can be imported.
    """
    if figure not in _origins:
        return None
    results, function, options = _origins[figure]
    try:
        plain = {
            name: _reference(value) if callable(value) else value for name, value in options.items()
        }
        return results, Drawing(function=function, options=plain)
    except ValueError:  # as Pydantic's are
        return None


def _reference(function: Any) -> Reference:
    reference = f"{function.__module__}:{getattr(function, '__qualname__', '')}"
    with suppress(AttributeError, ImportError):
        if resolve_name(reference) is function:
            return Reference(reference=reference)
    raise ValueError(f"{function!r} can't be imported")


def _redrawable(
    draw: Callable[Concatenate[ResultSet, P], Figure],
) -> Callable[Concatenate[ResultSet, P], Figure]:
    """Draw in this site's style, and remember the results and the options for `origin`."""

    @wraps(draw)
    def draw_in_style(results: ResultSet, /, *args: P.args, **options: P.kwargs) -> Figure:
        with plt.rc_context(STYLE):
            figure = draw(results, *args, **options)
        figure.stale = False  # Matplotlib sets it when anything in the figure is changed
        _origins[figure] = results, draw.__name__, options
        return figure

    _functions[draw.__name__] = draw_in_style
    return draw_in_style


def use_style() -> None:
    """Draw all further figures of Matplotlib in this site's style."""
    plt.rcParams.update(STYLE)


@_redrawable
def bars(
    results: ResultSet,
    *,
    title: str | None = None,
    value: Callable[[Result], Estimate] = attrgetter("time"),
    label: str = "time of a call",
) -> Figure:
    """Draw the time of each result, or another value, as a horizontal bar with its processes."""
    columns = results.varying()
    names = [
        ", ".join([r.variant, *(str(r.parameters[c]) for c in columns if c in r.parameters)])
        for r in results
    ]
    estimates = [value(result) for result in results]
    colours = palette(results.variants)
    figure, axes = plt.subplots(figsize=(7.0, 1.3 + 0.5 * len(results)))
    container = axes.barh(
        range(len(names)),
        [estimate.value for estimate in estimates],
        xerr=_error_bars(estimates),
        height=0.6,
        color=[colours[result.variant] for result in results],
        ecolor=INK,
        tick_label=[escape_math(name) for name in names],
    )
    for row, estimate in enumerate(estimates):
        axes.plot(estimate.medians, [row] * len(estimate.medians), color=INK, **_PROCESSES)
    axes.bar_label(container, [estimate.short for estimate in estimates], padding=9)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.15)
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(6))  # labels with units are long
    if estimates[0].unit == "s":
        axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.set_title(escape_math(title or devices_of(results.results)))
    figure.set_label(_describe(zip(names, estimates, strict=True)))
    return figure


@_redrawable
def scaling(results: ResultSet, *, x: str, title: str | None = None) -> Figure:
    """Draw the time of each variant against parameter ``x``, both on log scales."""
    series = _series(results, x, [result.time for result in results])
    figure, axes = _line_plot(series, x, title or devices_of(results.results))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.set_ylabel("time of a call")
    return figure


@_redrawable
def speedups(results: ResultSet, *, over: str, x: str, title: str | None = None) -> Figure:
    """Draw how many times as fast as ``over`` the other variants are, against parameter ``x``.

    Results are left out for which the clock was too coarse.

    Raises
    ------
    ResultsError
        If no other variant took turns with ``over``.
    """
    pairs = results.paired_speedups(over)
    if not pairs:
        results.select(variant=over)  # lists the variants, if this is none of them
        raise ResultsError(f"no other variant was measured in turns with {over!r} by a fine clock")
    compared = results.subset([result for result, _ in pairs])
    series = _series(compared, x, [speedup for _, speedup in pairs])
    figure, axes = _line_plot(series, x, title or devices_of(results.results))
    axes.axhline(1, color=GRID, linewidth=1.2, linestyle="--")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}×"))
    axes.set_ylabel(f"times as fast as {over}")
    return figure


@_redrawable
def panels(results: ResultSet, *, title: str | None = None) -> Figure:
    """Draw the times of a whole experiment, whatever its parameters.

    There is a panel for each part that `facets` returns: with lines against its parameter, or, if
    it has none, with a point for each variant.
    """
    x, parts = facets(results)
    ncols = min(2, len(parts))
    nrows = ceil(len(parts) / ncols)
    figure, grid = plt.subplots(nrows, ncols, figsize=(7.0, 0.7 + 2.6 * nrows), squeeze=False)
    for unused in grid.flat[len(parts) :]:
        unused.remove()
    if x:
        descriptions = _draw_line_panels(figure, parts.values(), x)
    else:
        descriptions = _draw_point_panels(figure, parts.values())
    for axes, name in zip(figure.axes, parts, strict=True):
        axes.set_title(escape_math(name), fontsize=STYLE["font.size"])
    title = escape_math(title or devices_of(results.results))
    figure.suptitle(title, x=0.01, ha="left", fontsize=STYLE["axes.titlesize"])
    named = zip(parts, descriptions, strict=True)
    figure.set_label(". ".join(f"{name}, {text}" if name else text for name, text in named))
    return figure


def facets(results: ResultSet) -> tuple[str | None, Mapping[str, ResultSet]]:
    """Choose a parameter for the x axis, and split results by the values of the other parameters.

    The parameter is the numeric one with the most values, or None if it takes only one value in each
    part; the device does not count as a parameter. Parts are named like ``"function wave"``.
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
        name = ", ".join(f"{c} {result.parameters[c]}" for c in columns if c in result.parameters)
        groups.setdefault(name, []).append(result)
    return {name: results.subset(group) for name, group in groups.items()}


def _draw_line_panels(figure: Figure, parts: Iterable[ResultSet], x: str) -> list[str]:
    """Draw lines against ``x`` in a panel for each part, and describe each panel in words."""
    series_of_parts = [_series(part, x, [result.time for result in part]) for part in parts]
    colours = palette(name for series in series_of_parts for name in series)
    handles: dict[str, Any] = {}  # by label, because panels share their lines' names
    for axes, series in zip(figure.axes, series_of_parts, strict=True):
        _draw_series(axes, series, colours)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(EngFormatter(unit="s"))
        axes.yaxis.set_minor_locator(NullLocator())  # hundreds of ticks take long to draw
        _label_sizes(axes, x, series, max_labels=5)
        handles |= {str(handle.get_label()): handle for handle in axes.containers}
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=3)
    return [_describe_ends(x, series) for series in series_of_parts]


def _draw_point_panels(figure: Figure, parts: Collection[ResultSet]) -> list[str]:
    """Draw a point for each variant in a panel for each part, and describe each panel in words."""
    colours = palette(result.variant for part in parts for result in part)
    for axes, part in zip(figure.axes, parts, strict=True):
        for row, result in enumerate(part):
            time, colour = result.time, colours[result.variant]
            axes.errorbar(time.value, row, xerr=_error_bars([time]), fmt="o", color=colour)
            axes.plot(time.medians, [row] * len(time.medians), color=colour, **_PROCESSES)
        axes.set_yticks(range(len(part)), [escape_math(result.variant) for result in part])
        axes.set_ylim(len(part) - 0.5, -0.5)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
        axes.xaxis.set_minor_locator(NullLocator())
    return [_describe((result.variant, result.time) for result in part) for part in parts]


def escape_math(text: str) -> str:
    """Escape the sign that starts a formula in Matplotlib: names may come from any file."""
    return text.replace("$", r"\$")


def palette(names: Iterable[str]) -> Mapping[str, str]:
    """Give each backend its own colour, and share out the other colours in turn."""
    names = tuple(dict.fromkeys(names))
    chosen: dict[str, str] = {}
    for name in names:
        colour = next((c for start, c in BACKENDS.items() if name.startswith(start)), None)
        if colour and colour not in chosen.values():
            chosen[name] = colour
    remaining = cycle([c for c in COLOURS if c not in chosen.values()] or COLOURS)
    return {name: chosen.get(name) or next(remaining) for name in names}


def _series(results: ResultSet, x: str, estimates: Iterable[Estimate]) -> Series:
    """Group estimates by line: one for each variant and each value of the other parameters."""
    columns = [column for column in results.varying() if column != x]
    named_by_variant = len(results.variants) > 1 or not columns
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    for result, estimate in zip(results, estimates, strict=True):
        names = [result.variant] if named_by_variant else []
        names += [str(result.parameters[c]) for c in columns if c in result.parameters]
        lines.setdefault(", ".join(names), []).append((float(result.parameters[x]), estimate))
    return lines


def _line_plot(series: Series, x: str, title: str) -> tuple[Figure, Axes]:
    figure, axes = plt.subplots()
    _draw_series(axes, series, palette(series))
    _label_sizes(axes, x, series)
    axes.set_title(escape_math(title))
    if len(series) > 1:
        axes.legend()
    figure.set_label(_describe_ends(x, series))
    return figure, axes


def _draw_series(axes: Axes, series: Series, colours: Mapping[str, str]) -> None:
    for (name, points), marker in zip(series.items(), cycle(MARKERS), strict=False):
        points = sorted(points, key=itemgetter(0))
        estimates = [estimate for _, estimate in points]
        axes.errorbar(
            [position for position, _ in points],
            [estimate.value for estimate in estimates],
            yerr=_error_bars(estimates),
            label=escape_math(name),
            color=colours[name],
            marker=marker,
        )
        for position, estimate in points:
            medians = estimate.medians
            axes.plot([position] * len(medians), medians, color=colours[name], **_PROCESSES)


def _describe(estimates: Iterable[tuple[str, Estimate]]) -> str:
    """List named values, the smallest first."""
    ordered = sorted(estimates, key=lambda pair: pair[1].value)
    return "; ".join(f"{name}: {estimate.short}" for name, estimate in ordered)


def _describe_ends(x: str, series: Series) -> str:
    """List the values at the right end of a plot, to which its lines lead."""
    last = max(position for points in series.values() for position, _ in points)
    estimates = [
        (name, estimate)
        for name, points in series.items()
        for position, estimate in points
        if position == last
    ]
    return f"at {x} {last:,.10g}, {_describe(estimates)}"


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
    axes.set_xlabel(escape_math(x))


def _error_bars(estimates: Sequence[Estimate]) -> tuple[list[float], list[float]]:
    """Distances from each value to the ends of what its processes saw, for error bars."""
    ends = [estimate.observed for estimate in estimates]
    return (
        [estimate.value - low for estimate, (low, _) in zip(estimates, ends, strict=True)],
        [high - estimate.value for estimate, (_, high) in zip(estimates, ends, strict=True)],
    )
