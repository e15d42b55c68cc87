"""The tree of pages in the sidebar, made once for each folder.

For each page, Sphinx resolves the tree of all pages, and Furo parses it: half the time of a build that
measures little. But in a folder, trees differ only in which pages are marked as current.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from html import escape
from typing import Any, cast

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment.adapters.toctree import TocTree

TREE = "furo_navigation_tree"
# An entry of the tree, up to the box that unfolds it if there are pages below.
ENTRY = (
    r'<li class="(?P<level>toctree-l\d+)(?P<classes>[^"]*)">'
    r'<a class="reference internal" href="{}">(?P<title>.*?)</a>(?P<box><input aria-label="[^"]*")?'
)


def setup(app: Sphinx) -> None:
    """Act right before Furo, whose priority is 500, and right after it."""
    trees: dict[str, str] = {}
    app.connect("html-page-context", partial(share, trees), priority=490)
    app.connect("html-page-context", mark, priority=510)


def share(
    trees: dict[str, str], app: Sphinx, page: str, _: str, context: dict[str, Any], __: Any
) -> None:
    """Give Furo the tree of a page's folder, in which nothing is current."""
    if page == "404":  # whose links are absolute
        return
    neighbour = beside(page)

    def tree(**options: Any) -> str:
        if neighbour not in trees:
            resolved = TocTree(app.env).get_toctree_for(neighbour, app.builder, **options)
            trees[neighbour] = builder(app).render_partial(resolved)["fragment"]
        return trees[neighbour]

    context["toctree"] = tree


def mark(app: Sphinx, page: str, _: str, context: dict[str, Any], __: Any) -> None:
    """Mark a page and those above it as current, and unfold them, as Furo would."""
    if TREE not in context:  # another theme's page
        return
    for name in (page, *above(app, page)):
        address = escape(app.builder.get_relative_uri(beside(page), name))
        as_current = partial(current, is_page=name == page, address=address)
        entry = ENTRY.format(re.escape(address))
        context[TREE] = re.sub(entry, as_current, context[TREE], count=1)


def current(entry: re.Match[str], *, is_page: bool, address: str) -> str:
    """Return the entry of a current page, or of one above it."""
    level, classes, title, box = entry.groups(default="")
    item = f"{level} current{classes}" + " current-page" * is_page
    link = 'class="current reference internal" href="#"'
    if not is_page:
        link = f'class="reference internal" href="{address}"'
    unfolded = ' checked=""' if box else ""
    return f'<li class="{item}"><a {link}>{title}</a>{box}{unfolded}'


def beside(page: str) -> str:
    """Return the name of a page that isn't there, in the folder of one that is."""
    folder, slash, _ = page.rpartition("/")
    return f"{folder}{slash}_"


def above(app: Sphinx, page: str) -> Iterator[str]:
    """Yield the page whose table of contents has a page, the one that has that, and so on."""
    while parent := builder(app).relations.get(page, (None,))[0]:
        yield parent
        page = parent


def builder(app: Sphinx) -> StandaloneHTMLBuilder:
    """Return the builder of pages, the only one that emits ``html-page-context``."""
    return cast(StandaloneHTMLBuilder, app.builder)
