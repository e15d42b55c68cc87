"""Notebooks of tutorials, without markup that only Sphinx understands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from sphinx.application import Sphinx

from jaxcap_docs.downloads import pack

# :role:`text` or :role:`text <target>`
ROLE = re.compile(r":(?P<role>[a-z:]+):`~?(?P<text>[^`<]*[^`<\s])(?:\s*<[^`]*>)?`")


def rewrite(app: Sphinx) -> None:
    """Take roles out of the notebooks that sphinx-gallery wrote, and pack their archives again.

    Those of an earlier build stay as they are, or their pages would be read again.
    """
    for path in Path(app.srcdir, "tutorials").glob("*/*.ipynb"):
        written = path.read_text(encoding="utf-8")
        notebook = json.loads(written)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                source = ROLE.sub(_text_of_role, "".join(cell["source"]))
                cell["source"] = source.splitlines(keepends=True)
        text = json.dumps(notebook, indent=1) + "\n"
        if text == written:
            continue
        path.write_text(text, encoding="utf-8")
        both = (path.with_suffix(".py"), path)
        pack(path.with_suffix(".zip"), {file.name: file.read_bytes() for file in both})


def _text_of_role(role: re.Match[str]) -> str:
    """Return the text of a role: as code if it names an object or a measured variable."""
    return role["text"] if role["role"] in {"doc", "ref"} else f"`{role['text']}`"
