"""What sphinx-gallery wrote: notebooks, without markup that only Sphinx understands, and thumbnails."""

from __future__ import annotations

import json
import re
from pathlib import Path

from sphinx.application import Sphinx

from jaxcap_docs import plots
from jaxcap_docs.downloads import pack

# :role:`text` or :role:`text <target>`
ROLE = re.compile(r":(?P<role>[a-z:]+):`~?(?P<text>[^`<]*[^`<\s])(?:\s*<[^`]*>)?`")


def complete(app: Sphinx) -> None:
    """Complete notebooks, and make thumbnails light, of which the landing page has many.

    Notebooks of an earlier build stay as they are, or their pages would be read again.
    """
    tutorials = Path(app.srcdir, "tutorials")
    for path in tutorials.glob("*/*.ipynb"):
        written = path.read_text(encoding="utf-8")
        text = _without_roles(written)
        if text != written:
            path.write_text(text, encoding="utf-8")
            both = (path.with_suffix(".py"), path)
            pack(path.with_suffix(".zip"), {file.name: file.read_bytes() for file in both})
    plots.shrink(tutorials.rglob("thumb/*.png"))


def _without_roles(text: str) -> str:
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            source = ROLE.sub(_text_of_role, "".join(cell["source"]))
            cell["source"] = source.splitlines(keepends=True)
    return json.dumps(notebook, indent=1) + "\n"


def _text_of_role(role: re.Match[str]) -> str:
    """Return the text of a role: as code if it names an object or a measured variable."""
    return role["text"] if role["role"] in {"doc", "ref"} else f"`{role['text']}`"
