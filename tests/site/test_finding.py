"""Ways to a page: from page to page, by topic, by search, from outside."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

import pytest
from jaxcap_docs.lessons import MOVED, PAGES, TOPICS
from PIL import Image
from playwright.sync_api import Browser
from sites import ROOT, SMALL_URL, TUTORIALS, VERSIONS_URL, Read

EXERCISES = sorted(path.stem for path in ROOT.glob("docs/exercises/[0-9]*.md"))
LATEST = f"{VERSIONS_URL}/latest/"
ADDRESSES = ROOT / "docs" / "addresses.txt"


def follow(page: str, link: str) -> str:
    """Name the page that a link leads to, as the tests name it."""
    return normpath(join(dirname(page), unquote(urlsplit(link).path))).removesuffix(".html")


def test_next_leads_through_all_tutorials_in_reading_order(read: Read) -> None:
    page, seen = "tutorials/index", []
    while page.startswith("tutorials/"):
        seen.append(page)
        after = follow(page, read(page).select_one("a.next-page")["href"])
        assert follow(after, read(after).select_one("a.prev-page")["href"]) == page
        page = after
    links = read("index").select(".jaxcap-path > li > p:first-child a")
    in_order = [follow("index", link["href"]) for link in links]
    assert len(in_order) == len(TUTORIALS)
    assert [page for page in seen if not page.endswith("/index")] == in_order


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("tutorials/transformations/jit", ["Home", "Tutorials", "Transformations"]),
        ("results/experiments/jit", ["Home", "Results"]),
        ("glossary", ["Home"]),
    ],
)
def test_breadcrumbs_lead_upwards(read_small: Read, page: str, names: list[str]) -> None:
    crumbs = read_small(page).select('article nav[aria-label="Breadcrumb"] ol a')
    assert [crumb.get_text() for crumb in crumbs] == names
    titles = [read_small(follow(page, crumb["href"])).h1.get_text() for crumb in crumbs[1:]]
    assert [title.rstrip("¶#") for title in titles] == names[1:]
    assert follow(page, crumbs[0]["href"]) == "index"


def test_landing_page_needs_no_breadcrumbs(read_small: Read) -> None:
    assert not read_small("index").select('nav[aria-label="Breadcrumb"]')


def test_every_lesson_has_topics_that_list_it(read_small: Read) -> None:
    topics = read_small("topics")
    assert set(chain.from_iterable(PAGES.values())) == set(TOPICS)
    pages = [*(f"tutorials/{name}" for name in TUTORIALS), *(f"exercises/{n}" for n in EXERCISES)]
    for page in pages:
        tags = read_small(page).select(".jaxcap-topics a")
        assert tags, f"docs/_ext/jaxcap_docs/lessons.py has no topic for {page}"
        for tag in tags:
            section = topics.find(id=urlsplit(tag["href"]).fragment)
            assert section.find(["h2"]).get_text().startswith(tag.get_text())
            assert page in [follow("topics", a["href"]) for a in section.select("li a")]


def test_search_works_without_a_server(html: Path, browser: Browser) -> None:
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((html / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").fill("static_argnums")
    page.keyboard.press("Enter")
    found = page.locator("#search-results li a").filter(has_text="Which arguments must be static?")
    found.first.click()
    assert page.url.startswith((html / "tutorials/transformations/static_arguments.html").as_uri())
    assert complaints == []
    page.close()


def test_every_address_that_was_published_is_a_page(html: Path) -> None:
    paths = (path.relative_to(html) for path in html.rglob("*.html"))
    pages = {path.as_posix() for path in paths if path.parts[0] != "_static"} - {"404.html"}
    published = ADDRESSES.read_text(encoding="utf-8").splitlines()
    assert published == sorted(set(published)), "keep docs/addresses.txt sorted"
    assert not pages - set(published), "new pages: add them to docs/addresses.txt"
    assert not set(published) - pages, (
        "pages were removed: lead their addresses elsewhere by MOVED in docs/_ext/jaxcap_docs/lessons.py"
    )


@pytest.mark.parametrize(("before", "now"), MOVED.items())
def test_address_of_a_page_that_moved_leads_to_the_page(
    before: str, now: str, small_site: Path, browser: Browser
) -> None:
    page = browser.new_page()
    page.goto((small_site / f"{before}.html").as_uri() + "#takeaway")
    page.wait_for_url((small_site / f"{now}.html").as_uri() + "#takeaway")
    page.close()


def test_search_engines_are_sent_to_the_newest_version(small_site: Path, read_small: Read) -> None:
    tree = ET.parse(small_site / "sitemap.xml")
    listed = [element.text or "" for element in tree.iter() if element.tag.endswith("}loc")]
    assert f"{LATEST}index.html" in listed
    for address in listed:
        assert address.startswith(LATEST)
        page = address.removeprefix(LATEST).removesuffix(".html")
        assert read_small(page).select_one('link[rel="canonical"]')["href"] == address
        assert read_small(page).select_one('meta[property="og:url"]')["content"] == address
    pages = {path.relative_to(small_site).as_posix() for path in small_site.rglob("*.html")}
    unlisted = pages - {address.removeprefix(LATEST) for address in listed}
    others = {f"{name}.html" for name in ("404", "genindex", "py-modindex", "search", *MOVED)}
    assert {page for page in unlisted if not page.startswith("_static/")} == others


def test_every_page_has_a_preview(small_site: Path, read_small: Read) -> None:
    cards = set()
    for page in (f"tutorials/{TUTORIALS[0]}", "results/experiments/jit", "glossary"):
        tags = {tag["property"]: tag["content"] for tag in read_small(page).select("[property]")}
        assert tags["og:image"].startswith(SMALL_URL)
        with Image.open(small_site / tags["og:image"].removeprefix(SMALL_URL)) as card:
            assert card.width >= int(tags["og:image:width"])
        cards.add(tags["og:image"])
    assert len(cards) == 3


def test_page_for_lost_addresses_works_in_any_folder(small_site: Path, read_small: Read) -> None:
    prefix = urlsplit(SMALL_URL).path
    page = read_small("404")
    elements = page.find_all(href=re.compile("^[^#]")) + page.find_all(src=True)
    elements += page.select("form")
    links = [urlsplit(e.get("href") or e.get("src") or e["action"]) for e in elements]
    own = [unquote(link.path) for link in links if not link.netloc]
    assert len(own) > len(TUTORIALS)  # the navigation is there
    for path in own:
        assert path.startswith(prefix)
        assert "//" not in path
        assert (small_site / path.removeprefix(prefix)).exists(), path
    assert page.select('meta[name="robots"][content="noindex"]')
    assert not page.select('link[rel="canonical"]')


def test_version_is_shown_with_the_way_to_others(read_small: Read) -> None:
    shown = read_small(f"tutorials/{TUTORIALS[0]}").select_one(".sidebar-drawer .jaxcap-version")
    assert re.search(r"Version \d+\.\d+", shown.get_text())
    assert shown.a["href"] == f"{VERSIONS_URL}/versions.html"
