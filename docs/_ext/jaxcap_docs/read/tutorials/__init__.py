"""Pages of tutorials: what stands around their own text.

- ``pages``: the stamp of the run, what other machines measured, and links to claims.
- ``facts``: what a page takes and measures, under its title.
- ``bets``: the bet on the main comparison, above the takeaway.
- ``takeaways``: the takeaway, which comes first.
- ``cells``: code that only shows results, which is folded away.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.read.tutorials import pages, takeaways


def setup(app: Sphinx) -> None:
    """Register the directive of figures, and complete the pages."""
    app.add_directive("figure-of-results", pages.FigureOfResults)
    app.connect("source-read", pages.on_source_read)
    # Before Sphinx collects titles, and after it has named the files to download.
    app.connect("doctree-read", takeaways.on_doctree_read, priority=100)
    app.connect("doctree-read", pages.on_doctree_read, priority=600)
