"""Files of releases, and by which rules a file is read where it lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import make_result, make_set
from releases_made_up import record

from jaxcap.releases.recording.files import EXPERIMENT, ReleaseFiles, load_in_place
from jaxcap.results import ResultsError


@pytest.fixture
def files(tmp_path: Path) -> ReleaseFiles:
    (tmp_path / "environment.json").touch()
    return record(tmp_path / EXPERIMENT, names=["0.5.0"])


def test_a_file_of_a_release_is_named_after_it(files: ReleaseFiles) -> None:
    path = files.path("0.5.0")
    assert load_in_place(path) == files.load("0.5.0")
    with pytest.raises(ResultsError, match=r"measured with jaxlib 0\.6\.0"):
        load_in_place(path.rename(files.path("0.6.0")))


def test_a_missing_file_is_an_error_of_the_system(files: ReleaseFiles) -> None:
    with pytest.raises(FileNotFoundError):
        load_in_place(files.path("0.7.0"))


def test_no_clock_measures_a_time_of_zero(files: ReleaseFiles) -> None:
    results = files.load("0.5.0")
    assert results
    first = results[0]
    run = first.runs[0].model_copy(update={"first_call_s": 0.0})
    files.save("0.5.0", results.subset([first.model_copy(update={"runs": (run,)})]))
    with pytest.raises(ResultsError, match="too short for any clock"):
        load_in_place(files.path("0.5.0"))


def test_a_recording_lies_in_the_folder_of_its_device(files: ReleaseFiles) -> None:
    path = files.machine_folder / "test.json"
    make_set(make_result()).save(path)
    with pytest.raises(ResultsError, match="not where it belongs"):
        load_in_place(path)


def test_elsewhere_results_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    make_set(make_result()).save(path)
    assert len(load_in_place(path)) == 1


def test_a_second_recording_installs_what_the_first_one_did(files: ReleaseFiles) -> None:
    assert "numpy==2.0.0" in files.again.requirements("0.5.0")
    files.again.save_requirements("0.5.0", "numpy==2.1.0\n")
    assert files.again.requirements("0.5.0") == "numpy==2.1.0\n"
    assert files.again.requirements("0.6.0") == ""
