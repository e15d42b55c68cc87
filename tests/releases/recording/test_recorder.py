"""Recording releases: who measures when, what is kept, and what is left out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from fakes import ENVIRONMENT, make_result, make_run, make_set

from jaxcap.measure.digest import digest
from jaxcap.measure.machine import description, lock
from jaxcap.measure.processes import Interpreter, ProcessError
from jaxcap.measure.turns import measure_each_in_turns
from jaxcap.measure.worker import Task
from jaxcap.releases.benchmarks import BENCHMARKS
from jaxcap.releases.benchmarks.whole_programs import PROGRAMS
from jaxcap.releases.recording import environments
from jaxcap.releases.recording import recorder as recording
from jaxcap.releases.recording.environments import InstallationError, ReleaseEnvironment
from jaxcap.releases.recording.files import ALL, EXPERIMENT, ReleaseFiles
from jaxcap.releases.recording.recorder import ReleaseRecorder
from jaxcap.results import ResultSet

Measure = Callable[..., Sequence[ResultSet]]

SCAN, SORT = "scan of 1,000 small steps", "sort of 10,000 numbers"
RELEASES = ("0.4.31", "0.5.0", "0.6.0")


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.delenv("JAXCAP_LOCK_HELD", raising=False)
    monkeypatch.setattr(lock, "LOCK", tmp_path_factory.mktemp("lock") / "lock")


@dataclass
class Pretended:
    """Pretends to measure, and notes the release and the benchmarks of each process.

    For each batch of processes it notes what of their programs was to be analysed.
    """

    processes: list[tuple[str, list[str]]] = field(default_factory=list)
    analysed: list[str] = field(default_factory=list)

    def __call__(
        self, task: Task, interpreters: Sequence[Interpreter], **_: Any
    ) -> list[ResultSet]:
        self.analysed.append(task.analysed)
        names = [str(point["benchmark"]) for point in task.points]
        sets = []
        for release in map(release_of, interpreters):
            self.processes.append((release, names))
            results = make_set(*map(of_benchmark, names))
            versions = {"jaxlib": release.removesuffix("-twin")}
            environment = ENVIRONMENT.model_copy(update={"versions": versions})
            sets.append(results.model_copy(update={"environment": environment}))
        return sets


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Pretended:
    monkeypatch.setattr(description, "capture", lambda: ENVIRONMENT)
    return Pretended()


def of_benchmark(name: str) -> Any:
    return make_result("JAX", make_run(), experiment=EXPERIMENT, parameters={"benchmark": name})


def release_of(interpreter: Interpreter) -> str:
    return Path(interpreter.executable).parts[-3]


def failing(release: str, reason: str, *, at: str | None = None, otherwise: Measure) -> Measure:
    """Measure, but fail in the process of a release, perhaps to prepare a benchmark."""

    def measure(
        task: Task, interpreters: Sequence[Interpreter], **options: Any
    ) -> Sequence[ResultSet]:
        names = [point["benchmark"] for point in task.points]
        for interpreter in interpreters:
            if release_of(interpreter) == release and (at is None or at in names):
                error = ProcessError(reason)
                error.interpreter = interpreter
                error.point = None if at is None else names.index(at)
                raise error
        return otherwise(task, interpreters, **options)

    return measure


def made(folder: Path, *releases: str) -> dict[str, ReleaseEnvironment]:
    return {
        release: ReleaseEnvironment(folder / release.replace(" ", "-"), "") for release in releases
    }


def recorder(
    folder: Path,
    measure: Measure = measure_each_in_turns,
    *,
    processes: int = 3,
    benchmarks: Sequence[str] = (SCAN, SORT),
) -> ReleaseRecorder:
    return ReleaseRecorder(
        *(ReleaseFiles.of(folder), folder, "3.12"),
        processes=processes,
        benchmarks=benchmarks,
        measure=measure,
    )


def runs(folder: Path, release: str) -> dict[str, int]:
    results = ReleaseFiles.of(folder).load(release)
    assert results is not None
    return {str(result.parameters["benchmark"]): len(result.runs) for result in results}


def test_each_round_has_one_process_of_each_release_in_an_order_of_its_own(
    tmp_path: Path, measure: Pretended
) -> None:
    releases = [f"0.5.{patch}" for patch in range(20)]
    shares: list[float] = []
    recorder(tmp_path, measure).run(made(tmp_path, *releases), shares.append)
    order = [release for release, _ in measure.processes]
    rounds = [order[start : start + 20] for start in (0, 20, 40)]
    assert all(sorted(round_) == sorted(releases) for round_ in rounds)
    assert len({tuple(round_) for round_ in rounds}) == 3
    ends = [start + end for start in (0, 20, 40) for end in (6, 12, 18, 20)]
    assert shares == pytest.approx([end / 60 for end in ends])
    assert runs(tmp_path, "0.5.7") == {SCAN: 3, SORT: 3}


def test_what_was_interrupted_continues_there(tmp_path: Path, measure: Pretended) -> None:
    def interrupt(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    environments_made = made(tmp_path, *RELEASES)
    with pytest.raises(KeyboardInterrupt):
        recorder(tmp_path, measure).run(environments_made, interrupt)
    assert len(measure.processes) == 6
    recorder(tmp_path, measure).run(environments_made)
    assert Counter(release for release, _ in measure.processes) == dict.fromkeys(RELEASES, 3)
    recorder(tmp_path, measure).run(environments_made)
    assert len(measure.processes) == 9


def test_more_processes_and_other_benchmarks_are_added(tmp_path: Path, measure: Pretended) -> None:
    environments_made = made(tmp_path, "0.5.0")
    recorder(tmp_path, measure, processes=2, benchmarks=[SCAN]).run(environments_made)
    recorder(tmp_path, measure, processes=3).run(environments_made)
    assert runs(tmp_path, "0.5.0") == {SCAN: 3, SORT: 3}
    assert [names for _, names in measure.processes[2:]] == [[SCAN, SORT], [SORT], [SORT]]


def test_a_changed_benchmark_is_measured_again(
    tmp_path: Path, measure: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder(tmp_path, measure, processes=2).run(made(tmp_path, "0.5.0"))
    changed = BENCHMARKS[SORT].prepare.__module__
    monkeypatch.setattr(
        recording, "digest", lambda module: "new" if module == changed else digest(module)
    )
    recorder(tmp_path, measure, processes=2).run(made(tmp_path, "0.5.0"))
    assert [names for _, names in measure.processes[2:]] == [[SORT], [SORT]]
    assert runs(tmp_path, "0.5.0") == {SCAN: 2, SORT: 2}


def test_benchmarks_that_are_gone_stay_in_the_files(
    tmp_path: Path, measure: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder(tmp_path, measure, processes=2).run(made(tmp_path, "0.5.0"))
    monkeypatch.delitem(BENCHMARKS, SORT)
    recorder(tmp_path, measure, benchmarks=[SCAN]).run(made(tmp_path, "0.5.0"))
    assert runs(tmp_path, "0.5.0") == {SCAN: 3, SORT: 2}


def test_a_benchmark_that_fails_is_noted_and_left_out(tmp_path: Path, measure: Pretended) -> None:
    fails = failing("0.5.0", "killed", at=SORT, otherwise=measure)
    recorder(tmp_path, fails).run(made(tmp_path, *RELEASES))
    files = ReleaseFiles.of(tmp_path)
    assert files.failures() == {"0.5.0": {SORT: "killed"}}
    assert runs(tmp_path, "0.5.0") == {SCAN: 3}
    assert runs(tmp_path, "0.6.0") == {SCAN: 3, SORT: 3}
    recorder(tmp_path, measure).run(made(tmp_path, *RELEASES))
    assert files.failures() == {}
    assert runs(tmp_path, "0.5.0") == {SCAN: 3, SORT: 3}


def test_a_release_at_which_all_fails_is_left_out(tmp_path: Path, measure: Pretended) -> None:
    fails = failing("0.5.0", "illegal instruction", otherwise=measure)
    recorder(tmp_path, fails).run(made(tmp_path, *RELEASES))
    files = ReleaseFiles.of(tmp_path)
    assert files.failures() == {"0.5.0": {ALL: "illegal instruction"}}
    assert files.releases() == ["0.4.31", "0.6.0"]


def test_failures_of_other_releases_and_benchmarks_stay(tmp_path: Path, measure: Pretended) -> None:
    files = ReleaseFiles.of(tmp_path)
    failures = {"0.4.31": {ALL: "killed"}, "0.5.0": {SCAN: "killed", SORT: "killed"}}
    files.note_failures(failures)
    recorder(tmp_path, measure, benchmarks=[SORT]).run(made(tmp_path, "0.5.0", "0.6.0"))
    assert files.failures() == {"0.4.31": {ALL: "killed"}, "0.5.0": {SCAN: "killed"}}


def test_a_program_that_fails_spoils_nothing_else(tmp_path: Path, measure: Pretended) -> None:
    def time_program(interpreter: Interpreter, name: str) -> float:
        if release_of(interpreter) == "0.5.0":
            raise ProcessError("no module named jax")
        return 1.0

    program = next(iter(PROGRAMS))
    recorder_ = recorder(tmp_path, measure, benchmarks=[program, SCAN])
    recorder_.time_program = time_program
    recorder_.run(made(tmp_path, *RELEASES))
    assert ReleaseFiles.of(tmp_path).failures() == {"0.5.0": {program: "no module named jax"}}
    assert runs(tmp_path, "0.5.0") == {SCAN: 3}
    assert runs(tmp_path, "0.4.31") == runs(tmp_path, "0.6.0") == {SCAN: 3, program: 3}


def test_what_has_no_results_yet_is_analysed(
    tmp_path: Path, measure: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder(tmp_path, measure, processes=2, benchmarks=[SCAN]).run(made(tmp_path, "0.5.0"))
    assert measure.analysed == ["all", "none"]
    recorder(tmp_path, measure, processes=2).run(made(tmp_path, "0.5.0"))
    assert measure.analysed[2:] == ["all", "none"], "another benchmark"
    monkeypatch.setattr(recording, "digest", lambda _: "new")
    recorder(tmp_path, measure, processes=2).run(made(tmp_path, "0.5.0"))
    assert measure.analysed[4:] == ["all", "none"], "changed benchmarks"


def test_a_release_that_cannot_be_installed_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(release: str, folder: Path, **_: Any) -> ReleaseEnvironment:
        if release == "0.5.0":
            raise InstallationError("no wheel")
        return ReleaseEnvironment(folder, f"jax=={release}\n")

    failures: list[str] = []
    monkeypatch.setattr(recording, "install", install)
    monkeypatch.setattr(environments, "python_version", lambda _: "3.12.1")
    recorder_ = recorder(tmp_path)
    recorder_.on_failure = failures.append
    assert list(recorder_.install((*RELEASES, "0.6.0 twin"))) == ["0.4.31", "0.6.0", "0.6.0 twin"]
    assert failures == ["JAX 0.5.0, all benchmarks: no wheel"]
    assert ReleaseFiles.of(tmp_path).requirements("0.6.0 twin") == "jax==0.6.0\n"


def test_a_twin_is_a_release_of_its_own(tmp_path: Path, measure: Pretended) -> None:
    recorder(tmp_path, measure).run(made(tmp_path, "0.6.0", "0.6.0 twin", "0.10.0"))
    assert ReleaseFiles.of(tmp_path).releases() == ["0.6.0", "0.6.0 twin", "0.10.0"]
    assert len(measure.processes) == 9


def test_another_machines_recording_is_not_continued(
    tmp_path: Path, measure: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder(tmp_path, measure).run(made(tmp_path, "0.5.0"))
    other = ENVIRONMENT.model_copy(update={"cores": 64})
    monkeypatch.setattr(description, "capture", lambda: other)
    with pytest.raises(ValueError, match="holds results of another machine"):
        recorder(tmp_path, measure, processes=5).run(made(tmp_path, "0.5.0"))
    assert runs(tmp_path, "0.5.0") == {SCAN: 3, SORT: 3}


def test_this_jax_is_measured_like_any_other_release(tmp_path: Path) -> None:
    version = metadata.version("jaxlib")

    class Here(ReleaseEnvironment):
        interpreter = Interpreter()

    program = next(iter(PROGRAMS))
    recording_ = recorder(tmp_path, processes=2, benchmarks=[program, SCAN])
    recording_.run({version: Here(tmp_path, "")})
    results = ReleaseFiles.of(tmp_path).load(version)
    assert results is not None
    by_benchmark = {result.parameters["benchmark"]: result for result in results}
    assert by_benchmark.keys() == {program, SCAN}
    scan, started = by_benchmark[SCAN], by_benchmark[program]
    assert len(scan.runs) == len(started.runs) == 2
    assert scan.temporary_bytes is not None
    # The program imports JAX, which takes longer than a compiled loop.
    assert started.time.value > scan.time.value


def test_the_oldest_release_on_the_index_is_measured(tmp_path: Path) -> None:
    try:
        releases = environments.available_releases(sys.executable)
    except InstallationError as error:
        pytest.skip(f"the package index can't be reached: {error}")
    oldest = next(r for r in reversed(releases) if tuple(map(int, r.split("."))) >= (0, 4, 18))
    recording_ = ReleaseRecorder(
        ReleaseFiles.of(tmp_path), tmp_path / "made", sys.executable, processes=1, benchmarks=[SCAN]
    )
    recording_.run(recording_.install([oldest]))
    assert ReleaseFiles.of(tmp_path).failures() == {}
    results = ReleaseFiles.of(tmp_path).load(oldest)
    assert results is not None
    assert results.environment.versions["jax"] == oldest
    assert f"jaxlib=={oldest}\n" in ReleaseFiles.of(tmp_path).requirements(oldest)


def test_a_second_recording_belongs_to_the_same_machine(tmp_path: Path, measure: Pretended) -> None:
    files = ReleaseFiles.of(tmp_path)
    confirmation = ReleaseRecorder(
        files.again, tmp_path, "3.12", processes=1, benchmarks=[SCAN], measure=measure
    )
    confirmation.run(made(tmp_path, "0.5.0"))
    environments_written = list(tmp_path.rglob("environment.json"))
    assert environments_written == [tmp_path / "environment.json"]
