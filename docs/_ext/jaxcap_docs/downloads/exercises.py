"""The exercises: pages that ran, with solutions folded away, and notebooks to download.

A page is a MyST notebook. A section with the heading "Solution" is folded away. In cells whose
output is removed from the page, readers replace dots with their answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import join, normpath
from typing import Any

from docutils import nodes
from myst_nb.core.read import read_myst_markdown_notebook
from sphinx.application import Sphinx
from sphinx_design.shared import create_component

from jaxcap_docs.downloads.colab import address

FOLDER = "exercises/"
SOLUTION = "Solution"
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}

# {role}`text` or {role}`text <target>`
ROLE = re.compile(r"\{(?P<role>[a-z:]+)\}`~?(?P<text>[^`<]*[^`<\s])(?:\s*<(?P<target>[^`>]*)>)?`")
DROPDOWN = re.compile(r"^:::\{dropdown\} ([^\n]*)\n(.*?)^:::$", re.MULTILINE | re.DOTALL)
PROVENANCE = re.compile(r"^```\{provenance\}\n```\n*", re.MULTILINE)
HEADING = re.compile(r"^(?=##+ )", re.MULTILINE)


def prepare_page(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the solutions of an exercise away, and offer its notebooks under the title."""
    if not _is_exercise(app.env.docname):
        return
    for section in list(doctree.findall(nodes.section)):
        title = next(section.findall(nodes.title))
        if title.astext() == SOLUTION:
            summary = nodes.rubric(SOLUTION, SOLUTION)
            section.replace_self(_dropdown(summary, *section.children[1:]))
    title = next(doctree.findall(nodes.title))
    notes: list[nodes.Node] = [_links(app.env.docname, app.config.ogp_site_url)]
    if app.config.nb_execution_mode == "off":
        text = "This page was not run in this build: it shows no results."
        notes.append(nodes.note("", nodes.paragraph(text=text)))
    title.parent.insert(1, notes)


def write_notebooks(app: Sphinx) -> None:
    """Write each exercise as a notebook without solutions and as one with them."""
    for name in filter(_is_exercise, app.env.found_docs):
        text = Path(app.env.doc2path(name)).read_text(encoding="utf-8")
        titles = {doc: title.astext() for doc, title in app.env.titles.items()}
        for solved, file in zip((False, True), _files(name), strict=True):
            first = app.config.sphinx_gallery_conf["first_notebook_cell"]
            content = json.dumps(notebook(text, titles, first, solved=solved), indent=1)
            (app.outdir / FOLDER / file).write_text(content + "\n", encoding="utf-8")


def notebook(text: str, titles: dict[str, str], first: str, *, solved: bool) -> dict[str, Any]:
    """Make a Jupyter notebook, as JSON, of a page's text.

    Parameters
    ----------
    text
        Source of the page.
    titles
        Title of each page of the site, by its name.
    first
        The cell that all notebooks begin with.
    solved
        Whether to give the solutions instead of cells to answer in.
    """
    cells: list[dict[str, Any]] = [
        {
            "id": f"cell-{number}",
            "cell_type": kind,
            "metadata": {},
            "source": source.splitlines(keepends=True),
            **({"execution_count": None, "outputs": []} if kind == "code" else {}),
        }
        for number, (kind, source) in enumerate(
            (("code", first), *_cells(text, titles, solved=solved))
        )
    ]
    return {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}


def _cells(text: str, titles: dict[str, str], *, solved: bool) -> Iterator[tuple[str, str]]:
    """Go through the cells of one of the two notebooks: their kind and source."""
    in_solution = False
    for cell in read_myst_markdown_notebook(text).cells:
        if cell.cell_type == "code":
            is_answer = "remove-output" in cell.metadata.get("tags", ())
            if not (is_answer if solved else in_solution):
                yield "code", cell.source
            continue
        for part in HEADING.split(cell.source):
            if part.startswith("##"):
                in_solution = part.partition("\n")[0].lstrip("# ") == SOLUTION
            source = _plain(part, titles).strip()
            if source and (solved or not in_solution):
                yield "markdown", source


def _plain(text: str, titles: dict[str, str]) -> str:
    """Replace markup that only Sphinx understands."""

    def role(match: re.Match[str]) -> str:
        if match["role"] != "doc":
            return f"`{match['text']}`"
        page = normpath(join("/", FOLDER, match["text"])).removeprefix("/")
        return match["text"] if match["target"] else f"*{titles[page]}*"

    text = DROPDOWN.sub(r"<details><summary>\1</summary>\n\n\2\n</details>", text)
    return ROLE.sub(role, PROVENANCE.sub("", text))


def _is_exercise(docname: str) -> bool:
    return docname.startswith(FOLDER) and docname != f"{FOLDER}index"


def _files(docname: str) -> tuple[str, str]:
    stem = docname.removeprefix(FOLDER)
    return f"{stem}.ipynb", f"{stem}_solved.ipynb"


def _links(docname: str, site: str) -> nodes.raw:
    exercise, solved = _files(docname)
    links = [
        f'Notebook: <a class="download" download href="{exercise}">to work on</a>',
        f'<a class="download" download href="{solved}">with solutions</a>',
    ]
    if colab := address(site, f"{FOLDER}{exercise}"):
        links.append(f'<a href="{colab}">open in Colab</a>')
    html = f'<p class="jaxcap-downloads">{" · ".join(links)}</p>'
    return nodes.raw("", html, format="html")


def _dropdown(*children: nodes.Node) -> nodes.container:
    """Make what the directive ``dropdown`` would. The first child is the title."""
    return create_component(
        "dropdown",
        children=children,
        opened=False,
        type="dropdown",
        has_title=True,
        icon=None,
        chevron=None,
        container_classes=["sd-mb-3"],
        title_classes=[],
        body_classes=[],
    )
