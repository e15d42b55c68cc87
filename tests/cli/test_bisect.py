"""The command that bisects: what it prints, saves and refuses. Nothing is installed or measured."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sys
from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fakes import CPU, make_result, make_run, make_set

from jaxcap.cli import cli
from jaxcap.measure.machine import lock
from jaxcap.releases.recording import environments
from jaxcap.releases.recording.environments import InstallationError, ReleaseEnvironment
from jaxcap.releases.recording.files import ReleaseFiles
from jaxcap.releases.search import trials
from jaxcap.releases.search.bisection import ReleaseError
from jaxcap.releases.search.trials import FunctionTrials

AVAILABLE = ["0.10.2", "0.10.0", "0.9.0", "0.5.0", "0.4.33", "0.4.31"]

# Seconds under each release: slower from 0.5.0 on.
SLOWER = dict(zip(AVAILABLE, (3.0, 3.0, 3.0, 3.0, 1.0, 1.0), strict=True))


class Trials(FunctionTrials):
    """Pretends to install and to measure."""

    true: Mapping[str, float] = SLOWER
    broken: Mapping[str, str] = {}

    def __call__(self, releases: Sequence[str], processes: int) -> Mapping[str, Sequence[float]]:
        gauss = random.Random(0).gauss
        for release in releases:
            if release in self.broken:
                raise ReleaseError(release, self.broken[release])
            numpy = "1.26.4" if release.startswith("0.4") else "2.4.0"
            requirements = f"jax=={release}\njaxlib=={release}\nnumpy=={numpy}\nscipy==1.13.1\n"
            self.made[release] = ReleaseEnvironment(self.folder(release), requirements)
        self.device = CPU
        return {
            release: [self.true[release] * exp(gauss(0, 0.01)) for _ in range(processes)]
            for release in releases
        }


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[Trials]:
    class Fake(Trials):
        pass

    monkeypatch.setattr(trials, "FunctionTrials", Fake)
    monkeypatch.setattr(environments, "available_releases", lambda _: AVAILABLE)
    monkeypatch.setattr(environments, "python_version", lambda python: f"{python}.1")
    monkeypatch.setattr(lock, "LOCK", tmp_path / "lock")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").touch()
    return Fake


def bisect(*arguments: object) -> Result:
    return CliRunner().invoke(
        cli, ["bisect", "script.py:step", *map(str, arguments)], catch_exceptions=False
    )


def test_the_release_and_its_leads_are_shown() -> None:
    result = bisect()
    assert result.exit_code == 0
    found = re.search(
        r"^script.py:step is ([\d.]+) times slower \(([\d.]+) to ([\d.]+)\) "
        r"under JAX 0.5.0 than under 0.4.33\.$",
        result.stdout,
        re.MULTILINE,
    )
    assert found
    value, low, high = map(float, found.groups())
    assert low < 3 < high
    assert value == pytest.approx(3, rel=0.05)
    assert "confidence of 95%" in result.stdout
    assert "may be the cause: numpy 1.26.4 to 2.4.0." in result.stdout
    assert "changelog.html#:~:text=jax%200.5.0" in result.stdout
    assert "Measured on Test CPU" in result.stdout
    assert result.stderr == ""


def test_it_works_from_the_newer_release_to_the_older_one(fake: type[Trials]) -> None:
    fake.true = {release: 1 / time_s for release, time_s in SLOWER.items()}
    result = bisect("--good", "0.10.2", "--bad", "0.4.31")
    assert "times faster" in result.stdout
    assert "under JAX 0.5.0 than under 0.4.33" in result.stdout


def test_memory_and_first_calls_have_words_of_their_own() -> None:
    memory = bisect("--quantity", "temporary-memory").stdout
    assert "times more temporary memory" in memory
    assert "3 bytes" in memory
    assert "times slower to call first" in bisect("--quantity", "first-call").stdout


def test_no_change_is_said_with_its_interval(fake: type[Trials]) -> None:
    fake.true = dict.fromkeys(AVAILABLE, 1.0)
    result = bisect()
    assert result.exit_code == 0
    assert (
        "No change was found between JAX 0.4.31 and 0.10.2: they differ by a factor of "
        in result.stdout
    )
    assert "changelog" not in result.stdout


def test_what_fails_in_the_middle_is_skipped_and_named(fake: type[Trials]) -> None:
    fake.broken = {"0.5.0": "RuntimeError: no luck"}
    result = bisect()
    assert "JAX 0.5.0 was skipped: RuntimeError: no luck" in result.stdout
    assert "under JAX 0.9.0 than under 0.4.33" in result.stdout


def test_what_changed_more_than_once_is_said(fake: type[Trials]) -> None:
    fake.true = SLOWER | {"0.10.0": 1.5, "0.10.2": 1.5}
    result = bisect()
    assert "0.5.0 than under 0.4.33" in result.stdout
    assert "is like neither" in result.stdout


def test_an_end_that_fails_is_refused(fake: type[Trials]) -> None:
    fake.broken = {"0.10.2": "AttributeError: script.py has no function 'step'"}
    result = bisect()
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: JAX 0.10.2 can't be compared with other releases: AttributeError: script.py has no "
        "function 'step'. Correct the function, or choose another release with --bad\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--good", "0.4.32"], "JAX 0.4.32 is not on the package index for Python 3.12"),
        (["--good", "0.5.0", "--bad", "0.5.0"], "--good and --bad are both JAX 0.5.0"),
        (["--threshold", "0.9"], "0.9 is not a factor above 1"),
        (["--setup", "inputs"], "'inputs' names no function: write script.py:function"),
        (["--setup", "missing.py:inputs"], "there is no script missing.py"),
        (["--json", "no/folder/file.json"], "can't be written"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments: Sequence[str], message: str) -> None:
    result = bisect(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_without_a_network_installed_releases_are_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreachable(python: str) -> list[str]:
        raise InstallationError("no network")

    monkeypatch.setattr(environments, "available_releases", unreachable)
    refused = bisect("--environments", tmp_path / "made")
    assert refused.exit_code == 2
    assert "a comparison needs two releases of JAX, but fewer are installed in" in refused.stderr
    for release in ("0.5.0", "0.4.33", "0.4.31"):
        folder = tmp_path / "made" / release
        folder.mkdir(parents=True)
        (folder / environments.LOCK).touch()
    found = bisect("--environments", tmp_path / "made").stdout
    assert "Comparing only releases that are installed in" in found
    assert "because no network." in found
    assert "JAX 0.5.0 than under 0.4.33" in found
    missing = bisect("--environments", tmp_path / "made", "--bad", "0.9.0")
    assert "JAX 0.9.0 is not installed in" in missing.stderr


def test_a_python_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(python: str) -> str:
        raise InstallationError("uv isn't installed")

    monkeypatch.setattr(environments, "python_version", missing)
    installed = tmp_path / "made" / "0.5.0"
    installed.mkdir(parents=True)
    (installed / environments.LOCK).touch()
    result = bisect("--python", "3.99", "--environments", installed.parent)
    assert result.exit_code == 2
    assert result.stderr == "Error: --python 3.99: uv isn't installed\n"


def test_results_are_saved(tmp_path: Path) -> None:
    result = bisect("--json", tmp_path / "a.json", "--csv", "-", "--setup", "script.py:inputs")
    saved = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (saved["verdict"], saved["older"], saved["newer"]) == ("found", "0.4.33", "0.5.0")
    assert (saved["function"], saved["setup"]) == ("script.py:step", "script.py:inputs")
    assert saved["requirements"]["0.5.0"][0] == "jax==0.5.0"
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == saved["processes"]
    first = [float(r["value"]) for r in rows if (r["comparison"], r["release"]) == ("1", "0.4.31")]
    assert first == saved["steps"][0]["values"]["0.4.31"]
    assert "times slower" in result.stderr


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    result = bisect("--quiet", "--json", tmp_path / "a.json")
    assert result.output == ""
    assert (tmp_path / "a.json").exists()


def test_recorded_benchmarks_that_changed_as_well_are_named(tmp_path: Path) -> None:
    files = ReleaseFiles(tmp_path / "recorded" / "test-cpu" / "releases")
    missing = bisect("--recorded", tmp_path)
    assert "The recordings don't include both of these releases." in missing.stdout
    for release, time_s in ("0.4.33", 1e-3), ("0.5.0", 4e-3):
        result = make_result(
            "JAX",
            *(make_run([time_s + 1e-6 * i] * 3) for i in range(5)),
            experiment="releases",
            parameters={"benchmark": "scan"},
        )
        results = make_set(result)
        here = results.environment.model_copy(update={"versions": {"jaxlib": release}})
        files.save(release, results.model_copy(update={"environment": here}))
    named = bisect("--recorded", tmp_path, "--json", tmp_path / "a.json")
    assert "Recorded benchmarks that changed as well: scan, 3.99" in named.stdout
    saved = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert saved["changed_benchmarks"]["scan"]["value"] == pytest.approx(4, rel=0.01)


def test_known_causes_of_the_release_are_named(fake: type[Trials]) -> None:
    text = "in loops, in JAX 0.4.32: XLA's thunk runtime became the default on CPUs."
    assert text not in bisect().stdout  # which finds 0.5.0
    fake.true = dict(zip(AVAILABLE, (3.0, 3.0, 3.0, 3.0, 3.0, 1.0), strict=True))
    assert text in bisect().stdout


def test_environments_of_other_pythons_and_packages_are_apart(tmp_path: Path) -> None:
    def folder(**changes: object) -> Path:
        options = {"function": "", "setup": "", "quantity": "time", "environments": tmp_path}
        return FunctionTrials(**options | changes).folder("0.5.0")  # type: ignore[arg-type]

    assert folder() == tmp_path / "0.5.0"
    folders = [folder(), folder(python="3.11"), folder(packages=["flax"]), folder(packages=["a"])]
    assert len(set(folders)) == len(folders)
    assert folder(packages=["a", "b"]) == folder(packages=["b", "a"])


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    result = CliRunner().invoke(cli, ["bisect", "script.py:f"], catch_exceptions=False)
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: platformdirs isn't installed: run `python -m pip install 'jaxcap[releases]'`\n"
    )
