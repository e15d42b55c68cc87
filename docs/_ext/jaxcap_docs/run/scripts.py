"""Around each script: keeps its record, saves its figures, and lists the scripts that failed.

sphinx-gallery calls `reset` before and after each script, and `scrape` after each cell.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx.util import logging

from jaxcap.report import figures
from jaxcap.results import ResultSet, ResultTable
from jaxcap_docs import image_files, page_records
from jaxcap_docs.lessons import tutorial_of
from jaxcap_docs.page_records import ShownFigure
from jaxcap_docs.run import limits, playback

# Which tutorials failed and why, a line for each, for the build command to end with.
FAILED = page_records.BUILD / "failed-tutorials.txt"
# How a measurement begins its warning of a busy machine.
_BUSY = "other work "

logger = logging.getLogger(__name__)


@dataclass
class _Script:
    """The script that is running, as of its last cell.

    ``block_vars`` are sphinx-gallery's variables, and ``variables`` the script's own. ``tables`` and
    ``figures`` are what the page shows so far, the tables by their HTML.
    """

    page: str
    started_s: float
    block_vars: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, ResultTable] = field(default_factory=dict)
    figures: list[ShownFigure] = field(default_factory=list)


# sphinx-gallery gives its hooks no object to keep state in.
_running: _Script
_failures: list[str] = []

_format_with_path = warnings.formatwarning


def reset(_: dict[str, Any], script: str, when: str) -> None:
    """Start each script in the same state, and keep its record when it ends."""
    global _running
    if when == "after":
        limits.stop_timer()
        warnings.formatwarning = _format_with_path
        if traceback := _running.block_vars.get("formatted_exception"):
            _failures.append(f"{_running.page} ({_reason(traceback)})")
        if not playback.was_played(_running.page):
            duration_s = time.perf_counter() - _running.started_s
            page_records.save(
                _running.page, duration_s, _running.variables, _running.tables, _running.figures
            )
            playback.keep(_running.page)
        _write_failures()
    jax.config.update("jax_enable_x64", False)  # type: ignore[no-untyped-call]
    jax.clear_caches()  # type: ignore[no-untyped-call]
    figures.use_style()
    if when == "before":
        _running = _Script(tutorial_of(script), time.perf_counter())
        # Stays in the file if the script ends the whole build.
        _write_failures(
            f"{_running.page} (the build ended while it ran: it crashed, or exceeded its time limit "
            f"of {limits.time_limit_s()} s without returning to Python)",
        )
        warnings.formatwarning = _format_for_page
        limits.start_timer()


def _format_for_page(
    message: Warning | str, category: type[Warning], *_: object, **__: object
) -> str:
    """Format a warning without the path of the script, which tells readers nothing.

    That of a busy machine asks for another measurement, so it goes to the log, for those who build.
    Readers see below a table how many samples were disturbed.
    """
    text = f"{category.__name__}: {message}"
    if str(message).startswith(_BUSY):
        logger.info("%s: %s", _running.page, text)
        return ""
    return f"{text}\n"


def _reason(traceback: str) -> str:
    """Return the line below the stack: an exception and the first line of its message."""
    _, *lines = traceback.splitlines()
    kind, colon, message = next(line for line in lines if not line.startswith(" ")).partition(": ")
    return f"{kind.rpartition('.')[2]}{colon}{message}"


def _write_failures(*running: str) -> None:
    FAILED.write_text("\n".join([*_failures, *running]), encoding="utf-8")


def scrape(_: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save open figures for light and for dark pages, and keep the script's variables and tables."""
    _running.block_vars = block_vars
    names = block_vars["example_globals"].items()
    _running.variables = {name: value for name, value in names if not name.startswith("_")}
    _keep_table(block_vars["example_globals"].get("___"))  # the value of the cell's last line
    root = Path(gallery_conf["src_dir"])
    return "".join(
        _save(plt.figure(number), Path(next(block_vars["image_path_iterator"])), root)
        for number in plt.get_fignums()
    )


def _keep_table(value: Any) -> None:
    table = value.table() if isinstance(value, ResultSet) else value
    if isinstance(table, ResultTable):
        _running.tables[table._repr_html_()] = table


def _save(figure: Figure, path: Path, root: Path) -> str:
    """Save a figure, also as the PNG from which the thumbnail is made, and return its markup.

    One that shows results comes onto the page when that is read, with those of other machines.
    """
    if (origin := figures.origin(figure)) is None:
        return _markup(image_files.save(figure, path, root, raster=True))
    results, drawing = origin
    is_changed = figure.stale
    file = path.relative_to(root).as_posix()
    _running.figures.append(ShownFigure(file, drawing, results, is_changed))
    on_reading = f"\n.. figure-of-results:: {len(_running.figures) - 1}\n\n"
    if is_changed:
        return _markup(image_files.save(figure, path, root, raster=True)) + on_reading
    image_files.save_small(figure, path)
    return on_reading


def _markup(images: Iterable[Mapping[str, Any]]) -> str:
    return "".join(
        f"\n.. image:: {image['uri']}\n   :alt: {image['alt']}\n"
        f"   :class: {' '.join(image['classes'])}\n   :width: {image['width']}\n\n"
        for image in images
    )
