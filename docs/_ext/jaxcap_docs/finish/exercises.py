"""Exercises as notebooks: one to work on, and one with the solutions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import join, normpath

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.application import Sphinx

from jaxcap_docs.read.exercises import FOLDER, SOLUTION, is_exercise, notebook_names

KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}

# {role}`text` or {role}`text <target>`
ROLE = re.compile(r"\{(?P<role>[a-z:]+)\}`~?(?P<text>[^`<]*[^`<\s])(?:\s*<(?P<target>[^`>]*)>)?`")
DROPDOWN = re.compile(r"^:::\{dropdown\} ([^\n]*)\n(.*?)^:::$", re.MULTILINE | re.DOTALL)
PROVENANCE = re.compile(r"^```\{provenance\}\n```\n*", re.MULTILINE)
HEADING = re.compile(r"^(?=##+ )", re.MULTILINE)


def write(app: Sphinx) -> None:
    """Write each exercise as a notebook without solutions and as one with them."""
    first = app.config.sphinx_gallery_conf["first_notebook_cell"]
    titles = {page: title.astext() for page, title in app.env.titles.items()}
    for page in filter(is_exercise, app.env.found_docs):
        text = Path(app.env.doc2path(page)).read_text(encoding="utf-8")
        for solved, name in zip((False, True), notebook_names(page), strict=True):
            cells = [new_code_cell(first), *_cells(text, titles, solved=solved)]
            for number, cell in enumerate(cells):
                cell.id = f"cell-{number}"  # by default, another one in each build
            notebook = new_notebook(cells=cells, metadata=KERNEL)
            nbformat.write(notebook, app.outdir / FOLDER / name)


def _cells(text: str, titles: dict[str, str], *, solved: bool) -> Iterator[nbformat.NotebookNode]:
    """Go through the cells of a notebook with solutions, or with cells to answer in instead.

    ``text`` is the source of the page, and ``titles`` has the title of each page by its name.
    """
    in_solution = False
    for cell in read_myst_markdown_notebook(text).cells:
        if cell.cell_type == "code":
            is_answer = "remove-output" in cell.metadata.get("tags", ())
            if not (is_answer if solved else in_solution):
                yield new_code_cell(cell.source)
            continue
        for part in HEADING.split(cell.source):
            if part.startswith("##"):
                in_solution = part.partition("\n")[0].lstrip("# ") == SOLUTION
            source = _plain(part, titles).strip()
            if source and (solved or not in_solution):
                yield new_markdown_cell(source)


def _plain(text: str, titles: dict[str, str]) -> str:
    """Replace markup that only Sphinx understands."""

    def role(match: re.Match[str]) -> str:
        if match["role"] != "doc":
            return f"`{match['text']}`"
        page = normpath(join("/", FOLDER, match["text"])).removeprefix("/")
        return match["text"] if match["target"] else f"*{titles[page]}*"

    text = DROPDOWN.sub(r"<details><summary>\1</summary>\n\n\2\n</details>", text)
    return ROLE.sub(role, PROVENANCE.sub("", text))
