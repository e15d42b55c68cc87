"""After the last script: completes the notebooks and thumbnails that sphinx-gallery wrote."""

from __future__ import annotations

import json
from pathlib import Path

from sphinx.application import Sphinx

from jaxcap_docs import image_files
from jaxcap_docs.downloads import pack, without_roles


def on_builder_inited(app: Sphinx) -> None:
    """Remove Sphinx's roles from notebooks, and make thumbnails smaller.

    Notebooks of an earlier build stay as they are, or their pages would be read again.
    """
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
