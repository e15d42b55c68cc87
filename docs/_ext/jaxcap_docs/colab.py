"""Notebooks where nothing is installed: a cell that installs what they need, and links to Colab."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from jaxcap_docs.publish import WHEEL

# Colab opens notebooks from a branch of a repository on GitHub. A site on GitHub Pages is one: it
# stands on the branch that we publish to, and its address names the owner and the repository
# (unless it has a domain of its own, or is all that the owner has).
PAGES = re.compile(r"https://(?P<owner>[\w-]+)\.github\.io/(?P<repository>[\w.-]+)(?P<folder>/.*)?")
BRANCH = "gh-pages"


def install_cell(site: str) -> str:
    """Write the cell that a notebook begins with, for a site at this address, or at none yet."""
    if not site:
        return (
            "# This notebook needs the package jaxcap. The site it comes from says how to install\n"
            '# that: on its first page, under "Run it yourself".'
        )
    # The extra "all" would replace Colab's kernel. A clone in the working directory can be imported
    # as "jaxcap" too, and is no package: so ask for what is installed.
    return (
        "# Installs this site's package where it isn't yet, such as on Colab.\n"
        "from importlib.metadata import PackageNotFoundError, version\n\n"
        "try:\n"
        '    version("jaxcap")\n'
        "except PackageNotFoundError:\n"
        f'    %pip install --quiet "jaxcap[tutorials] @ {site.rstrip("/")}/wheels/{WHEEL}"'
    )


def address(site: str, path: str) -> str | None:
    """Say where Colab opens a notebook of a site, if it can."""
    found = PAGES.fullmatch(site.rstrip("/"))
    if found is None:
        return None
    owner, repository, folder = found.groups(default="")
    return f"https://colab.research.google.com/github/{owner}/{repository}/blob/{BRANCH}{folder}/{path}"


def offer(app: Sphinx, doctree: nodes.document) -> None:
    """Link to Colab above each notebook to download, and say below what downloads need."""
    for node in list(doctree.findall(addnodes.download_reference)):
        path = node.get("filename", "")
        if not path.endswith(".ipynb"):
            continue
        download = node.parent.parent
        downloads = download.parent
        if target := address(app.config.ogp_site_url, f"_downloads/{path}"):
            text = f"Open in Colab: {path.rpartition('/')[2]}"
            literal = nodes.literal("", text, classes=["download"])
            link = nodes.paragraph("", "", nodes.reference("", "", literal, refuri=target))
            opened = nodes.container("", link, classes=["sphx-glr-download"])
            downloads.insert(downloads.index(download), opened)
        how = addnodes.pending_xref(
            "",
            nodes.inline(text="how to install it"),
            refdomain="std",
            reftype="ref",
            reftarget="run-it-yourself",
            refexplicit=True,
            refwarn=True,
            refdoc=app.env.docname,
        )
        downloads.append(
            nodes.paragraph("", "They need this site's package: ", how, nodes.Text("."))
        )
