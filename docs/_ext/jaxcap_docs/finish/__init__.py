"""The end of a build, in the order in which things happen.

First `run.start` lets others measure. Then files are written beside the pages: `results` serves
measurements as files, `rules` says by what the files of readers are judged, and `claims` lists what was
claimed. `history` keeps a part of both over builds. `archive` packs the package and everything to run with
it, and `exercises` the exercises as notebooks. The cards that pages are shared with are made smaller. A
sitemap lists all addresses, and `llms` all pages for programs that read. Last, `run.session_time` says how
long was measured.
"""

from __future__ import annotations

import gc
from xml.etree import ElementTree as ET

from sphinx.application import Sphinx

from jaxcap_docs import image_files
from jaxcap_docs.finish import archive, claims, exercises, history, llms, results, rules
from jaxcap_docs.run import session_time, start


def setup(app: Sphinx) -> None:
    """Act before sphinx-gallery, which raises if a tutorial failed, and once more after all others."""
    app.connect("build-finished", on_build_finished, priority=0)
    app.connect("build-finished", session_time.on_build_finished, priority=1000)


def on_build_finished(app: Sphinx, exception: Exception | None) -> None:
    """Let others measure, and complete the site unless the build failed."""
    start.release_lock()
    gc.freeze()  # or Python would look through all objects once more as it ends
    if exception is not None or app.builder.format != "html":
        return
    results.write(app)
    rules.write(app)
    claims.write(app)
    history.write(app)
    archive.write_wheel(app)
    exercises.write(app)
    archive.write(app)  # packs the wheel and all notebooks
    image_files.shrink(app.outdir.glob("_images/social_previews/*.png"))
    write_sitemap(app)
    llms.write(app)


def write_sitemap(app: Sphinx) -> None:
    """List the addresses of all pages, if the site has an address.

    The extension sphinx-sitemap would fork a process beside JAX's threads to do that.
    """
    if not app.config.html_baseurl:
        return
    root = ET.Element("urlset", xmlns="http://www.sitemaps.org/schemas/sitemap/0.9")
    for page in sorted(app.env.found_docs):
        address = app.config.html_baseurl + app.builder.get_target_uri(page)
        ET.SubElement(ET.SubElement(root, "url"), "loc").text = address
    tree = ET.ElementTree(root)
    tree.write(app.outdir / "sitemap.xml", encoding="utf-8", xml_declaration=True)
