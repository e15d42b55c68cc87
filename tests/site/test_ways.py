"""Ways between tutorials, experiments and claims, and what a tutorial says first."""

from __future__ import annotations

import json
import re
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from jaxcap_docs.lessons import MOVED
from jaxcap_docs.read.results.experiments import RELEASE_TOPICS
from made_up import CLAIMING_PAGE, OTHER_PAGES
from playwright.sync_api import Browser, Page, expect
from sites import ROOT, TUTORIALS, Read

from jaxcap.releases.recorded import TOPICS
from jaxcap.results.files import slug

ADDRESSES = (ROOT / "docs" / "addresses.txt").read_text(encoding="utf-8")
EXPERIMENTS = sorted(
    name
    for name in re.findall(r"^results/experiments/(.+)\.html$", ADDRESSES, re.MULTILINE)
    if f"results/experiments/{name}" not in MOVED
)
FOLDED = "details.jaxcap-code"
# Calls that draw, tabulate or claim.
SHOWS = re.compile(
    r"^(?!def |import |from ).*\b(figures\.\w+|plt\.\w+|Table|claim)\(", re.MULTILINE
)
LESSONS = [
    ("basics/introduction", "def wave(x):"),
    ("transformations/jit", "@jax.jit"),
    ("performance/timing", "def stopwatch("),
    ("performance/timing", "ready_s = stopwatch("),
]


def targets(page: str, part: Any) -> list[tuple[str, str]]:
    """Return the pages, named as the tests do, and the anchors that links lead to."""
    links = [urlsplit(link["href"]) for link in part.select("a[href]")]
    return [
        (normpath(join(dirname(page), unquote(link.path))).removesuffix(".html"), link.fragment)
        for link in links
        if not link.netloc
    ]


def devices_of(html: Path, experiment: str) -> set[str]:
    index = json.loads((html / "results" / "index.json").read_text(encoding="utf-8"))
    return {e["device"] for e in index if slug(e["experiment"]) == Path(experiment).name}


def experiments_of(html: Path, tutorial: str) -> set[str]:
    index = json.loads((html / "results" / "index.json").read_text(encoding="utf-8"))
    names = {e["experiment"] for e in index if e["page"] == f"tutorials/{tutorial}.html"}
    return {f"results/experiments/{slug(name)}" for name in names}


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_and_its_experiments_link_to_each_other(html: Path, read: Read, name: str) -> None:
    page = f"tutorials/{name}"
    linked = {target for target, _ in targets(page, read(page).select_one(".jaxcap-facts"))}
    experiments = {target for target in linked if target.startswith("results/experiments/")}
    assert experiments_of(html, name) <= experiments
    for experiment in experiments:
        facts = targets(experiment, read(experiment).select_one(".jaxcap-facts"))
        assert (page, "") in facts
        assert ("measuring", "") in facts


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_says_if_no_gpu_has_run_its_experiments(html: Path, read: Read, name: str) -> None:
    page = f"tutorials/{name}"
    facts = read(page).select_one(".jaxcap-facts")
    linked = {target for target, _ in targets(page, facts)}
    devices = {
        device
        for target in linked
        if target.startswith("results/experiments/")
        for device in devices_of(html, target)
    }
    is_on_cpus_only = bool(devices) and all(device.endswith("(CPU)") for device in devices)
    assert ("on CPUs only" in facts.get_text()) is is_on_cpus_only


@pytest.mark.parametrize("name", TUTORIALS)
def test_claims_link_to_the_list_of_all_and_back(read: Read, name: str) -> None:
    page, rows = f"tutorials/{name}", read("results/claims")
    claims = read(page).select(".jaxcap-claim")
    ways = read(page).select(".jaxcap-elsewhere")
    assert len(ways) == len(claims)
    for way in ways:
        ((target, anchor),) = targets(page, way)
        assert target == "results/claims"
        row = targets(target, rows.find(id=anchor).find_parent("tr"))
        assert (page, anchor) in row
        assert read(page).find(id=anchor).find_next(class_="jaxcap-claim")
        experiment = next(other for other, _ in row if other.startswith("results/experiments/"))
        assert (target, anchor) in targets(experiment, read(experiment).article)


@pytest.mark.parametrize("name", TUTORIALS)
def test_takeaway_stands_before_the_first_section(read: Read, name: str) -> None:
    page = read(f"tutorials/{name}")
    (box,) = page.select(".jaxcap-takeaway")
    assert box["id"] == "takeaway"
    assert box.find_previous_sibling("p"), "the introduction comes first"
    assert not box.find_previous_sibling("section")
    assert box.select(".jaxcap-measured")
    headings = [heading.get_text().rstrip("¶#") for heading in page.select("h2")]
    assert headings[-1] == "What next?"
    assert "Takeaway" not in headings
    said = box.select_one("p:not(.admonition-title), li").get_text()
    assert page.article.get_text().count(said) == 1


@pytest.mark.parametrize("name", TUTORIALS)
def test_code_that_shows_results_is_folded_and_other_code_is_not(read: Read, name: str) -> None:
    cells = read(f"tutorials/{name}").select("div.highlight-Python")
    folded = [cell for cell in cells if cell.find_parent("details")]
    assert folded
    assert len(folded) < len(cells)
    assert [cell.get_text() for cell in cells if SHOWS.search(cell.get_text())] == [
        cell.get_text() for cell in folded if SHOWS.search(cell.get_text())
    ]


@pytest.mark.parametrize(("name", "code"), LESSONS)
def test_lessons_code_is_not_folded(read: Read, name: str, code: str) -> None:
    cells = read(f"tutorials/{name}").select("div.highlight-Python")
    (lesson, *_) = [cell for cell in cells if code in cell.get_text()]
    assert not lesson.find_parent("details")


@pytest.mark.parametrize("name", TUTORIALS)
def test_facts_say_how_long_it_takes_and_offer_the_files(html: Path, read: Read, name: str) -> None:
    page = f"tutorials/{name}"
    facts = read(page).select_one("h1 + .jaxcap-facts, h1 ~ .jaxcap-facts")
    minutes = re.match(r"(\d+)\sminutes", facts.get_text().strip())
    assert minutes
    assert 2 <= int(minutes[1]) <= 20
    files = [link["href"] for link in facts.select("a[download]")]
    assert [Path(file).suffix for file in files] == [".ipynb", ".py"]
    assert all((html / page).parent.joinpath(unquote(file)).exists() for file in files)


def test_experiments_lead_to_what_is_like_them_by_release(read: Read) -> None:
    assert {slug(name) for name in RELEASE_TOPICS} <= set(EXPERIMENTS)
    assert set(RELEASE_TOPICS.values()) <= set(TOPICS.values())
    for experiment, topic in RELEASE_TOPICS.items():
        page = f"results/experiments/{slug(experiment)}"
        (similar,) = read(page).select(".jaxcap-by-release")  # in the facts, or beside the chart
        assert targets(page, similar) == [(f"releases/topics/{slug(topic)}", "")]


def test_experiments_are_listed_with_pictures_and_words(read: Read) -> None:
    items = read("results/index").select(".jaxcap-experiments > li")
    pages = [target for item in items for target, _ in targets("results/index", item)]
    assert sorted(pages) == [f"results/experiments/{name}" for name in EXPERIMENTS]
    for item in items:
        assert len(item.select("p")) == 2
        assert all(words.get_text() for words in item.select("p"))
        assert len(item.select("img[alt='']")) == 2, "for light and for dark pages"


@pytest.mark.parametrize("page", ["index", "claims", "history", "roofline"])
def test_results_lead_to_the_rules_of_measuring(read: Read, page: str) -> None:
    name = f"results/{page}"
    assert ("measuring", "") in targets(name, read(name).article)


def test_takeaway_of_a_page_that_did_not_run_stays_at_its_end(read_small: Read) -> None:
    ran = read_small(f"tutorials/{CLAIMING_PAGE}")
    assert [e.name for e in ran.select(".jaxcap-takeaway ~ section, .jaxcap-takeaway li")]
    assert len(ran.select(f"{FOLDED} > div")) == 4
    for page in OTHER_PAGES:
        assert not read_small(f"tutorials/{page}").select(f"{FOLDED}, .jaxcap-takeaway")


def test_folded_code_opens_by_keyboard_without_scripts(small_site: Path, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((small_site / f"tutorials/{CLAIMING_PAGE}.html").as_uri())
    code = page.locator(f"{FOLDED} pre").first
    expect(code).to_be_hidden()
    expect(page.locator(".jaxcap-claim").first).to_be_visible()
    page.locator(f"{FOLDED} > summary").first.press("Enter")
    expect(code).to_be_visible()
    context.close()


@pytest.fixture
def searching(browser: Browser, served: str) -> Page:
    return browser.new_context(base_url=served).new_page()


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("dispatch overhead", "Why is JAX slow on small arrays?"),
        ("block_until_ready", "When is a result ready?"),
        ("sharding", "One training on many devices"),
    ],
)
def test_search_finds_the_tutorial_about_it_first(searching: Page, words: str, first: str) -> None:
    searching.goto(f"search.html?q={words}")
    found = searching.locator("#search-results li").first
    expect(found.locator("a").first).to_have_text(re.compile(re.escape(first)))
    excerpt = found.locator("p.context")
    expect(excerpt).to_be_visible()
    expect(excerpt).not_to_contain_text("Measured on")
    expect(excerpt).not_to_contain_text("minutes")
    searching.context.close()
