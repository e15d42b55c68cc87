"""Pages of results: what all machines measured, and what was claimed and checked.

- ``experiments``: the machines, and a page for each experiment.
- ``claims``: all claims of the tutorials.
- ``rooflines``: what limits the kernels on each device.
- ``then_and_now``: values that others published.
- ``history``: what a build leaves for those after it.
- ``trust``: what was checked, in a strip on the landing page.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.read.results import (
    claims,
    experiments,
    history,
    rooflines,
    then_and_now,
    trust,
)


def setup(app: Sphinx) -> None:
    """Write the pages of experiments, and register the directives of all pages of results."""
    app.connect("builder-inited", experiments.on_builder_inited)  # before pages are looked for
    app.add_directive("agreement", claims.Agreement)
    app.add_directive("claims", claims.Claims)
    app.add_directive("experiment", experiments.ExperimentDirective)
    app.add_directive("experiments", experiments.Experiments)
    app.add_directive("history", history.History)
    app.add_directive("machines", experiments.Machines)
    app.add_directive("rooflines", rooflines.Rooflines)
    app.add_directive("then-and-now", then_and_now.ThenAndNow)
    app.add_directive("trust", trust.Trust)
