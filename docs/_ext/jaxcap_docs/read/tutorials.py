"""Pages of tutorials: the stamp of their run, other machines in their tables, and links to Colab."""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from jaxcap_docs import page_records
from jaxcap_docs.downloads import colab_address
from jaxcap_docs.lessons import TUTORIALS, TUTORIALS_FOLDER, lacks_torch
from jaxcap_docs.read.elements import note, put_under_title, raw_html, reference, stamp


def on_doctree_read(app: Sphinx, doctree: nodes.document) -> None:
    """Put the stamp of its run under a tutorial's title, widen its tables, and link to Colab."""
    page = app.env.docname.removeprefix(TUTORIALS_FOLDER)
    if page not in TUTORIALS:
        return
    if record := page_records.load(page):
        took = {"Took": f"{record.duration_s:.0f} s"}
        put_under_title(doctree, stamp("Measured on", record.environment, took))
        _widen_tables(doctree, record.tables)
    else:
        why = ", because PyTorch is not installed" if lacks_torch(page) else ""
        text = f"This page was not run in this build{why}: it shows no results."
        put_under_title(doctree, note(text))
    _offer_colab(app, doctree)


def _widen_tables(doctree: nodes.document, wider_tables: dict[str, str]) -> None:
    """Give tables a column for each other machine that measured the same."""
    for raw in list(doctree.findall(nodes.raw)):
        html = raw.astext()
        for table, wider in wider_tables.items():
            if table in html:
                raw.replace_self(raw_html(html.replace(table, wider)))
                break


def _offer_colab(app: Sphinx, doctree: nodes.document) -> None:
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
