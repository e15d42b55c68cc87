"""What pages get when they are written: sizes of images, their topics, and scripts they need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from sphinx.application import Sphinx

from jaxcap_docs import plots
from jaxcap_docs.lessons import PAGES

IMAGE = re.compile(r'<img (?P<rest>[^>]*?src="(?P<source>[^"]+)"[^>]*?)\s*/?>')
WIDTH = re.compile(r"width: (\d+)px")


def complete(
    app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the topics of a page, the sizes of its images, and the script of its chart."""
    context["topics"] = {topic: nodes.make_id(topic) for topic in PAGES.get(page, ())}
    if doctree is None:
        return
    context["body"] = settle_images(app, context["body"])
    if "jaxcap-explore" in context["body"]:
        app.add_js_file("explore.js", loading_method="defer")


def settle_images(app: Sphinx, body: str) -> str:
    """Give images their sizes, so that text doesn't jump, and load them late.

    What only the other theme shows is then never fetched. The first image may be what a reader
    waits for, and is not late.
    """
    sources = {name: Path(app.srcdir, source) for source, name in app.builder.images.items()}
    first = True

    def settled(tag: re.Match[str]) -> str:
        nonlocal first
        source = sources.get(unquote(tag["source"]).rpartition("/")[2])
        if source is None:
            return tag[0]
        width, height = plots.size(source)
        css = WIDTH.search(tag["rest"])
        shown = int(css[1]) if css else round(width)
        late = "" if first and "only-dark" not in tag["rest"] else ' loading="lazy"'
        first = first and bool(late)
        return f'<img {tag["rest"]} width="{shown}" height="{shown * height / width:.0f}"{late}>'

    return IMAGE.sub(settled, body)
