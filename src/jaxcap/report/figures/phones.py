"""Figures for phones: the same ones, laid out again for less width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

from jaxcap.report.figures.labels import LINE_HEIGHT, break_lines, fit_texts, is_fitted

#: Inches of a figure whose letters can be read on a phone that shows all of it.
PHONE_WIDTH = 4.6
_LEAST_GAP_PX = 4.0
_NAME_WIDTH = 18  # of a row, in letters
_OTHER_FONT_PX = 30.0  # by which a text may be wider in a browser's font


def fit_phone(figure: Figure) -> None:
    """Make a figure as narrow as `PHONE_WIDTH`, and keep the size of its letters.

    Titles are broken into more lines, for which the figure becomes higher, and so are the names of
    rows, to leave width for what is drawn. Where the numbers along an axis would touch each other, every
    other one goes.

    Parameters
    ----------
    figure
        Drawn by `jaxcap.report.figures` or in its style, and wider. It is changed.
    """
    added = sum(_wrap(text, inches) for text, inches in _titles(figure))
    figure.set_size_inches(PHONE_WIDTH, figure.get_figheight() + added)
    figure.draw_without_rendering()  # lays it out
    for axes in figure.axes:
        _break_names(axes)
    figure.draw_without_rendering()
    for axes in filter(Axes.get_visible, figure.axes):  # others don't know their numbers
        _keep_inside(axes.xaxis.label, figure)
        for title in _titles_of(axes):
            _keep_inside(title, figure)
        if is_fitted(axes):
            fit_texts(axes)  # which may move the numbers closer together
        _thin_out(axes.xaxis)


def _titles(figure: Figure) -> Iterator[tuple[Text, float]]:
    """Yield each title and each name of a horizontal axis, with the inches that it may take."""
    for part in (figure, *figure.subfigs):
        yield from ((text, PHONE_WIDTH) for text in part.texts if _says(text, part.get_suptitle()))
    for axes in figure.axes:
        place = axes.get_subplotspec()
        inches = 0.85 * PHONE_WIDTH / (place.get_gridspec().ncols if place else 1)
        yield from ((text, inches) for text in (*_titles_of(axes), axes.xaxis.label))


def _titles_of(axes: Axes) -> Iterator[Text]:
    for child in axes.get_children():
        if isinstance(child, Text) and _says(child, axes.get_title(loc="left")):
            yield child


def _says(text: Text, words: str) -> bool:
    return text.get_text() == words != ""


def _wrap(text: Text, inches: float) -> float:
    """Break text into lines, and return the height of those that it has more than before."""
    size = float(text.get_fontsize())
    before = text.get_text()
    text.set_text(break_lines(before.replace("\n", " "), inches, size))
    added = text.get_text().count("\n") - before.count("\n")
    return max(added, 0) * LINE_HEIGHT * size / 72


def _break_names(axes: Axes) -> None:
    """Break the names of rows, unless the rows are too close for so many lines."""
    labels = axes.get_yticklabels()
    if not labels or not isinstance(axes.yaxis.get_major_formatter(), FuncFormatter):
        return
    names = [label.get_text() for label in labels]
    broken = [name if "\n" in name else fill(name, _NAME_WIDTH) for name in names]
    lines = 1 + max(name.count("\n") for name in broken)
    height_in = lines * LINE_HEIGHT * float(labels[0].get_fontsize()) / 72
    if axes.bbox.height / len(names) > height_in * axes.figure.dpi:
        axes.set_yticks(axes.get_yticks(), broken)


def _keep_inside(label: Text, figure: Figure) -> None:
    """End a text where its axis ends, if it would leave the figure otherwise."""
    if label.get_window_extent().x1 > figure.bbox.x1 - _OTHER_FONT_PX:
        label.set_x(1.0)
        label.set_horizontalalignment("right")


def _thin_out(axis: Axis) -> None:
    """Leave out every other number along an axis, until none touch.

    The rest is set, even if none goes: an axis that chose anew could choose more numbers when it is
    saved, and the last of them would find no room.
    """
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    labels = [tick.label1 for tick in ticks]
    step = 1
    while not _are_apart(labels[::step]):
        step *= 2
    axis.set_ticks(
        [tick.get_loc() for tick in ticks[::step]],
        labels=[label.get_text() for label in labels[::step]],
    )


def _are_apart(texts: Sequence[Text]) -> bool:
    """Whether there is room between texts in a row."""
    shown = (text.get_window_extent() for text in texts if text.get_visible() and text.get_text())
    boxes = sorted(shown, key=lambda box: float(box.x0))
    return all(box.x1 + _LEAST_GAP_PX <= other.x0 for box, other in pairwise(boxes))
