"""Pages load what they use, and what is taken out of styles is missed nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import furo
import pytest
from conftest import PAGES, ROOT, SMALL_URL, Read
from made_up import CLAIMING_PAGE, MEASURING_PAGE
from PIL import Image

SHEETS = (
    *Path(furo.__file__).parent.rglob("furo*.css"),
    *(ROOT / "docs" / "_static").glob("*.css"),
)
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
STYLED = {name for sheet in SHEETS for name in CLASS.findall(sheet.read_text(encoding="utf-8"))}


def scripts(read: Read, page: str) -> set[str]:
    return {Path(tag["src"].partition("?")[0]).name for tag in read(page).select("script[src]")}


def styles(html: Path, read: Read, page: str) -> str:
    """All styles of a page, which must be one file."""
    (link,) = read(page).select("link[rel=stylesheet]")
    return (html / page).parent.joinpath(link["href"]).read_text(encoding="utf-8")


def test_page_loads_what_it_uses(html: Path, read: Read) -> None:
    of_code = {"copybutton.js", "clipboard.min.js"}
    assert "furo.js" in scripts(read, "glossary")
    assert not of_code & scripts(read, "glossary")
    assert of_code < scripts(read, "tutorials/transformations/jit")
    assert "chart.js" not in scripts(read, "results/experiments/jit"), "not before somebody asks"
    assert ".o-tooltip--left" in styles(html, read, "tutorials/transformations/jit")
    assert ".o-tooltip--left" not in styles(html, read, "glossary")
    assert "--mystnb-scrollbar" in styles(html, read, "exercises/1_arrays")
    assert "--mystnb-scrollbar" not in styles(html, read, "tutorials/transformations/jit")


@pytest.mark.parametrize("page", PAGES)
def test_styles_lack_nothing_that_the_page_has(html: Path, read: Read, page: str) -> None:
    used = {name for tag in read(page).select("[class]") for name in tag["class"]}
    kept = set(CLASS.findall(styles(html, read, page)))
    assert used & STYLED <= kept
    assert not kept >= STYLED, "rules for what no page has must be gone"


def test_previews_show_a_plot_of_their_page(small_site: Path, read_small: Read) -> None:
    seen = set()
    for page in (f"tutorials/{CLAIMING_PAGE}", f"tutorials/{MEASURING_PAGE}", "results/roofline"):
        tags = {tag["property"]: tag["content"] for tag in read_small(page).select("[property]")}
        assert tags["og:image"].startswith(SMALL_URL)
        assert tags["og:image:alt"]
        file = small_site / tags["og:image"].removeprefix(SMALL_URL)
        with Image.open(file) as image:
            assert image.size == (1200, 630)
        seen.add(file.read_bytes())
    assert len(seen) == 3
