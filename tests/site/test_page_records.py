"""What scripts leave behind for pages to read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import ENVIRONMENT, make_pair
from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS
from jaxcap_docs.read import elements
from sphinx.errors import ExtensionError

from jaxcap.report.claims import claim

PAGE, OTHER_PAGE, *_ = TUTORIALS
PAIR = make_pair([1e-3] * 6, [2e-3] * 6)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(page_records, "RECORDS", tmp_path)
    monkeypatch.setattr(page_records, "other_recordings", list)
    page_records.load.cache_clear()
    yield
    page_records.load.cache_clear()


def test_record_has_numbers_results_and_claims_each_once() -> None:
    speedup = PAIR.speedup("jit", over="op by op")
    claimed = claim("jit is faster", PAIR, lambda _: speedup, above=1)
    variables = {"alone": PAIR[1], "pair": PAIR, "again": PAIR, "ratio": speedup, "steps": 1200}
    variables |= {"share": 1 / 3, "name": "jit", "is_fast": True, "it": claimed, "same": claimed}
    page_records.save(PAGE, 2.5, variables, {"a table": "a wider one"})
    record = page_records.load(PAGE)
    assert record is not None
    texts = {name: number.text for name, number in record.numbers.items()}
    assert texts == {
        "ratio": "2.000 times faster",
        "steps": "1,200",
        "share": "0.333",
        "name": "jit",
    }
    assert record.numbers["ratio"].detail == str(speedup)
    assert record.results is not None
    assert record.results.results == PAIR.results
    (listed,) = record.claims
    ((machine, outcome),) = listed.outcomes.items()
    assert machine.endswith(", in this build")
    assert outcome.outcome == claimed.outcome
    assert (record.duration_s, record.tables) == (2.5, {"a table": "a wider one"})


@pytest.mark.parametrize(
    ("slow_s", "text"),
    [
        ([1e-3] * 6, "2.000 times slower"),
        ([4e-3, 4e-2] * 6, "somewhere from 2 to 20 times faster"),
        ([2e-3] * 6, "no faster (1.000 to 1.000)"),
        ([1e-3, 4e-3] * 6, "undecided (0.5 to 2.0)"),
    ],
)
def test_prose_quotes_a_comparison_in_its_direction(slow_s: list[float], text: str) -> None:
    speedup = make_pair([2e-3] * len(slow_s), slow_s).speedup("jit", over="op by op")
    page_records.save(PAGE, 1.0, {"speedup": speedup}, {})
    record = page_records.load(PAGE)
    assert record is not None
    assert record.numbers["speedup"].text == text


def test_page_that_did_not_run_has_no_record() -> None:
    assert page_records.load(PAGE) is None
    assert page_records.recordings() == []


def test_two_pages_with_one_experiment_are_named() -> None:
    page_records.save(PAGE, 1.0, {"results": PAIR}, {})
    ((page, results),) = page_records.results_of_build().values()
    assert (page, results.results) == (PAGE, PAIR.results)
    page_records.save(OTHER_PAGE, 1.0, {"results": PAIR}, {})
    page_records.load.cache_clear()
    with pytest.raises(ExtensionError, match=f"{PAGE} and {OTHER_PAGE} both measured"):
        page_records.results_of_build()


def test_recording_may_lack_the_version_of_jax_and_the_commit() -> None:
    environment = ENVIRONMENT.model_copy(update={"versions": {}, "commit": None})
    stamp = elements.stamp("Recorded on", environment, {})
    assert "Test CPU (CPU) · JAX of unknown version · 21 November 2026" in stamp.astext()
    results = PAIR.model_copy(update={"environment": environment})
    text = page_records.differences_from_build(results)
    assert text.startswith("measured with JAX of unknown version, commit unknown; it differs")
