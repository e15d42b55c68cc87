"""Readers' own results on the pages that builds write: from a command to a column and to claims."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes import ENVIRONMENT, make_result, make_run, make_set
from made_up import CLAIMING_PAGE, MEASURING_PAGE
from playwright.sync_api import Browser, Page, expect
from sites import PAGES, Read, own_lock
from test_reader import as_file, choose, columns

from jaxcap.experiments import catalogue
from jaxcap.results import Device, ResultSet
from jaxcap.results.files import slug

MINE = Device(platform="cpu", name="My CPU")


@pytest.fixture
def reader(browser: Browser) -> Iterator[Page]:
    """A page that must not raise."""
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(error.message))
    yield page
    assert said == []
    context.close()


def mine(experiment: str) -> ResultSet:
    """Make up results in which one variant is twice as fast as the other."""
    results = (
        make_result(
            variant,
            *(make_run([seconds] * 6) for _ in range(3)),
            experiment=experiment,
            device=MINE,
        )
        for variant, seconds in (("a", 1e-3), ("b", 2e-3))
    )
    environment = ENVIRONMENT.model_copy(update={"device": MINE})
    return make_set(*results).model_copy(update={"environment": environment})


def test_command_to_column(small_site: Path, reader: Page, tmp_path: Path) -> None:
    """As a reader does it: measure, open the page, and choose the file."""
    file = tmp_path / "jit.json"
    options = ("--device", "cpu", "--budget", "0.01", "--json", str(file), "--quiet")
    command = (sys.executable, "-m", "jaxcap", "jit", *options)
    subprocess.run(command, env=os.environ | own_lock(tmp_path), check=True)
    reader.goto((small_site / "results" / "experiments" / "jit.html").as_uri())
    saved = {"name": file.name, "mimeType": "", "buffer": file.read_bytes()}
    status = choose(reader, saved)
    results = ResultSet.load(file)
    expect(status).to_contain_text("Your numbers are in 2 of 2 tables of results on this page.")
    column = columns(reader)[f"{results.environment.device}, yours"]
    assert len([cell for cell in column if cell]) == len(results)
    assert any(cell.startswith(results[0].time.short) for cell in column)


def test_file_is_in_tables_and_judges_claims_of_all_pages(small_site: Path, reader: Page) -> None:
    measuring, claiming = (
        (small_site / "tutorials" / f"{page}.html").as_uri()
        for page in (MEASURING_PAGE, CLAIMING_PAGE)
    )
    reader.goto(measuring)
    tables = mine(MEASURING_PAGE.replace("/", " ")), mine("dictionaries")
    status = choose(reader, *(as_file(results) for results in tables))
    expect(status).to_contain_text("Your numbers are in 2 of 2 tables of results on this page.")
    assert columns(reader)["My CPU (CPU), yours"][:2] == [
        "1.00 ms (1.00 to 1.00)",
        "2.0 ms (2.0 to 2.0)",
    ]
    reader.goto(claiming)
    summary = reader.locator(".jaxcap-reader summary")
    expect(summary).to_have_text("Your machine: 1 of 2 claims holds; 1 does not hold")
    boxes = reader.locator(".jaxcap-claim.jaxcap-yours .jaxcap-outcome")
    assert boxes.all_inner_texts() == ["✗ Does not hold on your machine", "✓ Holds on your machine"]
    reader.goto((small_site / "results" / "claims.html").as_uri())
    cells = reader.locator("tbody td.jaxcap-yours .jaxcap-outcome")
    expect(cells).to_have_text(["✗ does not hold", "✓ holds"])
    expect(summary).to_have_text("Your machine: 1 of 2 claims holds; 1 does not hold")


def rows_of_tables(read: Read, page: str) -> list[tuple[Any, int]]:
    """Return the data of the tables of a page, and how many rows each has."""
    tables = read(page).select(".jaxcap-table:has(> script)")
    return [(json.loads(t.script.string), len(t.select("tbody tr"))) for t in tables]


@pytest.mark.parametrize("page", PAGES)
def test_data_of_tables_are_of_their_rows(read: Read, page: str) -> None:
    for data, rows in rows_of_tables(read, page):
        assert len(data["rows"]) == rows


def test_data_of_tables_with_other_machines_are_of_their_rows(read_small: Read) -> None:
    for page in (f"tutorials/{MEASURING_PAGE}", "results/experiments/jit"):
        tables = rows_of_tables(read_small, page)
        assert len(tables) == 2
        for data, rows in tables:
            assert len(data["rows"]) == rows


def test_pages_with_results_have_the_control(read_small: Read) -> None:
    measured = {"jit", "typed_jit", "ceilings"}
    pages = [
        "results/claims",
        *(f"tutorials/{page}" for page in (MEASURING_PAGE, CLAIMING_PAGE)),
        *(f"results/experiments/{slug(name)}" for name in catalogue() if name in measured),
    ]
    for page in pages:
        shown = read_small(page)
        assert len(shown.select("article .jaxcap-reader")) == 1, page
        assert len(shown.select("script[src*='_static/reader.js']")) == 1, page
    assert not read_small("measuring").select(".jaxcap-reader, script[src*='reader']")
