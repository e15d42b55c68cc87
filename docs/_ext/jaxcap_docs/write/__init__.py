"""What happens when pages are written: `pages` completes their HTML, and `mathml` shows formulas."""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.write import mathml, pages


def setup(app: Sphinx) -> None:
    """Complete each page, and offer formulas as MathML."""
    mathml.setup(app)
    app.connect("html-page-context", pages.complete)
