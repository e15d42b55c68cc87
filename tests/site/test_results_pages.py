"""A machine that somebody recorded: it is to be seen everywhere, and whatever it says stays text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from conftest import TUTORIALS, Read, build, copy_project
from fakes import ENVIRONMENT, make_result, make_run, make_set
from playwright.sync_api import Browser

from jaxcap.environment import Device
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.experiments.jit import JIT
from jaxcap.experiments.typed import TYPED_JIT
from jaxcap.recording import file_of, recorded
from jaxcap.results import Result

PAGE = TUTORIALS[0]
# For HTML, for a script that holds JSON, for reStructuredText, for Markdown and for TeX.
HOSTILE = (
    "<img src=x onerror=\"document.title='ran'\"></script><script>document.title='ran'</script>"
    "</details> `x`_ |y| :math:`1` **z** [l](javascript:0) $\\frac{$ %(s)s {0} \\"
)
DEVICE = Device(platform="gpu", name=f"New GPU {HOSTILE}")
ENVIRONMENT_THERE = ENVIRONMENT.model_copy(
    update={
        "device": DEVICE,
        "cpu": HOSTILE,
        "platform_version": HOSTILE,
        "versions": {"jax": HOSTILE, HOSTILE: "1"},
        "flags": {HOSTILE: HOSTILE},
        "os": HOSTILE,
        "python": HOSTILE,
        "commit": HOSTILE,
        "code": HOSTILE,
    }
)
ON_GPU = [point for point in JIT.full if point["device"] == "gpu"]
RUNS = (make_run([5e-4] * 6), make_run([6e-4] * 6))


def save(folder: Path, results: Iterable[Result]) -> None:
    found = make_set(*results).model_copy(update={"environment": ENVIRONMENT_THERE})
    found.save(file_of(folder, ENVIRONMENT_THERE, found.results[0].experiment))


def measured(experiment: str, variants: Iterable[str], points: Iterable[Any]) -> list[Result]:
    variants = tuple(variants)
    return [
        make_result(
            variant,
            *RUNS,
            experiment=experiment,
            parameters=dict(point),
            device=DEVICE,
            rounds_with=variants,
            flops=1e6,
            bytes_moved=1e6,
        )
        for point in points
        for variant in variants
    ]


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a site of one tutorial, with a folder of recordings and no page edited."""
    project = copy_project(tmp_path_factory.mktemp("results") / "copy")
    folder = project / "docs" / "recorded"
    save(folder, measured(PAGE.replace("/", " "), "abc", [{}]))
    save(folder, measured(JIT.name, ("op by op", "jit", HOSTILE), ON_GPU))
    save(folder, measured(TYPED_JIT.name, ("jax.jit", HOSTILE), [{"size": HOSTILE}]))
    save(folder, measured(CEILINGS.name, ("JAX",), CEILINGS.full))
    assert len(recorded(folder, refuse=pytest.fail)) == 1
    done = build(project, PAGE)
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "docs" / "_build" / "html"


@pytest.fixture(scope="module")
def read(html: Path) -> Read:
    return lambda page: BeautifulSoup((html / f"{page}.html").read_text("utf-8"), "html.parser")


def test_tutorial_has_a_column_for_the_machine(read: Read) -> None:
    page = read(f"tutorials/{PAGE}")
    where = f"{DEVICE}, recorded 2026-11-21"
    times, speedups = page.select(".jaxcap-table table")
    for table, value, names in ((times, "550 µs", "abc"), (speedups, "undecided", "ac")):
        *_, last = table.select("thead th")
        assert last.get_text() == where
        rows = {
            row.select("th")[0].get_text(): row.select("td")[-1].get_text()
            for row in table.select("tbody tr")
        }
        assert "".join(rows) == names
        assert all(value in cell for cell in rows.values())
    assert "it differs from this build in" in page.get_text()
    (dropdown,) = page.select("details.sd-dropdown")
    assert where in dropdown.select("summary")[0].get_text()
    assert len(dropdown.select("img.jaxcap-plot")) == 2  # for light and for dark pages


@pytest.mark.parametrize("page", ["index", "roofline", "experiments/jit", "experiments/typed-jit"])
def test_results_have_the_machine(read: Read, page: str) -> None:
    assert "New GPU <img src=x" in read(f"results/{page}").select_one("article").get_text()


def test_experiment_has_times_and_speed_ups_of_the_machine(read: Read) -> None:
    page = read("results/experiments/jit")
    captions = [table.caption.get_text() for table in page.select("table")]
    assert captions == ["jit", f"Speed-up over op by op on {DEVICE}"]
    times, _ = page.select("table")
    assert len(times.select("tbody tr")) == 3 * len(ON_GPU)
    assert len(page.select("img.jaxcap-plot")) == 2


def test_experiments_without_results_say_so(read: Read) -> None:
    assert "No machine has measured this yet" in read("results/experiments/keys").get_text()


def test_roofline_names_what_limits_each_kernel(read: Read) -> None:
    counts, shares = read("results/roofline").select("table")
    rows = [[cell.get_text() for cell in row.select("th, td")] for row in counts.select("tbody tr")]
    assert sum(int(number) for _, number in rows) == len(shares.select("tbody tr"))
    assert {row.select("td")[-1].get_text() for row in shares.select("tbody tr")} == {
        name for name, _ in rows
    }


def test_files_are_served_as_they_were_sent(html: Path, read: Read) -> None:
    index = json.loads((html / "results" / "index.json").read_text("utf-8"))
    (entry,) = [one for one in index if one["experiment"] == JIT.name]
    assert entry["device"] == str(DEVICE)
    there = html / "results" / entry["file"]
    links = read("results/experiments/jit").select("a[download]")
    targets = [(html / "results/experiments" / link["href"]).resolve() for link in links]
    assert targets == [there, there.with_suffix(".csv")]
    assert json.loads(there.read_text("utf-8"))["environment"]["device"]["name"] == DEVICE.name


def test_what_files_say_never_runs(html: Path, browser: Browser) -> None:
    page = browser.new_page()
    seen: list[str] = []
    page.on("dialog", lambda dialog: seen.append(dialog.message))
    page.on("pageerror", lambda error: seen.append(str(error)))
    pages = [path for path in html.rglob("*.html") if "New GPU" in path.read_text("utf-8")]
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


def test_chart_is_drawn_when_asked_for(html: Path, browser: Browser) -> None:
    page = browser.new_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto((html / "results/experiments/jit.html").as_uri())
    assert not [url for url in loaded if "chart.js" in url]
    page.get_by_role("button", name="Hover over the times").click()
    page.wait_for_selector(".jaxcap-explore canvas")
    assert [url for url in loaded if "chart.js" in url]
    assert page.locator(".jaxcap-explore option").count() == 4  # a function each
    assert page.locator(".jaxcap-explore input").count() == 1  # a device each
    assert "New GPU" in page.locator(".jaxcap-explore label").inner_text()
    lines = "Chart.getChart(document.querySelector('.jaxcap-explore canvas')).data.datasets.length"
    assert page.evaluate(lines) == 3
    page.locator(".jaxcap-explore input").uncheck()
    assert page.evaluate(lines) == 0
    page.close()


def test_numbers_are_there_without_scripts(html: Path, browser: Browser) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((html / "results/experiments/jit.html").as_uri())
    assert page.get_by_text("550 µs (").first.is_visible()
    assert not page.locator(".jaxcap-explore button").is_visible()
    page.context.close()
