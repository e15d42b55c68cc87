"""The order of a tutorial's page: its takeaway, which the script computes last, stands first."""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS_FOLDER
from jaxcap_docs.read.elements import Folded
from jaxcap_docs.read.quotes import QUOTED
from jaxcap_docs.read.tutorials.cells import cells_of, fold_cells, output_of

TITLE = "Takeaway"  # of the section at the end of a script
WAYS_ON = "What next?"  # of the same section, once the takeaway has moved

PROSE = (nodes.paragraph, nodes.bullet_list, nodes.enumerated_list)


def on_doctree_read(app: Sphinx, doctree: nodes.document) -> None:
    """Put the takeaway first and fold code, unless the page wasn't run and reads like its script."""
    page = app.env.docname
    if page.startswith(TUTORIALS_FOLDER) and page_records.load(page.removeprefix(TUTORIALS_FOLDER)):
        source = Path(app.env.doc2path(page)).read_text(encoding="utf-8")
        show_first(doctree)
        fold_cells(doctree, re.findall(r":measured:`(\w+)[` ]", source))


def show_first(doctree: nodes.document) -> None:
    """Move the takeaway of a page above its first section, and fold the code of its numbers.

    What remains in its section are the paragraphs at its end that lead to other pages.
    """
    page = next(doctree.findall(nodes.section))
    sections = [node for node in page.children if isinstance(node, nodes.section)]
    last = next((section for section in sections if section[0].astext() == TITLE), None)
    if last is None:
        return
    code = [node for cell in cells_of(last) for node in (cell, *output_of(cell))]
    prose = [node for node in last.children if isinstance(node, PROSE) and node not in code]
    takeaway = list(prose)
    while len(takeaway) > 1 and _leads_on(takeaway[-1]):
        takeaway.pop()
    for node in [*takeaway, *code]:
        last.remove(node)
    box = nodes.admonition("", nodes.title(text=TITLE), *takeaway, classes=["jaxcap-takeaway"])
    box["ids"], last["ids"] = last["ids"], [nodes.make_id(WAYS_ON)]
    last[0] = nodes.title(text=WAYS_ON)
    if code:
        further_reading = prose[len(takeaway) :]
        end = last.index(further_reading[-1]) + 1 if further_reading else len(last)
        last.insert(end, Folded("", *code, summary=f"Code of the {TITLE.lower()}"))
    page.insert(page.index(sections[0]), box)


def _leads_on(prose: nodes.Element) -> bool:
    """Whether a paragraph links to something, and quotes nothing that was measured."""
    links = list(prose.findall(nodes.reference)) + list(prose.findall(addnodes.pending_xref))
    return bool(links) and QUOTED not in "".join(raw.astext() for raw in prose.findall(nodes.raw))
