"""Figures as files: vector graphics for light and for dark pages, for phones, and in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.spines import Spine
from matplotlib.text import Text
from PIL import Image

import jaxcap
from jaxcap.report import figures
from jaxcap.results import Result, ResultSet
from jaxcap.results.atomic import write_atomically

MAX_MARKERS = 500  # more are smaller as a picture
_DARK = "_dark"  # ends the names of files for dark pages
WIDEST = 7.0  # inches of a figure that can be laid out anew for a phone
# Of a figure that is shown 160 pixels wide.
_SMALL_WIDTH, _SMALL_RESOLUTION = 2.4, 320 / 2.4
_DRAWING = (Path(jaxcap.__file__).with_name(name) for name in ("report", "results"))
# Figures of the same results look the same as long as none of these files changes.
CODE = (
    Path(__file__),
    *sorted(p for folder in _DRAWING for p in folder.rglob("*.*") if p.suffix != ".pyc"),
)


def save(figure: Figure, path: Path, root: Path, *, raster: bool = False) -> list[dict[str, Any]]:
    """Save a figure for light and for dark pages, each also for phones, and close it.

    Parameters
    ----------
    figure
        Drawn by `jaxcap.report.figures`, or in its style.
    path
        Path of the light file, whose suffix is replaced; the name of the dark one ends in ``_dark``.
        `for_phones` says where those for phones are.
    root
        The folder with the sources of the site.
    raster
        Whether to save it as PNG too, small and without words, for thumbnails.

    Returns
    -------
    list
        For the light and the dark file, the attributes of docutils' node for an image.
    """
    files = {"light": path.with_suffix(".svg"), "dark": path.with_name(f"{path.stem}{_DARK}.svg")}
    words = describe(figure)
    for line in figure.findobj(Line2D):
        if line.get_marker() != "None" and np.size(line.get_xdata()) > MAX_MARKERS:
            line.set_rasterized(True)
    width = figure.get_figwidth()
    with plt.rc_context(figures.STYLE):
        _save_themes(figure, *files.values())
        if _is_for_phones(width):
            figures.fit_phone(figure)
            _save_themes(figure, *map(for_phones, files.values()))
    if raster:
        save_small(figure, path.with_suffix(".png"))
    plt.close(figure)
    return [
        {
            "uri": f"/{file.relative_to(root).as_posix()}",
            "alt": words,
            "width": f"{width * 100:.0f}",  # in pixels
            "classes": [f"only-{theme}", "jaxcap-plot"],
        }
        for theme, file in files.items()
    ]


def save_small(figure: Figure, path: Path) -> None:
    """Save a figure as PNG, small and without words, for a thumbnail, and close it."""
    with plt.rc_context(figures.STYLE):
        make_small(figure, _SMALL_WIDTH, 0.7 * _SMALL_WIDTH)
        figure.savefig(path, dpi=_SMALL_RESOLUTION)
    plt.close(figure)


def for_phones(path: Path) -> Path:
    """Return where the same figure is saved for phones, if it is wider than they are."""
    name = path.stem.removesuffix(_DARK)
    return path.with_stem(f"{name}_phone{path.stem.removeprefix(name)}")


def _is_for_phones(inches: float) -> bool:
    """Whether phones can show a figure if it is laid out anew; wider ones have to scroll."""
    return figures.PHONE_WIDTH < inches < WIDEST


def _save_themes(figure: Figure, light: Path, dark: Path) -> None:
    figure.savefig(light, metadata={"Date": None})  # the same figure, the same file
    svg = light.read_text(encoding="utf-8")
    if highlights := _highlights(figure):
        svg = svg.replace("</style>", f"{highlights}</style>", 1)
        light.write_text(svg, encoding="utf-8")
    dark.write_text(svg.replace(figures.INK, figures.INK_ON_DARK), encoding="utf-8")


def make_small(figure: Figure, width: float, height: float) -> None:
    """Give a figure so many inches, and leave out its words, which would be too small to read.

    What is drawn in ink becomes grey, which can be seen on light and on dark pages.
    """
    figure.set_size_inches(width, height)
    for axes in figure.axes:
        axes.tick_params(which="both", color=figures.GRID, labelbottom=False, labelleft=False)
    for legend in figure.findobj(Legend):
        legend.remove()  # an invisible one would keep its place
    for words in figure.findobj(Text):
        words.set_visible(False)
    for line in figure.findobj(Line2D):
        if same_color(line.get_color(), figures.INK):
            line.set_color(figures.GRID)
    for spine in figure.findobj(Spine):
        spine.set_color(figures.GRID)


def _highlights(figure: Figure) -> str:
    """Return rules by which all series fade except the one that an address ends in: ``#series.0``."""
    ids = [gid for artist in figure.findobj() if (gid := artist.get_gid())]
    series = dict.fromkeys(gid.partition(".")[0] for gid in ids)
    others = "".join(f', [id^="{name}."]' for name in series)[2:]
    return "".join(
        f'svg:has([id="{name}.0"]:target) :is({others}):not([id^="{name}."]) {{opacity: 0.12}}\n'
        for name in series
    )


def save_drawing(
    drawing: figures.Drawing,
    results: ResultSet,
    path: Path,
    root: Path,
    *,
    among: ResultSet | None = None,
) -> list[dict[str, Any]]:
    """Draw results and save the figure, unless the files are there from the last time.

    Parameters
    ----------
    drawing, results
        How to draw, and what.
    path, root
        See `save`.
    among
        Results of several machines, whose figures are to be compared.

    Returns
    -------
    list
        See `save`.
    """
    sources = [drawing.model_dump_json(), *as_sources(results), *as_sources(among or ())]
    return save_unless_kept(partial(drawing.draw, results, among=among), sources, path, root)


def as_sources(results: Iterable[Result]) -> list[str]:
    """Return results as sources of a figure."""
    return [result.model_dump_json() for result in results]


def save_unless_kept(
    draw: Callable[[], Figure], sources: Iterable[str], path: Path, root: Path
) -> list[dict[str, Any]]:
    """Draw and save a figure, unless its files are there and were made from the same sources.

    Parameters
    ----------
    draw
        Draws the figure.
    sources
        All that the figure depends on besides the code that draws results.
    path, root
        See `save`.

    Returns
    -------
    list
        See `save`.
    """
    made_from, sidecar = _digest(sources), path.with_suffix(".json")
    if sidecar.exists():
        last = json.loads(sidecar.read_text(encoding="utf-8"))
        if last["source"] == made_from:
            images: list[dict[str, Any]] = last["images"]
            return images
    sidecar.unlink(missing_ok=True)  # from here on the images are others than it says
    images = save(draw(), path, root)
    write_atomically(sidecar, json.dumps({"source": made_from, "images": images}))
    return images


def _digest(sources: Iterable[str]) -> str:
    """Return a digest of sources, and of the code that draws."""
    parts = [*(path.read_bytes() for path in CODE), *(source.encode() for source in sources)]
    return sha256(b"\0".join(parts)).hexdigest()


def describe(figure: Figure) -> str:
    """Say in words what a figure shows: its title, and its numbers or its axes, lines and bars."""
    parts = [figure.get_suptitle()]
    for axes in figure.axes:
        labels = " against ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel())))
        title = axes.get_title(loc="left") or axes.get_title()
        parts += [title, labels, *_lines(axes), *_bars(axes)]
    parts = list(filter(None, parts))
    if numbers := str(figure.get_label()):
        parts = [*parts[:1], numbers]
    return ". ".join(parts).replace("\n", " ").replace(r"\$", "$") or "Plot"


def _lines(axes: Axes) -> Iterator[str]:
    """Name the entries of the legend, with the first and the last value of each line."""
    for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
        line = handle[0] if isinstance(handle, ErrorbarContainer) else handle
        ys = np.asarray(line.get_ydata() if isinstance(line, Line2D) else [], dtype=float)
        ys = ys[np.isfinite(ys)]
        yield f"{name} from {ys[0]:.3g} to {ys[-1]:.3g}" if len(ys) > 1 else name


def _bars(axes: Axes) -> Iterator[str]:
    """Say how long each bar that has a name is."""
    names = [label.get_text() for label in axes.get_yticklabels()]
    for bars in axes.containers:
        lengths = np.asarray(getattr(bars, "datavalues", []), dtype=float)
        if len(lengths) == len(names):
            named = zip(names, lengths, strict=True)
            yield "; ".join(f"{name}: {length:.3g}" for name, length in named)


def shrink(images: Iterable[Path]) -> None:
    """Save images with few colours, which is all that a small plot or a card with text needs."""
    for path in images:
        with Image.open(path) as image:
            if image.mode == "P":  # from an earlier build
                continue
            small = image.convert("RGBA").quantize(32, method=Image.Quantize.FASTOCTREE)
        small.save(path, optimize=True)
