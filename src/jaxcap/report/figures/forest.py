"""A forest plot of claims: the interval that decides each, over the range that the claim needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from textwrap import fill

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from jaxcap.report.claims import SIGNS, Claim
from jaxcap.report.figures.labels import LINE_HEIGHT, headline
from jaxcap.report.figures.style import BLUE, GREY, GRID, INK, ORANGE, STYLE, escape_math, log_axis
from jaxcap.report.figures.values import positive_range

# Colours and markers by what became of a claim: blue and orange as in the tables of claims.
_LOOKS = dict(zip(SIGNS, ((BLUE, "o"), (ORANGE, "X"), (GREY, "s"), (GREY, "D")), strict=True))
# Of the text: its size, and how many letters of a line have room on a phone.
_SIZE_PT, _LETTERS = 10.5, 54


def forest(claims: Sequence[Claim], *, title: str) -> Figure:
    """Draw the interval of each claim's ratio below its text.

    Parameters
    ----------
    claims
        At least one.
    title
        The subject.
    """
    intervals = [positive_range((e.value, e.low, e.high)) for e in (c.estimate for c in claims)]
    bounds = [bound for c in claims for bound in (c.statement.above, c.statement.below) if bound]
    low, high = positive_range([1.0, *bounds, *(end for part in intervals for end in part)])
    with plt.rc_context(STYLE | {"font.size": _SIZE_PT, "axes.grid": False}):
        figure, axes = plt.subplots()
        log_axis(axes.xaxis, low, high, StrMethodFormatter("{x:g}×"))
        left, right = axes.get_xlim()
        y = 0.0  # in lines of text
        for claim, interval in zip(claims, intervals, strict=True):
            text = fill(escape_math(claim.statement.text), _LETTERS)
            axes.text(0, y, text, va="top", transform=axes.get_yaxis_transform())
            y += text.count("\n") + 1.5
            needed = claim.statement.above or left, claim.statement.below or right
            axes.hlines(y, *needed, color=GRID, alpha=0.25, linewidth=9)
            axes.plot([1, 1], [y - 0.5, y + 0.5], color=INK, linewidth=0.8)
            colour, marker = _LOOKS[claim.words]
            axes.hlines(y, *interval, color=colour)
            axes.plot(claim.estimate.value, y, marker, color=colour)
            y += 1.5  # farther from the next claim than from its own
        figure.set_size_inches(6.0, 2.0 + y * LINE_HEIGHT * _SIZE_PT / 72)
        axes.set_ylim(y, -0.5)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("times as fast as the other")
        counts = Counter(claim.words for claim in claims)
        for words, (colour, marker) in _LOOKS.items():
            if words in counts:
                axes.plot([], [], marker, color=colour, label=f"{words} ({counts[words]})")
        axes.plot([], [], color=GRID, alpha=0.25, linewidth=9, label="what the claim needs")
        figure.legend(loc="outside lower center", ncols=2)
        holding = sum(claim.holds for claim in claims)
        ratios = "; ".join(f"{c.statement.text}: {c.estimate.short}, {c.words}" for c in claims)
        headline(figure, f"{holding} of {len(claims)} claims hold", title, ratios)
    return figure
