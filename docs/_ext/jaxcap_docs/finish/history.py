"""What this build measured, in a small file that joins those of earlier builds when it is published."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sphinx.application import Sphinx

from jaxcap.results.atomic import write_atomically
from jaxcap_docs import page_records
from jaxcap_docs.build_entry import FILE, entry_of_build
from jaxcap_docs.sources import make_if_changed, package_files


def write(app: Sphinx) -> None:
    """Write the build's entry in the history, unless it ran no tutorial or nothing has changed."""
    file = app.outdir / FILE
    sources = (*page_records.RECORDS.glob("**/*.json"), *package_files())
    make_if_changed(app, file, sources, partial(_write, file))


def _write(file: Path) -> None:
    if entry := entry_of_build():
        write_atomically(file, f"{entry.model_dump_json(indent=1)}\n")
