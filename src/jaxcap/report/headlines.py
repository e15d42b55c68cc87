"""Headlines: what an experiment found, as a sentence made from its results, and a small plot of it.

A sentence gives a number only where it is settled (`jaxcap.results.statistics.Estimate.is_settled`), and
otherwise says less. Plots have no title, because the sentence stands above them, and fit on a phone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

from jaxcap.report import figures
from jaxcap.results import ResultSet
from jaxcap.results.statistics import Estimate, Speedup

# On a phone a pixel of the plot is one of the screen.
STYLE = figures.STYLE | {"figure.figsize": (3.6, 2.6), "font.size": 9, "axes.labelsize": 9}


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
    """

    results: ResultSet
    x: str
    variant: str
    over: str
    names: tuple[str, str]
    start: int | None

    @cached_property
    def sizes(self) -> list[int]:
        """The values of the parameter, in ascending order."""
        return sorted({int(result.parameters[self.x]) for result in self.results})

    @property
    def at_largest(self) -> Speedup:
        """The speed-up at the largest value."""
        return self.results.speedup(self.variant, over=self.over, **{self.x: self.sizes[-1]})

    @property
    def finding(self) -> str:
        """Say who is ahead, and from where."""
        name, other = self.names
        largest = f"{count(self.sizes[-1])} numbers"
        speedup = self.at_largest
        if not speedup.is_settled:
            return f"{name} and {other}, from {count(self.sizes[0])} to {largest}"
        if speedup.verdict == "undecided":
            return f"Even at {largest}, {name} is not clearly faster than {other}"
        if speedup.verdict == "slower":
            return f"Even at {largest}, {name} is {speedup.words} than {other}"
        if self.start == self.sizes[0]:
            return f"{name} is faster than {other} at every size, and {speedup.words} at {largest}"
        if self.start == self.sizes[-1]:
            return f"{name} overtakes {other} at {largest}, where it is {speedup.words}"
        return (
            f"{name} overtakes {other} at {count(self.start or 0)} numbers, "
            f"and is {speedup.words} at {count(self.sizes[-1])}"
        )

    def draw(self) -> Figure:
        """Draw a line for each variant, named at its end, and mark where one overtakes."""
        with plt.rc_context(STYLE):
            figure, axes = plt.subplots()
            lines = {name: self._times(variant) for name, variant in self._named.items()}
            colours = figures.palette(self._named.values())
            for name, variant in self._named.items():
                _draw_line(axes, self.sizes, lines[name], colours[variant])
            _label_ends(axes, self.sizes[-1], {name: line[-1] for name, line in lines.items()})
            if self.start and self.start > self.sizes[0] and self.at_largest.is_settled:
                _mark_start(axes, self.start, self.names[0])
            axes.set(xscale="log", yscale="log", xlabel="numbers in the array")
            axes.set_title("time of a call (lower is better)", fontsize=STYLE["font.size"])
            axes.set_xticks(self.sizes, [count(size) for size in self.sizes])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.tick_params(axis="x", labelsize=8)  # these are long
            _show_seconds(axes.yaxis)
            figure.set_label(f"{self.finding}.{self._times_in_words()}")
        return figure

    def _times(self, variant: str) -> list[Estimate]:
        """Return the time of a variant at each size."""
        return [self.results.only(variant, **{self.x: size}).time for size in self.sizes]

    @property
    def _named(self) -> dict[str, str]:
        """The two variants by name."""
        return dict(zip(self.names, (self.variant, self.over), strict=True))

    def _times_in_words(self) -> str:
        last = {name: self._times(variant)[-1] for name, variant in self._named.items()}
        times = [f"{name} took {time.short}" for name, time in last.items() if time.is_settled]
        return f" At {count(self.sizes[-1])} numbers, {' and '.join(times)}." if times else ""


@dataclass(frozen=True)
class Mistake:
    """A way to time a call wrongly.

    Attributes
    ----------
    name
        What one does wrong.
    wrong, right
        The time of a call as measured in this way, and as it is. The same processes measured both.
    """

    name: str
    wrong: Estimate
    right: Estimate

    @property
    def factor(self) -> Estimate:
        """How many times too long or too short the wrong time is, whichever is above 1."""
        pairs = zip(self.wrong.medians, self.right.medians, strict=True)
        ratio = Speedup.from_runs([[wrong / right] for wrong, right in pairs])
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
        text = "The same call, timed wrong and right"
        settled = [factor for row in self.rows if (factor := row.factor).is_settled]
        if not settled:
            return text
        worst = max(settled, key=attrgetter("value"))
        return f"{text}: off by a factor of up to {float(worst.short):,.10g}"

    def draw(self) -> Figure:
        """Join the wrong and the right time of each by a line."""
        colours = dict(zip(("wrong", "right"), figures.COLOURS[1:3], strict=True))
        with plt.rc_context(STYLE):
            figure, axes = plt.subplots()
            for y, row in enumerate(self.rows):
                axes.hlines(y, row.wrong.value, row.right.value, color=figures.GRID)
                axes.text(0, y - 0.25, row.name, transform=axes.get_yaxis_transform())
                _draw_processes(axes, row.wrong, y, colours["wrong"], "X")
                _draw_processes(axes, row.right, y, colours["right"], "o")
            axes.set(xscale="log", xlabel="time of a call", ylim=(len(self.rows) - 0.4, -0.7))
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.margins(x=0.12)  # room for the names of the ends
            _show_seconds(axes.xaxis)
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


def count(number: int) -> str:
    """Write a number of things as one says it.

    >>> count(65_536), count(1_048_576)
    ('65,536', '1 million')
    """
    return f"{number:,}" if number < 1e6 else f"{number / 1e6:.2g} million"


def _draw_line(axes: Axes, xs: Sequence[int], times: Sequence[Estimate], colour: str) -> None:
    axes.plot(xs, [time.value for time in times], "o-", color=colour, markersize=4)
    for x, time in zip(xs, times, strict=True):
        axes.vlines(x, *time.observed, color=colour)


def _label_ends(axes: Axes, x: int, times: Mapping[str, Estimate]) -> None:
    """Name two lines at their ends, the upper one above it, so that the names keep apart."""
    ends = sorted(times.items(), key=lambda pair: pair[1].value)
    for (name, time), side, away in zip(ends, ("top", "bottom"), (-1, 1), strict=True):
        text = f"{name}\n{time.short}" if time.is_settled else name
        axes.annotate(text, (x, time.value), (6, away), textcoords="offset points", va=side)


def _mark_start(axes: Axes, x: int, name: str) -> None:
    """Mark a size, in the upper left, where lines that grow leave room."""
    axes.axvline(x, color=figures.GRID, linestyle="--", linewidth=1.2)
    place, text = (x, 0.98), f"from here on,\n{name} is faster "
    axes.annotate(text, place, xycoords=axes.get_xaxis_transform(), va="top", ha="right")


def _draw_processes(axes: Axes, time: Estimate, row: int, colour: str, marker: str) -> None:
    """Draw a time, and what each process measured."""
    axes.plot(time.medians, [row] * len(time.medians), ".", color=colour, markersize=3)
    axes.plot(time.value, row, marker, color=colour, markersize=7)


def _show_seconds(axis: Axis) -> None:
    axis.set_major_locator(LogLocator(numticks=6))
    axis.set_major_formatter(EngFormatter(unit="s"))
    axis.set_minor_locator(NullLocator())
