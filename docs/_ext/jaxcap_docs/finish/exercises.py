"""Exercises as notebooks: one to work on, and one with the solutions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from posixpath import join, normpath

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.application import Sphinx

from jaxcap_docs.downloads import notebook_names, without_roles
from jaxcap_docs.lessons import EXERCISES, EXERCISES_FOLDER, SOLUTION, TUTORIALS, TUTORIALS_FOLDER
from jaxcap_docs.sources import make_if_changed

KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}

DROPDOWN = re.compile(r"^:::\{dropdown\} ([^\n]*)\n(.*?)^:::$", re.MULTILINE | re.DOTALL)
PROVENANCE = re.compile(r"^```\{provenance\}\n```\n*", re.MULTILINE)
HEADING = re.compile(r"^(?=##+ )", re.MULTILINE)


def write(app: Sphinx) -> None:
    """Write all notebooks, unless the exercises and the tutorials they name are unchanged."""
    tutorials = (f"{TUTORIALS_FOLDER}{tutorial}" for tutorial in TUTORIALS)
    lessons = (Path(app.env.doc2path(page)) for page in (*EXERCISES, *tutorials))
    first, _ = notebook_names(EXERCISES[0])
    make_if_changed(
        app, app.outdir / EXERCISES_FOLDER / first, lessons, partial(_write_notebooks, app)
    )


def _write_notebooks(app: Sphinx) -> None:
    """Write each exercise as a notebook without solutions and as one with them."""
    first = app.config.sphinx_gallery_conf["first_notebook_cell"]
    titles = {page: title.astext() for page, title in app.env.titles.items()}
    for page in EXERCISES:
        text = Path(app.env.doc2path(page)).read_text(encoding="utf-8")
        for solved, name in zip((False, True), notebook_names(page), strict=True):
            cells = [new_code_cell(first), *_cells(text, titles, solved=solved)]
            for number, cell in enumerate(cells):
                cell.id = f"cell-{number}"  # by default, different in each build
            notebook = new_notebook(cells=cells, metadata=KERNEL)
            nbformat.write(notebook, app.outdir / EXERCISES_FOLDER / name)


def _cells(text: str, titles: dict[str, str], *, solved: bool) -> Iterator[nbformat.NotebookNode]:
    """Yield the cells of a notebook with solutions, or with cells for answers in their place.

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

    def title_of(page: str) -> str:
        name = normpath(join("/", EXERCISES_FOLDER, page)).removeprefix("/")
        return f"*{titles[name]}*"

    text = DROPDOWN.sub(r"<details><summary>\1</summary>\n\n\2\n</details>", text)
    return without_roles(PROVENANCE.sub("", text), title_of)
