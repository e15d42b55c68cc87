"""Sphinx extension of this site: tutorials run and leave records, and pages quote those.

Grouped by when things act:

`run`
    before and while sphinx-gallery runs the tutorials: the measuring lock, the fingerprint that
    says what to run again, and the hooks around each script (with `limits` and `plots`)
`records`
    where pages get their numbers: what runs leave behind, and what other machines recorded
`quote`
    while pages are read: measured numbers in prose, provenance stamps, wider tables
`results`
    while pages are read: the pages of the results section
`downloads`
    notebooks, archive, wheel, JSON and CSV: what readers take away
`parts`
    tables, plots, links and stamps, which several of these put on pages
`reference`, `mathml`, `html`
    how the reference is documented, formulas are shown and pages are completed when written
`finish`
    the end of a build, step by step

`lessons` is the table of all tutorials, exercises and guides: their order and their topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxcap_docs import downloads, finish, html, mathml, quote, reference, results, run

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = (run, quote, results, downloads, reference, mathml, html, finish)


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up each part."""
    for part in PARTS:
        part.setup(app)
    # JAX has started threads before Sphinx could fork workers, which may then deadlock.
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
