"""The page of the command line: its options folded, and the stamp of its run, if commands ran."""

from __future__ import annotations

import re

from click import Context
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective
from sphinxcontrib.programoutput import ProgramOutputDirective

from jaxcap_docs.lessons import COMMANDS_PAGE, is_chosen
from jaxcap_docs.read.elements import Folded, put_under_title, stamp
from jaxcap_docs.run import outputs


def setup(app: Sphinx) -> None:
    """Complete the page, with the help of the extensions that document commands and run them."""
    app.connect("config-inited", on_config_inited)
    app.setup_extension("sphinx_click")  # which has the next event
    app.connect("sphinx-click-process-epilog", on_process_epilog)
    app.connect("sphinx-click-process-options", on_process_options)
    app.connect("doctree-read", on_doctree_read, priority=600)  # after they have run


class NotRun(SphinxDirective):
    """Shows a command without its output in a build that doesn't run this page."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = ProgramOutputDirective.option_spec  # which have no effect on what isn't run

    def run(self) -> list[nodes.Node]:
        """Return the command, and a remark that it was not run."""
        text = f"$ {self.arguments[0]}\n(not run in this build)"
        return [nodes.literal_block(text, text, language="text")]


def on_config_inited(app: Sphinx, config: Config) -> None:
    """Run no command if the page isn't among those to run."""
    if not is_chosen(COMMANDS_PAGE, config.sphinx_gallery_conf["filename_pattern"]):
        app.add_directive("command-output", NotRun, override=True)


def on_process_epilog(_: Sphinx, __: Context, lines: list[str]) -> None:
    """Show an example as code that can be copied: in text, its quotes would become curly."""
    lines[:] = [re.sub(r"Example: (.+)", r"Example: ``\1``", line) for line in lines]


def on_process_options(_: Sphinx, __: Context, lines: list[str]) -> None:
    """Show a default as one types it: Python's quotes only say that it is not yet a number."""
    lines[:] = [re.sub(r"(:default: ``)'(.*)'``$", r"\1\2``", line) for line in lines]


def on_doctree_read(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the options, and say where and since when the commands ran, whose output is now on the page."""
    if app.env.docname != COMMANDS_PAGE:
        return
    for section in list(doctree.findall(nodes.section)):
        _fold_options(section)
    environments = app.env.programoutput_cache.environments  # type: ignore[attr-defined]
    if environments:
        outputs.follow_package(app.env)
        oldest = min(environments, key=lambda environment: environment.measured_at)
        put_under_title(doctree, stamp("Run on", oldest, {}))


def _fold_options(section: nodes.section) -> None:
    """Fold what a command's options and arguments are, which takes most of the page."""
    parts = (addnodes.desc, addnodes.index, nodes.rubric)
    places = [place for place, child in enumerate(section) if isinstance(child, addnodes.desc)]
    if not places:
        return
    start, end = places[0], places[-1] + 1
    while isinstance(section[start - 1], parts):  # the heading above them
        start -= 1
    folded = Folded("", *section[start:end], summary="Options and arguments")
    section[start:end] = [folded]
