"""What is done while pages are written.

- ``pages``: formulas as MathML, sizes of images, and what the layout needs.
- ``datasets``: what search engines are told of the files of results.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.write import datasets, pages


def setup(app: Sphinx) -> None:
    """Complete each page."""
    for part in (pages, datasets):
        part.setup(app)
