"""Bets on a tutorial's main comparison, on pages of their own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from docutils import nodes
from fakes import make_result, make_run, make_set
from jaxcap_docs.read.elements import json_script
from jaxcap_docs.read.tutorials.bets import bet_on, main_claim, right_answers
from made_up import HOSTILE
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from sites import ROOT, Read

from jaxcap.report.claims import Claim, claim, speedup_of
from jaxcap.results.statistics import Speedup

PAGE = """<!doctype html>
<html lang="en"><head><title>Bets</title><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="_static/jaxcap.css"><script src="_static/bets.js" defer></script></head>
<body><main><h1>A tutorial</h1>
<div class="jaxcap-takeaway"><p class="admonition-title">Takeaway</p>{bet}<p>In short: jit wins.</p></div>
<section><h2>The measurement</h2><p>Behold.</p><span id="the-claim"></span></section></main></body></html>
"""


def compared(*ratios: float, variant: str = "jit") -> Claim:
    """Make up a claim about a variant that was so many times faster in each process."""
    fast = make_result(variant, *(make_run([1e-3] * 6) for _ in ratios))
    slow = make_result("NumPy", *(make_run([1e-3 * ratio] * 6) for ratio in ratios))
    return claim("jit is <i>faster</i>", make_set(fast, slow), speedup_of(variant, over="NumPy"))


CLAIMS = {
    "faster": compared(3.0, 3.1, 2.9),
    "slower": compared(0.1, 0.101, 0.099),
    "same": compared(1.0, 1.01, 0.99),
    "undecided": compared(0.3, 1.0, 3.0),
    "hostile": compared(3.0, 3.1, 2.9, variant=HOSTILE),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a page for each claim, and of one with the settings alone."""
    folder = tmp_path_factory.mktemp("bets")
    shutil.copytree(ROOT / "docs" / "_static", folder / "_static")
    for name, made in CLAIMS.items():
        data = {"page": name, "anchor": "the-claim", "settings": "settings.html", **bet_on(made)}
        box = f'<div class="jaxcap-bet">{json_script(data)}</div>'
        (folder / f"{name}.html").write_text(PAGE.format(bet=box), encoding="utf-8")
    settings = PAGE.format(bet='<div class="jaxcap-bet"></div>')
    (folder / "settings.html").write_text(settings, encoding="utf-8")
    return folder


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser on a phone that has kept no bets."""
    made = browser.new_context(viewport={"width": 390, "height": 844})
    yield made
    made.close()


@pytest.fixture
def reader(context: BrowserContext) -> Iterator[Page]:
    """A page that must not raise."""
    page = context.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(error.message))
    yield page
    assert said == []


def bet(page: Page, address: Path, direction: str, factor: str | None = None) -> Locator:
    """Bet on a page, and return what it says then."""
    page.goto(address.as_uri())
    page.locator(".jaxcap-bet > details > summary").click()
    page.get_by_role("radio", name=direction).check()
    if factor:
        page.get_by_role("radio", name=factor, exact=True).check()
    page.get_by_role("button", name="Bet", exact=True).click()
    return page.get_by_role("status")


@pytest.mark.parametrize(
    ("name", "direction", "factor", "expected"),
    [
        ("faster", "faster", "3 times", "factor of 3 is within a factor of two"),
        ("faster", "faster", "30 times", "your factor of 30 is 10 times too large"),
        ("slower", "slower", "1.5 times", "and your factor of 1.5 is 6.7 times too small"),
        ("faster", "slower", "3 times", "Your direction is wrong."),
        ("faster", "about the same", None, "Your direction is wrong."),
        ("same", "about the same", None, "Your bet is right."),
        ("same", "faster", "10 times", "Your direction is wrong."),
        ("undecided", "faster", "3 times", "so your bet isn't scored."),
    ],
)
def test_bet_is_scored_by_what_was_measured(
    reader: Page, site: Path, name: str, direction: str, factor: str | None, expected: str
) -> None:
    status = bet(reader, site / f"{name}.html", direction, factor)
    expect(status).to_contain_text(bet_on(CLAIMS[name])["measured"])
    expect(status).to_contain_text(expected)
    expect(reader.get_by_role("button", name="Bet", exact=True)).to_have_count(0)
    expect(reader.locator(".jaxcap-bet > details > summary")).to_contain_text("Your bet: is")


def test_tally_is_kept_over_pages_until_it_is_cleared(reader: Page, site: Path) -> None:
    bet(reader, site / "faster.html", "faster", "30 times")
    bet(reader, site / "undecided.html", "faster", "30 times")
    status = bet(reader, site / "same.html", "about the same")
    tally = (
        "you bet twice: your direction was right twice, and your factor within a factor of two once"
    )
    expect(status).to_contain_text(tally)
    reader.goto((site / "settings.html").as_uri())
    expect(status).to_contain_text(tally)
    reader.get_by_role("button", name="Clear my bets").click()
    expect(status).to_have_text("So far none of your bets has been scored.")
    reader.goto((site / "faster.html").as_uri())
    expect(reader.locator("form")).to_have_count(1)


def test_bet_that_was_made_is_shown_again(reader: Page, site: Path) -> None:
    said = bet(reader, site / "faster.html", "faster", "3 times").inner_text()
    reader.reload()
    reader.locator(".jaxcap-bet > details > summary").click()
    expect(reader.get_by_role("status")).to_have_text(said)


def test_answer_is_folded_only_for_readers_who_ask(reader: Page, site: Path) -> None:
    answers = reader.get_by_text("In short: jit wins."), reader.get_by_text("Behold.")
    reader.goto((site / "faster.html").as_uri())
    for answer in answers:
        expect(answer).to_be_visible()
    reader.goto((site / "settings.html").as_uri())
    reader.get_by_role("combobox").select_option("fold results away until I bet")
    reader.goto((site / "faster.html").as_uri())
    for answer in answers:
        expect(answer).to_be_hidden()
    expect(reader.get_by_role("heading", name="The measurement")).to_be_visible()
    reader.get_by_text("Takeaway: folded away").click()  # without a bet
    expect(answers[0]).to_be_visible()
    reader.get_by_role("radio", name="slower").check()
    reader.get_by_role("radio", name="10 times", exact=True).check()
    reader.get_by_role("button", name="Bet", exact=True).click()
    for answer in answers:
        expect(answer).to_be_visible()
    reader.reload()
    for answer in answers:
        expect(answer).to_be_visible()


def test_takeaway_is_folded_while_a_bet_is_open(reader: Page, site: Path) -> None:
    takeaway = reader.get_by_text("In short: jit wins.")
    box = reader.locator(".jaxcap-bet > details > summary")
    reader.goto((site / "faster.html").as_uri())
    box.click()
    expect(takeaway).to_be_hidden()
    expect(reader.get_by_text("Behold.")).to_be_visible()
    box.click()  # without a bet
    expect(takeaway).to_be_visible()
    bet(reader, site / "faster.html", "faster", "3 times")
    expect(takeaway).to_be_visible()
    reader.get_by_role("button", name="Clear my bets").click()
    expect(takeaway).to_be_hidden()


def test_answer_unfolds_when_folding_is_switched_off(reader: Page, site: Path) -> None:
    reader.goto((site / "faster.html").as_uri())
    reader.locator(".jaxcap-bet > details > summary").click()
    for mode, visible in (("fold results", False), ("offer bets", True)):
        option = reader.get_by_role("option", name=mode).get_attribute("value")
        reader.get_by_role("combobox").select_option(option)
        expect(reader.get_by_text("Behold.")).to_be_visible(visible=visible)


def test_bets_are_switched_off_and_on_again(reader: Page, site: Path) -> None:
    reader.goto((site / "faster.html").as_uri())
    reader.locator(".jaxcap-bet > details > summary").click()
    reader.get_by_role("combobox").select_option("no bets")
    expect(reader.locator("form")).to_have_count(0)
    expect(reader.get_by_role("link", name="How we measure")).to_be_visible()
    reader.goto((site / "slower.html").as_uri())
    expect(reader.locator(".jaxcap-bet")).to_be_hidden()
    reader.goto((site / "settings.html").as_uri())
    reader.get_by_role("combobox").select_option("offer bets")
    reader.goto((site / "slower.html").as_uri())
    expect(reader.locator(".jaxcap-bet")).to_be_visible()


def test_bet_is_made_with_keys_alone(reader: Page, site: Path) -> None:
    reader.goto((site / "faster.html").as_uri())
    for key in ("Tab", "Enter", "Tab", "Space", "Tab", "Space", "ArrowDown", "Tab", "Enter"):
        reader.keyboard.press(key)
    expect(reader.get_by_role("status")).to_contain_text("your factor of 3 is within")
    expect(reader.locator(".jaxcap-bet > details > summary")).to_be_focused()


def test_bet_without_a_factor_is_not_taken(reader: Page, site: Path) -> None:
    expect(bet(reader, site / "faster.html", "faster")).to_be_empty()
    expect(reader.locator("form")).to_have_count(1)


@pytest.mark.parametrize("name", ["faster", "settings"])
def test_bet_is_accessible_and_fits_a_phone(reader: Page, site: Path, name: str) -> None:
    reader.goto((site / f"{name}.html").as_uri())
    if name != "settings":
        reader.locator(".jaxcap-bet > details > summary").click()
    assert [found["id"] for found in Axe().run(reader).response["violations"]] == []
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("name", ["faster", "settings"])
def test_nothing_is_offered_without_scripts(browser: Browser, site: Path, name: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / f"{name}.html").as_uri())
    expect(page.locator(".jaxcap-bet")).to_be_hidden()
    expect(page.get_by_text("In short: jit wins.")).to_be_visible()
    context.close()


def test_names_only_become_text(reader: Page, site: Path) -> None:
    said = bet(reader, site / "hostile.html", "faster", "3 times")
    expect(said).to_contain_text(HOSTILE)
    assert reader.title() != "ran"
    assert reader.locator("img[src=x]").count() == 0


def test_bets_work_where_the_browser_keeps_nothing(context: BrowserContext, site: Path) -> None:
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })"
    )
    page = context.new_page()
    expect(bet(page, site / "faster.html", "faster", "3 times")).to_contain_text("you bet once")


@pytest.mark.parametrize(
    ("ratios", "answers"),
    [
        ((3.0, 3.1, 2.9), ["faster"]),
        ((0.1, 0.101, 0.099), ["slower"]),
        ((1.0, 1.01, 0.99), ["same"]),
        ((1.1, 1.101, 1.102), ["faster", "same"]),
        ((0.3, 1.0, 3.0), []),
    ],
)
def test_right_answers_follow_the_interval(ratios: tuple[float, ...], answers: list[str]) -> None:
    assert right_answers(compared(*ratios).estimate) == answers


def test_few_samples_make_no_answer_right() -> None:
    assert right_answers(Speedup.from_runs([[3.0, 3.0]])) == []


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [((), "same"), (("slower",), "slower"), (("faster", "slower"), "slower")],
)
def test_bet_is_on_the_first_claim_that_the_takeaway_quotes(
    quoted: tuple[str, ...], expected: str
) -> None:
    """A claim about whatever took turns with a variant can't be asked about."""
    speedups = [f'<span title="{CLAIMS[name].estimate}, measured today">' for name in quoted]
    takeaway = nodes.admonition("", *(nodes.raw("", span) for span in speedups))
    fast = CLAIMS["faster"]
    unnamed = claim("jit is faster", fast.results, speedup_of(over="NumPy"))
    claims = [unnamed, CLAIMS["same"], CLAIMS["slower"], fast]
    record: Any = SimpleNamespace(checked_claims=lambda: claims)
    assert main_claim(record, [takeaway]) is CLAIMS[expected]


def test_claim_that_gives_its_answer_away_makes_no_bet() -> None:
    asked = speedup_of("jit", over="NumPy")
    results = CLAIMS["same"].results
    itself = claim("it is as fast as itself", results, asked, above=0.8, below=1.25)
    record: Any = SimpleNamespace(checked_claims=lambda: [itself, CLAIMS["faster"]])
    assert main_claim(record, []) is CLAIMS["faster"]


def test_page_without_a_claim_has_no_bet() -> None:
    record: Any = SimpleNamespace(checked_claims=list)
    assert main_claim(record, []) is None


def test_bet_heads_the_takeaway(read: Read) -> None:
    page = read("tutorials/basics/introduction")
    (box,) = page.select(".jaxcap-bet")
    assert page.select(".jaxcap-takeaway > .admonition-title + .jaxcap-bet") == [box]
    data = json.loads(box.script.string)
    assert page.find(id=data["anchor"])
    settings, _, anchor = data["settings"].partition("#")
    assert settings == "../../measuring.html"
    assert read("measuring").find(id=anchor)
    assert len(read("measuring").select(".jaxcap-bet")) == 1


def test_measurement_is_quoted_with_its_interval() -> None:
    quoted = bet_on(CLAIMS["faster"])["measured"]
    assert quoted.startswith("Measured on ")
    assert "“jit” was 3.0 times faster than “NumPy” (95% interval " in quoted
    quoted = bet_on(CLAIMS["undecided"])["measured"]
    assert "“jit” was not measurably faster or slower than “NumPy” (" in quoted
