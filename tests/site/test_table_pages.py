"""Tables: their heads, how they scroll on a phone, and how readers pick some of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from sites import PAGES, ROOT, Read

from jaxcap import published

THEN_AND_NOW = "results/then_and_now"
WIDE = "results/experiments/ceilings"
MOST_COLUMNS = 6
# A comparison by two parameters besides the size: three columns say what, then come a variant, the
# verdict, the ratio and its interval. A column for each variant shows which is fastest at a glance.
WIDER = {
    "results/experiments/ceilings": 7,
    "results/experiments/dispatch": 7,
    "results/experiments/mnist-throughput": 7,
}
PLACE = "(element) => element.getBoundingClientRect().x"
SHADOW = "(element) => getComputedStyle(element).boxShadow"


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    yield context.new_page()
    context.close()


@pytest.fixture
def then_and_now(html: Path, phone: Page) -> Page:
    phone.goto((html / f"{THEN_AND_NOW}.html").as_uri())
    return phone


@pytest.fixture
def wide_table(html: Path, phone: Page) -> Locator:
    phone.goto((html / f"{WIDE}.html").as_uri())
    return phone.locator(".jaxcap-table").last


@pytest.mark.parametrize("page", PAGES)
def test_heads_of_tables_say_what_they_head(read: Read, page: str) -> None:
    heads = read(page).select("article th")
    assert [head for head in heads if head.get("scope") not in {"col", "row"}] == []


@pytest.mark.parametrize("page", PAGES)
def test_tables_have_few_columns(read: Read, page: str) -> None:
    """Six fit beside the text; each other machine adds one, and more than that have a reason above."""
    machines = len([path for path in (ROOT / "docs" / "recorded").iterdir() if path.is_dir()])
    most = WIDER.get(page, MOST_COLUMNS) + machines - 1
    for table in read(page).select("article table"):
        columns = max(len(row.select("th, td")) for row in table.select("tr"))
        assert columns <= most, table.get_text(" | ")[:200]


@pytest.mark.usefixtures("html")
def test_some_tables_have_heads_of_rows_from_docutils(read: Read) -> None:
    assert read("results/claims").select("table.docutils th[scope=row]")


def test_what_heads_a_row_stays_where_the_others_scroll(wide_table: Locator) -> None:
    head, cell = wide_table.locator("tbody th").first, wide_table.locator("tbody td").first
    before = head.evaluate(PLACE), cell.evaluate(PLACE)
    wide_table.evaluate("(table) => table.scrollBy(100, 0)")
    assert (head.evaluate(PLACE), cell.evaluate(PLACE)) == (before[0], before[1] - 100)
    assert "rgba" not in head.evaluate("(head) => getComputedStyle(head).backgroundColor")


def test_shadow_says_that_there_is_more_to_the_right(phone: Page, wide_table: Locator) -> None:
    assert "-12px" in wide_table.evaluate(SHADOW)
    wide_table.evaluate("(table) => table.scrollTo(table.scrollWidth, 0)")
    gone = f"(box) => !({SHADOW})(box).includes('-12px')"
    phone.wait_for_function(gone, arg=wide_table.element_handle())


def test_published_values_are_cards_on_a_phone(then_and_now: Page) -> None:
    tables = then_and_now.locator(".then-and-now .jaxcap-table")
    for table in tables.all():
        assert table.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    label = "(cell) => getComputedStyle(cell, '::before').content"
    cells = tables.first.locator("tbody tr").first.locator("td")
    heads = tables.first.locator("thead th").all_text_contents()[1:-1]
    for cell, head in zip(cells.all(), heads, strict=False):
        assert cell.evaluate(label).strip('": ') == head.split(":")[0]


def rows(part: Locator) -> tuple[int, int]:
    """Return how many rows are shown, and how many there are."""
    every = part.locator("tbody tr")
    return every.locator("visible=true").count(), every.count()


def test_rows_are_picked_from_the_keyboard(then_and_now: Page) -> None:
    part = then_and_now.locator(".then-and-now")
    _, count = rows(part)
    select = part.get_by_role("combobox", name="Show")
    select.focus()
    then_and_now.keyboard.press("ArrowDown")
    conclusion = select.input_value()
    shown, _ = rows(part)
    assert 0 < shown < count
    for row in part.locator("tbody tr").locator("visible=true").all():
        expect(row.locator("td").last).to_contain_text(conclusion)
    expect(part.get_by_role("status")).to_have_text(f"{shown} of {count} rows")
    select.select_option("all")
    assert rows(part) == (count, count)


def test_picked_conclusion_is_highlighted_in_the_chart(html: Path, then_and_now: Page) -> None:
    chart = then_and_now.locator("img.only-light[src*=then-and-now]")
    select = then_and_now.get_by_role("combobox", name="Highlight")
    address = "../_images/then-and-now.svg"
    svg = (html / "results" / address).read_text(encoding="utf-8")
    expect(chart).to_have_attribute("src", address)
    for_phones = chart.locator("xpath=../source")
    for name in select.locator("option").all_inner_texts()[1:]:
        select.select_option(name)
        series = published.series_id(published.Conclusion(name))
        expect(chart).to_have_attribute("src", f"{address}#{series}.0")
        narrow = f"{address.removesuffix('.svg')}_phone.svg#{series}.0"
        expect(for_phones).to_have_attribute("srcset", narrow)
        assert f'<g id="{series}.0">' in svg
        assert f'[id="{series}.0"]:target' in svg
    select.select_option("all")
    expect(chart).to_have_attribute("src", address)


def test_experiments_are_picked_among_shares_of_a_limit(html: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((html / "results/roofline.html").as_uri())
    part = page.locator("details", has=page.locator(".jaxcap-pick")).first
    part.locator("summary").click()
    _, count = rows(part)
    select = part.get_by_role("combobox", name="Experiment")
    for name in select.locator("option").all_inner_texts()[1:]:
        select.select_option(name)
        shown, _ = rows(part)
        heads = part.locator("tbody tr").locator("visible=true").locator("th").all_inner_texts()
        assert set(heads) == {name}
        assert 0 < shown <= count
    page.close()
