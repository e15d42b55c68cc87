"""A site beside its other versions: which one is the newest, and what earlier builds measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from sites import SMALL_URL, VERSIONS_URL
from test_browser import violations

HERE = Path(urlsplit(SMALL_URL).path).name
LATEST_URL = f"{VERSIONS_URL}/latest/"
HOSTILE = "<img src=x onerror=\"document.title='ran'\">"

Visit = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser, small_site: Path) -> Iterator[Visit]:
    """Opens a page of the small site, at its address and as the development version.

    Beside the versions there are only the files that are given, as data or as text. What the page
    asks for is noted, and no script may fail.
    """
    context = browser.new_context(color_scheme="light")
    failures: list[str] = []

    def open_page(address: str, files: dict[str, Any] | None = None) -> Page:
        def answer(route: Route) -> None:
            name = unquote(urlsplit(route.request.url).path).removeprefix("/project/")
            version, _, path = name.partition("/")
            if version in {HERE, "latest"} and (small_site / path).is_file():
                route.fulfill(path=small_site / path)
            elif name in (files or {}):
                content = (files or {})[name]
                route.fulfill(body=content if isinstance(content, str) else json.dumps(content))
            else:
                route.fulfill(status=404)

        context.route(f"{VERSIONS_URL}/**", answer)
        page = context.new_page()
        page.on("pageerror", lambda error: failures.append(error.message))
        page.goto(address, wait_until="networkidle")
        return page

    yield open_page
    context.close()
    assert failures == []


def versions(newest: str) -> dict[str, Any]:
    return {"versions.json": {"newest": newest, "versions": ["latest", newest, HERE]}}


def test_an_old_version_leads_to_the_same_page_of_the_newest(visit: Visit) -> None:
    page = visit(f"{SMALL_URL}results/index.html#experiments", versions("v1.10.0"))
    banner = page.get_by_role("complementary", name="Version")
    expect(banner).to_have_text("This is version 1.2.3. The newest release is 1.10.0.")
    link = banner.get_by_role("link")
    expect(link).to_have_attribute("href", f"{VERSIONS_URL}/v1.10.0/results/index.html#experiments")
    expect(banner).to_be_in_viewport(ratio=1)
    assert violations(page) == {}
    page.emulate_media(color_scheme="dark")
    assert violations(page, runOnly=["color-contrast"]) == {}


def test_the_banner_moves_nothing(visit: Visit) -> None:
    page = visit(f"{SMALL_URL}results/index.html", versions("v1.10.0"))
    top = "document.querySelector('h1').getBoundingClientRect().top"
    with_banner = page.evaluate(top)
    page.evaluate("document.querySelector('.jaxcap-old').remove()")
    assert page.evaluate(top) == with_banner


def test_the_development_version_leads_to_the_newest_release(visit: Visit) -> None:
    page = visit(f"{LATEST_URL}results/index.html", versions("v1.10.0"))
    banner = page.get_by_role("complementary", name="Version")
    expect(banner).to_have_text("This is the development version. The newest release is 1.10.0.")
    expect(banner.get_by_role("link")).to_have_attribute("href", f"{VERSIONS_URL}/v1.10.0/")


@pytest.mark.parametrize(
    ("address", "files"),
    [
        (f"{SMALL_URL}index.html", versions(HERE)),
        (f"{LATEST_URL}index.html", versions("latest")),  # before the first release
        (f"{SMALL_URL}index.html", {}),
        (f"{SMALL_URL}index.html", {"versions.json": "<html>"}),
        (f"{SMALL_URL}index.html", {"versions.json": {"newest": "javascript:alert(1)//"}}),
    ],
)
def test_otherwise_there_is_no_banner(visit: Visit, address: str, files: dict[str, Any]) -> None:
    page = visit(address, files)
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".jaxcap-old")).to_have_count(0)


def test_a_copy_elsewhere_asks_for_no_versions(small_site: Path, browser: Browser) -> None:
    page = browser.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto((small_site / "results" / "history.html").as_uri(), wait_until="networkidle")
    assert all(url.startswith(("file:", "data:")) for url in asked)
    assert said == []
    expect(page.locator("#jaxcap-history")).to_contain_text("There are no earlier builds here")
    page.close()


def make_build(day: int, value: float, machine: str = "H200", **changes: Any) -> dict[str, Any]:
    """Return the entry of a build with a headline and two claims."""

    def finding(text: str, outcome: str | None, value: float) -> dict[str, Any]:
        interval = {"value": value, "low": value / 1.1, "high": value * 1.1}
        return {"page": "basics/jit", "text": text, "outcome": outcome, "interval": interval}

    return {
        "built_at": f"2026-11-{day:02}T10:00:00Z",
        "commit": f"commit{day}",
        "machine": machine,
        "jax": "0.11",
        "findings": [
            finding("compiling", None, value),
            finding("it is faster", "holds" if value > 1.1 else "undecided", value),
            finding("it is slower", "fails", 5.0),
        ],
    } | changes


def cells(table: Any) -> list[list[str]]:
    rows = table.locator("tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def history(*files: Any) -> dict[str, Any]:
    names = [f"{number:02}-commit.json" for number in range(len(files))]
    return {f"history/{name}": file for name, file in zip(names, files, strict=True)} | {
        "history/index.json": names
    }


def test_builds_are_shown_by_machine(visit: Visit) -> None:
    files = history(
        make_build(1, 1.0), make_build(2, 3.0), make_build(3, 2.0, "A100"), make_build(4, 3.0)
    )
    page = visit(f"{SMALL_URL}results/history.html", files)
    builds, ratios = (page.locator(f"#jaxcap-history table >> nth={n}") for n in (1, 0))
    assert cells(builds) == [
        ["2026-11-04", "commit4", "H200", "0.11", "1", "1", "0"],
        ["2026-11-03", "commit3", "A100", "0.11", "1", "1", "0"],
        ["2026-11-02", "commit2", "H200", "0.11", "1", "1", "0"],
        ["2026-11-01", "commit1", "H200", "0.11", "0", "1", "1"],
    ]
    measured = {(text, machine): rest for text, machine, _, *rest in cells(ratios)}
    # The last build reused what the second had measured.
    assert measured["compiling", "H200"] == ["3 (2.73 to 3.3)", "2", "2026-11-01"]
    assert measured["compiling", "A100"] == ["2 (1.82 to 2.2)", "1", "2026-11-03"]
    assert measured["it is slower", "H200"] == ["5 (4.55 to 5.5)", "1", "2026-11-01"]
    expect(ratios.get_by_role("img", name="From 1 to 3")).to_have_count(2)
    assert violations(page) == {}
    page.emulate_media(color_scheme="dark")
    assert violations(page, runOnly=["color-contrast"]) == {}


def test_lines_stay_in_their_box_and_rise_with_the_ratio(visit: Visit) -> None:
    files = history(
        *(make_build(day, value) for day, value in enumerate((0.01, 1.0, 100.0), start=1))
    )
    page = visit(f"{SMALL_URL}results/history.html", files)
    line = page.locator("svg.jaxcap-line").first
    box = line.evaluate("e => [e.width.baseVal.value, e.height.baseVal.value]")
    points = line.evaluate(
        "e => [...e.querySelectorAll('circle')].map((c) => "
        "[c.cx.baseVal.value, c.cy.baseVal.value])"
    )
    assert len(points) == 3
    assert all(0 <= x <= box[0] and 0 <= y <= box[1] for x, y in points)
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x0 < x1 < x2
    assert y0 > y1 > y2
    assert y0 - y1 == pytest.approx(y1 - y2), "equal factors have equal heights"
    level = line.evaluate("e => e.querySelector('line').y1.baseVal.value")
    assert level == pytest.approx(y1)


def test_what_earlier_builds_left_is_text_and_may_be_damaged(visit: Visit) -> None:
    hostile = make_build(1, 2.0, HOSTILE, commit=HOSTILE, jax=HOSTILE, built_at=HOSTILE)
    hostile["findings"][0]["text"] = HOSTILE
    without_numbers = make_build(2, 2.0)
    without_numbers["findings"][0]["interval"] = None
    without_numbers["findings"][1]["interval"] = {"value": "2", "low": HOSTILE, "high": -1}
    files = history(
        hostile, without_numbers, "{damaged", {"findings": HOSTILE}, {"findings": [None]}, None
    )
    files["history/index.json"] += ["missing.json", "../../elsewhere.json", "https://example.org/"]
    page = visit(f"{SMALL_URL}results/history.html", files)
    shown = page.locator("#jaxcap-history")
    expect(shown.locator("table").first).to_contain_text(HOSTILE)
    assert len(cells(shown.locator("table").last)) == 2
    assert shown.locator("img").count() == 0
    assert page.title() != "ran"


@pytest.mark.parametrize("files", [{}, history(), {"history/index.json": "<html>"}])
def test_without_earlier_builds_the_page_says_so(visit: Visit, files: dict[str, Any]) -> None:
    page = visit(f"{SMALL_URL}results/history.html", files)
    expect(page.locator("#jaxcap-history")).to_contain_text("There are no earlier builds here")
