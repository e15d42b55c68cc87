"""Formulas as MathML, which browsers show without a script from elsewhere."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Register the renderer, for ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))


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
