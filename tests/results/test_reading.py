"""Files of schema version 1, which are still read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxcap.results import ResultsError, ResultSet

VERSION_1 = Path(__file__).parent / "data" / "version-1.json"


def converted(path: Path, change: Callable[[dict[str, Any]], object]) -> ResultSet:
    """Read the file of version 1 after a change, from another place."""
    content = json.loads(VERSION_1.read_bytes())
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return ResultSet.load(path)


def test_no_measurement_is_touched(tmp_path: Path) -> None:
    results = ResultSet.load(VERSION_1)
    results.save(tmp_path / "new.json")
    old, new = (json.loads(p.read_bytes()) for p in (VERSION_1, tmp_path / "new.json"))
    assert (old["schema_version"], new["schema_version"]) == (1, 2)
    code = old["environment"].pop("code")
    assert old["environment"] == new["environment"]
    for before, after in zip(old["results"], new["results"], strict=True):
        del before["rounds_with"], after["comparison"]
        assert after.pop("code") == code
        for new_field in ("planned_processes", "budget_s", "temporary_bytes"):
            assert after.pop(new_field) is None
        for new_field in ("involuntary_switches", "other_work", "slowness"):
            assert [run.pop(new_field) for run in after["runs"]] == [[]] * len(before["runs"])
        assert before == after


def test_those_that_took_turns_are_still_compared() -> None:
    results = ResultSet.load(VERSION_1)
    assert len({result.comparison for result in results}) == 1
    assert len(results.speedups(over="jax.jit").rows) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["environment"].update(cores=1),
        lambda content: content["results"][0].update(rounds_with=["another"]),
        lambda content: content["results"][0].update(allocator="default"),
        lambda content: content["results"][0]["parameters"].update(size=7),
    ],
    ids=["another machine", "other variants", "another allocator", "other parameters"],
)
def test_those_of_other_comparisons_are_not(
    change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    changed = converted(tmp_path / "changed.json", change)[0]
    with pytest.raises(ResultsError, match="were not measured in the same rounds"):
        changed.speedup(ResultSet.load(VERSION_1)[1])


def test_the_order_of_parameters_does_not_matter(tmp_path: Path) -> None:
    def shuffle(content: dict[str, Any]) -> None:
        for number, result in enumerate(content["results"]):
            pairs = [("size", 100), ("kind", "a")]
            result["parameters"] = dict(reversed(pairs) if number else pairs)

    results = converted(tmp_path / "changed.json", shuffle)
    assert len({result.comparison for result in results}) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("environment"),
        lambda content: content.update(environment=[]),
        lambda content: content["environment"].pop("code"),
        lambda content: content.update(results=3),
        lambda content: content["results"][0].pop("rounds_with"),
        lambda content: content["results"][0].update(parameters=[1]),
        lambda content: content["results"][0].update(runs=None),
    ],
    ids=["no environment", "a list", "no code", "a number", "no rounds", "parameters", "no runs"],
)
def test_what_version_1_did_not_have_is_refused(
    change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    with pytest.raises(ResultsError, match="is not a valid result file"):
        converted(tmp_path / "broken.json", change)
