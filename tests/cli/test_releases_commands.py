"""The commands about releases: what they refuse, and what they say about what happened."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import ENVIRONMENT, make_result, make_run, make_set

from jaxcap.cli import cli
from jaxcap.measure.machine import description, lock
from jaxcap.releases.recording import environments
from jaxcap.releases.recording import recorder as recording
from jaxcap.releases.recording.environments import InstallationError, ReleaseEnvironment
from jaxcap.releases.recording.files import EXPERIMENT, ReleaseFiles
from jaxcap.results import Environment, ResultSet

SCAN, SORT = "scan of 1,000 small steps", "sort of 10,000 numbers"


@pytest.fixture(autouse=True)
def index(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The releases that the index has; installing and measuring them is pretended."""
    available = ["0.10.0", "0.6.0", "0.5.0"]

    def install(release: str, folder: Path, **_: Any) -> ReleaseEnvironment:
        if release not in available:
            raise InstallationError(f"there is no version of jaxlib=={release}")
        return ReleaseEnvironment(folder, f"jaxlib=={release}\n")

    monkeypatch.setattr(environments, "available_releases", lambda _: available)
    monkeypatch.setattr(recording, "install", install)
    monkeypatch.setattr(environments, "python_version", lambda _: "3.12.1")
    monkeypatch.setattr(recording.ReleaseRecorder, "_measure_in_processes", measure)
    monkeypatch.setattr(description, "capture", lambda: ENVIRONMENT)
    monkeypatch.setattr(lock, "LOCK", tmp_path_factory.mktemp("lock") / "lock")
    return available


def measure(_: Any, __: Any, names: Sequence[str], benchmarks: Sequence[str]) -> list[ResultSet]:
    results = make_set(
        *(
            make_result(
                *("JAX", make_run()),
                experiment=EXPERIMENT,
                parameters={"benchmark": benchmark},
                code=recording._code(benchmark),
            )
            for benchmark in benchmarks
        )
    )
    return [results.model_copy(update={"environment": of_release(name)}) for name in names]


def releases(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["releases", *map(str, arguments)], catch_exceptions=False)


def record(folder: Path, *arguments: object) -> Result:
    options = ("--folder", folder, "--environments", folder, "--processes", 2, "--benchmark", SCAN)
    return releases("record", *options, *arguments)


def test_all_releases_are_recorded_and_the_newest_twice(tmp_path: Path) -> None:
    result = record(tmp_path)
    assert result.exit_code == 0, result.output
    files = ReleaseFiles.of(tmp_path / "test-cpu")
    assert files.releases() == ["0.5.0", "0.6.0", "0.10.0", "0.10.0 twin"]
    assert result.stdout == f"recorded 4 releases in {files.folder}\n"


def test_an_older_release_is_recorded_once(tmp_path: Path) -> None:
    record(tmp_path, "0.10.0")
    record(tmp_path, "0.5.0", "0.6.0")
    files = ReleaseFiles.of(tmp_path / "test-cpu")
    assert files.releases() == ["0.5.0", "0.6.0", "0.10.0", "0.10.0 twin"]


def test_a_list_of_failures_that_cannot_be_read_is_said_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    files = ReleaseFiles.of(tmp_path / "test-cpu")
    files.folder.mkdir(parents=True)
    (files.folder / "failures.csv").write_text("no list", encoding="utf-8")
    result = record(tmp_path, "0.5.0")
    assert result.exit_code == 2
    assert "can't be read as a list of failures" in result.stderr
    assert not files.releases()


def test_the_list_says_what_is_recorded(tmp_path: Path) -> None:
    record(tmp_path, "0.6.0", "0.4.0")
    lines = releases("list", "--folder", tmp_path).stdout.splitlines()
    cells = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  0.")}
    assert list(cells) == ["0.10.0", "0.6.0", "0.5.0"]
    assert cells["0.6.0"][:2] == ["1", "2"]
    assert cells["0.5.0"][:2] == ["0", "0"]


def test_what_could_not_be_installed_is_said(tmp_path: Path) -> None:
    result = record(tmp_path, "0.4.0", "0.6.0")
    assert result.exit_code == 0
    assert "JAX 0.4.0, all benchmarks" in result.stdout
    assert "there is no version of jaxlib==0.4.0" in result.stdout


def test_if_nothing_could_be_recorded_it_fails(tmp_path: Path) -> None:
    result = record(tmp_path, "0.4.0")
    assert result.exit_code == 1
    assert "Error: no release was recorded" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("newest",), "'newest' is not a release of JAX: give a version such as 0.4.31"),
        (("--benchmark", "skan*"), "no benchmark matches 'skan*': choose from import of JAX;"),
        (("--processes", "0"), "0 is not in the range x>=1"),
        (
            ("--benchmark", "import*"),
            "can only be added to a recording, and there is none of JAX 0.5.0",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_is_installed(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    result = releases("record", "--folder", tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_named_and_what_was_recorded_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, "0.5.0")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(ReleaseFiles, "save", fail)
    result = record(tmp_path, "0.6.0")
    assert result.exit_code == 1
    assert "releases: No space left on device; what was recorded before is kept" in result.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_without_an_index_one_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> list[str]:
        raise InstallationError("the package index lists no jaxlib for Python 3.12")

    monkeypatch.setattr(environments, "available_releases", fail)
    for command in ("list", "record"):
        result = releases(command, "--folder", tmp_path)
        assert result.exit_code == 2
        assert result.stderr == (
            "Error: --python 3.12: the package index lists no jaxlib for Python 3.12\n"
        )


def test_another_machine_records_beside_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, "0.6.0")
    file = tmp_path / "test-cpu" / "releases" / "0.6.0.json"
    before = file.read_bytes()
    other = ENVIRONMENT.model_copy(update={"cores": 64})
    monkeypatch.setattr(description, "capture", lambda: other)
    assert record(tmp_path, "0.6.0").exit_code == 0
    assert file.read_bytes() == before
    assert (tmp_path / "test-cpu-2" / "releases" / "0.6.0.json").exists()


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A folder of recordings in which the scan is three times slower from 0.6.0 on, the sort isn't."""
    files = ReleaseFiles.of(tmp_path / "test-cpu")
    for release, scan_s in {"0.5.0": 1e-3, "0.6.0": 3e-3, "0.10.0": 3e-3}.items():
        results = make_set(of_benchmark(SCAN, scan_s), of_benchmark(SORT, 2e-3))
        files.save(release, results.model_copy(update={"environment": of_release(release)}))
    return tmp_path


def of_release(release: str) -> Environment:
    versions = {"jaxlib": release.removesuffix(" twin")}
    return ENVIRONMENT.model_copy(update={"versions": versions})


def of_benchmark(name: str, seconds: float, **changes: Any) -> Any:
    runs = [make_run([seconds * noise] * 6) for noise in (0.98, 0.99, 1.0, 1.01, 1.02)]
    facts = {"experiment": EXPERIMENT, "parameters": {"benchmark": name}}
    return make_result("JAX", *runs, **facts | changes)


def test_a_benchmark_is_shown_under_all_releases(recorded: Path) -> None:
    result = releases("show", SCAN, "--folder", recorded, "--format", "json")
    rows = json.loads(result.stdout)
    assert [row["release"] for row in rows] == ["0.5.0", "0.6.0", "0.10.0"]
    assert rows[0]["value"] == pytest.approx(1e-3)
    assert rows[0]["ratio"] == pytest.approx(1 / 3)
    assert rows[0]["ratio_low"] < 1 / 3 < rows[0]["ratio_high"]
    assert [rows[2][name] for name in ("ratio", "ratio_low", "ratio_high")] == [1, None, None]
    table = releases("show", SCAN, "--folder", recorded).stdout
    assert "ratio to 0.10.0" in table
    assert re.search(r"0\.6\.0 +3\.0 ms +5 +1 ", table)
    assert re.search(r"0\.10\.0 +3\.0 ms +5 +1 *$", table, re.MULTILINE)


def test_two_releases_are_compared_with_the_largest_change_first(recorded: Path) -> None:
    result = releases("compare", "0.5.0", "0.6.0", "--folder", recorded, "--format", "csv")
    scan, sort = csv.DictReader(StringIO(result.stdout))
    assert (scan["benchmark"], scan["is_change"]) == (SCAN, "True")
    assert (sort["benchmark"], sort["is_change"]) == (SORT, "False")
    table = releases("compare", "0.5.0", "0.6.0", "--folder", recorded).stdout
    assert "3.0 times slower" in table


@pytest.mark.parametrize(("scan_s", "seen"), [(3e-3, 1), (1e-3, 0)])
def test_the_largest_changes_are_measured_again(
    scan_s: float, seen: int, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure_again(
        _: Any, __: Any, names: Sequence[str], benchmarks: Sequence[str]
    ) -> list[ResultSet]:
        assert benchmarks == [SCAN]
        times_s = {"0.5.0": 1e-3, "0.6.0": scan_s}
        code = recording._code(SCAN)
        sets = {name: make_set(of_benchmark(SCAN, times_s[name], code=code)) for name in names}
        return [
            results.model_copy(update={"environment": of_release(name)})
            for name, results in sets.items()
        ]

    monkeypatch.setattr(recording.ReleaseRecorder, "_measure_in_processes", measure_again)
    result = releases("confirm", "--folder", recorded, "--environments", recorded)
    assert result.exit_code == 0, result.output
    folder = recorded / "test-cpu" / "releases" / "again"
    assert result.stdout == (
        f"{seen} of 1 changes were seen again, {1 - seen} contradicted, the others are undecided; "
        f"the results are in {folder}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "skan"), "holds no benchmark named 'skan'"),
        (("compare", "0.5.0", "0.7.0"), "holds no results of JAX 0.7.0"),
        (
            ("show", SCAN, "--machine", "h200"),
            "and none of them is h200: choose --machine from test-cpu",
        ),
    ],
)
def test_what_is_not_recorded_is_said(
    arguments: tuple[str, ...], message: str, recorded: Path
) -> None:
    result = releases(*arguments, "--folder", recorded)
    assert result.exit_code == 2
    assert message in result.stderr


def test_with_recordings_of_several_machines_one_is_chosen(recorded: Path) -> None:
    shutil.copytree(recorded / "test-cpu", recorded / "other")
    result = releases("show", SCAN, "--folder", recorded)
    assert result.exit_code == 2
    assert "recorded releases of 2 machines: choose --machine from other, test-cpu" in result.stderr
    assert releases("show", SCAN, "--folder", recorded, "--machine", "other").exit_code == 0


def test_own_recordings_come_before_those_of_the_package(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxcap.releases import recorded as of_package

    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(of_package, "_FOLDERS", (recorded,))
    assert "0.5.0" in releases("show", SCAN).stdout
    shutil.copytree(recorded / "test-cpu", here / "recorded" / "test-cpu")
    (here / "recorded" / "test-cpu" / "releases" / "0.5.0.json").unlink()
    assert "0.5.0" not in releases("show", SCAN).stdout


def test_without_a_recording_it_is_said_how_to_make_one(tmp_path: Path) -> None:
    result = releases("show", SCAN, "--folder", tmp_path)
    assert result.exit_code == 2
    assert "record some with `jaxcap releases record`" in result.stderr


def test_a_damaged_file_is_named(recorded: Path) -> None:
    file = recorded / "test-cpu" / "releases" / "0.6.0.json"
    file.write_text("{", encoding="utf-8")
    for arguments in (("show", SCAN), ("list",)):
        result = releases(*arguments, "--folder", recorded)
        assert result.exit_code == 2
        assert f"{file} is not valid JSON" in result.stderr
