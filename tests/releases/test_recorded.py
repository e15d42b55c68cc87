from __future__ import annotations

import logging
from pathlib import Path

import pytest
from fakes import make_result, make_run, make_set
from releases_made_up import NAMES, record

from jaxcap.releases import recorded
from jaxcap.releases.changes.comparison import Releases
from jaxcap.results import ResultsError
from jaxcap.results.files import recording_path


def test_a_folder_of_machines_is_read_and_its_files_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for machine in ("b", "a"):
        record(tmp_path / machine / "releases")
    with caplog.at_level(logging.INFO):
        releases = recorded.recorded(tmp_path)
    assert releases.names == NAMES
    named = {getattr(log, "results_file", None) for log in caplog.records}
    assert named == {tmp_path / "a" / "releases" / path.name for path in named if path}
    assert len(named) == len(releases.sets)


def test_files_of_a_second_recording_are_named_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = record(tmp_path / "a" / "releases")
    record(files.again.folder, names=NAMES[:2])
    with caplog.at_level(logging.INFO):
        recorded.recorded(tmp_path)
    named = {getattr(log, "results_file", None) for log in caplog.records}
    assert files.again.path(NAMES[0]) in named


def test_files_are_read_again_only_if_they_have_changed(tmp_path: Path) -> None:
    files = record(tmp_path / "a" / "releases")
    releases = recorded.recorded(tmp_path)
    assert recorded.recorded(tmp_path) is releases
    files.path(NAMES[0]).unlink()
    assert recorded.recorded(tmp_path).names == NAMES[1:]


def test_what_comes_with_the_package_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "docs" / "machine" / "releases")
    monkeypatch.setattr(recorded, "_FOLDERS", (tmp_path / "package", tmp_path / "docs"))
    assert isinstance(recorded.recorded(), Releases)


@pytest.mark.parametrize("folder", [None, Path("mine")])
def test_a_missing_recording_is_a_sentence(
    folder: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recorded, "_FOLDERS", (tmp_path,))
    with pytest.raises(ResultsError, match="no recording of JAX's releases: make one with"):
        recorded.recorded(folder)


def test_results_of_the_first_machine_are_read_and_their_file_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    results = make_set(make_result("a", make_run([0.5] * 6), experiment="long search"))
    path = recording_path(tmp_path, results.environment, "long search")
    results.save(path)
    with caplog.at_level(logging.INFO):
        assert recorded.recorded_results("long search", tmp_path) == results
    assert [getattr(log, "results_file", None) for log in caplog.records] == [path]
    with pytest.raises(ResultsError, match="no recording of 'other': make one with `jaxcap record"):
        recorded.recorded_results("other", tmp_path)
