"""What lists of pages say of each: its first paragraph, in which it says what it is about."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import docname_join

_KEY = "jaxcap_summary"  # in Sphinx's metadata of a page, which it keeps from build to build
_PAGE = re.compile(r"\[\[(.*?)\]\]")  # stands for its title, which may not have been read yet


def setup(app: Sphinx) -> None:
    """Note the summary of each page that is read."""
    app.connect("doctree-read", on_doctree_read)


def on_doctree_read(app: Sphinx, doctree: nodes.document) -> None:
    """Note the first paragraph that is no fact about the page, which would lie in an element of its own."""
    paragraphs = doctree.findall(nodes.paragraph)
    own = (p.deepcopy() for p in paragraphs if isinstance(p.parent, nodes.section))
    first = next(own, nodes.paragraph())
    for link in list(first.findall(addnodes.pending_xref)):
        if link["reftype"] == "doc" and not link["refexplicit"]:
            page = docname_join(link["refdoc"], link["reftarget"])
            link.replace_self(nodes.Text(f"[[{page}]]"))
    app.env.metadata[app.env.docname][_KEY] = " ".join(first.astext().split())


def summary_of(page: str, env: BuildEnvironment) -> str:
    """Return the summary of a page in one line, which is empty if the page has no text."""
    summary = str(env.metadata[page].get(_KEY, ""))
    return _PAGE.sub(lambda link: env.titles[link[1]].astext(), summary)
