"""What scripts leave behind for pages to read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from fakes import ENVIRONMENT, make_pair
from jaxcap_docs import page_records, sources
from jaxcap_docs.lessons import TUTORIALS
from jaxcap_docs.page_records import PageRecord, ShownFigure
from jaxcap_docs.read import elements
from sphinx.errors import ExtensionError

from jaxcap.report import figures
from jaxcap.report.claims import claim, speedup_of
from jaxcap.results import ResultTable
from jaxcap.results.recordings import Recording
from jaxcap.results.statistics import Estimate, Speedup

PAGE, OTHER_PAGE, *_ = TUTORIALS
PAIR = make_pair([1e-3] * 6, [2e-3] * 6)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(page_records, "RECORDS", tmp_path)
    monkeypatch.setattr(page_records, "other_recordings", list)
    page_records.load.cache_clear()
    yield
    page_records.load.cache_clear()


def saved(
    variables: Mapping[str, Any],
    tables: Mapping[str, ResultTable] = MappingProxyType({}),
    shown: Sequence[ShownFigure] = (),
    page: str = PAGE,
) -> PageRecord:
    page_records.save(page, 2.5, variables, tables, shown)
    page_records.load.cache_clear()
    record = page_records.load(page)
    assert record is not None
    return record


def test_record_has_numbers_results_and_claims_each_once() -> None:
    speedup = PAIR.speedup("jit", over="op by op")
    claimed = claim("jit is faster", PAIR, speedup_of("jit", over="op by op"))
    variables = {"alone": PAIR[1], "pair": PAIR, "again": PAIR, "ratio": speedup, "steps": 1200}
    variables |= {"share": 1 / 3, "name": "jit", "is_fast": True, "it": claimed, "same": claimed}
    record = saved(variables)
    texts = {name: number.text for name, number in record.numbers.items()}
    assert texts == {
        "ratio": "2.000 times faster",
        "steps": "1,200",
        "share": "0.333",
        "name": "jit",
    }
    assert record.numbers["ratio"].detail == str(speedup)
    assert record.results == PAIR.results
    assert record.other_results == ()
    (listed,) = record.claims
    assert listed.statement == claimed.statement
    assert record.shown(listed.results).results == PAIR.results
    assert record.duration_s == 2.5


@pytest.mark.parametrize(
    ("processes", "is_settled"),
    [((1.0,), False), ((1.0, 1.1, 1.0, 0.9, 1.0, 1.1), True), ((1.0, 9.0, 0.2, 5.0), False)],
)
def test_number_is_settled_if_several_processes_agree_on_it(
    processes: tuple[float, ...], is_settled: bool
) -> None:
    time = Estimate.from_runs([[process] * 6 for process in processes], unit="s")
    numbers = saved({"time": time, "steps": 12}).numbers
    assert numbers["time"].is_settled == is_settled
    assert numbers["steps"].is_settled


@pytest.mark.parametrize(
    ("ratios", "is_settled"),
    [
        ((9.0, 30.0, 60.0, 12.0, 20.0, 40.0), True),
        ((0.2, 30.0, 60.0, 0.5, 20.0, 40.0), False),
        ((9.0,), False),
    ],
)
def test_speedup_is_settled_if_its_side_is_sure(
    ratios: tuple[float, ...], is_settled: bool
) -> None:
    speedup = Speedup.from_runs([[ratio] * 6 for ratio in ratios])
    number = saved({"speedup": speedup}).numbers["speedup"]
    assert number.is_settled == is_settled
    assert number.text.startswith("somewhere from ") == is_settled


def test_what_a_page_shows_is_kept_with_its_results_in_their_order() -> None:
    reverse = PAIR.subset(reversed(PAIR.results))
    unnamed = make_pair([1e-3] * 6, [2e-3] * 6)
    origin = figures.origin(figures.bars(reverse, title="Bars"))
    assert origin is not None
    shown, drawing = origin
    record = saved(
        {"pair": PAIR},
        {"times": reverse.table(), "speed-ups": unnamed.speedups(over="op by op")},
        [ShownFigure("a.png", drawing, shown, is_changed=False)],
    )
    times, speedups = record.tables
    (figure,) = record.figures
    assert (times.html, times.over, speedups.over) == ("times", None, "op by op")
    assert record.shown(times.results).results == reverse.results
    assert record.shown(speedups.results).results == unnamed.results
    assert record.shown(figure.results).results == reverse.results
    assert figure.drawing == drawing
    # What no variable names is shown, and not listed among the results of this build.
    assert record.other_results == unnamed.results
    assert record.results == PAIR.results


def test_file_that_would_not_change_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    sources.write_if_changed(path, "one")
    os.utime(path, ns=(0, 0))
    sources.write_if_changed(path, "one")
    assert path.stat().st_mtime_ns == 0
    sources.write_if_changed(path, "two")
    assert path.read_text("utf-8") == "two"
    assert path.stat().st_mtime_ns > 0


@pytest.mark.parametrize(
    ("slow_s", "text"),
    [
        ([1e-3] * 6, "2.000 times slower"),
        ([4e-3, 4e-2] * 6, "somewhere from 2 to 20 times faster"),
        ([2e-3] * 6, "about as fast (1.000 to 1.000)"),
        ([1e-3, 4e-3] * 6, "undecided (0.5 to 2.0)"),
    ],
)
def test_prose_quotes_a_comparison_in_its_direction(slow_s: list[float], text: str) -> None:
    speedup = make_pair([2e-3] * len(slow_s), slow_s).speedup("jit", over="op by op")
    record = saved({"speedup": speedup})
    assert record.numbers["speedup"].text == text


def test_page_that_did_not_run_has_no_record() -> None:
    assert page_records.load(PAGE) is None
    assert page_records.recordings() == []


def test_two_pages_with_one_experiment_are_named() -> None:
    saved({"results": PAIR})
    ((page, results),) = page_records.results_of_build().values()
    assert (page, results.results) == (PAGE, PAIR.results)
    saved({"results": PAIR}, page=OTHER_PAGE)
    assert len(page_records.results_of_build()) == 1  # the same, shown again
    saved({"results": make_pair([1e-3] * 6, [3e-3] * 6)}, page=OTHER_PAGE)
    with pytest.raises(ExtensionError, match=f"{PAGE} and {OTHER_PAGE} both measured"):
        page_records.results_of_build()


def test_recording_may_lack_the_version_of_jax_and_the_commit() -> None:
    environment = ENVIRONMENT.model_copy(update={"versions": {}, "commit": None})
    stamp = elements.stamp("Recorded on", environment, {})
    assert "Test CPU (CPU) · JAX of unknown version · 21 November 2026" in stamp["summary"]
    results = PAIR.model_copy(update={"environment": environment})
    text = page_records.differences_from_build(results)
    assert text.startswith("measured with JAX of unknown version, commit unknown; it differs")


def test_pages_repeat_no_recording_of_the_same_hardware_and_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    older = ENVIRONMENT.model_copy(update={"versions": {**ENVIRONMENT.versions, "jax": "0.1"}})
    elsewhere = ENVIRONMENT.model_copy(update={"cores": 1000})
    recordings = [
        Recording({"jit": PAIR.model_copy(update={"environment": environment})})
        for environment in (ENVIRONMENT, older, elsewhere)
    ]
    monkeypatch.setattr(page_records, "other_recordings", lambda: recordings)
    monkeypatch.setattr(page_records, "machine", lambda: ENVIRONMENT)
    assert page_records.recordings_elsewhere() == recordings[1:]


def test_recording_of_this_machine_is_read_but_for_what_a_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(page_records, "RECORDS", tmp_path)
    saved({"pair": PAIR})
    unseen = PAIR.model_copy(
        update={"results": tuple(r.model_copy(update={"comparison": "c"}) for r in PAIR)}
    )
    machine = Recording({"jit": PAIR, "unseen": unseen})
    monkeypatch.setattr(page_records, "load_all", lambda *_, **__: [machine])
    monkeypatch.setattr(page_records, "shown_machine", lambda: ENVIRONMENT)
    (recording,) = page_records.other_recordings.__wrapped__()
    assert list(recording.sets) == ["unseen"]
