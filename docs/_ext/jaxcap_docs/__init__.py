"""Sphinx extension of this site: runs leave records, and pages quote them.

While sphinx-gallery runs a script, `gallery` keeps what it measured. `pages` puts that on the
page: a provenance stamp under the title, and measured numbers where the prose asks for them.
`claims` lists what pages claim, and on which machines it holds.
`notebooks` makes the downloads readable outside of Sphinx, `colab` opens them where nothing is
installed, and `archive` packs all of them. `publish` serves the results as JSON and the package as a
wheel, and tells which tutorials failed. `then_and_now` sets published figures beside what was
measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxcap_docs import (
    archive,
    claims,
    colab,
    exercises,
    gallery,
    mathml,
    notebooks,
    pages,
    publish,
    results,
    then_and_now,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role, the directives and the event handlers."""
    app.setup_extension("sphinx.ext.autodoc")
    mathml.setup(app)
    app.add_role("measured", pages.MeasuredRole())
    app.add_role("evidence", pages.MeasuredRole(in_full=True))
    app.add_directive("provenance", pages.Provenance)
    app.add_directive("claims", claims.Claims)
    app.add_directive("headline", results.Headline)
    app.add_directive("machines", results.Machines)
    app.add_directive("experiment", results.Experiment)
    app.add_directive("rooflines", results.Rooflines)
    app.add_directive("then-and-now", then_and_now.ThenAndNow)
    app.connect("config-inited", gallery.measure_alone)
    app.connect("config-inited", gallery.forget_stale)
    app.connect("builder-inited", notebooks.rewrite, priority=900)  # after sphinx-gallery ran
    app.connect("builder-inited", results.write_pages)
    app.connect("builder-inited", pages.forget_overloads)
    app.connect("builder-inited", pages.leave_out_commands)
    app.connect("autodoc-process-signature", pages.hide_signature_of_records)
    app.connect("doctree-read", pages.stamp_tutorial)
    app.connect("doctree-read", pages.widen_tables)
    app.connect("doctree-read", exercises.prepare_page, priority=100)  # before titles are collected
    app.connect("doctree-read", colab.offer, priority=600)  # when files to download have names
    app.connect("html-page-context", pages.settle_images)
    app.connect("build-finished", publish.tell_failures, priority=1)  # before sphinx-gallery raises
    app.connect("build-finished", publish.write_results)
    app.connect("build-finished", exercises.write_notebooks)
    app.connect("build-finished", publish.write_wheel)
    app.connect("build-finished", archive.write)  # of what those before have written
    app.connect("build-finished", gallery.let_others_measure, priority=1)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
