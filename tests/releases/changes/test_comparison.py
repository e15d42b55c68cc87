"""What is called a change among all benchmarks of a machine, and what a second recording says."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import releases_made_up
from releases_made_up import CONTROL_MOVES, MODES, NAMES, REGRESSES, UNCHANGED, record

from jaxcap.releases import figures
from jaxcap.releases.benchmarks import BENCHMARKS
from jaxcap.releases.changes.comparison import OTHER, Releases
from jaxcap.releases.changes.series import (
    Series,
    adjust,
    false_discovery_control,
)
from jaxcap.releases.recording.files import TWIN, ReleaseFiles
from jaxcap.results.statistics import Estimate


def load(files: ReleaseFiles) -> Releases:
    topics = {name: benchmark.topic for name, benchmark in BENCHMARKS.items()}
    releases = Releases.load(files, topics, {})
    assert releases
    return releases


@pytest.fixture
def releases(tmp_path: Path) -> Releases:
    return load(record(tmp_path / "releases"))


def test_finds_the_one_change_that_is_there(releases: Releases) -> None:
    (change,) = releases.changes
    assert (change.series.benchmark, change.before, change.after) == (REGRESSES, *NAMES[:2])
    assert change.low < 3 < change.high
    assert change.words == "3.0 times slower"


def test_a_change_that_is_seen_again_stays(tmp_path: Path) -> None:
    files = record(tmp_path / "releases")
    record(files.again.folder, names=NAMES[:2], seed=1)
    releases = load(files)
    (change,) = releases.changes
    assert releases.confirmation(change) == "seen again"
    assert not releases.contradicted


def test_a_change_that_is_contradicted_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = record(tmp_path / "releases")
    monkeypatch.setitem(releases_made_up.LEVELS, (REGRESSES, "JAX"), lambda *_: 180e-6)
    record(files.again.folder, names=NAMES[:2], seed=1)
    releases = load(files)
    assert not releases.changes
    (change,) = releases.contradicted
    assert change.series.benchmark == REGRESSES


def test_an_uncertain_second_recording_contradicts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = record(tmp_path / "releases")

    def noisy(place: int, rng: np.random.Generator) -> float:
        return float((60e-6 if place == 0 else 180e-6) * rng.lognormal(0, 1.0))

    monkeypatch.setitem(releases_made_up.LEVELS, (REGRESSES, "JAX"), noisy)
    record(files.again.folder, names=NAMES[:2], seed=1, processes=3)
    releases = load(files)
    (change,) = releases.changes
    assert releases.confirmation(change) == "undecided"
    assert not releases.contradicted


def test_a_contradicted_change_is_no_regression_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = record(tmp_path / "releases")
    monkeypatch.setitem(releases_made_up.LEVELS, (REGRESSES, "JAX"), lambda *_: 180e-6)
    record(files.again.folder, seed=1)
    assert not load(files).regressions


def test_what_gets_faster_is_contradicted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = (REGRESSES, "JAX")
    monkeypatch.setitem(releases_made_up.LEVELS, name, lambda place, _: 6e-6 / (1 + place))
    files = record(tmp_path / "releases", names=NAMES[:2])
    (change,) = load(files).changes
    assert change.ratio < 1
    monkeypatch.setitem(releases_made_up.LEVELS, name, lambda place, _: 6e-6 * (1 + place))
    record(files.again.folder, names=NAMES[:2], seed=1)
    assert load(files).confirmation(change) == "contradicted"


def test_memory_is_seen_again_without_a_test(tmp_path: Path) -> None:
    files = record(tmp_path / "releases")
    record(files.again.folder, names=NAMES[:2])
    for part in files, files.again:
        results = part.load(NAMES[0])
        assert results
        less = [r.model_copy(update={"temporary_bytes": 1024}) for r in results]
        part.save(NAMES[0], results.subset(less))
    releases = Releases.load(files, {UNCHANGED: "memory"}, {UNCHANGED: "temporary memory"})
    assert releases
    (change,) = (c for c in releases.changes if c.series.topic == "memory")
    assert change.words == "4.0 times more memory"
    assert releases.confirmation(change) == "seen again"


def test_a_second_recording_by_one_process_refutes_nothing(tmp_path: Path) -> None:
    files = record(tmp_path / "releases")
    record(files.again.folder, names=NAMES[:2], seed=1, processes=1)
    releases = load(files)
    (change,) = releases.changes
    assert releases.confirmation(change) == "undecided"


def test_a_release_that_was_recorded_later_has_to_differ_more(
    tmp_path: Path, releases: Releases
) -> None:
    files = releases.files
    results = files.load(NAMES[0])
    assert results
    earlier = results.environment.measured_at - timedelta(days=30)
    environment = results.environment.model_copy(update={"measured_at": earlier})
    files.save(NAMES[0], results.model_copy(update={"environment": environment}))
    (change,), (same_day,) = load(files).changes, releases.changes
    assert change.ratio == same_day.ratio
    assert change.low < 0.9 * same_day.low
    assert change.p > same_day.p


def test_modes_are_no_change(releases: Releases) -> None:
    (series,) = (one for one in releases.of_jax() if one.benchmark == MODES)
    assert series.has_modes
    assert MODES not in [change.series.benchmark for change in releases.changes]


def test_what_numpy_does_too_is_not_jax(releases: Releases) -> None:
    (moved,) = releases.moved_with_control
    assert moved.series.benchmark == CONTROL_MOVES


def test_slower_than_ever_compares_with_the_best_release(releases: Releases) -> None:
    (regression,) = releases.regressions
    assert regression.series.benchmark == REGRESSES
    assert (regression.before, regression.after) == (NAMES[0], NAMES[-1])


def test_a_control_that_moved_alone_is_no_regression(releases: Releases) -> None:
    files = releases.files
    first, newest = files.load(NAMES[0]), files.load(NAMES[-1])
    assert first
    assert newest
    jax_s = first.select(benchmark=CONTROL_MOVES, variant="JAX").only("JAX").runs
    results = [
        r.model_copy(update={"runs": jax_s})
        if (r.parameters["benchmark"], r.variant) == (CONTROL_MOVES, "JAX")
        else r
        for r in newest
    ]
    files.save(NAMES[-1], newest.subset(results))
    loaded = load(files)
    (series,) = (s for s in loaded.of_jax() if s.benchmark == CONTROL_MOVES)
    assert series.compare(NAMES[0], NAMES[-1]).ratio == 1
    assert CONTROL_MOVES not in [change.series.benchmark for change in loaded.regressions]


def test_release_and_twin_do_not_differ(releases: Releases) -> None:
    assert len(releases.twin_comparisons) == 4
    assert not [one for one in releases.twin_comparisons if one.is_change]


def test_release_and_twin_are_held_to_the_rule_that_the_steps_are(releases: Releases) -> None:
    steps, twins = releases.steps, releases.twin_comparisons
    together = false_discovery_control([change.p for change in (*steps, *twins)])
    assert [change.adjusted_p for change in twins] == together[len(steps) :]


def test_twins_of_older_releases_do_not_count(tmp_path: Path) -> None:
    files = record(tmp_path / "releases", names=NAMES[:-1])
    record(files.folder, names=NAMES[-1:]).path(f"{NAMES[-1]}{TWIN}").unlink()
    releases = load(files)
    assert (releases.newest, releases.twin) == (NAMES[-1], None)
    assert not releases.twin_comparisons


def test_one_process_decides_nothing(tmp_path: Path) -> None:
    releases = load(record(tmp_path / "releases", processes=1))
    assert releases.processes == (1, 1)
    assert not releases.changes
    assert not releases.regressions
    assert {one.interval for one in releases.steps} == {""}


def test_releases_and_benchmarks_may_be_missing(tmp_path: Path) -> None:
    files = record(tmp_path / "releases")
    results = files.load(NAMES[2])
    assert results
    kept = [one for one in results if one.parameters["benchmark"] != REGRESSES]
    files.save(NAMES[2], results.subset(kept))
    files.path(NAMES[0]).unlink()
    files.note_failures({NAMES[2]: {REGRESSES: "it failed"}})
    releases = load(files)
    steps = [(s.before, s.after) for s in releases.steps if s.series.benchmark == REGRESSES]
    assert steps == [(NAMES[1], NAMES[3]), (NAMES[3], NAMES[4]), (NAMES[4], NAMES[5])]
    figures.heat_map(releases)


def test_without_files_there_is_nothing(tmp_path: Path) -> None:
    assert Releases.load(ReleaseFiles(tmp_path / "releases"), {}, {}) is None


def test_unknown_benchmarks_come_last(tmp_path: Path) -> None:
    releases = Releases.load(record(tmp_path / "releases"), {UNCHANGED: "reductions"}, {})
    assert releases
    assert list(releases.by_topic()) == ["reductions", OTHER]


def test_memory_needs_no_test(releases: Releases) -> None:
    (series, *_) = releases.of_jax("temporary memory")
    (same,) = adjust([series.compare(*NAMES[:2])])
    assert not same.is_change
    more = Series(
        "m", OTHER, "JAX", "temporary memory", {"1.0.0": _bytes(100), "1.1.0": _bytes(250)}
    )
    (change,) = adjust([more.compare("1.0.0", "1.1.0")])
    assert change.is_change
    assert change.words == "2.5 times more memory"


def test_reading_needs_no_jax() -> None:
    code = "import sys, jaxcap.releases.changes.comparison; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def _bytes(number: float) -> Estimate:
    return Estimate(number, number, number, 1.0, "bytes", "counted")
