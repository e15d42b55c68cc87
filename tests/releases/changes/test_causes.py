"""What is known about the causes of changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from releases_made_up import record

from jaxcap.releases.benchmarks import BENCHMARKS
from jaxcap.releases.changes.causes import Cause, causes
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.recorded import load


@pytest.fixture
def releases(tmp_path: Path) -> Releases:
    releases = load(record(tmp_path / "releases"))
    assert releases
    return releases


def test_a_cause_explains_changes_at_its_release_only(releases: Releases) -> None:
    (change,) = releases.changes
    assert change.series.topic == "loops"
    assert Cause("0.4.32", "loops", "", "a sentence", "https://example.org").explains(change)
    assert not Cause("0.4.31", "loops", "", "a sentence", "https://example.org").explains(change)
    assert not Cause("0.4.32", "sorting", "", "a sentence", "https://example.org").explains(change)


@pytest.mark.parametrize(
    ("direction", "is_explained"), [("slower", True), ("faster", False), ("", True)]
)
def test_a_cause_may_explain_one_direction_only(
    direction: str, is_explained: bool, releases: Releases
) -> None:
    (change,) = releases.changes
    cause = Cause("0.4.32", "loops", "", "a sentence", "https://example.org", direction)
    assert cause.explains(change) == is_explained


def test_causes_name_topics_and_benchmarks_that_exist() -> None:
    topics = {benchmark.topic for benchmark in BENCHMARKS.values()}
    for cause in causes():
        assert bool(cause.topic) != bool(cause.benchmark)
        assert cause.topic in topics or cause.benchmark in BENCHMARKS
        assert cause.link.startswith("https://github.com/")
        assert cause.cause.endswith(".")
        assert cause.direction in {"slower", "faster", ""}
