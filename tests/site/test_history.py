"""What a build leaves for the builds after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes import make_pair
from jaxcap_docs import build_entry, page_records
from jaxcap_docs.lessons import TUTORIALS
from jaxcap_docs.read.results import history
from made_up import CLAIMING_PAGE
from sites import ROOT, Read

from jaxcap.report.claims import claim, speedup_of

PAIR = make_pair([1e-3] * 6, [2e-3] * 6)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_records, "RECORDS", tmp_path)
    monkeypatch.setattr(page_records, "other_recordings", list)
    monkeypatch.setattr(page_records, "load", page_records.load.__wrapped__)


def test_headlines_are_those_of_the_home_page() -> None:
    home = " ".join((ROOT / "docs" / "index.md").read_text(encoding="utf-8").split())
    for variable in build_entry.HEADLINES:
        assert f"{{settled}}`{variable} than " in home


def test_entry_has_headlines_and_claims_with_their_intervals() -> None:
    speedup = PAIR.speedup("jit", over="op by op")
    claimed = claim("jit is much faster", PAIR, speedup_of("jit", over="op by op"), above=100)
    variable, text = next(iter(build_entry.HEADLINES.items()))
    page, _, name = variable.partition("#")
    other = next(tutorial for tutorial in TUTORIALS if tutorial != page)
    page_records.save(page, 1.0, {name: speedup, "unshown": speedup}, {}, [])
    page_records.save(other, 1.0, {"claimed": claimed}, {}, [])
    entry = build_entry.entry_of_build()
    assert entry is not None
    here = page_records.load(page)
    assert here is not None
    assert entry.machine == str(here.environment.device)
    interval = page_records.Interval(
        value=speedup.value, low=speedup.low, high=speedup.high, confidence=speedup.confidence
    )
    assert entry.findings == (
        build_entry.HistoryRow(page=page, text=text, outcome=None, interval=interval),
        build_entry.HistoryRow(
            page=other,
            text="Jit is much faster",
            needs=claimed.statement.needs,
            outcome="fails",
            interval=interval,
        ),
    )
    assert build_entry.BuildEntry.model_validate_json(entry.model_dump_json()) == entry


@pytest.mark.parametrize(("confidence", "shown"), [(0.95, "2 to 4"), (0.5, "")])
def test_an_interval_is_shown_where_it_is_as_sure_as_the_table_says(
    confidence: float, shown: str
) -> None:
    interval = page_records.Interval(value=3, low=2, high=4, confidence=confidence)
    finding = build_entry.HistoryRow(page="a/b", text="Speed-up", outcome=None, interval=interval)
    assert history._row(finding) == ("Speed-up", "3", shown, "", "")


def test_a_number_that_decides_a_claim_has_no_second_row() -> None:
    interval = page_records.Interval(value=3, low=2, high=4, confidence=0.95)
    other = page_records.Interval(value=5, low=2, high=9, confidence=0.95)
    claimed = build_entry.HistoryRow(page="a/b", text="It is", outcome="holds", interval=interval)
    same = build_entry.HistoryRow(page="a/b", text="Speed-up", outcome=None, interval=interval)
    distinct = build_entry.HistoryRow(page="a/b", text="Time", outcome=None, interval=other)
    assert history._shown([same, distinct, claimed]) == [distinct, claimed]


def test_a_build_without_tutorials_leaves_nothing() -> None:
    assert build_entry.entry_of_build() is None


def test_site_serves_its_entry_and_shows_it(small_site: Path, read_small: Read) -> None:
    entry = json.loads((small_site / "history.json").read_text(encoding="utf-8"))
    claims = [one for one in entry["findings"] if one["page"] == CLAIMING_PAGE]
    assert [one["outcome"] for one in claims] == ["fails", "holds"]
    page = read_small("results/history")
    table = page.select_one(".jaxcap-history table")
    assert entry["machine"] in table.caption.get_text()
    assert [row.th.get_text() for row in table.select("tbody tr")] == [
        one["text"] for one in entry["findings"]
    ]
    assert page.select_one("a[download]")["href"] == "../history.json"
