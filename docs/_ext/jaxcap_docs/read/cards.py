"""What the cards of the gallery say: below the question of a tutorial, the landing page's answer in short."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from jaxcap_docs.lessons import TUTORIALS_FOLDER
from jaxcap_docs.read.dependencies import note_files

_KEY = "jaxcap_answers"  # in Sphinx's metadata of the page that gives the answers
_TITLE = 'class="sphx-glr-thumbnail-title"'


def setup(app: Sphinx) -> None:
    """Complete the lists of tutorials when they have been read."""
    app.connect("doctree-read", on_doctree_read)


def note_answer(env: BuildEnvironment, page: str, answer: nodes.Node) -> None:
    """Note the first sentence of the landing page's answer to the question of a tutorial."""
    answers = _answers(env, env.docname)
    parts = [
        BeautifulSoup(text, "html.parser").get_text()
        if isinstance(text.parent, nodes.raw)
        else text
        for text in answer.findall(nodes.Text)
    ]
    sentence, end, _ = (
        "".join(parts).replace("'", "\N{RIGHT SINGLE QUOTATION MARK}").partition(". ")
    )
    answers[page] = f"{sentence}{end.strip()}"
    env.metadata[env.docname][_KEY] = json.dumps(answers)


def on_doctree_read(app: Sphinx, doctree: nodes.document) -> None:
    """Put answers below the titles that sphinx-gallery puts on cards, the last element of each."""
    name = app.env.docname
    if not (name.startswith(TUTORIALS_FOLDER) and name.endswith("index")):
        return
    landing = app.config.root_doc
    note_files(app.env, Path(app.srcdir), f"{landing}.*")  # read before: pages are read by name
    answers, page = _answers(app.env, landing), ""
    for node in doctree.findall():
        if isinstance(node, addnodes.pending_xref):
            page = node["reftarget"].removeprefix(f"/{TUTORIALS_FOLDER}")
        elif isinstance(node, nodes.raw) and _TITLE in node.astext() and page in answers:
            card, end, _ = node.astext().rpartition("</div>")
            answer = f'<div class="jaxcap-card">{escape(answers[page])}</div>'
            node.children = [nodes.Text(f"{card}{answer}{end}")]


def _answers(env: BuildEnvironment, page: str) -> dict[str, str]:
    answers: dict[str, str] = json.loads(str(env.metadata[page].get(_KEY, "{}")))
    return answers
