"""The results section: its pages, and the directives that show what all machines measured.

All that comes from a file is put on a page as text, or as HTML that `Table` has escaped.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.results import claims, experiments, rooflines, then_and_now


def setup(app: Sphinx) -> None:
    """Register the directives, and write the pages of experiments before pages are looked for."""
    app.add_directive("claims", claims.Claims)
    app.add_directive("experiment", experiments.Experiment)
    app.add_directive("headline", experiments.Headline)
    app.add_directive("machines", experiments.Machines)
    app.add_directive("rooflines", rooflines.Rooflines)
    app.add_directive("then-and-now", then_and_now.ThenAndNow)
    app.connect("builder-inited", experiments.write_pages)
