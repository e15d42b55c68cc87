"""Figures of the releases: a map of all benchmarks, and the course of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, groupby
from math import log2, nan
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

from jaxcap.releases.changes.claims import ClaimByRelease
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import (
    FEW_PROCESSES,
    MODE_FACTOR,
    ReleaseChange,
    Series,
    times,
)
from jaxcap.releases.recording.files import TWIN
from jaxcap.report.figures import COLOURS, GRID, INK, STYLE, escape_math, headline
from jaxcap.results.statistics import NO_DIFFERENCE

#: Colours of what is faster and slower than under the newest release, with what is equal between
#: them, which can be told apart on a light page and on a dark one, by all kinds of colour vision.
FASTER, EQUAL, SLOWER = "#0072B2", "#7a808866", "#D55E00"  # the middle lets a dark page through
#: Larger factors have the colour of this one.
MAX_FACTOR = 4.0


def then_and_now(releases: Releases) -> str:
    """Count what is better and worse under the newest release than under the oldest; may be empty."""
    compared = releases.then_and_now
    if not compared:
        return ""
    changes = list(filter(releases.is_own_change, compared))
    better = sum(change.ratio < 1 for change in changes)
    worse = len(changes) - better
    is_all = len(compared) == len(releases.of_jax())
    both = "" if is_all else " that ran under both releases"
    return (
        f"Of {len(compared)} benchmarks{both}, {better} do better under JAX {releases.newest} than under "
        f"{releases.names[0]}, and {worse} do worse"
    )


def heat_map(releases: Releases, topic: str | None = None) -> Figure:
    """Draw for each benchmark and release how many times as long it took as under the newest.

    Parameters
    ----------
    releases
        All that was recorded.
    topic
        The only topic whose benchmarks are drawn, if not all.
    """
    series = releases.by_topic()[topic] if topic else releases.of_jax()
    names = releases.names
    ratios = np.array([_logs_to_newest(each, names, releases.newest) for each in series])
    colours = LinearSegmentedColormap.from_list("releases", [FASTER, EQUAL, SLOWER])
    reach = log2(MAX_FACTOR)
    with plt.rc_context({**STYLE, "font.size": 8, "axes.grid": False}):
        height = 1.6 + 0.17 * len(series)
        figure, axes = plt.subplots(figsize=(8.1, height))
        cells = axes.pcolormesh(
            ratios, cmap=colours, vmin=-reach, vmax=reach, edgecolor="none", rasterized=True
        )
        changes = (change for change in releases.changes if topic in (None, change.series.topic))
        busiest = Counter(change.after for change in changes).most_common()
        _label_cells(axes, [each.benchmark for each in series], names, [n for n, _ in busiest])
        if topic is None:
            _separate_topics(axes, series)
        _draw_scale(figure, axes, cells, releases.newest)
    further = (
        "The plots below show each" if topic else "The tables below list the largest differences"
    )
    figure.set_label(
        f"{len(series)} benchmarks under {len(names)} releases, from {names[0]} to {names[-1]}, each "
        f"compared with the newest. {further}"
    )
    return figure


def _separate_topics(axes: Axes, series: Sequence[Series]) -> None:
    """Draw lines between the topics of a map's rows, and name them beside it."""
    row = 0
    for topic, group in groupby(series, key=lambda each: each.topic):
        if row:
            axes.axhline(row, color=INK, linewidth=0.8)
        count = len(list(group))
        axes.annotate(
            topic, (1.01, row + count / 2), xycoords=("axes fraction", "data"), va="center"
        )
        row += count


def _draw_scale(figure: Figure, axes: Axes, cells: QuadMesh, newest: str) -> None:
    """Show above a map which factors its colours stand for."""
    factors = [1 / MAX_FACTOR, 0.5, 1, 2, MAX_FACTOR]
    bar = figure.colorbar(
        cells,
        ax=axes,
        location="top",
        ticks=[log2(factor) for factor in factors],
        aspect=50,
        shrink=0.6,
        pad=0.01,
    )
    bar.set_label(f"times as long, or as much memory, as under JAX {newest}")
    bar.ax.set_xticklabels(
        ["¼ or less\n(was better then)", "½", "the same", "2", "4 or more\n(was worse then)"]
    )
    bar.outline.set_visible(False)


def _label_cells(
    axes: Axes, rows: Sequence[str], names: Sequence[str], first: Iterable[str] = ()
) -> None:
    """Name the rows of a map from top to bottom, and its columns by releases, some of them ``first``."""
    axes.invert_yaxis()
    axes.set_yticks(np.arange(len(rows)) + 0.5, [escape_math(row) for row in rows])
    _label_releases(axes, names, 22, first=first, offset=0.5, rotation=90)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def claims(checked: Sequence[ClaimByRelease], names: Sequence[str]) -> Figure:
    """Draw what became of claims: a row for each, and a column for each release.

    Parameters
    ----------
    checked
        At least one.
    names
        All releases, oldest first.
    """
    outcomes = ("fails", "undecided", "holds")
    # A thin row of nothing separates each two.
    cells = np.full((2 * len(checked), len(names)), nan)
    edges = [edge for row in range(len(checked)) for edge in (row, row + 0.92)]
    for row, claim in enumerate(checked):
        for column, name in enumerate(names):
            if name in claim.outcomes:
                cells[2 * row, column] = outcomes.index(claim.outcomes[name])
    colours = ListedColormap([SLOWER, EQUAL, FASTER])
    with plt.rc_context({**STYLE, "font.size": 8, "axes.grid": False}):
        figure, axes = plt.subplots(figsize=(8.1, 1.5 + 0.3 * len(checked)))
        axes.pcolormesh(
            range(len(names) + 1),
            [*edges, len(checked)],
            np.ma.masked_invalid(cells),
            cmap=colours,
            vmin=-0.5,
            vmax=2.5,
            edgecolor="none",
            rasterized=True,
        )
        _label_cells(axes, [fill(each.claim.text, 44) for each in checked], names)
        handles = [
            Patch(color=colours(index / 2), label=word)
            for index, word in enumerate(("does not hold", "undecided", "holds"))
        ]
        figure.legend(handles=handles[::-1], loc="outside upper center", ncols=3)
    figure.set_label(
        f"What became of {len(checked)} claims under {len(names)} releases, from "
        f"{names[0]} to {names[-1]}. "
        "The table below says the same"
    )
    return figure


def course(
    series: Series,
    changes: Sequence[ReleaseChange],
    names: Sequence[str],
    *,
    so_far: ReleaseChange | None = None,
    is_named: bool = True,
) -> Figure:
    """Draw a benchmark under all releases: the median, and a dot for what each process measured.

    Parameters
    ----------
    series
        What is drawn.
    changes
        Those of this series, which the title names.
    names
        All releases, oldest first, so that all figures have the same axis.
    so_far
        See `finding`.
    is_named
        Whether the name of the benchmark stands in the figure. A heading above may say it already.
    """
    places = {name: place for place, name in enumerate(names)}
    measured = [name for name in series.releases if name in places]
    x = [places[name] for name in measured]
    estimates = [series.estimates[name] for name in measured]
    colour = COLOURS[0]
    with plt.rc_context({**STYLE, "font.size": 10.5}):
        figure, axes = plt.subplots(figsize=(6.0, 3.5))
        values = np.full(len(names), nan)  # the line is broken where a release is missing
        values[x] = [estimate.value for estimate in estimates]
        axes.plot(values, color=colour, linewidth=1.4)
        # What is counted has no processes.
        seen = [estimate.medians or (estimate.value,) for estimate in estimates]
        low, high = [min(values) for values in seen], [max(values) for values in seen]
        axes.vlines(x, low, high, color=colour, linewidth=1)
        dots = [(place, y) for place, ys in zip(x, seen, strict=True) for y in ys]
        axes.plot(*zip(*dots, strict=True), ".", color=colour, markersize=4)
        _mark_changes(axes, changes, places)
        last = estimates[-1].value
        in_bytes = EngFormatter("B")
        text = EngFormatter("B", places=1)(last) if series.is_exact else estimates[-1].short
        beside: dict[str, Any] = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(text, (x[-1], last), color=INK, **beside)
        _choose_scale(axes, min(low), max(high))
        axes.yaxis.set_major_formatter(in_bytes if series.is_exact else EngFormatter("s"))
        scale = ", log scale" if axes.get_yscale() == "log" else ""
        axes.set_ylabel(f"{series.quantity}{scale}\n(lower is better)")
        better, worse = ("less", "more") if series.is_exact else ("faster", "slower")
        words = {
            c.ratio > 1: f"orange: {worse}" if c.ratio > 1 else f"blue: {better}" for c in changes
        }
        marks = f"\ndotted: {', '.join(words.values())}" if words else ""
        axes.set_xlabel(f"release of JAX (dashed: as under {measured[-1]}){marks}")
        by_size = sorted(changes, key=lambda change: change.factor, reverse=True)
        changed = [change.after for change in by_size]
        _label_releases(axes, names, 12, first=changed, rotation=45, ha="right")
        axes.set_xlim(-0.5, max(len(names) * 1.12, len(names) + 0.2) - 0.5)
        axes.grid(axis="x", visible=False)
        axes.hlines(last, 0, x[-1], color=GRID, linewidth=0.8, linestyle="--")
        found = finding(series, changes, so_far)
        ends = (
            f"{estimates[0].short} under {measured[0]}, {estimates[-1].short} under {measured[-1]}"
        )
        headline(figure, found[:1].upper() + found[1:], series.benchmark, ends)
        if not is_named:
            axes.set_title("")
    return figure


def course_of(releases: Releases, benchmark: str) -> Figure:
    """Draw one benchmark of a recording with all of its changes: see `course`.

    Raises
    ------
    ValueError
        If the recording has no benchmark of this name.
    """
    series = {series.benchmark: series for series in releases.of_jax()}
    if benchmark not in series:
        raise ValueError(f"the recording has no benchmark {benchmark!r}: choose one of `of_jax`")
    changes = [change for change in releases.changes if change.series is series[benchmark]]
    return course(series[benchmark], changes, releases.names)


def _mark_changes(axes: Axes, changes: Sequence[ReleaseChange], places: Mapping[str, int]) -> None:
    """Draw a line between the releases of each change, in the colour of its direction."""
    for change in changes:
        if change.after in places:
            edge = (places[change.before] + places[change.after]) / 2
            colour = SLOWER if change.ratio > 1 else FASTER
            axes.axvline(edge, color=colour, linewidth=1.8, linestyle=":")


def _choose_scale(axes: Axes, least: float, most: float) -> None:
    """Begin the vertical axis at zero, or make it logarithmic if small numbers would vanish there."""
    if most > 5 * least:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(least / 1.3, most * 1.3)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.set_ylim(0, most * 1.1)


def finding(
    series: Series, changes: Sequence[ReleaseChange], so_far: ReleaseChange | None = None
) -> str:
    """State what became of a benchmark, such as ``"3.1 times slower since 0.4.33"``.

    Parameters
    ----------
    series
        The benchmark.
    changes
        Its changes, in any order.
    so_far
        The newest release beside an earlier one, if they differ. Small steps may add up to that, none
        of which is certain by itself.
    """
    if not so_far:
        return _course_of(series, changes, is_last_told=True)
    now = f"{so_far.words} than in {so_far.before}"
    if not changes:
        return now
    is_told = (
        len(changes) == 1
        and (so_far.ratio > 1) == (changes[0].ratio > 1)
        and so_far.factor < MODE_FACTOR * changes[0].factor
    )
    return _course_of(series, changes) + ("" if is_told else f"; now {now}")


def _course_of(
    series: Series, changes: Sequence[ReleaseChange], *, is_last_told: bool = False
) -> str:
    if len(series.releases) < 2:
        return "measured under one release"
    if not series.is_exact and series.deviation[1] == 0:
        return "one process each: no change can be told from noise"
    if not changes and not series.is_exact and series.processes < FEW_PROCESSES:
        return "too few processes to be certain of a change"
    if not changes:
        if series.has_modes:
            return f"no certain change: runs of one release differ by up to {times(series.scatter)}"
        return "no certain change in any release"
    ordered = sorted(changes, key=lambda c: series.releases.index(c.after))
    largest = max(changes, key=lambda c: c.factor)
    for change, later in combinations(ordered, 2):
        if largest in (change, later) and _is_undone(change, later):
            return f"{change.words} in {change.after}, since {later.after} about as before"
    if len(ordered) == 1:
        # Of two speeds under one release, the faster one may come back at any time.
        since = "in" if series.has_modes else "since"
        return f"{largest.words} {since} {largest.after}"
    if len(ordered) == 2:
        return "; ".join(f"{change.words} in {change.after}" for change in ordered)
    found = f"{len(changes)} changes, the largest in {largest.after}: {largest.words}"
    last = ordered[-1]
    is_told = last is largest or not is_last_told
    return found if is_told else f"{found}; the last in {last.after}: {last.words}"


def _is_undone(change: ReleaseChange, later: ReleaseChange) -> bool:
    """Whether every release from a later change on does about what the one before a change did."""
    series = change.series
    since = series.releases[series.releases.index(later.after) :]
    back = (series.compare(change.before, release) for release in since)
    is_opposite = (change.ratio > 1) != (later.ratio > 1)
    return is_opposite and all(beside.factor < NO_DIFFERENCE for beside in back)


def _label_releases(
    axes: Axes,
    names: Sequence[str],
    most: int,
    *,
    first: Iterable[str] = (),
    offset: float = 0.0,
    **style: Any,
) -> None:
    """Name about ``most`` releases below an axis: the newest, those that come ``first``, and others."""
    step = -(-len(names) // most)
    regular = range((len(names) - 1) % step, len(names), step)
    places = {name: place for place, name in enumerate(names)}
    shown: list[int] = []
    for place in (len(names) - 1, *(places[n] for n in first if n in places), *regular):
        if all(abs(place - other) >= step for other in shown):
            shown.append(place)
    shown.sort()
    axes.set_xticks([n + offset for n in shown], [names[n] for n in shown], **style)


def _logs_to_newest(series: Series, names: Sequence[str], newest: str) -> list[float]:
    """Return the binary logarithm of the ratio to the newest release, by release; nan if unknown."""
    now = series.estimates.get(newest)
    return [
        log2(then.value / now.value) if now and (then := series.estimates.get(name)) else nan
        for name in names
        if not name.endswith(TWIN)
    ]
