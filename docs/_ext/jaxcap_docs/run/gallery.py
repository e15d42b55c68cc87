"""After the last script: completes the notebooks and thumbnails that sphinx-gallery wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from sphinx.application import Sphinx

from jaxcap_docs import image_files
from jaxcap_docs.downloads import pack, without_roles
from jaxcap_docs.page_records import BUILD
from jaxcap_docs.sources import write_if_changed

# Digests and dates of what pages offer to download and of thumbnails, by path, as of the last build.
DATES = BUILD / "dates.json"


def complete(app: Sphinx) -> None:
    """Remove Sphinx's roles from notebooks, and make thumbnails smaller."""
    tutorials = Path(app.srcdir, "tutorials")
    for path in tutorials.glob("*/*.ipynb"):
        written = path.read_text(encoding="utf-8")
        notebook = json.loads(written)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                source = without_roles("".join(cell["source"]))
                cell["source"] = source.splitlines(keepends=True)
        text = json.dumps(notebook, indent=1) + "\n"
        if text != written:
            path.write_text(text, encoding="utf-8")
            both = (path.with_suffix(".py"), path)
            pack(path.with_suffix(".zip"), {file.name: file.read_bytes() for file in both})
    image_files.shrink(tutorials.rglob("thumb/*.png"))
    restore_dates(
        path
        for pattern in ("*/*.ipynb", "*/*.zip", "*/images/thumb/*.png")
        for path in sorted(tutorials.glob(pattern))
    )


def restore_dates(paths: Iterable[Path]) -> None:
    """Give files that are as they were the dates that they had.

    sphinx-gallery writes those of tutorials that don't run in each build, and pages are read again
    when what they offer to download or show is newer.
    """
    try:
        before = json.loads(DATES.read_bytes())
    except (OSError, ValueError):
        before = {}
    dates = {}
    for path in paths:
        digest = sha256(path.read_bytes()).hexdigest()
        last_digest, last_ns = before.get(str(path), ("", 0))
        if digest == last_digest:
            os.utime(path, ns=(last_ns, last_ns))
        dates[str(path)] = digest, path.stat().st_mtime_ns
    write_if_changed(DATES, json.dumps(dates))
