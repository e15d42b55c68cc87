"""What pages get while they are read: numbers, tables, plots and links.

`quotes` has roles and directives for any page, and `tutorials`, `exercises` and `commands` complete
the pages that ran. On those of tutorials, `takeaways` puts the takeaway first, `cells` folds code that
only shows results, and `facts` says under the title what the page takes. `links` has those between
tutorials, experiments and claims. `claims`, `experiments`, `rooflines` and `then_and_now` show on the
pages of the results section what all machines measured. `releases` and `replays` show what was recorded
of JAX's releases, and `history` what is kept of a build. The landing page is made by `landing` and by
`trust`, which says what was checked. All of them use `elements`, and say in `dependencies` from which
files they are made. `reference` adjusts how objects are documented.

Content from files is put on pages as text, or as HTML that `Table` has escaped.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.read import (
    claims,
    commands,
    dependencies,
    elements,
    exercises,
    experiments,
    history,
    landing,
    quotes,
    reference,
    releases,
    replays,
    rooflines,
    takeaways,
    then_and_now,
    trust,
    tutorials,
)


def setup(app: Sphinx) -> None:
    """Register roles and directives, and complete pages when they have been read."""
    reference.setup(app)
    elements.setup(app)
    app.connect("config-inited", commands.on_config_inited)
    app.setup_extension("sphinx_click")  # which has the next event
    app.connect("sphinx-click-process-epilog", commands.on_process_epilog)
    app.connect("builder-inited", experiments.on_builder_inited)  # before pages are looked for
    app.connect("builder-inited", releases.on_builder_inited)
    app.add_role("measured", quotes.MeasuredRole())
    app.add_role("settled", quotes.MeasuredRole(settled=True))
    app.add_directive("provenance", quotes.Provenance)
    app.add_directive("topics", quotes.Topics)
    app.add_directive("claims", claims.Claims)
    app.add_directive("experiment", experiments.ExperimentDirective)
    app.add_directive("experiments", experiments.Experiments)
    app.add_directive("figure-of-results", tutorials.FigureOfResults)
    app.add_directive("findings", landing.Findings)
    app.add_directive("history", history.History)
    app.add_directive("machines", experiments.Machines)
    app.add_directive("path", landing.TutorialPath)
    app.add_directive("releases", releases.ReleasesPart)
    app.add_directive("releases-topic", releases.ReleasesTopic)
    app.add_directive("replays", replays.Replays)
    app.add_directive("rooflines", rooflines.Rooflines)
    app.add_directive("then-and-now", then_and_now.ThenAndNow)
    app.add_directive("trust", trust.Trust)
    app.connect("env-get-outdated", dependencies.on_env_get_outdated)
    app.connect("env-purge-doc", dependencies.on_env_purge_doc)
    app.connect(
        "doctree-read", exercises.on_doctree_read, priority=100
    )  # before titles are collected
    app.connect("doctree-read", takeaways.on_doctree_read, priority=100)
    app.connect("source-read", tutorials.on_source_read)
    app.connect("doctree-read", commands.on_doctree_read, priority=600)  # after they have run
    # When Sphinx has named the files to download.
    app.connect("doctree-read", tutorials.on_doctree_read, priority=600)
