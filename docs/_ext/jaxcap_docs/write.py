"""While pages are written: formulas as MathML, sizes of images, and what the layout needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from jaxcap_docs import plots
from jaxcap_docs.lessons import PAGES

IMAGE = re.compile(r'<img (?P<rest>[^>]*?src="(?P<source>[^"]+)"[^>]*?)\s*/?>')
WIDTH = re.compile(r"width: (\d+)px")
logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Complete each page, and render formulas for ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("html-page-context", complete_page)


def complete_page(
    app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the topics of a page, the sizes of its images, and the script of its chart."""
    context["topics"] = {topic: nodes.make_id(topic) for topic in PAGES.get(page, ())}
    if doctree is None:
        return
    context["body"] = _with_sizes(app, context["body"])
    if "jaxcap-explore" in context["body"]:
        app.add_js_file("explore.js", loading_method="defer")


def _with_sizes(app: Sphinx, body: str) -> str:
    """Give images their sizes, so that text doesn't jump, and load them late.

    What only the other theme shows is then never fetched. The first image may be what a reader
    waits for, and is not late.
    """
    sources = {name: Path(app.srcdir, source) for source, name in app.builder.images.items()}
    first = True

    def with_size(tag: re.Match[str]) -> str:
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

    return IMAGE.sub(with_size, body)


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_converted(translator, node))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div"))  # with the id that links lead to
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(f"{_converted(translator, node, as_block=True)}</div>")
    raise nodes.SkipNode


def _converted(
    translator: HTML5Translator, node: nodes.math | nodes.math_block, *, as_block: bool = False
) -> str:
    """Convert a formula, or show its TeX with a warning if that has a mistake."""
    try:
        return str(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        logger.warning("cannot show the formula %r: %s", node.astext(), error, location=node)
        return f"<code>{translator.encode(node.astext())}</code>"
