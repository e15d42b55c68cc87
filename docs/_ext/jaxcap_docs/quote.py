"""While pages are read: records quoted in prose, in stamps and in wider tables."""

from __future__ import annotations

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from jaxcap.measure.machine import capture
from jaxcap_docs import records
from jaxcap_docs.lessons import is_chosen, lacks_torch
from jaxcap_docs.parts import stamp

TUTORIALS = "tutorials/"
logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Register the roles and the stamp, and complete tutorials when they are read."""
    app.add_role("measured", MeasuredRole())
    app.add_role("evidence", MeasuredRole(in_full=True))
    app.add_directive("provenance", Provenance)
    app.connect("config-inited", leave_out_commands)
    app.connect("doctree-read", complete_tutorial)


class MeasuredRole(SphinxRole):
    """Quote a variable of a tutorial: ``:measured:`speedup``` or ``:measured:`page#speedup```.

    Parameters
    ----------
    in_full
        Whether to show the interval instead of the number alone, whose interval is a tooltip.
    """

    def __init__(self, *, in_full: bool = False) -> None:
        super().__init__()
        self.in_full = in_full

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the text of the variable."""
        page, _, name = self.text.rpartition("#")
        page = page or self.env.docname.removeprefix(TUTORIALS)
        path = records.folder(page) / "numbers.json"
        self.env.note_dependency(str(path))
        if records.run_of(page) is None:
            return [nodes.emphasis(text="(not measured in this build)")], []
        number = records.numbers_of(page).get(name)
        if number is None:
            logger.warning("%s has no measured number %r", page, name, location=self.get_location())
            return [], []
        if self.in_full:
            return [nodes.Text(number["detail"])], []
        text, detail = escape(number["text"]), escape(number["detail"])
        html = f'<span class="jaxcap-measured" title="{detail}">{text}</span>'
        return [nodes.raw("", html, format="html")], []


class Provenance(SphinxDirective):
    """Say on which machine the site was built."""

    def run(self) -> list[nodes.Node]:
        """Return the stamp."""
        return [stamp("Built on", capture(), {})]


class NotRun(SphinxDirective):
    """Stands for the output of a command in a build that runs other pages only."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the command alone."""
        text = f"$ {self.arguments[0]}\n(not run in this build)"
        return [nodes.literal_block(text, text, language="text")]


def leave_out_commands(app: Sphinx, config: Config) -> None:
    """Run no command on the page about them if this build runs other pages only."""
    if not is_chosen("command_line", config.sphinx_gallery_conf["filename_pattern"]):
        app.add_directive("command-output", NotRun, override=True)


def complete_tutorial(app: Sphinx, doctree: nodes.document) -> None:
    """Put the stamp of its run under the title of a tutorial, and other machines into its tables."""
    docname = app.env.docname
    page = docname.removeprefix(TUTORIALS)
    if docname == page or not (records.GALLERY / f"{page}.py").exists():
        return
    run = records.run_of(page)
    if run:
        note: nodes.Node = stamp(
            "Measured on", run.environment, {"Took": f"{run.duration_s:.0f} s"}
        )
        widen_tables(doctree, records.tables_of(page))
    else:
        why = ", because PyTorch is not installed" if lacks_torch(page) else ""
        text = f"This page was not run in this build{why}: it shows no results."
        note = nodes.note("", nodes.paragraph(text=text))
    title = next(doctree.findall(nodes.title))
    title.parent.insert(title.parent.index(title) + 1, note)


def widen_tables(doctree: nodes.document, wider: dict[str, str]) -> None:
    """Give tables a column for each other machine that measured the same."""
    for raw in list(doctree.findall(nodes.raw)):
        text = raw.astext()
        for table in (table for table in wider if table in text):
            raw.replace_self(nodes.raw("", text.replace(table, wider[table]), format="html"))
            break
