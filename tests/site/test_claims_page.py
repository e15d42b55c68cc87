"""Claims on a site: what doesn't hold is shown as failing, and all are listed by device."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from conftest import TUTORIALS, Read, build, copy_project
from fakes import ENVIRONMENT, make_result, make_run, make_set

from jaxcap.environment import Device
from jaxcap.recording import file_of

PAGE, *OTHERS = TUTORIALS
# A ratio that no machine measures, and one that every machine does.
LESSON = '''"""
Claims
======

It measures :measured:`speedup`.
"""
# %%
import matplotlib.pyplot as plt
from jaxcap.claims import claim
from jaxcap.timing import compare

results = compare({"a": list, "b": dict}, experiment="dictionaries", budget_s=0.01)
speedup = results.speedup("a", over="b")
untrue = claim(
    "lists are made <i>much</i> faster", results, lambda r: r.speedup("a", over="b"), above=1e9
)
untrue
# %%
true = claim(
    "lists & dictionaries are made", results, lambda r: r.speedup("a", over="b"), above=1e-9
)
true
# %%
_ = plt.plot([1, 2])
'''
HOSTILE = Device(platform="gpu", name="<script>alert(1)</script>")


def record_elsewhere(folder: Path) -> None:
    """Pretend that a machine recorded this comparison, and one another."""
    for name, experiment in ((HOSTILE.name, "dictionaries"), ("Other GPU", "something else")):
        device = Device(platform="gpu", name=name)
        both = [
            make_result(
                variant,
                make_run(samples_s),
                experiment=experiment,
                device=device,
                rounds_with=("a", "b"),
            )
            for variant, samples_s in (("a", [1e-9] * 6), ("b", [1e3] * 6))
        ]
        environment = ENVIRONMENT.model_copy(update={"device": device})
        recorded = make_set(*both).model_copy(update={"environment": environment})
        recorded.save(file_of(folder, environment, experiment))


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Build a site where one page ran, and parse its pages."""
    project = copy_project(tmp_path_factory.mktemp("claims") / "copy")
    (project / "gallery" / f"{PAGE}.py").write_text(LESSON, encoding="utf-8")
    shutil.rmtree(project / "docs" / "recorded", ignore_errors=True)
    record_elsewhere(project / "docs" / "recorded")
    done = build(project, PAGE)
    assert done.returncode == 0, done.stdout + done.stderr
    html = project / "docs" / "_build" / "html"
    return lambda page: BeautifulSoup((html / f"{page}.html").read_text("utf-8"), "html.parser")


def test_a_claim_that_fails_is_shown_as_failing_and_not_asserted(read: Read) -> None:
    page = read(f"tutorials/{PAGE}")
    untrue, true = page.select(".jaxcap-claim")
    assert "jaxcap-fails" in untrue["class"]
    assert untrue.select_one(".jaxcap-outcome").get_text() == "✗ Does not hold here"
    contradicted = "The measurements contradict the claim that lists are made <i>much</i> faster."
    assert contradicted in untrue.get_text()
    assert "claimed: more than 1e+09" in untrue.get_text()
    assert "Lists & dictionaries are made." in true.get_text()
    for cell in page.select("div.highlight-Python"):
        cell.extract()
    assert page.select_one("article").get_text().lower().count("lists are made") == 1


def test_all_claims_are_listed_by_device(read: Read) -> None:
    _, table = read("results/claims").select("table.jaxcap-claims")
    claimed, here, elsewhere = (cell.get_text() for cell in table.select("thead th"))
    assert claimed == "It is claimed"
    assert here.endswith(", in this build")
    assert elsewhere == f"{HOSTILE}, recorded 2026-11-21"
    first, second = table.select("tbody tr")
    assert "that lists are made <i>much</i> faster (needs more than 1e+09)" in first.get_text()
    assert first.select_one("a")["href"].endswith(f"tutorials/{PAGE}.html")
    assert first.select_one("a").get_text() == "Claims"
    outcomes = [
        [cell.select_one(".jaxcap-outcome").get_text() for cell in row.select("td")]
        for row in (first, second)
    ]
    assert outcomes == [["✗ does not hold", "✓ holds"], ["✓ holds", "✓ holds"]]
    assert all("interval" in cell.get_text() for cell in table.select("td"))


def test_outcomes_are_counted_by_device(read: Read) -> None:
    counts, _ = read("results/claims").select("table.jaxcap-claims")
    rows = [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in counts("tr")]
    assert rows[0] == ["Device", "holds", "does not hold", "undecided", "not measured"]
    assert [row[1:] for row in rows[1:]] == [["1", "1", "0", "0"], ["2", "0", "0", "0"]]


def test_pages_that_did_not_run_are_named(read: Read) -> None:
    links = [a["href"] for a in read("results/claims").select("article ul a.internal")]
    assert sorted(links) == [f"../tutorials/{page}.html" for page in OTHERS]


def test_names_from_elsewhere_are_no_markup(read: Read) -> None:
    page = read("results/claims")
    assert not [script for script in page("script") if "alert(1)" in script.get_text()]
    assert not page.select("table i")
