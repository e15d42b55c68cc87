"""Figures as files: vector graphics for light and for dark pages, and what they show in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from jaxcap.report import figures

MAX_MARKERS = 500  # more are smaller as a picture
VIEW_BOX = re.compile(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"')


class Saved(NamedTuple):
    """A figure as image files by theme, its width in CSS, and what it shows in words."""

    files: dict[str, Path]
    width: str
    alt: str


def save(figure: Figure, path: Path, *, raster: bool = False) -> Saved:
    """Save a figure for light and for dark pages, and close it.

    Parameters
    ----------
    figure
        Drawn by `jaxcap.report.figures`, or in its style.
    path
        Path of the files. The suffix is replaced, and the name of the dark one ends in ``_dark``.
    raster
        Whether to save it as PNG too, for thumbnails.
    """
    files = {"light": path.with_suffix(".svg"), "dark": path.with_name(f"{path.stem}_dark.svg")}
    undated = {"Date": None}  # the same figure makes the same file
    for line in figure.findobj(Line2D):
        if line.get_marker() != "None" and np.size(line.get_xdata()) > MAX_MARKERS:
            line.set_rasterized(True)
    with plt.rc_context(figures.STYLE):
        if raster:
            figure.savefig(path.with_suffix(".png"))
        figure.savefig(files["light"], metadata=undated)
        figure.set_layout_engine("none")  # changing colours must not move anything
        with figures.on_dark(figure):
            figure.savefig(files["dark"], metadata=undated)
    plt.close(figure)
    return Saved(files, f"{figure.get_figwidth() * 100:.0f}px", describe(figure))


def describe(figure: Figure) -> str:
    """Say in words what a figure shows: its title, and its finding or its axes, lines and bars."""
    parts = [figure.get_suptitle()]
    for axes in figure.axes:
        labels = " against ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel())))
        parts += [
            axes.get_title(loc="left") or axes.get_title(),
            labels,
            *_courses(axes),
            *_lengths(axes),
        ]
    if finding := str(figure.get_label()):
        parts = [next(filter(None, parts), ""), finding]
    return ". ".join(filter(None, parts)).replace("\n", " ").replace(r"\$", "$") or "Plot"


def _courses(axes: Axes) -> list[str]:
    """Say where each line that has a name begins and ends."""
    handles, names = axes.get_legend_handles_labels()
    return [name + _course(handle) for handle, name in zip(handles, names, strict=True)]


def _lengths(axes: Axes) -> Iterator[str]:
    """Say how long each bar that has a name is."""
    names = [label.get_text() for label in axes.get_yticklabels()]
    for bars in axes.containers:
        values = getattr(bars, "datavalues", ())
        if len(values) == len(names):
            yield "; ".join(
                f"{name}: {value:.3g}" for name, value in zip(names, values, strict=True)
            )


def _course(handle: object) -> str:
    line = handle[0] if isinstance(handle, tuple) else handle  # with error bars
    if not isinstance(line, Line2D):
        return ""
    ys = np.asarray(line.get_ydata(), dtype=float)
    ys = ys[np.isfinite(ys)]
    if len(ys) < 2:
        return ""
    return f" from {ys[0]:.3g} to {ys[-1]:.3g}"


def size(path: Path) -> tuple[float, float]:
    """Width and height of an image file, in units of its own."""
    if path.suffix == ".svg":
        match = VIEW_BOX.search(path.read_bytes())
        if match is None:
            raise ValueError(f"{path.name} does not say how large it is: give it a viewBox")
        return float(match[1]), float(match[2])
    with Image.open(path) as image:
        return image.size


def shrink(images: Iterable[Path]) -> None:
    """Save images with few colours, which is all that a small plot or a card with text needs."""
    for path in images:
        with Image.open(path) as image:
            if image.mode == "P":  # from an earlier build
                continue
            small = image.convert("RGBA").quantize(32, method=Image.Quantize.FASTOCTREE)
        small.save(path, optimize=True)
