"""What this build measured, in a small file that joins those of earlier builds when it is published."""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap.results.atomic import write_atomically
from jaxcap_docs.read.history import FILE, entry_of_build


def write(app: Sphinx) -> None:
    """Write the build's entry in the history, unless it ran no tutorial."""
    if entry := entry_of_build():
        write_atomically(app.outdir / FILE, f"{entry.model_dump_json(indent=1)}\n")
