"""The built site in a browser: what no page may do, and what readers do with it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from canvas import RECORDER, contrast, texts
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, expect
from sites import PAGES, TUTORIALS

PHONE, TABLET, DESKTOP = 360, 768, 1440  # widths in CSS pixels
KIB = 1024
# Within the page, because each wait from outside takes near half a second.
SCROLL_TO_END = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const waits = (image) =>
    image.checkVisibility() && image.getBoundingClientRect().top < innerHeight &&
    !(image.currentSrc && image.complete);
  const deadline = performance.now() + 30_000;
  for (let top = 0; top < document.documentElement.scrollHeight; top += 700) {
    scrollTo({top, behavior: "instant"});
    do await frame();
    while ([...document.images].some(waits) && performance.now() < deadline);
  }
}"""
BACKGROUND = """
(() => {
  const parts = getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number);
  return "#" + parts.map((part) => part.toString(16).padStart(2, "0")).join("");
})()
"""
# The theme of what browsers draw by themselves, such as selects.
CONTROLS = "getComputedStyle(document.body).colorScheme"
PLOT = "tutorials/transformations/jit"
# Headings whose unseen sign, the link to them, takes a line of its own.
SIGNS_APART = """() => [...document.querySelectorAll("h1, h2, h3")].filter((heading) => {
  const sign = heading.querySelector(".headerlink");
  if (!sign) return false;
  const words = document.createRange();
  words.setStart(heading, 0);
  words.setEndBefore(sign);
  return heading.getBoundingClientRect().bottom > words.getBoundingClientRect().bottom + 12;
}).map((heading) => heading.innerText)"""


@pytest.fixture(scope="module")
def reader(browser: Browser, served: str) -> Iterator[Page]:
    """A browser's page for many pages of the site."""
    context = browser.new_context(base_url=served, color_scheme="light", reduced_motion="reduce")
    yield context.new_page()
    context.close()


@pytest.fixture
def visitor(browser: Browser, served: str) -> Iterator[Page]:
    """A browser's page whose settings a test may change."""
    context = browser.new_context(base_url=served, color_scheme="light")
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", [*PAGES, "404"])
def test_page_is_sound(reader: Page, served: str, name: str) -> None:
    """It has no errors, fetches nothing from elsewhere, is accessible, and fits all screens."""
    said: list[str] = []
    asked: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            said.append(message.text)

    def fail(error: Error) -> None:
        said.append(error.message)

    def note(request: Request) -> None:
        asked.append(request.url)

    listeners = {"console": hear, "pageerror": fail, "request": note}
    for event, listener in listeners.items():
        reader.on(event, listener)  # type: ignore[call-overload]
    reader.emulate_media(color_scheme="light")
    reader.set_viewport_size({"width": DESKTOP, "height": 900})
    reader.goto(f"{name}.html")
    for event, listener in listeners.items():
        reader.remove_listener(event, listener)
    assert reader.evaluate(SIGNS_APART) == []
    assert said == []
    assert [url for url in asked if not url.startswith((served, "data:"))] == []

    assert violations(reader) == {}
    reader.emulate_media(color_scheme="dark")
    assert violations(reader, runOnly=["color-contrast"]) == {}
    for width in (DESKTOP, TABLET, PHONE):
        reader.set_viewport_size({"width": width, "height": 900})
        assert reader.evaluate("document.documentElement.scrollWidth") <= width


def violations(page: Page, **options: object) -> dict[str, list[str]]:
    """Return the elements to which axe-core objects, by rule."""
    # Without what axe approves of, which is most of a page.
    response = Axe().run(page, options={"resultTypes": ["violations"], **options}).response
    return {
        violation["id"]: [node["html"] for node in violation["nodes"]]
        for violation in response["violations"]
    }


@pytest.mark.parametrize(
    ("name", "limit"), [("index", 250 * KIB), *((f"tutorials/{t}", 450 * KIB) for t in TUTORIALS)]
)
def test_page_is_light_and_stays_in_place(visitor: Page, name: str, limit: int) -> None:
    """Add up what a reader fetches until the end of the page, and how much the text jumps."""
    fetched: dict[str, int] = {}

    def weigh(request: Request) -> None:
        sizes = request.sizes()  # as transferred, which is compressed
        fetched[request.url] = sizes["responseBodySize"] + sizes["responseHeadersSize"]

    visitor.on("requestfinished", weigh)
    visitor.add_init_script(
        "window.shifts = [];"
        "new PerformanceObserver((seen) => shifts.push(...seen.getEntries().map((e) => e.value)))"
        ".observe({type: 'layout-shift', buffered: true});"
    )
    visitor.goto(f"{name}.html")
    visitor.evaluate(SCROLL_TO_END)
    assert visitor.evaluate("shifts.reduce((sum, one) => sum + one, 0)") < 0.01
    # One without a size would jump on a slower network.
    assert visitor.locator("article img:not([width][height])").count() == 0
    images = visitor.evaluate(
        "[...document.images].filter((i) => i.checkVisibility()).map((i) => i.currentSrc)"
    )
    assert set(images) <= {url for url in fetched if fetched[url] > 0}, "not all was weighed"
    assert sum(fetched.values()) < limit


def test_theme_switch_shows_the_other_plots_and_is_remembered(visitor: Page) -> None:
    visitor.goto(f"{PLOT}.html")
    light, dark = (visitor.locator(f"img.only-{theme}").first for theme in ("light", "dark"))
    expect(light).to_be_visible()
    expect(dark).to_be_hidden()
    assert visitor.evaluate(CONTROLS) == "light"
    switch = visitor.get_by_role("button", name="Toggle Light").locator("visible=true")
    while visitor.evaluate("document.body.dataset.theme") != "dark":
        switch.click()
    expect(light).to_be_hidden()
    expect(dark).to_be_visible()
    assert visitor.evaluate(CONTROLS) == "dark"
    background = "getComputedStyle(document.body).backgroundColor"
    shown = visitor.evaluate(background)
    visitor.goto("index.html")
    assert visitor.evaluate("document.body.dataset.theme") == "dark"
    assert visitor.evaluate(background) == shown


def test_search_finds_what_a_page_is_about(visitor: Page) -> None:
    visitor.goto("index.html")
    box = visitor.get_by_role("textbox", name="Search")
    box.fill("static_argnums")
    box.press("Enter")
    found = visitor.locator("#search-results a[href*='static_arguments']").first
    expect(found).to_be_visible()
    found.click()
    expect(visitor.locator("article")).to_contain_text("static_argnums")


def test_devices_are_compared_without_scripts(browser: Browser, served: str) -> None:
    context = browser.new_context(base_url=served, java_script_enabled=False)
    page = context.new_page()
    page.goto("results/experiments/jit.html")
    expect(page.locator(".jaxcap-table th").first).to_be_visible()
    expect(page.locator("img.only-light").first).to_be_visible()
    expect(page.locator("img.only-dark").first).to_be_hidden()
    expect(page.get_by_role("button", name="Explore the numbers")).to_be_hidden()
    context.close()


def test_keyboard_reads_in_order_and_skips_to_the_text(visitor: Page) -> None:
    visitor.set_viewport_size({"width": DESKTOP, "height": 900})
    visitor.goto(f"{PLOT}.html")
    visitor.keyboard.press("Tab")
    focused = visitor.locator(":focus")
    expect(focused).to_have_text("Skip to content")
    expect(focused).to_be_in_viewport()
    visitor.keyboard.press("Enter")
    places = []
    for _ in range(12):
        visitor.keyboard.press("Tab")
        expect(focused).to_be_in_viewport()
        assert visitor.evaluate("document.activeElement.closest('article') !== null")
        places.append(
            visitor.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        )
    assert all(here < there for here, there in pairwise(places))


def test_chart_is_reached_and_read_from_the_keyboard(visitor: Page) -> None:
    visitor.goto("results/experiments/jit.html")
    visitor.get_by_role("button", name="Explore the numbers").focus()
    visitor.keyboard.press("Enter")
    slider = visitor.get_by_role("slider", name="size")
    status = visitor.get_by_role("status")
    expect(slider).to_be_visible()
    while not slider.evaluate("(slider) => slider === document.activeElement"):
        visitor.keyboard.press("Tab")
        assert visitor.evaluate("document.activeElement.closest('.jaxcap-explore') !== null")
    shown = status.locator("caption").inner_text()
    visitor.keyboard.press("ArrowLeft")
    expect(status.locator("caption")).not_to_have_text(shown)
    for variant in ("op by op", "jit"):
        expect(status.get_by_role("row", name=variant)).to_be_visible()


def test_chart_is_legible_and_accessible_in_a_theme_that_is_switched_to(visitor: Page) -> None:
    visitor.add_init_script(RECORDER)
    visitor.goto("results/experiments/jit.html")
    visitor.get_by_role("button", name="Explore the numbers").click()
    expect(visitor.locator(".jaxcap-explore canvas")).to_be_visible()
    seen = set()
    switch = visitor.get_by_role("button", name="Toggle Light").locator("visible=true")
    for _ in range(3):  # light, dark, and what the system has
        switch.click()
        assert violations(visitor) == {}
        background = visitor.evaluate(BACKGROUND)
        ratios = [contrast(text.colour, background) for text in texts(visitor)]
        assert min(ratios) >= 4.5
        seen.add(background)
    assert len(seen) == 2
    visitor.emulate_media(color_scheme="dark")
    background = visitor.evaluate(BACKGROUND)
    assert min(contrast(text.colour, background) for text in texts(visitor)) >= 4.5
