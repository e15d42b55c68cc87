"""What tells others where pages are: redirects where they were before, and a sitemap."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from jaxcap.results.files import write_atomically

SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""


def redirects(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Make a page that leads on for each that moved.

    Raises
    ------
    ExtensionError
        If a page is said to have moved that is still there, or to where there is none.
    """
    for old, new in app.config.moved_pages.items():
        if old in app.env.found_docs:
            raise ExtensionError(f"moved_pages says that {old} moved, but it is still there")
        if new not in app.env.found_docs:
            raise ExtensionError(f"moved_pages sends readers of {old} to {new}, which is no page")
        there = {
            "title": app.env.titles[new].astext(),
            "target": new,
            "canonical": _address(app, new),
        }
        yield old, there, "moved.html"


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """List the addresses of all pages, if that of the site is known."""
    if exception is not None or app.builder.format != "html" or not app.config.html_baseurl:
        return
    pages = (_address(app, page) for page in sorted(app.env.found_docs))
    urls = "\n".join(f"<url><loc>{escape(page)}</loc></url>" for page in pages)
    write_atomically(app.outdir / "sitemap.xml", SITEMAP.format(urls))


def _address(app: Sphinx, page: str) -> str:
    """Where a page is found, or nothing if the address of the site isn't known."""
    site: str = app.config.html_baseurl
    return site and site + app.builder.get_target_uri(page)
