"""What is done while pages are written.

- ``pages``: formulas as MathML, sizes of images, and what the layout needs.
- ``navigation``: the tree of pages in the sidebar.
- ``datasets``: what search engines are told of the files of results.
- ``twins``: the same page in Markdown, for programs.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from jaxcap_docs.write import datasets, navigation, pages, twins


def setup(app: Sphinx) -> None:
    """Act when all other extensions have completed a page."""
    pages.setup(app)
    navigation.setup(app)
    app.connect("html-page-context", on_html_page_context, priority=900)


def on_html_page_context(
    app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Complete a page, and then write its twin while it is written, so that those of others stay."""
    pages.add_topics(page, context)
    if doctree is None:  # it has no text of ours
        return
    pages.complete(app, context)
    datasets.describe(app, page, context)
    twins.write(app, page, context)
