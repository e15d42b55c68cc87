"""The recordings that this repository holds, and where those of a machine are kept."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fakes import CPU, ENVIRONMENT, GPU, make_result, make_set

from jaxcap.experiments import unknown_parameters
from jaxcap.results import Device, Environment, Result, ResultsError, ResultSet
from jaxcap.results.files import ENVIRONMENT_FILE, recording_path
from jaxcap.results.recordings import (
    Recording,
    changes_since,
    load_all,
    load_recording,
    matching_results,
)

RECORDED = Path(__file__).parents[2] / "docs" / "recorded"


def test_every_file_can_be_used() -> None:
    load_all(RECORDED, on_invalid=pytest.fail, check=unknown_parameters)


def test_every_folder_says_which_machine_it_is_of() -> None:
    for folder in RECORDED.glob("*/"):
        text = (folder / ENVIRONMENT_FILE).read_text(encoding="utf-8")
        environment = Environment.model_validate_json(text)
        assert recording_path(RECORDED, environment, "any").parent == folder


OTHER_CORES = ENVIRONMENT.model_copy(update={"cores": 64})
NEWER = ENVIRONMENT.model_copy(update={"python": "3.14.0", "versions": {"jax": "1.0"}})


@pytest.mark.parametrize(("later", "days"), [(0, "2026-11-02"), (1, "2026-11-02 to 2026-11-03")])
def test_a_recording_names_the_days_of_all_its_experiments(later: int, days: str) -> None:
    start = datetime(2026, 11, 2, 12, tzinfo=UTC)
    sets = {}
    for name, day in ("newest", later), ("first", 0):
        moment = {"measured_at": start + timedelta(days=day)}
        environment = ENVIRONMENT.model_copy(update=moment)
        sets[name] = make_set(make_result()).model_copy(update={"environment": environment})
    assert Recording(sets).days == days


class TestPlaces:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Hold a machine's recording."""
        path = recording_path(tmp_path, ENVIRONMENT, "sums")
        make_set(make_result(experiment="sums")).save(path)
        path.with_name(ENVIRONMENT_FILE).write_text(ENVIRONMENT.model_dump_json(), "utf-8")
        return tmp_path

    def test_a_machine_keeps_its_folder_whatever_software_it_has(self, folder: Path) -> None:
        assert recording_path(folder, NEWER, "sums") == folder / "test-cpu" / "sums.json"

    def test_another_machine_of_the_same_model_gets_its_own(self, folder: Path) -> None:
        path = recording_path(folder, OTHER_CORES, "sums")
        assert path == folder / "test-cpu-2" / "sums.json"
        other = make_set(make_result(experiment="sums"))
        other.model_copy(update={"environment": OTHER_CORES}).save(path)
        path.with_name(ENVIRONMENT_FILE).write_text(OTHER_CORES.model_dump_json(), "utf-8")
        assert recording_path(folder, OTHER_CORES, "more") == folder / "test-cpu-2" / "more.json"
        first, second = load_all(folder, on_invalid=pytest.fail)
        assert (first.name, first.folder) == ("Test CPU (CPU)", "test-cpu")
        assert (second.name, second.folder) == ("Test CPU (CPU) no. 2", "test-cpu-2")
        (part,) = second.on_each_device("sums")
        assert part.label == "Test CPU (CPU) no. 2, recorded 2026-11-21"

    def test_a_folder_that_describes_no_machine_is_used(self, folder: Path) -> None:
        (folder / "test-cpu" / ENVIRONMENT_FILE).unlink()
        assert recording_path(folder, OTHER_CORES, "sums") == folder / "test-cpu" / "sums.json"

    @pytest.mark.parametrize("content", ["", "[]", "{}", '{"device": 1}'])
    def test_what_cannot_say_whose_folder_it_is_in_is_named(
        self, folder: Path, content: str
    ) -> None:
        unreadable = folder / "test-cpu" / ENVIRONMENT_FILE
        unreadable.write_text(content, encoding="utf-8")
        reason = f"{re.escape(str(unreadable))}, .*, can't be read: restore it, or delete it"
        with pytest.raises(ResultsError, match=reason):
            recording_path(folder, OTHER_CORES, "sums")
        with pytest.raises(ResultsError, match=reason):
            load_recording(folder / "test-cpu" / "sums.json")

    def test_results_of_another_machine_are_refused(self, folder: Path) -> None:
        path = folder / "test-cpu" / "sums.json"
        ResultSet.load(path).model_copy(update={"environment": OTHER_CORES}).save(path)
        with pytest.raises(ResultsError, match=r"environment\.json beside it describes another"):
            load_recording(path)

    def test_a_folder_of_schema_version_1_says_it(self, folder: Path) -> None:
        path = folder / "test-cpu" / ENVIRONMENT_FILE
        path.write_text(json.dumps(json.loads(path.read_bytes()) | {"code": "c0de"}), "utf-8")
        assert recording_path(folder, OTHER_CORES, "sums").parent.name == "test-cpu-2"


@pytest.mark.parametrize(
    ("then", "now", "changed"),
    [
        ({}, {}, []),
        ({"XLA_FLAGS": "--a"}, {}, ["XLA_FLAGS --a, now not set"]),
        ({}, {"XLA_FLAGS": "--a"}, ["XLA_FLAGS not set, now --a"]),
        ({"jax_enable_x64": "True"}, {}, ["jax_enable_x64 True, now False"]),
    ],
)
def test_other_flags_outdate_a_recording(
    then: dict[str, str], now: dict[str, str], changed: list[str]
) -> None:
    before, after = (
        ENVIRONMENT.model_copy(update={"flags": ENVIRONMENT.flags | flags}) for flags in (then, now)
    )
    results = make_set().model_copy(update={"environment": before})
    assert changes_since(results, after, "c0de") == changed


@pytest.mark.parametrize(
    ("then", "now", "changed"),
    [
        ({"jax": "0.9"}, {"jax": "0.10"}, ["jax 0.9, now 0.10"]),
        ({"jaxcap": "1", "matplotlib": "3"}, {"jaxcap": "2", "matplotlib": "4"}, []),
    ],
)
def test_only_libraries_that_compute_outdate_a_recording(
    then: dict[str, str], now: dict[str, str], changed: list[str]
) -> None:
    before, after = (ENVIRONMENT.model_copy(update={"versions": v}) for v in (then, now))
    results = make_set().model_copy(update={"environment": before})
    assert changes_since(results, after, "c0de") == changed


@pytest.mark.parametrize(
    ("device", "then", "now", "changed"),
    [
        (GPU, "570.1", "580.1", ["driver 570.1, now 580.1"]),
        (GPU, None, "580.1", ["driver unknown, now 580.1"]),
        (GPU, "570.1", None, []),
        (CPU, "570.1", "580.1", []),
    ],
)
def test_another_driver_outdates_a_recording_on_a_gpu(
    device: Device, then: str | None, now: str | None, changed: list[str]
) -> None:
    before, after = (
        ENVIRONMENT.model_copy(update={"device": device, "driver": driver})
        for driver in (then, now)
    )
    results = make_set().model_copy(update={"environment": before})
    assert changes_since(results, after, "c0de") == changed


def test_other_code_outdates_a_recording() -> None:
    assert changes_since(make_set(), ENVIRONMENT, "another") == ["other code"]
    assert changes_since(make_set(), ENVIRONMENT, None) == ["other code"]
    partly = make_set(make_result(), make_result("other", code="another"))
    assert changes_since(partly, ENVIRONMENT, "c0de") == ["other code"]


class TestMatching:
    steady, default = make_result(), make_result(allocator="default")

    def matching(self, shown: Result, *recorded: Result) -> list[str]:
        recording = Recording({"test": make_set(*recorded)})
        found = matching_results(make_set(shown), [recording]).values()
        return [result.allocator for results in found for result in results]

    def test_is_by_allocator(self) -> None:
        assert self.matching(self.steady, self.default, self.steady) == ["steady"]
        assert self.matching(self.default, self.default, self.steady) == ["default"]

    def test_takes_a_machine_whose_malloc_cannot_be_steady(self) -> None:
        assert self.matching(self.steady, self.default) == ["default"]
        assert self.matching(self.default, self.steady) == []
