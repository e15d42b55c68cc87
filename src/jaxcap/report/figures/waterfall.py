"""Figures of changes that were made one after the other, and of what each of them did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import fill

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from jaxcap.report import findings
from jaxcap.report.figures.drawing import redrawable
from jaxcap.report.figures.labels import fit_texts, headline
from jaxcap.report.figures.style import BLUE, GREY, INK, ORANGE, escape_math, linear_axis
from jaxcap.report.figures.values import PROCESS
from jaxcap.results import ResultSet
from jaxcap.results.statistics import Estimate, Speedup
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
    label: str | None = None,
) -> Figure:
    """Draw how much of the time each of several changes leaves, with a row for each.

    The first row is the time before all changes, and stands for 100%. Each other bar reaches from what
    was left before a change to what is left after it, and its colour says whether the change certainly
    made it less or more. All these shares are of rounds in which both took part, as the headline's is.

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
        What is drawn; by default, a share of the first row's time.
    """
    path = _path_to_fastest(results, changes)
    first, *others = path
    rows = [(names or {}).get(variant, variant) for variant in path]
    from_first = [results.speedup(variant, over=first) for variant in others]
    shares = [speedup.ratio_of(1) for speedup in from_first]
    verdicts = [results.speedup(variant, over=before) for before, variant in pairwise(path)]
    texts = [results.only(first).time.short]
    for share, verdict in zip(shares, verdicts, strict=True):
        texts.append(f"{share.value:.0%}\n{_in_a_word(verdict)}")
    figure, axes = plt.subplots(figsize=(6.0, 1.6 + 0.6 * len(path)))
    _draw_bars(axes, shares, [_COLOURS[verdict.verdict] for verdict in verdicts])
    _write_beside(axes, shares, texts)
    axes.set_yticks(range(len(rows)), [fill(escape_math(row), _NAME_WIDTH) for row in rows])
    axes.set_xlabel(label or f"share of the time of {first} (lower is better)")
    finding = f"{first} takes the least time"
    if others:
        finding = findings.all_together(from_first[-1])
    subject = title or devices_of(results.results)
    headline(figure, finding, subject)
    fit_texts(axes)
    told = (f"{row}: {text}" for row, text in zip(rows, texts, strict=True))
    figure.set_label(f"{subject}. {'; '.join(told)}".replace("\n", ", "))
    return figure


def _path_to_fastest(results: ResultSet, changes: Mapping[str, str]) -> list[str]:
    known = {*changes, *changes.values()}
    ways = list(dict.fromkeys(r.variant for r in results if r.variant in known))
    start = next(iter(changes))
    while start in changes:
        start = changes[start]
    path = [max(ways, key=lambda way: results.speedup(way, over=start).value)]
    while path[0] in changes:
        path.insert(0, changes[path[0]])
    return path


def _in_a_word(speedup: Speedup) -> str:
    """Say what a change did without its factor, which isn't the quotient of two shares."""
    if speedup.verdict == "undecided":
        return speedup.verdict_in_words
    return speedup.verdict


def _draw_bars(axes: Axes, shares: Sequence[Estimate], colours: Sequence[str]) -> None:
    """Draw all of the time, then a bar from each share to the next, and the processes at its end."""
    axes.barh(0, 1.0, height=0.55, color=GREY)
    start = 1.0
    for row, (share, colour) in enumerate(zip(shares, colours, strict=True), start=1):
        axes.barh(row, share.value - start, left=start, height=0.55, color=colour)
        axes.plot(share.medians, [row] * len(share.medians), color=INK, **PROCESS)
        axes.vlines(start, row - 1, row, color=INK, linewidth=0.8)
        start = share.value
    longest = max([1.0, *(share.observed[1] for share in shares)])
    linear_axis(axes.xaxis, longest, PercentFormatter(1.0, decimals=0))
    axes.set_xlim(0, 1.05 * longest)
    axes.set_ylim(len(shares) + 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def _write_beside(axes: Axes, shares: Sequence[Estimate], texts: Sequence[str]) -> None:
    """Write a text to the right of each bar, and of its processes."""
    ends = [1.0, *(share.value for share in shares)]
    rights = [1.0, *(max(share.observed) for share in shares)]
    for row, (text, right) in enumerate(zip(texts, rights, strict=True)):
        right = max(right, ends[max(row - 1, 0)])
        axes.annotate(text, (right, row), (9, 0), textcoords="offset points", va="center")
