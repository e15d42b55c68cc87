"""Around each script: its record, its figures as files, and the list of scripts that failed.

sphinx-gallery calls `reset` before and after each script, and `scrape` after each cell.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import indent
from typing import Any

import jax
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx.util.rst import escape

from jaxcap.report import figures
from jaxcap.results import ResultSet, ResultTable
from jaxcap.results.exports import with_other_machines
from jaxcap.results.recordings import matching_results
from jaxcap_docs import plots, records
from jaxcap_docs.lessons import tutorial_of
from jaxcap_docs.run import limits

# Which tutorials failed and why, a line for each, for the build command to end with.
FAILED = records.BUILD / "failed-tutorials.txt"


@dataclass
class _Script:
    """The script that runs, as of its last cell.

    ``block_vars`` are sphinx-gallery's variables, and ``variables`` the script's own. ``tables`` has
    the HTML of each table that other machines have measured too, without and with their columns.
    """

    page: str
    started_s: float
    block_vars: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)


# sphinx-gallery gives its hooks no object to keep state in.
_running: _Script
_failures: list[str] = []


def reset(_: dict[str, Any], script: str, when: str) -> None:
    """Start each script in the same state, and keep its record when it ends."""
    global _running
    if when == "after":
        limits.stop_timer()
        if traceback := _running.block_vars.get("formatted_exception"):
            _failures.append(f"{_running.page} ({_reason(traceback)})")
        duration_s = time.perf_counter() - _running.started_s
        records.save(_running.page, duration_s, _running.variables, _running.tables)
        _write_failures()
    jax.config.update("jax_enable_x64", False)  # type: ignore[no-untyped-call]
    jax.clear_caches()  # type: ignore[no-untyped-call]
    figures.use_style()
    if when == "before":
        _running = _Script(tutorial_of(script), time.perf_counter())
        # Stays in the file if the script takes the whole build with it.
        _write_failures(
            f"{_running.page} (the build ended while it ran: it crashed, or did not heed its time "
            f"limit of {limits.time_limit_s()} s)",
        )
        limits.start_timer()


def _reason(traceback: str) -> str:
    """Return the line below the stack: an exception and the first line of its message."""
    _, *lines = traceback.splitlines()
    kind, colon, message = next(line for line in lines if not line.startswith(" ")).partition(": ")
    return f"{kind.rpartition('.')[2]}{colon}{message}"


def _write_failures(*running: str) -> None:
    FAILED.write_text("\n".join([*_failures, *running]), encoding="utf-8")


def scrape(_: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save open figures for light and for dark pages, and note the script's variables and tables."""
    _running.block_vars = block_vars
    names = block_vars["example_globals"].items()
    _running.variables = {name: value for name, value in names if not name.startswith("_")}
    _note_table(block_vars["example_globals"].get("___"))  # the value of the cell's last line
    root = Path(gallery_conf["src_dir"])
    return "".join(
        _save_with_others(plt.figure(number), Path(next(block_vars["image_path_iterator"])), root)
        for number in plt.get_fignums()
    )


def _note_table(value: Any) -> None:
    table = value.table() if isinstance(value, ResultSet) else value
    if not isinstance(table, ResultTable):
        return
    others = matching_results(table.results, records.other_recordings())
    if others:
        wider = with_other_machines(table, others)
        notes = (f"{where}: {records.state_of(there)}" for where, there in others.items())
        wider = replace(wider, notes=(*wider.notes, *notes))
        _running.tables[table._repr_html_()] = wider._repr_html_()


def _save_with_others(figure: Figure, path: Path, root: Path) -> str:
    """Save a figure, and below it what it looks like with the results of other machines."""
    saved = _save(figure, path, root, raster=True)  # the thumbnail is made from that
    if (source := figures.origin(figure)) is None:
        return saved
    results, draw = source
    for number, (where, there) in enumerate(
        matching_results(results, records.other_recordings()).items()
    ):
        # Part of what the figure shows may not have been measured there, or be no number.
        with suppress(KeyError, ValueError):
            other = _save(draw(there), path.with_stem(f"{path.stem}_{number}"), root)
            other += escape(records.state_of(there))
            saved += f".. dropdown:: {escape(where)}\n\n{indent(other, '   ')}\n\n"
    return saved


def _save(figure: Figure, path: Path, root: Path, *, raster: bool = False) -> str:
    return "".join(
        f"\n.. image:: {image['uri']}\n   :alt: {image['alt']}\n"
        f"   :class: {' '.join(image['classes'])}\n   :width: {image['width']}\n\n"
        for image in plots.save(figure, path, root, raster=raster)
    )
