"""What pages get while they are read: numbers, tables, plots and links.

`quotes` has what any page may ask for, `tutorials` and `exercises` complete the pages that ran, and
`claims`, `experiments`, `rooflines` and `then_and_now` show on the pages of the results section what
all machines measured. All are made of `elements`. `reference` is about how objects are documented.

All that comes from a file is put on a page as text, or as HTML that `Table` has escaped.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.read import (
    claims,
    exercises,
    experiments,
    quotes,
    reference,
    rooflines,
    then_and_now,
    tutorials,
)


def setup(app: Sphinx) -> None:
    """Register roles and directives, and complete pages when they have been read."""
    reference.setup(app)
    app.connect("config-inited", quotes.leave_out_commands)
    app.connect("builder-inited", experiments.write_pages)  # before pages are looked for
    app.add_role("measured", quotes.MeasuredRole())
    app.add_role("evidence", quotes.MeasuredRole(in_full=True))
    app.add_directive("provenance", quotes.Provenance)
    app.add_directive("topics", quotes.Topics)
    app.add_directive("claims", claims.Claims)
    app.add_directive("experiment", experiments.Experiment)
    app.add_directive("headline", experiments.Headline)
    app.add_directive("machines", experiments.Machines)
    app.add_directive("rooflines", rooflines.Rooflines)
    app.add_directive("then-and-now", then_and_now.ThenAndNow)
    app.connect("doctree-read", exercises.complete, priority=100)  # before titles are collected
    app.connect("doctree-read", tutorials.complete)
    app.connect("doctree-read", tutorials.offer_colab, priority=600)  # when downloads have names
