"""Headlines: what an experiment found, as a sentence made from its results, and a small plot of it.

A sentence gives a number only where it is settled (`jaxcap.results.statistics.Estimate.is_settled`), and
otherwise says less. Plots have no title, because the sentence stands above them, and fit on a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from jaxcap.report import figures
from jaxcap.report.figures.pairs import draw_pairs
from jaxcap.report.figures.series import Lines, draw_series, log_axes, with_gaps
from jaxcap.report.figures.values import PROCESS, limits_of
from jaxcap.report.findings import in_words
from jaxcap.results import ResultSet
from jaxcap.results.statistics import Estimate, Speedup

# On a phone a pixel of the plot is one of the screen.
STYLE = figures.STYLE | {
    "figure.figsize": (3.6, 2.6),
    "font.size": 9,
    "axes.labelsize": 9,
    "lines.markersize": 4.5,
}

_count = partial(in_words, digits=2)


@dataclass(frozen=True)
class Overtaking:
    """How the time of two variants grows, and from where one of them is faster.

    Attributes
    ----------
    results
        Of the two variants, at several values of one numeric parameter.
    x
        The parameter.
    variant, over
        The variant that is to overtake, and the other one.
    names
        What readers call the two.
    start
        The smallest value from which ``variant`` is faster, or None.
    work
        What both compute, such as ``"A polynomial"``; named first if given.
    """

    results: ResultSet
    x: str
    variant: str
    over: str
    names: tuple[str, str]
    start: int | None
    work: str = ""

    @property
    def sizes(self) -> list[int]:
        """The values of the parameter, in ascending order."""
        return sorted({int(result.parameters[self.x]) for result in self.results})

    @property
    def at_largest(self) -> Speedup:
        """The speed-up at the largest value."""
        return self._speedup(self.sizes[-1])

    @property
    def finding(self) -> str:
        """Say who is ahead, and from where."""
        if not self.work:
            return self._finding()
        preposition, _, rest = self._finding().partition(" ")
        is_name = preposition in self.names
        return f"{self.work}: {preposition if is_name else preposition.lower()} {rest}"

    def _speedup(self, size: int) -> Speedup:
        return self.results.speedup(self.variant, over=self.over, **{self.x: size})

    def _finding(self) -> str:
        name, other = self.names
        most = _count(self.sizes[-1])
        largest = f"{most} numbers"
        speedup = self.at_largest
        if not speedup.is_settled:
            return f"{name} and {other}, from {_count(self.sizes[0])} to {largest}"
        if speedup.verdict == "slower":
            return f"Even at {largest}, {name} is {speedup.words} than {other}"
        if speedup.verdict == "undecided" or self.start is None:
            return f"Even at {largest}, {name} is not clearly faster than {other}"
        if self.start == self.sizes[0]:
            return f"{name} is faster than {other} at every size, and {speedup.words} at {largest}"
        if self.start == self.sizes[-1]:
            return f"At {largest}, the most of all, {name} is {speedup.words} than {other}"
        start = f"From {_count(self.start)} numbers on"
        return f"{start}, {name} is{self._again} faster than {other}: {speedup.words} at {most}"

    def draw(self) -> Figure:
        """Draw a line for each variant, named at its end, and mark where one overtakes."""
        series, colours = self._series, figures.palette(self._named.values())
        with plt.rc_context(STYLE):
            figure, axes = plt.subplots()
            draw_series(axes, series, {name: colours[v] for name, v in self._named.items()})
            log_axes(axes, series)
            axes.set_xticks(self.sizes, [_count(size) for size in self.sizes])
            axes.tick_params(axis="x", labelsize=8)  # these are long
            axes.set_xlabel("numbers in the array")
            words = with_gaps(figures.TIME, [series]).replace("; ", "\n")
            axes.set_title(words, fontsize=STYLE["font.size"])
            if self.start and self.start > self.sizes[0] and self.at_largest.is_settled:
                _mark_start(axes, self.start, f"{self.names[0]} is{self._again} faster")
            figures.label_ends(axes)
            figure.set_label(f"{self.finding}.{self._times_in_words()}")
        return figure

    @property
    def _again(self) -> str:
        """Say that ``variant`` is ahead at some smaller size than ``start``, too, if it is."""
        before = [size for size in self.sizes if size < (self.start or 0)]
        speedups = (self._speedup(size) for size in before)
        return " again" if any(speedup.verdict == "faster" for speedup in speedups) else ""

    @property
    def _series(self) -> Lines:
        """The times of the two variants, by name."""
        by_size = {size: self.results.select(**{self.x: size}) for size in self.sizes}
        return {
            name: [(size, part.only(variant).time) for size, part in by_size.items()]
            for name, variant in self._named.items()
        }

    @property
    def _named(self) -> dict[str, str]:
        """The two variants, by name."""
        return dict(zip(self.names, (self.variant, self.over), strict=True))

    @property
    def _last(self) -> dict[str, Estimate]:
        return {name: points[-1][1] for name, points in self._series.items()}

    def _times_in_words(self) -> str:
        settled = [f"{name} took {e.short}" for name, e in self._last.items() if e.is_settled]
        return f" At {_count(self.sizes[-1])} numbers, {' and '.join(settled)}." if settled else ""


@dataclass(frozen=True)
class Mistake:
    """A way to time a call wrongly.

    Attributes
    ----------
    name
        What one does wrong.
    wrong, right
        The time of a call as measured in this way, and as it is. The same processes measured both.
    in_rounds
        How many times as long the wrong time is as the right one, if the two took turns.
    """

    name: str
    wrong: Estimate
    right: Estimate
    in_rounds: Speedup | None = None

    @property
    def factor(self) -> Estimate:
        """How many times too long or too short the wrong time is, whichever is above 1."""
        pairs = zip(self.wrong.medians, self.right.medians, strict=True)
        ratio = self.in_rounds or Speedup.from_runs([[wrong / right] for wrong, right in pairs])
        return ratio if ratio.value >= 1 else ratio.ratio_of(1)

    @property
    def is_settled(self) -> bool:
        """Whether a headline may say both times."""
        return self.wrong.is_settled and self.right.is_settled


@dataclass(frozen=True)
class Mistakes:
    """Ways to time calls wrongly, at least one."""

    rows: Sequence[Mistake]

    @property
    def finding(self) -> str:
        """Say by how much the worst misses, of those whose factor is settled."""
        text = "Calls timed wrong and right"
        settled = [factor for row in self.rows if (factor := row.factor).is_settled]
        if not settled:
            return text
        worst = max(settled, key=attrgetter("value"))
        return f"{text}: off by a factor of up to {worst.short}"

    def draw(self) -> Figure:
        """Join the wrong and the right time of each by a line."""
        wrong, right = ([row.wrong for row in self.rows], [row.right for row in self.rows])
        names = "wrong", "right"
        colours = figures.palette(names)
        with plt.rc_context(STYLE):
            figure, axes = plt.subplots()
            draw_pairs(axes, [time.value for time in wrong], [time.value for time in right], names)
            for times, name in zip((wrong, right), names, strict=True):
                for y, time in enumerate(times):
                    axes.plot(time.medians, [y] * len(time.medians), color=colours[name], **PROCESS)
            for y, row in enumerate(self.rows):
                axes.text(0, y - 0.25, row.name, transform=axes.get_yaxis_transform())
            figures.log_axis(
                axes.xaxis, *limits_of([*wrong, *right]), EngFormatter("s"), margin=0.12
            )
            axes.set(xlabel="time of a call", ylim=(len(self.rows) - 0.4, -0.7))
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            self._name_ends(axes)
            figure.set_label(f"{self.finding}.{self._times_in_words()}")
        return figure

    def _name_ends(self, axes: Axes) -> None:
        """Write beside the widest pair which end is which."""
        y = max(range(len(self.rows)), key=lambda y: self.rows[y].factor.value)
        ends = {"wrong": self.rows[y].wrong.value, "right": self.rows[y].right.value}
        in_order = sorted(ends, key=ends.__getitem__)
        for name, side, away in zip(in_order, ("right", "left"), (-2, 2), strict=True):
            place = (ends[name], y)
            axes.annotate(name, place, (away, -6), textcoords="offset points", va="top", ha=side)

    def _times_in_words(self) -> str:
        settled = [row for row in self.rows if row.is_settled]
        times = [f"{row.name}: {row.wrong.short} instead of {row.right.short}" for row in settled]
        return f" {'; '.join(times)}." if times else ""


def _mark_start(axes: Axes, x: int, what: str) -> None:
    """Mark from where something holds, in the upper left, where lines that grow leave room."""
    axes.axvline(x, color=figures.GRID, linestyle="--", linewidth=1.2)
    place: Any = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
    axes.annotate(f"from here on,\n{what}", (x, 0.98), (-5, 0), va="top", ha="right", **place)
