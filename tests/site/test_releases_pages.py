"""The pages of JAX's releases, from a made-up recording."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from bs4 import BeautifulSoup
from jaxcap_docs import page_records, release_records
from jaxcap_docs.read.releases import parts, replays, topics
from jaxcap_docs.read.releases.changes import explanations, second_words, then_and_now
from playwright.sync_api import Browser, expect
from releases_made_up import CONTROL_MOVES, NAMES, REGRESSES, UNCHANGED, record
from sites import Read

from jaxcap.releases.benchmarks import BENCHMARKS
from jaxcap.releases.changes.comparison import OTHER
from jaxcap.releases.changes.replays import REPLAYS, ReplayStanding
from jaxcap.releases.recorded import TOPICS, load
from jaxcap.results import ResultSet
from jaxcap.results.files import slug

INDEX, LOOPS = "releases/index", "releases/topics/loops"


def rows(page: BeautifulSoup, caption: str) -> list[list[str]]:
    for table in page.select(".jaxcap-table table"):
        if caption in table.select_one("caption").get_text():  # type: ignore[union-attr]
            lines = table.select("tbody tr")
            return [[cell.get_text() for cell in line.select("th, td")] for line in lines]
    return []


def test_changes_are_listed_with_what_is_known_of_them(read_small: Read) -> None:
    page = read_small(INDEX)
    (change,) = rows(page, "from one release to the next")
    assert change[:3] == [REGRESSES, NAMES[1], "3.0 times slower"]
    assert "thunk runtime" in page.get_text()
    (regression,) = rows(page, "1 of 4 benchmarks")
    assert regression[0] == REGRESSES
    assert regression[1] == f"3.0 times slower than in {NAMES[0]}"


def test_an_uncertain_second_recording_is_called_undecided(tmp_path: Path) -> None:
    files = record(tmp_path / "releases")
    record(files.again.folder, names=NAMES[:2], seed=1, processes=1)
    releases = load(files)
    assert releases
    (change,) = releases.changes
    assert second_words(releases, change).startswith("undecided (")


def test_then_and_now_counts_what_the_list_of_changes_would(tmp_path: Path) -> None:
    releases = load(record(tmp_path / "releases"))
    assert releases
    directive: Any = SimpleNamespace(env=SimpleNamespace(docname=INDEX))
    (table,) = then_and_now(directive, releases)
    page = BeautifulSoup(table.astext(), "html.parser")
    counts = {topic: numbers for topic, *numbers, _ in rows(page, "compared with")}
    assert counts["loops"] == ["0", "0", "1"]
    # NumPy's time changed as well.
    assert counts[BENCHMARKS[CONTROL_MOVES].topic] == ["0", "1", "0"]


def test_a_cause_is_told_with_its_own_release(tmp_path: Path) -> None:
    releases = load(record(tmp_path / "releases"))
    assert releases
    (change,) = releases.changes
    (told,) = explanations([change])
    assert change.after == "0.4.33"
    # Which was withdrawn.
    text = told.astext()
    assert "loops in 0.4.32 (which wasn't measured; it shows in 0.4.33): " in text
    (told,) = explanations([replace(change, after="0.4.32")])
    assert "loops in 0.4.32: " in told.astext()


def test_a_topic_tells_a_cause_once(read_small: Read) -> None:
    assert read_small(LOOPS).get_text().count("thunk runtime") == 1


def test_plot_of_a_benchmark_states_the_finding(read_small: Read) -> None:
    section = read_small(LOOPS).find(id=slug(REGRESSES))
    assert section.select_one("img")["alt"].startswith("3.0 times slower since 0.4.33")


@pytest.mark.parametrize(
    "changed", ["code/series.py", "code/causes.csv", "machine/releases/0.9.json"]
)
def test_plots_are_drawn_anew_when_a_recording_or_the_code_changes(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_records, "CODE", tmp_path / "code")
    monkeypatch.setattr(page_records, "RECORDED", tmp_path)
    path = tmp_path / changed
    path.parent.mkdir(parents=True)
    digest = release_records.digest.__wrapped__  # a build asks once
    path.write_text("one")
    first = digest()
    assert digest() == first
    path.write_text("two")
    assert digest() != first


def test_plot_that_is_too_wide_for_a_phone_can_be_scrolled_where_its_letters_would_be_too_small(
    read_small: Read,
) -> None:
    page = read_small(INDEX)
    assert page.select(".jaxcap-wide img.jaxcap-plot")
    assert not page.select(".jaxcap-wide picture")
    assert not read_small(LOOPS).select(".jaxcap-wide")


def test_a_topic_says_what_changed_most(read_small: Read) -> None:
    text = " ".join(read_small(LOOPS).get_text().split())
    changed = f"Between JAX {NAMES[0]} and {NAMES[-1]}, 1 of 1 benchmark changed for the worse."
    largest = f"That is {REGRESSES}, which is now 3.0 times slower."
    step = "The only change from one release to the next came with 0.4.33"
    assert f"{changed} {largest} {step}: {REGRESSES}, 3.0 times slower." in text


def test_a_topic_whose_benchmarks_did_not_change_says_so(read_small: Read) -> None:
    text = read_small("releases/topics/reductions").get_text()
    assert f"Between JAX {NAMES[0]} and {NAMES[-1]}, the benchmark didn't change clearly." in text
    assert "From one release to the next, no change is certain." in text


def test_a_topic_says_if_the_next_change_undid_the_largest(tmp_path: Path) -> None:
    releases = load(record(tmp_path / "releases"))
    assert releases
    (slower,) = releases.changes
    faster = replace(slower, before="0.6.0", after="0.7.0", ratio=0.5)
    text = topics._largest_step([slower, faster])
    assert text.startswith(
        "Of 2 changes from one release to the next, the largest came with 0.4.33"
    )
    assert text.endswith("</a>, 3.0 times slower, and then 2.0 times faster in 0.7.0.")
    again = replace(faster, ratio=2)
    assert topics._largest_step([slower, again]).endswith("</a>, 3.0 times slower.")


def test_numbers_can_be_downloaded(small_site: Path, read_small: Read) -> None:
    (address,) = (link["href"] for link in read_small(LOOPS).select("a[href$='#files']"))
    files = "releases/noise"
    page = small_site / f"{files}.html"
    assert (small_site / LOOPS).parent.joinpath(address.partition("#")[0]).resolve() == page
    assert read_small(files).select("section#files")
    links = read_small(files).select("a[download][href$='.json']")
    assert [link.get_text() for link in links] == [*NAMES, f"{NAMES[-1]} twin"]
    for link in links:
        ResultSet.load(page.parent / link["href"])


def test_newest_release_is_compared_with_itself(read_small: Read) -> None:
    text = read_small("releases/noise").get_text()
    assert (
        f"JAX {NAMES[-1]} was compared with itself in 4 benchmarks. The rules above call none of"
        in text
    )


def test_benchmarks_that_only_recordings_still_have_get_a_page(tmp_path: Path) -> None:
    known = load(record(tmp_path / "known"))
    renamed = load(record(tmp_path / "renamed", unchanged=["a former name"]))
    assert known
    assert renamed
    assert OTHER not in topics.pages([known])
    others = topics.pages([known, renamed])[OTHER]
    assert f"{{releases-topic}} {OTHER}\n" in others


def test_each_topic_says_what_its_programs_stress() -> None:
    assert set(topics.STRESSES) == set(TOPICS.values())


def test_topics_without_results_say_so(read_small: Read) -> None:
    assert "No benchmark of this topic was recorded" in read_small("releases/topics/memory").text


def test_page_begins_with_what_became_better_and_worse(read_small: Read) -> None:
    introduction = read_small(INDEX).select_one("h1").parent.find_all("p", recursive=False)
    answer = next(paragraph.strong for paragraph in introduction if paragraph.strong)
    assert answer.get_text().startswith(f"Of 4 benchmarks, 0 do better under JAX {NAMES[-1]}")


def test_map_is_walked_by_the_keyboard(small_site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((small_site / f"{INDEX}.html").as_uri())
    picture = page.locator(".jaxcap-releases-static")
    expect(picture).to_be_visible()
    button = page.locator(".jaxcap-releases button")
    button.press("Enter")
    expect(picture).to_be_hidden()
    page.locator("td[tabindex='0']").focus()
    page.keyboard.press("Home")
    status = page.locator(".jaxcap-releases-status")
    expect(status).to_contain_text(f"JAX {NAMES[0]}: ")
    page.keyboard.press("ArrowRight")
    expect(status).to_contain_text(f"JAX {NAMES[1]}: ")
    page.get_by_label("Topic").select_option("loops")
    expect(page.locator("table[role=grid] tbody tr")).to_have_count(1)
    button.click()
    expect(picture).to_be_visible()
    expect(page.locator("table[role=grid]")).to_be_hidden()
    button.click()
    page.locator("td[tabindex='0']").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{LOOPS}.html#{slug(REGRESSES)}")
    page.close()


def test_map_on_a_phone_is_the_one_to_walk_through(small_site: Path, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto((small_site / f"{INDEX}.html").as_uri())
    page.locator(".jaxcap-releases").scroll_into_view_if_needed()
    expect(page.locator("table[role=grid]")).to_be_visible()
    expect(page.locator(".jaxcap-releases-static")).to_be_hidden()
    context.close()


def test_first_tap_on_the_map_shows_a_value_and_the_second_leads_to_the_plot(
    small_site: Path, browser: Browser
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto((small_site / f"{INDEX}.html").as_uri())
    page.locator(".jaxcap-releases").scroll_into_view_if_needed()
    page.get_by_label("Topic").select_option("loops")
    cell = page.locator("table[role=grid] tbody td").last
    cell.tap()
    expect(page.locator(".jaxcap-releases-status")).to_contain_text(f"JAX {NAMES[-1]}: ")
    cell.tap()
    page.wait_for_url(f"**/{LOOPS}.html#{slug(REGRESSES)}")
    context.close()


def test_map_can_be_seen_without_scripts(small_site: Path, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((small_site / f"{INDEX}.html").as_uri())
    expect(page.locator(".jaxcap-releases-static img:visible")).to_have_count(1)
    expect(page.locator(".jaxcap-releases button")).to_be_hidden()
    context.close()


def test_map_holds_all_quantities(small_site: Path, read_small: Read) -> None:
    source = read_small(INDEX).select_one(".jaxcap-releases button")["data-source"]
    script = (small_site / "releases" / source).read_text(encoding="utf-8")
    data = json.loads(script.removeprefix("globalThis.jaxcapReleases = ").removesuffix(";\n"))
    assert {one["quantity"] for one in data["series"]} == {"time", "first call", "temporary memory"}
    own = [one for one in data["series"] if one["own"] and one["benchmark"] == UNCHANGED]
    assert [one["quantity"] for one in own] == [BENCHMARKS[UNCHANGED].quantity]


def test_claims_are_checked_under_each_release(read_small: Read) -> None:
    page = read_small("releases/claims")
    ((claim, outcome, ratios),) = rows(page, "Claims by release")
    assert claim == "adding ten numbers takes longer in JAX than in NumPy"
    assert outcome == f"holds under all {len(NAMES)} releases"
    assert [float(ratio) for ratio in ratios.split(", ")] == pytest.approx([6, 6], rel=0.2)
    lesson = page.select_one(".jaxcap-table a")["href"]
    assert lesson == "../tutorials/performance/dispatch_overhead.html"


def test_claims_are_counted_by_their_outcomes() -> None:
    def claim(*outcomes: str) -> Any:
        return SimpleNamespace(outcomes=dict(enumerate(outcomes)))

    holds, fails = claim("holds", "holds"), claim("holds", "fails", "undecided")
    undecided = claim("holds", "undecided")
    assert parts.counted([holds, fails, fails, undecided]) == (
        "Of 4 claims, 1 holds under every release, 2 fail under at least one and 1 never fails but "
        "can't always be decided."
    )
    assert parts.counted([holds]) == "Of 1 claim, 1 holds under every release."


def test_issues_are_counted_and_grouped_by_what_became_of_them(read_small: Read) -> None:
    page = read_small("releases/issues")
    threads = len({replay.thread for replay in REPLAYS})
    text = " ".join(page.get_text().split())
    assert f"We replayed {len(REPLAYS)} slowdowns from {threads} threads on " in text
    (section,) = page.select("section:has(> .jaxcap-replay)")  # the made-up recording has none
    assert section["id"] == "not-measured"
    assert page.select("strong a[href='#not-measured']")
    assert len(section.select(".jaxcap-replay")) == len(REPLAYS)


def test_issues_that_were_counted_are_named_in_a_sentence() -> None:
    releases: Any = SimpleNamespace(device="a CPU", newest="0.8.0")
    counts: dict[ReplayStanding, int] = {"still there": 1, "fixed": 2, "not seen": 3}
    text = BeautifulSoup(replays.counted(counts, releases), "html.parser").get_text()
    assert text.startswith("We replayed 6 slowdowns from ")
    assert text.endswith("Under JAX 0.8.0, 1 is still there, 2 fixed and 3 not seen.")
    assert set(replays.GROUPS) == set(get_args(ReplayStanding))


def test_part_of_jax_in_old_times_is_measured(read_small: Read) -> None:
    ((work, benchmark, _, newest, ratio),) = rows(read_small("results/then_and_now"), "JAX's part")
    assert (work, benchmark) == ("dot of JAX's arrays", CONTROL_MOVES)
    assert newest.endswith(f"({NAMES[-1]})")
    assert float(ratio.split()[0]) == pytest.approx(0.5, rel=0.1)
