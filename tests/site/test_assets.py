"""Pages load what they use, and what is taken out of styles is missed nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import furo
import pytest
import sphinx_design
from conftest import ADDRESS, PAGES, Read
from made_up import CLAIMING_PAGE, MEASURING_PAGE
from PIL import Image

CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")


def loaded(read: Read, page: str) -> set[str]:
    """Names of the styles and scripts that a page loads, without numbers of versions."""
    tags = read(page).select("link[rel=stylesheet], script[src]")
    paths = [Path((tag.get("href") or tag["src"]).partition("?")[0]).name for tag in tags]
    return {re.sub(r"\.[0-9a-f]{20,}", "", name) for name in paths}


def test_page_loads_what_it_uses(read: Read) -> None:
    everywhere = {"furo.css", "furo.js", "jaxcap.css"}
    assert everywhere < loaded(read, "glossary")
    of_code = {"copybutton.js", "copybutton.css", "clipboard.min.js", "pygments.css"}
    assert not of_code & loaded(read, "glossary")
    assert of_code < loaded(read, "tutorials/transformations/jit")
    assert "mystnb.css" in loaded(read, "exercises/1_arrays")
    assert "mystnb.css" not in loaded(read, "tutorials/transformations/jit")
    assert "sphinx-design.min.css" in loaded(read, "index")
    assert "chart.js" not in loaded(read, "results/experiments/jit"), "not before somebody asks"


@pytest.mark.parametrize(
    ("package", "name"), [(furo, "styles/furo.css"), (sphinx_design, "sphinx-design.min.css")]
)
def test_styles_keep_all_rules_for_what_pages_have(
    html: Path, read: Read, package: object, name: str
) -> None:
    (original,) = Path(str(package.__file__)).parent.rglob(Path(name).name)  # type: ignore[attr-defined]
    styled = set(CLASS.findall(original.read_text(encoding="utf-8")))
    used = {one for page in PAGES for tag in read(page).select("[class]") for one in tag["class"]}
    kept = set(CLASS.findall((html / "_static" / name).read_text(encoding="utf-8")))
    assert styled & used
    assert styled & used <= kept
    assert len(kept) < len(styled)


def test_previews_show_a_plot_of_their_page(small_site: Path, read_small: Read) -> None:
    seen = set()
    for page in (f"tutorials/{CLAIMING_PAGE}", f"tutorials/{MEASURING_PAGE}", "results/roofline"):
        tags = {tag["property"]: tag["content"] for tag in read_small(page).select("[property]")}
        assert tags["og:image"].startswith(ADDRESS)
        assert len(tags["og:image:alt"]) > 10
        file = small_site / tags["og:image"].removeprefix(ADDRESS)
        with Image.open(file) as image:
            assert image.size == (1200, 630)
        seen.add(file.read_bytes())
    assert len(seen) == 3
