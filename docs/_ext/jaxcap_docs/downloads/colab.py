"""Notebooks where nothing is installed: links to Colab, and a cell that installs the package."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from jaxcap_docs.downloads.data import WHEEL

# Colab opens notebooks from a branch of a repository on GitHub. A site on GitHub Pages is on such a
# branch, and its address names the owner and the repository (unless it has a domain of its own, or
# is the owner's only site).
PAGES = re.compile(r"https://(?P<owner>[\w-]+)\.github\.io/(?P<repository>[\w.-]+)(?P<folder>/.*)?")
BRANCH = "gh-pages"


def install_cell(site: str) -> str:
    """Return the first cell of a notebook, for the site at this address, or a general one if the address is empty."""
    if not site:
        return (
            "# This notebook needs the package jaxcap. The site it comes from says how to install\n"
            '# that: on its first page, under "Run it yourself".'
        )
    # The extra "all" would replace Colab's kernel. An import would also succeed in a folder beside a
    # clone of the repository, where nothing is installed.
    return (
        "# Installs this site's package where it isn't yet, such as on Colab.\n"
        "from importlib.metadata import PackageNotFoundError, version\n\n"
        "try:\n"
        '    version("jaxcap")\n'
        "except PackageNotFoundError:\n"
        f'    %pip install --quiet "jaxcap[tutorials] @ {site.rstrip("/")}/wheels/{WHEEL}"'
    )


def address(site: str, path: str) -> str | None:
    """Return the address at which Colab opens a notebook of a site, if it can."""
    match = PAGES.fullmatch(site.rstrip("/"))
    if match is None:
        return None
    owner, repository, folder = match.groups(default="")
    return f"https://colab.research.google.com/github/{owner}/{repository}/blob/{BRANCH}{folder}/{path}"


def offer(app: Sphinx, doctree: nodes.document) -> None:
    """Link to Colab above each notebook to download, and say below what notebooks need."""
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
