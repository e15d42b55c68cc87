"""Notebooks of tutorials, without markup that only Sphinx understands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from sphinx.application import Sphinx

from jaxcap_docs.downloads.archive import pack

# :role:`text` or :role:`text <target>`
ROLE = re.compile(r":(?P<role>[a-z:]+):`~?(?P<text>[^`<]*[^`<\s])(?:\s*<[^`]*>)?`")


def without_roles(text: str) -> str:
    """Keep the text of each role: as code if it names an object or a measured variable."""

    def plain(role: re.Match[str]) -> str:
        return role["text"] if role["role"] in {"doc", "ref"} else f"`{role['text']}`"

    return ROLE.sub(plain, text)


def rewrite(app: Sphinx) -> None:
    """Take roles out of the notebooks that sphinx-gallery wrote, and pack their archives again.

    Those of an earlier build stay as they are, or their pages would be read again.
    """
    for path in Path(app.srcdir, "tutorials").glob("*/*.ipynb"):
        written = path.read_text(encoding="utf-8")
        notebook = json.loads(written)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = without_roles("".join(cell["source"])).splitlines(keepends=True)
        text = json.dumps(notebook, indent=1) + "\n"
        if text == written:
            continue
        path.write_text(text, encoding="utf-8")
        both = (path.with_suffix(".py"), path)
        pack(path.with_suffix(".zip"), {file.name: file.read_bytes() for file in both})
