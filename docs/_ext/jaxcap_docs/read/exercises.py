"""Pages of exercises: solutions are folded away, and notebooks offered.

A page is a MyST notebook. In cells whose output is removed from the page, readers replace dots with
their answers.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

from jaxcap.exercises.check import by_value
from jaxcap_docs.downloads import colab_address, notebook_names
from jaxcap_docs.lessons import EXERCISES, EXERCISES_FOLDER, SOLUTION
from jaxcap_docs.read.elements import dropdown, json_script, note, put_under_title, raw_html
from jaxcap_docs.run import outputs


def setup(app: Sphinx) -> None:
    """Complete the pages before titles are collected."""
    app.connect("doctree-read", on_doctree_read, priority=100)


def on_doctree_read(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the solutions of an exercise away, and offer its notebooks under the title."""
    if app.env.docname not in EXERCISES:
        return
    for section in list(doctree.findall(nodes.section)):
        title = next(section.findall(nodes.title))
        if title.astext() == SOLUTION:
            _let_answer(section)
            section.replace_self(dropdown(SOLUTION, section.children[1:]))
    notes: list[nodes.Node] = [_links(app.env.docname, app.config.ogp_site_url)]
    if app.config.nb_execution_mode == "off":
        notes.append(note("This page was not run in this build: it shows no results."))
    else:
        outputs.follow_package(app.env)
    put_under_title(doctree, *notes)


def _let_answer(solution: nodes.section) -> None:
    """Let answers.js check what a reader answers, above the solution, if it is a plain value."""
    question = solution.parent
    part = question[0].astext().partition(" ")[0]
    if data := by_value(part):
        box = raw_html(f'<div class="jaxcap-answer">{json_script(data)}</div>')
        question.insert(question.index(solution), box)


def _links(exercise: str, site: str) -> nodes.raw:
    to_work_on, solved = notebook_names(exercise)
    links = [
        f'Notebook: <a class="download" download href="{to_work_on}">to work on</a>',
        f'<a class="download" download href="{solved}">with solutions</a>',
    ]
    if colab := colab_address(site, f"{EXERCISES_FOLDER}{to_work_on}"):
        links.append(f'<a href="{colab}">open in Colab</a>')
    return raw_html(f'<p class="jaxcap-downloads">{" · ".join(links)}</p>')
