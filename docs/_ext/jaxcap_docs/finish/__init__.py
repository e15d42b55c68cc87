"""The end of a build: what is written beside the pages, in the order in which it happens.

`results` serves measurements as files, `archive` the package and all that there is to run, and
`exercises` the exercises as notebooks.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from sphinx.application import Sphinx

from jaxcap_docs import plots
from jaxcap_docs.finish import archive, exercises, results
from jaxcap_docs.run.start import unlock


def setup(app: Sphinx) -> None:
    """Be the first to act at the end: sphinx-gallery raises if a tutorial failed."""
    app.connect("build-finished", finish, priority=1)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """End the measuring, and complete the site unless the build failed."""
    unlock()
    if exception is not None or app.builder.format != "html":
        return
    results.write(app)
    archive.write_wheel(app)
    exercises.write(app)
    archive.write(app)  # packs the wheel and all notebooks
    plots.shrink(app.outdir.glob("_images/social_previews/*.png"))
    write_sitemap(app)


def write_sitemap(app: Sphinx) -> None:
    """List the addresses of all pages, if that of the site is known.

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
