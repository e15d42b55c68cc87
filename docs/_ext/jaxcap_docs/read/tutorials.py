"""Tutorials: the stamp of their run, their tables with other machines, and links to Colab."""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from jaxcap_docs import records
from jaxcap_docs.downloads import colab_address
from jaxcap_docs.lessons import TUTORIALS, TUTORIALS_FOLDER, lacks_torch
from jaxcap_docs.read.elements import note, put_under_title, raw_html, reference, stamp


def complete(app: Sphinx, doctree: nodes.document) -> None:
    """Put the stamp of its run under the title of a tutorial, and other machines into its tables."""
    page = app.env.docname.removeprefix(TUTORIALS_FOLDER)
    if page not in TUTORIALS:
        return
    if record := records.load(page):
        took = {"Took": f"{record.duration_s:.0f} s"}
        put_under_title(doctree, stamp("Measured on", record.environment, took))
        widen_tables(doctree, record.tables)
    else:
        why = ", because PyTorch is not installed" if lacks_torch(page) else ""
        text = f"This page was not run in this build{why}: it shows no results."
        put_under_title(doctree, note(text))


def widen_tables(doctree: nodes.document, wider: dict[str, str]) -> None:
    """Give tables a column for each other machine that measured the same."""
    for raw in list(doctree.findall(nodes.raw)):
        text = raw.astext()
        for table in (table for table in wider if table in text):
            raw.replace_self(raw_html(text.replace(table, wider[table])))
            break


def offer_colab(app: Sphinx, doctree: nodes.document) -> None:
    """Link to Colab above each notebook to download, and say below what notebooks need."""
    for node in list(doctree.findall(addnodes.download_reference)):
        path = node.get("filename", "")
        if not path.endswith(".ipynb"):
            continue
        download = node.parent.parent
        downloads = download.parent
        if address := colab_address(app.config.ogp_site_url, f"_downloads/{path}"):
            text = f"Open in Colab: {path.rpartition('/')[2]}"
            literal = nodes.literal("", text, classes=["download"])
            link = nodes.paragraph("", "", nodes.reference("", "", literal, refuri=address))
            opened = nodes.container("", link, classes=["sphx-glr-download"])
            downloads.insert(downloads.index(download), opened)
        how = reference("ref", "run-it-yourself", app.env, "how to install it")
        downloads.append(
            nodes.paragraph("", "They need this site's package: ", how, nodes.Text("."))
        )
