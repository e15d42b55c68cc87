"""What is done while pages are written.

- ``pages``: formulas as MathML, sizes of images, and what the layout needs.
- ``datasets``: what search engines are told of the files of results.
- ``twins``: the same page in Markdown, for programs.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.write import datasets, pages, twins


def setup(app: Sphinx) -> None:
    """Complete each page, and then write its twin."""
    for part in (pages, datasets, twins):
        part.setup(app)
