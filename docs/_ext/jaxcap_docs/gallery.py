"""What sphinx-gallery calls around each script: a clean start, its figures, its record."""

from __future__ import annotations

import hashlib
import re
import time
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
from sphinx.errors import ExtensionError
from sphinx.util.rst import escape

import jaxcap
from jaxcap.measure.lock import BusyError, measuring_alone
from jaxcap.measure.machine import capture
from jaxcap.report import figures
from jaxcap.results import ResultSet, ResultTable
from jaxcap.results.exports import with_other_machines
from jaxcap.results.recordings import matching_results, outdated
from jaxcap_docs import limits, plots, publish, records


@dataclass
class _Running:
    """The script that runs, its variables as they were after its last code block, and its tables.

    Of each table that other machines have something to add to, its HTML and that with more columns.
    """

    started_s: float = 0.0
    script: Path | None = None
    variables: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)


# sphinx-gallery gives its hooks no object to keep state in.
_running = _Running()


# Held from before the first script runs until the build ends, however it does.
_measuring = ExitStack()


def measure_alone(_: Sphinx, config: Config) -> None:
    """Refuse to build while somebody else measures on this machine, if this build runs scripts.

    Raises
    ------
    ExtensionError
        If a recording or another build is at it.
    """
    wanted = config.sphinx_gallery_conf["filename_pattern"]
    scripts = (str(script) for script in records.GALLERY.glob("*/*.py"))
    if config.plot_gallery in {"0", False} or not any(re.search(wanted, one) for one in scripts):
        return
    try:
        _measuring.enter_context(measuring_alone())
    except BusyError as error:
        raise ExtensionError(str(error)) from error


def let_others_measure(_: Sphinx, __: Exception | None) -> None:
    """Let other builds and recordings begin."""
    _measuring.close()


def forget_stale(app: Sphinx, _: Config) -> None:
    """Run all scripts again if the package, the libraries, the device or recordings have changed.

    sphinx-gallery by itself looks at the script only.
    """
    fingerprint = hashlib.sha256()
    sources = Path(jaxcap.__file__).parent.rglob("*.py")
    for path in sorted((*sources, *records.RECORDED.rglob("*.json"))):
        fingerprint.update(path.read_bytes())
    machine = capture()
    fingerprint.update(repr((machine.device, machine.versions, machine.flags)).encode())
    seen = records.BUILD / "fingerprint.txt"
    if seen.exists() and seen.read_text(encoding="ascii") == fingerprint.hexdigest():
        return
    for checksum in Path(app.srcdir, "tutorials").rglob("*.md5"):
        checksum.unlink()
    seen.parent.mkdir(exist_ok=True)
    seen.write_text(fingerprint.hexdigest(), encoding="ascii")


def reset(gallery_conf: dict[str, Any], script: str, when: str) -> None:
    """Start each script in the same state, and keep its record when it ends."""
    limits.stop()
    if when == "after" and _running.script:
        duration_s = time.perf_counter() - _running.started_s
        run = records.Run(environment=capture(), duration_s=duration_s)
        page = records.page_of_script(_running.script)
        records.write(page, run, _running.variables, _running.tables)
    jax.config.update("jax_enable_x64", False)  # type: ignore[no-untyped-call]
    jax.clear_caches()  # type: ignore[no-untyped-call]
    figures.use_style()
    _running.started_s, _running.script = time.perf_counter(), None
    _running.variables, _running.tables = {}, {}
    if when == "before":
        # Stays if the script takes the whole build with it.
        (path,) = records.GALLERY.glob(f"*/{script}")
        publish.note_failures(
            gallery_conf,
            f"{records.page_of_script(path)} (the build ended while it ran: it crashed, or did not "
            f"heed its time limit of {limits.seconds()} s)",
        )
        limits.start()
    else:
        publish.note_failures(gallery_conf)


def scrape(_: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save open figures for light and for dark pages, and note the script's variables and tables."""
    _running.script = Path(block_vars["src_file"])
    names = block_vars["example_globals"].items()
    _running.variables = {name: value for name, value in names if not name.startswith("_")}
    _note_table(block_vars["example_globals"].get("___"))  # what the block shows as its last word
    return "".join(
        _save_with_others(plt.figure(number), Path(next(block_vars["image_path_iterator"])), images)
        for images in [Path(gallery_conf["src_dir"])]
        for number in plt.get_fignums()
    )


def _note_table(shown: Any) -> None:
    table = shown.table() if isinstance(shown, ResultSet) else shown
    if not isinstance(table, ResultTable):
        return
    others = matching_results(table.results, records.others())
    if others:
        wider = with_other_machines(table, others)
        notes = (f"{where}: {state_of(some)}" for where, some in others.items())
        wider = replace(wider, notes=(*wider.notes, *notes))
        _running.tables[table._repr_html_()] = wider._repr_html_()


def _save_with_others(figure: Figure, path: Path, root: Path) -> str:
    """Save a figure, and below it what it looks like with the results of other machines."""
    saved = _save(figure, path, root, raster=True)  # the thumbnail is made from that
    if (source := figures.drawn_from(figure)) is None:
        return saved
    results, draw = source
    for number, (where, some) in enumerate(matching_results(results, records.others()).items()):
        # Not all that the figure shows was measured there, or what was is no number.
        with suppress(KeyError, ValueError):
            other = _save(draw(some), path.with_stem(f"{path.stem}_{number}"), root)
            other += escape(state_of(some))
            saved += f".. dropdown:: {escape(where)}\n\n{indent(other, '   ')}\n\n"
    return saved


def state_of(results: ResultSet) -> str:
    """Say with which versions another machine measured, and in what this build differs."""
    then = results.environment
    experiment = catalogue().get(results[0].experiment)
    here = capture().model_copy(update={"device": then.device})
    changed = outdated(results, here, experiment and experiment.code)
    state = f"measured with JAX {then.versions.get('jax')}, commit {then.commit}"
    return f"{state}; it differs from this build in {', '.join(changed)}" if changed else state


def _save(figure: Figure, path: Path, root: Path, *, raster: bool = False) -> str:
    saved = plots.save(figure, path, raster=raster)
    return "".join(
        f"\n.. image:: /{file.relative_to(root).as_posix()}\n"
        f"   :alt: {saved.alt}\n   :class: only-{theme} jaxcap-plot\n   :width: {saved.width}\n\n"
        for theme, file in saved.files.items()
    )
