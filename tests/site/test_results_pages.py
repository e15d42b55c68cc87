"""A recording of another machine: it is shown on all pages, and its texts never become markup."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from made_up import DEVICE, MEASURING_PAGE, ON_GPU
from playwright.sync_api import Browser
from sites import Read

from jaxcap.experiments.jit import JIT


def test_tutorial_has_a_column_for_the_machine(read_small: Read) -> None:
    page = read_small(f"tutorials/{MEASURING_PAGE}")
    label = f"{DEVICE}, recorded 2026-11-21"
    times, speedups = page.select(".jaxcap-table table")
    for table, value, names in ((times, "550 µs", "abc"), (speedups, "about as fast", "ac")):
        *_, last = table.select("thead th")
        assert last.get_text() == label
        rows = {
            row.select("th")[0].get_text(): row.select("td")[-1].get_text()
            for row in table.select("tbody tr")
        }
        assert "".join(rows) == names
        assert all(value in cell for cell in rows.values())
    assert "it differs from this build in" in page.get_text()
    (dropdown,) = page.select("details.sd-dropdown")
    assert label in dropdown.select("summary")[0].get_text()
    assert len(dropdown.select("img.jaxcap-plot")) == 2  # for light and for dark pages


@pytest.mark.parametrize("page", ["index", "roofline", "experiments/jit", "experiments/typed-jit"])
def test_results_have_the_machine(read_small: Read, page: str) -> None:
    assert "New GPU <img src=x" in read_small(f"results/{page}").select_one("article").get_text()


def test_experiment_has_times_and_speed_ups_of_the_machine(read_small: Read) -> None:
    page = read_small("results/experiments/jit")
    captions = [table.caption.get_text() for table in page.select("table")]
    assert captions == [JIT.title, f"Compared with op by op on {DEVICE}, recorded 2026-11-21"]
    times, _ = page.select("table")
    assert len(times.select("tbody tr")) == 3 * len(ON_GPU)
    assert len(page.select("img.jaxcap-plot")) == 2


def test_experiments_without_results_say_so(read_small: Read) -> None:
    assert "No machine has measured this yet" in read_small("results/experiments/keys").get_text()


def test_roofline_names_what_limits_each_kernel(read_small: Read) -> None:
    counts, shares = read_small("results/roofline").select(".jaxcap-table table")
    rows = [[cell.get_text() for cell in row.select("th, td")] for row in counts.select("tbody tr")]
    assert sum(int(number) for _, number in rows) == len(shares.select("tbody tr"))
    assert {row.select("td")[-1].get_text() for row in shares.select("tbody tr")} == {
        name for name, _ in rows
    }


def test_files_are_served_as_they_were_sent(small_site: Path, read_small: Read) -> None:
    index = json.loads((small_site / "results" / "index.json").read_text("utf-8"))
    (entry,) = [entry for entry in index if entry["experiment"] == JIT.name]
    assert entry["device"] == str(DEVICE)
    file = small_site / "results" / entry["file"]
    links = read_small("results/experiments/jit").select("a[download]")
    targets = [(small_site / "results/experiments" / link["href"]).resolve() for link in links]
    assert targets == [file, file.with_suffix(".csv")]
    assert json.loads(file.read_text("utf-8"))["environment"]["device"]["name"] == DEVICE.name


def test_what_files_say_never_runs(small_site: Path, browser: Browser) -> None:
    page = browser.new_page()
    seen: list[str] = []
    page.on("dialog", lambda dialog: seen.append(dialog.message))
    page.on("pageerror", lambda error: seen.append(str(error)))
    pages = [path for path in small_site.rglob("*.html") if "New GPU" in path.read_text("utf-8")]
    assert len(pages) >= 6
    for path in pages:
        page.goto(path.as_uri())
        for button in page.locator(".jaxcap-explore button").all():
            button.click()
            page.wait_for_selector(".jaxcap-explore canvas")
        assert page.title() != "ran", path
        assert page.locator("img[src=x]").count() == 0, path
        assert page.locator("a[href^=javascript]").count() == 0, path
    assert seen == []
    page.close()


def test_chart_replaces_the_plots_when_asked_for(small_site: Path, browser: Browser) -> None:
    page = browser.new_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto((small_site / "results/experiments/jit.html").as_uri())
    plot = page.locator(".jaxcap-explore img.only-light")
    assert plot.is_visible()
    assert not [url for url in loaded if "uplot" in url]
    page.get_by_role("button", name="Explore the numbers").click()
    page.wait_for_selector(".jaxcap-explore canvas")
    assert [url for url in loaded if "uplot" in url]
    assert not plot.is_visible()
    part = page.get_by_role("combobox", name="Part")
    assert part.locator("option").count() == 4  # a function each
    assert page.get_by_role("status").locator("tbody tr").count() == 3
    page.get_by_role("button", name="Back to the plots").click()
    assert plot.is_visible()
    page.close()


def test_numbers_are_there_without_scripts(small_site: Path, browser: Browser) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((small_site / "results/experiments/jit.html").as_uri())
    page.get_by_text(re.compile(rf"^{JIT.title}: \d+ rows$")).click()  # a long table is folded
    assert page.get_by_text("550 µs (").first.is_visible()
    assert not page.locator(".jaxcap-explore button").is_visible()
    page.context.close()
