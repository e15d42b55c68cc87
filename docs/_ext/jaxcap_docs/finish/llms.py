"""The file ``llms.txt``: what the site is, and all its pages, for programs that read.

https://llmstxt.org describes the format.
"""

from __future__ import annotations

from collections.abc import Iterator

from sphinx.application import Sphinx

from jaxcap.results.atomic import write_atomically
from jaxcap_docs.finish import claims, results
from jaxcap_docs.read.results.experiments import MACHINES
from jaxcap_docs.read.summaries import summary_of
from jaxcap_docs.write.twins import escaped, twin_of

FILE = "llms.txt"
# What programs may skip if they have room for little: the format gives this heading that meaning.
OPTIONAL = "Optional"
OPTIONAL_PAGES = ("reference/index",)
# Files for programs, each with what is in it.
DATA = {
    claims.FILE: "all claims of the tutorials, each with its outcome, machine, versions, date and page",
    claims.SCHEMA: "JSON Schema of that file",
    f"results/{results.INDEX}": "list of all files of results, each as JSON and as CSV",
    f"results/{results.SCHEMA}": "JSON Schema of those files",
}
ABOUT = (
    "Every number on these pages was measured when they were built, or recorded on a machine that they "
    "name. It holds for that machine, those versions and that day: quote it with them, and with its interval."
)


def write(app: Sphinx) -> None:
    """Write the file, with links to the twins of pages."""
    write_atomically(app.outdir / FILE, "\n".join(_lines(app)))


def _lines(app: Sphinx) -> Iterator[str]:
    root = app.config.root_doc
    yield f"# {app.config.project}: {escaped(app.env.titles[root].astext())}\n"
    yield f"> {escaped(summary_of(root, app.env))}\n"
    yield f"{ABOUT}\n"
    for metadata in app.env.metadata.values():
        if machines := metadata.get(MACHINES):
            yield f"Measured on: {escaped(machines)}.\n"
    for section, items in _sections(app).items():
        yield f"## {escaped(section)}\n"
        yield from items
        yield ""


def _sections(app: Sphinx) -> dict[str, list[str]]:
    """Return the items of each section: pages as the site lists them, with the data before the rest."""
    sections: dict[str, list[str]] = {}
    data = [f"- [{file}]({address_of(app, file)}): {text}" for file, text in DATA.items()]
    root = app.config.root_doc
    for page in (*app.env.toctree_includes[root], root):
        pages = [page, *_below(app, page)] if page != root else [root]
        title = app.env.titles[page].astext() if len(pages) > 1 else "Guides"
        name = OPTIONAL if page in OPTIONAL_PAGES else title
        sections.setdefault(name, []).extend(_item(app, below) for below in pages)
    optional = sections.pop(OPTIONAL)
    return sections | {"Data": data, OPTIONAL: optional}


def _below(app: Sphinx, page: str) -> Iterator[str]:
    for child in app.env.toctree_includes.get(page, ()):
        yield child
        yield from _below(app, child)


def _item(app: Sphinx, page: str) -> str:
    link = f"- [{escaped(app.env.titles[page].astext())}]({address_of(app, twin_of(app, page))})"
    summary = summary_of(page, app.env)
    return f"{link}: {escaped(summary)}" if summary else link


def address_of(app: Sphinx, file: str) -> str:
    """Return the full address of a file if the site has one, because programs may keep the list alone."""
    return f"{app.config.ogp_site_url}{file}"
