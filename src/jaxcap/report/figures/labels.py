"""Text in figures: a finding above them, and the names of lines where these end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from textwrap import fill
from weakref import WeakSet

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.transforms import offset_copy

from jaxcap.report.figures.style import escape_math
from jaxcap.report.findings import in_powers

# How much higher than its letters a line of text is, and the distance of a label from its line.
LINE_HEIGHT, _GAP_PT = 1.25, 10.0
_INCHES_PER_LETTER = 0.118  # of a title
_JOINT = "\N{NARROW NO-BREAK SPACE}"  # stands for a space at which no line ends
_fitted: WeakSet[Axes] = WeakSet()


def headline(figure: Figure, finding: str, subject: str = "", words: str = "") -> None:
    """Put what was found above a figure, and describe it to those who can't see it.

    Parameters
    ----------
    figure
        The figure; its only axes, if it has just one, take the subject as their title.
    finding
        A sentence, made from the results.
    subject
        What the figure is about.
    words
        Its main numbers.
    """
    width = figure.get_figwidth()
    finding = in_powers(finding).replace(" × ", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}")
    figure.suptitle(wrap(finding, width), x=0.01, ha="left")
    if subject and len(figure.axes) == 1:
        figure.axes[0].set_title(wrap(subject, 0.85 * width))
    if words:
        figure.set_label(f"{subject}. {words}")


def wrap(text: str, inches: float) -> str:
    """Break the text of a title into lines that are at most so long."""
    return break_lines(escape_math(text), inches)


def break_lines(text: str, inches: float, size: float = 12.0) -> str:
    """Break text that needs no escaping, in letters of a size in points; no line ends in a number."""
    joined = re.sub(r"(?<=\d) (?=\w)", _JOINT, text)  # or "0.7" would be read without its "s"
    letters = int(inches / (_INCHES_PER_LETTER * min(size / 12.0, 1.0)))
    return fill(joined, letters).replace(_JOINT, " ")


def label_ends(axes: Axes, texts: Mapping[str, str] | None = None) -> None:
    """Write the name of each line where it ends, in place of a legend, so that no two overlap.

    Call it when the axes have their scales and limits.

    Parameters
    ----------
    axes
        With at least one line that has a label.
    texts
        What to write for a label, by label; by default the label.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # lays it out
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    texts = {str(line.get_label()): str(line.get_label()) for line in lines} | dict(texts or {})
    words = [texts[str(line.get_label())] for line in lines]
    ends = np.array([axes.transData.transform(_end(axes, line)) for line in lines])
    height_pt = plt.rcParams["font.size"] * LINE_HEIGHT
    # With a gap, or two names and their numbers would look like one label.
    heights = [height_pt * figure.dpi / 72 * (text.count("\n") + 1.3) for text in words]
    bottom, top = axes.bbox.y0, axes.bbox.y1
    places = spread(_heights_at_edge(lines, ends), heights, bottom, top)
    column = offset_copy(axes.transAxes, figure, x=_GAP_PT, units="points")
    for line, text, end, place in zip(lines, words, ends, places, strict=True):
        is_short = end[0] < axes.bbox.x0 + 0.9 * axes.bbox.width
        axes.annotate(
            text,
            _end(axes, line),
            (1, (place - bottom) / (top - bottom)),
            textcoords=column,
            va="center",
            linespacing=1.05,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": line.get_color(),
                "linewidth": 0.9 if is_short else 1.4,
                "linestyle": ":" if is_short else "-",
                # From the middle of the first line of the text.
                "relpos": (0, 1 - 0.5 / (text.count("\n") + 1)),
                "shrinkA": 1,
                "shrinkB": 3,
            },
        )


def _heights_at_edge(lines: Sequence[Line2D], ends: np.ndarray) -> np.ndarray:
    """Return where lines, in pixels, would best be named beside the axes: at the height of their ends.

    One that ends early is named above those that it ended above, and below the others, so that what
    leads to its name crosses none of them.
    """
    places = ends[:, 1].copy()
    for line in sorted(range(len(lines)), key=lambda line: -ends[line, 0]):
        for other in np.flatnonzero(ends[:, 0] > ends[line, 0] + 1).tolist():
            points = lines[other].get_transform().transform(lines[other].get_xydata())
            is_below = np.interp(ends[line, 0], *points.T) < ends[line, 1]
            beside = places[other] + (1e-3 if is_below else -1e-3)
            places[line] = (max if is_below else min)(places[line], beside)
    return places


def fit_texts(axes: Axes) -> None:
    """Move the right end of the horizontal axis until all annotations in it are inside.

    Call it last, because the width of the axes depends on all else that the figure shows.
    """
    _fitted.add(axes)
    figure = axes.get_figure(root=True)
    assert figure is not None
    scale = axes.xaxis.get_transform()
    for _ in range(2):  # other ticks may take some of the width
        figure.draw_without_rendering()  # lays it out
        left, right = scale.transform(axes.get_xlim())
        for text in axes.texts:
            if isinstance(text, Annotation):
                start = axes.transData.transform(text.xy)[0]
                share = (text.get_window_extent().x1 - start) / axes.bbox.width
                place = float(scale.transform(text.xy[0]))
                right = max(right, left + (place - left) / (1 - min(share, 0.8)))
        axes.set_xlim(right=float(scale.inverted().transform(right)))


def is_fitted(axes: Axes) -> bool:
    """Whether `fit_texts` chose the end of its horizontal axis."""
    return axes in _fitted


def spread(
    places: Sequence[float] | np.ndarray, heights: Sequence[float], low: float, high: float
) -> np.ndarray:
    """Move labels apart, as little as possible and in their order, and inside limits if they fit.

    Parameters
    ----------
    places
        Where the middle of each label should be.
    heights
        How high each label is.
    low, high
        The limits.

    Examples
    --------
    >>> spread([5.0, 5.0, 9.0], [2.0, 2.0, 2.0], 0, 20).tolist()
    [4.0, 6.0, 9.0]
    """
    from scipy.optimize import isotonic_regression  # takes a while, and previews draw nothing

    places, sizes = np.asarray(places, dtype=float), np.asarray(heights, dtype=float)
    order = np.argsort(places, kind="stable")
    between = (sizes[order][1:] + sizes[order][:-1]) / 2
    stacked = np.concatenate([[0.0], np.cumsum(between)])  # as if all touched each other
    bottom, top = low + sizes[order][0] / 2, high - sizes[order][-1] / 2 - stacked[-1]
    free = np.asarray(isotonic_regression(places[order] - stacked).x)
    moved = np.empty_like(places)
    moved[order] = np.clip(free, bottom, max(top, bottom)) + stacked
    return moved


def _end(axes: Axes, line: Line2D) -> tuple[float, float]:
    """Return the rightmost point of a line that can be seen."""
    xs, ys = (np.asarray(data, dtype=float) for data in line.get_data())
    low, high = sorted(axes.get_ylim())
    seen = (ys >= low) & (ys <= high)
    last = np.nanargmax(np.where(seen if seen.any() else np.isfinite(ys), xs, np.nan))
    return float(xs[last]), float(ys[last])
