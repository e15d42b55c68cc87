"""The picture that others show beside a link to a page: its title, and a plot of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin

from docutils import nodes
from matplotlib.font_manager import FontProperties, findfont
from PIL import Image, ImageDraw, ImageFont
from sphinx.application import Sphinx

from jaxcap.report import figures
from jaxcap_docs import pages, plots, records

SIZE = (1200, 630)  # what networks show uncropped
MARGIN, HEAD = 40, 110
THUMBNAIL = re.compile(r"^# sphinx_gallery_thumbnail_number = (\d+)$", re.MULTILINE)
FALLBACK = "results/_plots/headline.png"  # for pages without a plot


def add(
    app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Draw a page's preview and name it in the page's head, where the site's address is known."""
    if not app.config.ogp_site_url or doctree is None:
        return
    found = _plots(app, page, doctree)
    if not found:
        return
    plot, alt = found[0]
    file = Path("_images", "previews", f"{page}.png")
    target = app.outdir / file
    target.parent.mkdir(parents=True, exist_ok=True)
    draw(app.env.titles[page].astext(), plot).save(target, optimize=True)
    described = {
        "og:image": urljoin(app.config.ogp_site_url, file.as_posix()),
        "og:image:alt": alt,
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
    }
    context["meta"] = {**(context["meta"] or {}), **described}


def _plots(app: Sphinx, page: str, doctree: nodes.document) -> list[tuple[Path, str]]:
    """Rasters of a page's plots and what they show, that of the thumbnail first."""
    sources = plots.sources(app)  # Sphinx has replaced the addresses of images by those on the page
    found = [
        (raster, str(image["alt"]))
        for image in doctree.findall(nodes.image)
        for raster in [sources[unquote(Path(image["uri"]).name)].with_suffix(".png")]
        if "jaxcap-plot" in image["classes"] and raster.exists()
    ]
    script = records.GALLERY / f"{page.removeprefix(pages.TUTORIALS)}.py"
    if script.exists() and (number := THUMBNAIL.search(script.read_text(encoding="utf-8"))):
        found.sort(key=lambda pair: not pair[0].stem.endswith(f"_{int(number[1]):03d}"))
    fallback = Path(app.srcdir, FALLBACK)
    return found or ([(fallback, "")] if fallback.exists() else [])


def draw(title: str, plot: Path) -> Image.Image:
    """Draw a preview from the title of a page and a plot with a transparent background."""
    card = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(card)
    width = SIZE[0] - 2 * MARGIN
    bold = findfont(FontProperties(family="DejaVu Sans", weight="bold"))
    font = ImageFont.truetype(bold, 46)
    font = ImageFont.truetype(bold, min(46, int(46 * width / font.getlength(title))))
    pen.text((MARGIN, HEAD / 2), title, figures.INK, font, anchor="lm")
    pen.text(
        (SIZE[0] - MARGIN, SIZE[1] - 24),
        "jaxcap",
        figures.COLOURS[0],
        font.font_variant(size=24),
        anchor="rm",
    )
    with Image.open(plot) as image:
        scale = min(width / image.width, (SIZE[1] - HEAD - MARGIN) / image.height)
        shown = image.convert("RGBA").resize((int(image.width * scale), int(image.height * scale)))
    card.paste(shown, ((SIZE[0] - shown.width) // 2, HEAD), shown)
    return card.quantize(64)
