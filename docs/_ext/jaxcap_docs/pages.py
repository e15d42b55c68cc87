"""Put records on pages: the provenance stamp and measured numbers in prose."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from jaxcap.doctor import Facts
from jaxcap.measure.machine import capture
from jaxcap.results.environment import Environment, Record, provenance
from jaxcap_docs import plots, records
from jaxcap_docs.order import lacks_torch

TUTORIALS = "tutorials/"
logger = logging.getLogger(__name__)


class MeasuredRole(SphinxRole):
    """Quote a variable of a tutorial: ``:measured:`speedup``` or ``:measured:`page#speedup```.

    Parameters
    ----------
    in_full
        Whether to show the interval too, instead of only to those who ask.
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
    """Stands for the output of a command in a build that was told to run other things."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the command alone."""
        text = f"$ {self.arguments[0]}\n(not run in this build)"
        return [nodes.literal_block(text, text, language="text")]


def leave_out_commands(app: Sphinx) -> None:
    """Run no command on the page about them if this build runs other pages only."""
    if not re.search(app.config.sphinx_gallery_conf["filename_pattern"], "command_line"):
        app.add_directive("command-output", NotRun, override=True)


def stamp_tutorial(app: Sphinx, doctree: nodes.document) -> None:
    """Put the stamp of its run under the title of a tutorial."""
    docname = app.env.docname
    page = docname.removeprefix(TUTORIALS)
    if docname == page or not (records.GALLERY / f"{page}.py").exists():
        return
    run = records.run_of(page)
    if run is None:
        why = ", because PyTorch is not installed" if lacks_torch(page) else ""
        text = f"This page was not run in this build{why}: it shows no results."
        note: nodes.Node = nodes.note("", nodes.paragraph(text=text))
    else:
        facts = {"Took": f"{run.duration_s:.0f} s"}
        note = stamp("Measured on", run.environment, facts)
    for title in doctree.findall(nodes.title):
        title.parent.insert(title.parent.index(title) + 1, note)
        return


def widen_tables(app: Sphinx, doctree: nodes.document) -> None:
    """Give the tables of a tutorial a column for each other machine that measured the same."""
    page = app.env.docname.removeprefix(TUTORIALS)
    if page == app.env.docname or records.run_of(page) is None:
        return
    wider = records.tables_of(page)
    for raw in list(doctree.findall(nodes.raw)):
        text = raw.astext()
        for table in (table for table in wider if table in text):
            raw.replace_self(nodes.raw("", text.replace(table, wider[table]), format="html"))
            break


def stamp(verb: str, environment: Environment, more: dict[str, str]) -> nodes.raw:
    """Say on which machine something was measured, when and with what; all of it if asked."""
    facts = {**provenance(environment), **more}
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    summary = " · ".join(
        (
            f"{verb} {environment.device}",
            f"JAX {environment.versions['jax']}",
            f"{environment.measured_at.day} {environment.measured_at:%B %Y}",
        )
    )
    return nodes.raw(
        "",
        f'<details class="jaxcap-provenance"><summary>{escape(summary)}</summary>'
        f"<dl>{rows}</dl></details>",
        format="html",
    )


def link_to(page: str, env: BuildEnvironment) -> addnodes.pending_xref:
    """Link from the page that is read to another; the text becomes its title."""
    return addnodes.pending_xref(
        "",
        nodes.inline(text=page),
        refdomain="std",
        reftype="doc",
        reftarget=f"/{page}",
        refdoc=env.docname,
        refexplicit=False,
        refwarn=True,
    )


IMAGE = re.compile(r'<img (?P<rest>[^>]*?src="(?P<source>[^"]+)"[^>]*?)\s*/?>')
WIDTH = re.compile(r"width: (\d+)px")


def settle_images(
    app: Sphinx, _: str, __: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell browsers the size of images, so that text doesn't jump, and to fetch late what isn't seen.

    What only the other theme shows is then never fetched. The first image may be what a reader waits
    for, and is not late.
    """
    if doctree is None:
        return
    sources = plots.sources(app)
    first = True

    def settled(tag: re.Match[str]) -> str:
        nonlocal first
        source = sources.get(unquote(tag["source"]).rpartition("/")[2])
        if source is None:
            return tag[0]
        width, height = plots.size(source)
        wanted = WIDTH.search(tag["rest"])
        shown = int(wanted[1]) if wanted else round(width)
        late = "" if first and "only-dark" not in tag["rest"] else ' loading="lazy"'
        first = first and bool(late)
        return f'<img {tag["rest"]} width="{shown}" height="{shown * height / width:.0f}"{late}>'

    context["body"] = IMAGE.sub(settled, context["body"])


def hide_signature_of_records(
    _: Sphinx, what: str, __: str, documented: Any, *___: object
) -> tuple[str, str] | None:
    """Leave out constructors of records: their attributes are listed, and nobody calls them."""
    is_record = what == "class" and issubclass(documented, Record | Facts)
    return ("", "") if is_record else None


def forget_overloads(_: Sphinx) -> None:
    """Document typed transformations by their one signature: overloads are for type checkers."""
    analyzer = ModuleAnalyzer.for_module("jaxcap.transforms")
    analyzer.analyze()
    analyzer.overloads.clear()
