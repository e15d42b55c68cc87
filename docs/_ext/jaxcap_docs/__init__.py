"""Sphinx extension of this site: runs leave records, and pages quote them.

While sphinx-gallery runs a script, `gallery` keeps what it measured, and `limits` ends what takes
too long. `pages` puts the record on the page: a provenance stamp under the title, and measured
numbers where the prose asks for them. `claims` lists what pages claim, and on which machines it
holds. `notebooks` makes the downloads readable outside of Sphinx, `colab` opens them where
nothing is installed, and `archive` packs all of them. `publish` serves the results as JSON and the
package as a wheel, and tells which tutorials failed, and why. `then_and_now` sets published figures
beside what was measured. `topics` and `addresses` help to find pages, and `links` tells dead links
from those that cannot be reached. `assets` keeps pages light, and `previews` draws what others show
beside links to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxcap_docs import (
    addresses,
    archive,
    assets,
    claims,
    colab,
    exercises,
    gallery,
    limits,
    links,
    mathml,
    notebooks,
    pages,
    previews,
    publish,
    results,
    then_and_now,
    topics,
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
    app.add_directive("topics", topics.Topics)
    app.add_config_value("moved_pages", {}, "html")
    app.connect("config-inited", limits.seconds)  # complains early
    app.connect("config-inited", gallery.measure_alone)
    app.connect("config-inited", gallery.forget_stale)
    app.connect("builder-inited", notebooks.rewrite, priority=900)  # after sphinx-gallery ran
    app.connect("builder-inited", assets.shrink_thumbnails, priority=900)
    app.connect("builder-inited", results.write_pages)
    app.connect("builder-inited", pages.forget_overloads)
    app.connect("builder-inited", pages.leave_out_commands)
    app.connect("autodoc-process-signature", pages.hide_signature_of_records)
    app.connect("doctree-read", pages.stamp_tutorial)
    app.connect("doctree-read", pages.widen_tables)
    app.connect("doctree-read", exercises.prepare_page, priority=100)  # before titles are collected
    app.connect("doctree-read", colab.offer, priority=600)  # when files to download have names
    app.connect("html-page-context", pages.settle_images)
    app.connect("html-page-context", previews.add, priority=400)  # before the head is written
    app.connect("html-page-context", assets.load_what_is_used, priority=900)  # after they are added
    app.connect("html-page-context", topics.tag)
    app.connect("html-collect-pages", addresses.redirects)
    app.connect("build-finished", publish.tell_failures, priority=1)  # before sphinx-gallery raises
    app.connect("build-finished", publish.write_results)
    app.connect("build-finished", exercises.write_notebooks)
    app.connect("build-finished", publish.write_wheel)
    app.connect("build-finished", archive.write)  # of what those before have written
    app.connect("build-finished", assets.shorten_code, priority=900)  # sphinx-gallery links in it
    app.connect("build-finished", assets.bundle_styles, priority=900)  # furo writes one here
    app.connect("build-finished", addresses.write_sitemap)
    app.connect("build-finished", links.judge)
    app.connect("build-finished", gallery.let_others_measure, priority=1)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
