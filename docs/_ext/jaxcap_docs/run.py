"""What happens before and while tutorials run: the lock, the fingerprint, a record of each run."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import indent
from typing import Any

import jax
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.rst import escape

import jaxcap
from jaxcap.measure.lock import BusyError, measuring_alone
from jaxcap.measure.machine import capture
from jaxcap.report import figures
from jaxcap.results import ResultSet, ResultTable
from jaxcap.results.exports import with_other_machines
from jaxcap.results.recordings import matching_results
from jaxcap_docs import limits, plots, records

# Which tutorials failed and why, a line for each, for the build command to end with.
FAILED = records.BUILD / "failed-tutorials.txt"
FINGERPRINT = records.BUILD / "fingerprint.txt"


def setup(app: Sphinx) -> None:
    """Act before sphinx-gallery runs the first script, and when it has run the last."""
    app.connect("config-inited", begin)
    app.connect("builder-inited", shrink_thumbnails, priority=900)


# Held from before the first script runs until the build ends, however it does.
_lock = ExitStack()


def begin(app: Sphinx, config: Config) -> None:
    """Refuse to build where nothing can be measured, and find out which scripts must run again."""
    try:
        limits.time_limit_s()
        if _runs_scripts(config):
            # Unless the nox session holds it, from before it removed the last build's files.
            _lock.enter_context(measuring_alone())
            os.environ["JAXCAP_LOCK_HELD"] = "1"  # for the commands whose output pages show
            _lock.callback(os.environ.pop, "JAXCAP_LOCK_HELD")
    except (ValueError, BusyError) as error:
        sys.exit(str(error))  # to Sphinx, an exception would be a mistake in this extension
    forget_stale(Path(app.srcdir, "tutorials"))


def unlock() -> None:
    """Let other builds and recordings measure."""
    _lock.close()


def _runs_scripts(config: Config) -> bool:
    pattern = config.sphinx_gallery_conf["filename_pattern"]
    scripts = map(str, records.GALLERY.glob("*/*.py"))
    return config.plot_gallery not in {"0", False} and any(re.search(pattern, s) for s in scripts)


def forget_stale(tutorials: Path) -> None:
    """Run all scripts again if something has changed that their outputs depend on.

    sphinx-gallery by itself looks at the script only, and keeps its checksum beside the page.
    """
    now = fingerprint(_sources())
    if FINGERPRINT.exists() and FINGERPRINT.read_text(encoding="ascii") == now:
        return
    for checksum in tutorials.rglob("*.md5"):
        checksum.unlink()
    FINGERPRINT.parent.mkdir(exist_ok=True)
    FINGERPRINT.write_text(now, encoding="ascii")


def _sources() -> list[Path]:
    """List the files that outputs depend on: the package, recordings, and what runs here meanwhile.

    Recordings are among them because tables and figures with other machines are made during a run.
    """
    here = Path(__file__).parent
    return [
        *sorted(Path(jaxcap.__file__).parent.rglob("*.py")),
        *sorted(records.RECORDED.rglob("*.json")),
        *(here / f"{name}.py" for name in ("limits", "plots", "records", "run")),
    ]


def fingerprint(sources: Iterable[Path]) -> str:
    """Return a digest of these files, the libraries and the device."""
    digest = hashlib.sha256()
    for path in sources:
        digest.update(path.read_bytes())
    machine = capture()
    digest.update(repr((machine.device, machine.versions, machine.flags)).encode())
    return digest.hexdigest()


@dataclass
class _Running:
    """The script that runs, as of its last code block.

    ``block_vars`` are sphinx-gallery's variables, and ``variables`` the script's own. ``tables`` has
    the HTML of each table that other machines have measured too, without and with their columns.
    """

    started_s: float = 0.0
    block_vars: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)


# sphinx-gallery gives its hooks no object to keep state in.
_running = _Running()
_failures: list[str] = []


def reset(_: dict[str, Any], script: str, when: str) -> None:
    """Start each script in the same state, and keep its record when it ends."""
    global _running
    limits.stop()
    if when == "after":
        _keep_record(_running)
    jax.config.update("jax_enable_x64", False)  # type: ignore[no-untyped-call]
    jax.clear_caches()  # type: ignore[no-untyped-call]
    figures.use_style()
    _running = _Running(time.perf_counter())
    if when == "before":
        (path,) = records.GALLERY.glob(f"*/{script}")
        # Stays in the file if the script takes the whole build with it.
        _write_failures(
            f"{records.page_of_script(path)} (the build ended while it ran: it crashed, or did not "
            f"heed its time limit of {limits.time_limit_s()} s)",
        )
        limits.start()
    else:
        _write_failures()


def _keep_record(running: _Running) -> None:
    if not running.block_vars:
        return
    page = records.page_of_script(Path(running.block_vars["src_file"]))
    if traceback := running.block_vars.get("formatted_exception"):
        _failures.append(f"{page} ({_reason(traceback)})")
    duration_s = time.perf_counter() - running.started_s
    run = records.Run(environment=capture(), duration_s=duration_s)
    records.write(page, run, running.variables, running.tables)


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
    _note_table(block_vars["example_globals"].get("___"))  # the value of the block's last line
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
    if (source := figures.drawn_from(figure)) is None:
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
    saved = plots.save(figure, path, raster=raster)
    return "".join(
        f"\n.. image:: /{file.relative_to(root).as_posix()}\n"
        f"   :alt: {saved.alt}\n   :class: only-{theme} jaxcap-plot\n   :width: {saved.width}\n\n"
        for theme, file in saved.files.items()
    )


def shrink_thumbnails(app: Sphinx) -> None:
    """Make thumbnails light, of which the landing page has many."""
    plots.shrink(Path(app.srcdir, "tutorials").rglob("thumb/*.png"))
