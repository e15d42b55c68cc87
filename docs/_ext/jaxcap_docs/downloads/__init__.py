"""What readers take away: notebooks, an archive of all, the package, and results as data.

`notebooks` and `exercises` write the notebooks, which `colab` opens where nothing is installed.
`data` serves results and the package's wheel, and `archive` packs what there is to run. What is
written when pages are done is called by `jaxcap_docs.finish`.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.downloads import colab, exercises, notebooks


def setup(app: Sphinx) -> None:
    """Prepare what pages offer to download."""
    app.connect(
        "builder-inited", notebooks.rewrite, priority=900
    )  # after sphinx-gallery wrote them
    app.connect("doctree-read", exercises.prepare_page, priority=100)  # before titles are collected
    app.connect("doctree-read", colab.offer, priority=600)  # when files to download have names
