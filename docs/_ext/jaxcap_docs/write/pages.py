"""Formulas as MathML, sizes of images, and what the layout needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.images import get_image_size
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from jaxcap_docs.lessons import PAGES
from jaxcap_docs.read.elements import ForPhones

# What is on the pages that need a script.
SCRIPTS = {
    "answers.js": 'class="jaxcap-answer"',
    "bets.js": 'class="jaxcap-bet"',
    "explore.js": "jaxcap-explore",
    "pick.js": 'class="jaxcap-pick"',
    "reader.js": 'class="jaxcap-reader"',
    "releases.js": "jaxcap-releases-static",
}
# How docutils begins the heads of columns and of rows.
SCOPES = {'<th class="head': "col", '<th class="stub': "row"}

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Complete images, and render formulas for ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("doctree-resolved", on_doctree_resolved)


def on_doctree_resolved(app: Sphinx, doctree: nodes.document, _: str) -> None:
    """Give images their sizes, so that text doesn't jump, and load them late.

    Images for the other theme are then never fetched. Readers may wait for the first image, which is
    therefore loaded at once.
    """
    images = [image for image in doctree.findall(nodes.image) if image["uri"] in app.env.images]
    for image in images:
        if size := get_image_size(Path(app.srcdir, image["uri"])):
            width, height = size
            if "width" not in image:
                image["classes"].append("no-scaled-link")  # to the image, since it is not scaled
            shown = image.get("width", str(width))
            if shown.isdecimal():  # and no share of the page
                image["width"], image["height"] = shown, str(round(int(shown) * height / width))
    for image in [image for image in images if not isinstance(image, ForPhones)][1:]:
        image["loading"] = "lazy"  # which is true of what phones show in its place, too


def add_topics(page: str, context: dict[str, Any]) -> None:
    """Add the topics of a page."""
    context["topics"] = {topic: nodes.make_id(topic) for topic in PAGES.get(page, ())}


def complete(app: Sphinx, context: dict[str, Any]) -> None:
    """Add the scripts that a page needs, and say what the heads of its tables head."""
    for script, sign in SCRIPTS.items():
        if sign in context["body"]:
            app.add_js_file(script, loading_method="defer")
    for tag, scope in SCOPES.items():
        context["body"] = context["body"].replace(tag, f'{tag[:3]} scope="{scope}"{tag[3:]}')


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
    """Convert a formula, with its TeX for programs, or show that with a warning if it has a mistake."""
    try:
        formula = str(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        logger.warning("cannot show the formula %r: %s", node.astext(), error, location=node)
        return f"<code>{translator.encode(node.astext())}</code>"
    return formula.replace("<math", f'<math alttext="{translator.attval(node.astext())}"', 1)
