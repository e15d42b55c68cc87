"""The landing page: what it is, why to believe it, where to begin, and what each tutorial found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fakes import make_result, make_run, make_set
from jaxcap_docs.lessons import TUTORIALS, reading_minutes
from jaxcap_docs.read import landing
from made_up import CLAIMING_PAGE, MEASURING_PAGE
from playwright.sync_api import Browser, expect
from sites import ROOT, Read

from jaxcap.experiments import dispatch, mistakes
from jaxcap.experiments.mistakes import MISTAKES
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.statistics import QUOTABLE_SPREAD

ROWS = "ol.jaxcap-path > li"
UNCERTAIN = "not measured closely enough to compare with "
# Not a measured number, but one that a page counted, computed or found.
COUNTED = re.compile(r"^(counted|computed|found), measured ")
INTERVAL = re.compile(r"95% interval ([\d.,]+) to ([\d.,]+), (\d+) processes")


def test_each_tutorial_has_a_numbered_row_in_reading_order(read: Read) -> None:
    page = read("index")
    links = [urlsplit(row.p.a["href"]).path for row in page.select(ROWS)]
    assert links == [f"tutorials/{name}.html" for name in TUTORIALS]
    number = 1
    for part in page.select("ol.jaxcap-path"):
        assert int(part.get("start", 1)) == number
        number += len(part.select("li"))
    for name, row in zip(TUTORIALS, page.select(ROWS), strict=True):
        title = read(f"tutorials/{name}").h1.get_text().rstrip("¶#")
        assert row.p.a.get_text() == title
        assert re.fullmatch(r"(core, )?[1-9]\d* min", row.select_one(".jaxcap-minutes").get_text())


def test_tutorials_that_many_others_build_on_are_marked(read: Read) -> None:
    page = read("index")
    rows = dict(zip(TUTORIALS, page.select(ROWS), strict=True))
    marked = [name for name, row in rows.items() if "jaxcap-core" in row.get("class", [])]
    assert {"basics/introduction", "transformations/jit"} <= set(marked)
    assert "basics/generators" not in marked  # nothing builds on it
    times = [rows[name].select_one(".jaxcap-minutes").get_text() for name in marked]
    assert all(time.startswith("core, ") for time in times)
    minutes = sum(int(time.split()[1]) for time in times)
    assert f"{len(marked)} tutorials marked core, which take {minutes} minutes" in page.get_text()


def test_each_tutorial_answers_its_question_by_what_it_measured() -> None:
    home = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    answered = set(re.findall(r"\{settled\}`([\w/]+)#", home))
    assert answered == set(TUTORIALS)


def test_cards_say_in_short_what_the_landing_page_answers(read: Read) -> None:
    answers = {
        urlsplit(row.p.a["href"]).path: " ".join(row.get_text().split())
        for row in read("index").select(ROWS)
    }
    cards = read("tutorials/index").select(".sphx-glr-thumbcontainer")
    assert len(cards) == len(TUTORIALS)
    for card in cards:
        words = " ".join(card.select_one(".jaxcap-card").get_text().split())
        assert words.removesuffix(".") in answers[f"tutorials/{card.a['href']}"]


def test_landing_page_quotes_no_weak_number(html: Path, read: Read) -> None:
    page = read("index")
    numbers = page.select(".jaxcap-measured")
    is_trial = "quick trial" in (html / "index.html").read_text(encoding="utf-8")
    assert is_trial or len(numbers) > len(TUTORIALS) / 2
    for number in numbers:
        assert number.find_parent("ol", class_="jaxcap-path")
        if number.get_text().startswith("somewhere from "):  # its side is sure
            continue
        if not COUNTED.search(number["title"]):
            ((*ends, processes),) = INTERVAL.findall(number["title"])
            low, high = (float(end.replace(",", "")) for end in ends)
            assert high <= 1.1 * QUOTABLE_SPREAD * low, number  # as rounded in the title
            assert int(processes) > 1, number


def test_findings_lead_to_their_tutorials_with_a_plot_for_each_theme(read: Read) -> None:
    shown = read("index").select(".jaxcap-findings > div")
    assert [follow["href"] for finding in shown for follow in finding.select("a")] == [
        f"tutorials/{subject.tutorial}.html" for subject in landing.SUBJECTS
    ]
    for finding in shown:
        light, dark = finding.select("img.jaxcap-plot")
        assert "only-light" in light["class"]
        assert "only-dark" in dark["class"]
        for image in (light, dark):
            assert image["alt"].startswith(f"{finding.a.get_text()}.")


def test_page_reads_well_where_little_was_run(read_small: Read) -> None:
    page = read_small("index")
    assert not page.select(".jaxcap-findings")
    rows = dict(zip(TUTORIALS, page.select(ROWS), strict=True))
    for name, row in rows.items():
        answers = row.select("p")[1:]
        if name == MEASURING_PAGE:  # in one process
            assert [UNCERTAIN in answer.get_text() for answer in answers] == [True]
        elif name == CLAIMING_PAGE:  # a number that wasn't timed
            assert len(answers) == 1
        else:
            assert answers == []
    assert [number.get_text() for number in page.select(".jaxcap-measured")] == ["7.5"]


def test_strip_says_what_was_checked_with_a_way_to_each(read_small: Read) -> None:
    strip = read_small("index").select_one("ul.jaxcap-trust")
    links = [a["href"] for a in strip.select("li > p:first-child > a")]
    pages = ("results/claims", "results/then_and_now", "releases/index", "measuring")
    assert links == [f"{page}.html" for page in pages]
    claims, *_ = strip.select("li")
    assert claims.get_text(" ", strip=True) == "2 claims checked does not hold: 1, holds: 1"


def test_ways_in_are_to_read_to_run_and_to_check(read: Read) -> None:
    ways = read("index").select(".jaxcap-ways a")
    assert {way.get_text(strip=True): way["href"] for way in ways} == {
        "Read: what is JAX?": "tutorials/basics/introduction.html",
        "Run it yourself": "#run-it-yourself",
        "Check the numbers": "results/index.html",
    }


@pytest.mark.parametrize("site", ["small", "built"])
def test_landing_page_says_where_notebooks_open(read: Read, read_small: Read, site: str) -> None:
    page = {"small": read_small, "built": read}[site]
    opens = bool(page("tutorials/basics/introduction").select(".jaxcap-facts a[href*=colab]"))
    assert ("Colab" in page("index").select_one("#run-it-yourself").get_text()) is opens


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_first_screen_says_what_it_is_why_to_believe_it_and_where_to_begin(
    browser: Browser, served: str, width: int, height: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(f"{served}index.html")
    seen = [page.get_by_role("heading", level=1), page.locator("h1 + p")]
    seen += page.locator(".jaxcap-ways a").all() + page.locator(".jaxcap-trust li").all()
    assert len(seen) == 2 + 3 + 4
    for element in seen:
        expect(element).to_be_in_viewport(ratio=1)
    page.close()


def grown(jit_s: dict[int, float]) -> ResultSet:
    """NumPy takes a millisecond for all polynomials."""
    return make_set(
        *(
            make_result(
                variant,
                *[make_run([time_s] * 6)] * 6,
                parameters={"computation": "polynomial", "size": size},
            )
            for size, fast_s in jit_s.items()
            for variant, time_s in ((dispatch.NUMPY, 1e-3), (dispatch.JIT, fast_s))
        )
    )


def test_start_is_where_jax_is_faster_at_all_larger_sizes_too() -> None:
    assert landing.overtaking(grown({16: 5e-4, 256: 2e-3, 4096: 5e-4, 65536: 1e-4})).start == 4096
    assert landing.overtaking(grown({16: 5e-4, 256: 2e-3})).start is None


def timed(**samples_s: Sequence[float]) -> list[Result]:
    """Each variant of the mistakes took a millisecond or what is given, and its first call ten."""
    variants = {
        mistakes.PRODUCTS: (mistakes.JAX_32,),
        mistakes.COMPILING: (mistakes.COMPILED,),
        mistakes.SENDING: (mistakes.SENT, mistakes.ON_DEVICE),
        mistakes.WRAPPING: (mistakes.NEW_LAMBDA, mistakes.NEW_WRAPPER, mistakes.WRAPPED_ONCE),
        mistakes.OPPONENTS: (mistakes.COMPILED,),
    }
    return [
        make_result(
            name,
            *[make_run(samples_s.get(name, [1e-3] * 6), first_call_s=1e-2, dispatch_s=1e-4)] * 6,
            experiment=MISTAKES.name,
            parameters={"question": question},
        )
        for question, names in variants.items()
        for name in names
    ]


def test_mistakes_are_those_that_mistake_the_time_of_one_call() -> None:
    rows = landing.timed_wrong(make_set(*timed())).rows
    factors = {row.name: round(row.factor.value, 3) for row in rows}
    assert factors == {
        "stopping the clock too early": 10.0,
        "averaging the compiler in": 1.9,
        "sending the data each time": 1.0,
        "wrapping anew each time": 1.0,
        "a new lambda each time": 1.0,
    }


def test_a_mistake_that_took_turns_is_off_by_what_its_tutorial_says() -> None:
    """The median of the ratios within rounds, which isn't the quotient of the medians."""
    samples_s = {
        mistakes.NEW_LAMBDA: [6e-3, 2e-3, 20e-3],
        mistakes.NEW_WRAPPER: [1e-3] * 3,
        mistakes.WRAPPED_ONCE: [1e-3, 2e-3, 4e-3],
    }
    *_, row = landing.timed_wrong(make_set(*timed(**samples_s))).rows
    assert (row.wrong.value / row.right.value, row.factor.value) == pytest.approx((3.0, 5.0))


def test_results_that_lack_what_is_shown_are_no_headline() -> None:
    with pytest.raises(ResultsError):
        landing.timed_wrong(make_set(*timed()[1:]))
    with pytest.raises(ResultsError):
        landing.overtaking(make_set(*timed()))


@pytest.mark.parametrize(("words", "minutes"), [(10, 1), (200, 1), (290, 1), (310, 2), (2000, 10)])
def test_minutes_follow_from_the_words(words: int, minutes: int, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text('"""Title\n====="""\n# %%\n# ' + "word " * (words - 2) + "\n", "utf-8")
    assert reading_minutes(script) == minutes


def test_a_line_of_code_takes_as_long_as_five_words(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text('"""Title\n====="""\n' + "f(x)\n\n" * 80, "utf-8")
    assert reading_minutes(script) == 2
