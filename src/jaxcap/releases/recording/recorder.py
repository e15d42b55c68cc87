"""Record the benchmarks under many releases of JAX on this machine.

Each process is fresh, and runs one release. The processes of a few releases, chosen at random, are
alive at once and take turns, sample by sample. Then comes the next batch of releases, and so on, for
several rounds. A second in which the machine is slow therefore affects several releases alike, and a
slow hour all of them. Results are saved after each batch, so an interrupted recording can continue.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from jaxcap.measure.digest import digest
from jaxcap.measure.machine import description
from jaxcap.measure.machine.lock import measuring_alone
from jaxcap.measure.processes import Interpreter, ProcessError
from jaxcap.measure.turns import measure_each_in_turns
from jaxcap.measure.worker import Task
from jaxcap.releases.benchmarks import BENCHMARKS
from jaxcap.releases.benchmarks.whole_programs import PROGRAMS
from jaxcap.releases.quantities import JAX
from jaxcap.releases.recording.environments import (
    InstallationError,
    ReleaseEnvironment,
    folder_of,
    install,
)
from jaxcap.releases.recording.files import ALL, EXPERIMENT, TWIN, ReleaseFiles
from jaxcap.results import Device, ProcessSamples, Result, ResultSet
from jaxcap.results.atomic import write_atomically
from jaxcap.results.files import ENVIRONMENT_FILE

# In each process: few and short samples, because processes differ far more than samples do.
SAMPLE_S, BUDGET_S = 0.004, 0.02
# So many processes, each of another release, are alive at once and take turns.
ALIVE = 6
# A process that doesn't answer for so long hangs. Compiling takes seconds.
LIMIT_S = 240.0
# A release that fails at more benchmarks doesn't work here.
MAX_FAILURES = 10

# Times a program by its name.
TimeProgram = Callable[[Interpreter, str], float]


def time_program(interpreter: Interpreter, name: str) -> float:
    """Return the seconds that a program takes from its start to its end.

    Raises
    ------
    ProcessError
        If it fails or hangs.
    """
    start_s = time.perf_counter()
    try:
        subprocess.run(
            [interpreter.executable, "-c", PROGRAMS[name]],
            capture_output=True,
            check=True,
            timeout=LIMIT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ProcessError(f"{PROGRAMS[name]!r} failed: {error}") from error
    return time.perf_counter() - start_s


@dataclass
class ReleaseRecorder:
    """A recording of releases, which may have been begun earlier.

    Attributes
    ----------
    files
        Where it is saved.
    environments
        The folder of the virtual environments.
    python
        See `jaxcap.releases.recording.environments.install`.
    extra
        See `jaxcap.releases.recording.environments.install`.
    processes
        How many fresh processes measure each benchmark under each release.
    benchmarks
        Names of those to be measured.
    on_failure
        Called with a sentence for each failure.
    measure
        Measures calls, as `~jaxcap.measure.turns.measure_each_in_turns` does.
    time_program
        Times a program, as `time_program` does.
    """

    files: ReleaseFiles
    environments: Path
    python: str
    extra: str = ""
    processes: int = 5
    benchmarks: Sequence[str] = (*PROGRAMS, *BENCHMARKS)
    on_failure: Callable[[str], object] = lambda _: None
    measure: Callable[..., Sequence[ResultSet]] = measure_each_in_turns
    time_program: TimeProgram = time_program
    _failures: dict[str, dict[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        # Those of other releases and benchmarks stay.
        self._failures = {
            release: dict(reasons) for release, reasons in self.files.failures().items()
        }

    def missing(self, release: str) -> list[str]:
        """List the benchmarks that have not been measured in all processes."""
        runs, failures = self._runs(release), self._failures.get(release, {})
        return [
            benchmark
            for benchmark in self.benchmarks
            if runs.get(benchmark, 0) < self.processes and not {benchmark, ALL} & failures.keys()
        ]

    def _runs(self, release: str) -> dict[str, int]:
        """Count the processes that measured each benchmark with its code of today."""
        names = {str(r.parameters["benchmark"]): r for r in self.files.load(release) or ()}
        return {
            name: len(result.runs)
            for name, result in names.items()
            if name in self.benchmarks and result.code == _code(name)
        }

    def install(self, releases: Iterable[str]) -> dict[str, ReleaseEnvironment]:
        """Make the environments of all releases; those that can't be made are noted as failures."""
        made = {}
        for release in releases:
            self._forget_failures(release)
            try:
                folder = release.replace(TWIN, "-twin")
                made[release] = install(
                    release.removesuffix(TWIN),
                    folder_of(folder, self.environments, python=self.python, extra=self.extra),
                    python=self.python,
                    extra=self.extra,
                    requirements=self.files.requirements(release),
                )
            except InstallationError as error:
                self._note(release, ALL, str(error))
            else:
                self.files.save_requirements(release, made[release].requirements)
        return made

    def run(
        self,
        environments: dict[str, ReleaseEnvironment],
        on_progress: Callable[[float], object] = lambda _: None,
    ) -> None:
        """Measure what is missing, and save the results of each process when it ends.

        Parameters
        ----------
        environments
            By release, as `install` returns them.
        on_progress
            Called after each process with the share of the processes that have ended.

        Raises
        ------
        BusyError
            If another recording or build is measuring on this machine.
        OSError
            If a file can't be written.
        ValueError
            If the files were recorded on another machine.
        """
        with measuring_alone():
            self._claim_folder()
            for release in environments:
                self._forget_failures(release)
            for done, batch in self._turns(environments):
                self._measure(batch, environments)
                on_progress(done)
            self.files.note_failures(self._failures)

    def _claim_folder(self) -> None:
        """Record that the folder is this machine's, unless another machine has recorded there."""
        recorded, now = self.files.environment(), description.capture()
        if recorded and not recorded.is_same_hardware(now):
            raise ValueError(
                f"{self.files.folder} holds results of another machine ({recorded.device}), which can't "
                "be mixed with those of this one: choose another folder"
            )
        machine_file = self.files.machine_folder / ENVIRONMENT_FILE
        if not machine_file.exists():
            write_atomically(machine_file, now.model_dump_json(indent=1) + "\n")

    def _turns(self, releases: Iterable[str]) -> Iterator[tuple[float, list[str]]]:
        """Yield the share of the processes that will have run, and the releases of the next batch.

        In each round the releases come in a new random order, until none lacks anything. Those of a
        batch lack the same benchmarks.
        """
        shuffle = random.Random().shuffle
        total = done = 0
        while waiting := {release: m for release in releases if (m := self.missing(release))}:
            total = total or self.processes * len(waiting)
            order = list(waiting)
            shuffle(order)
            while order:
                alike = [release for release in order if waiting[release] == waiting[order[0]]]
                batch = alike[:ALIVE]
                order = [release for release in order if release not in batch]
                done = min(done + len(batch), total)
                yield done / total, batch

    def _measure(
        self, releases: Sequence[str], environments: Mapping[str, ReleaseEnvironment]
    ) -> None:
        """Measure what some releases lack, in a process of each, and note failures."""
        names = self.missing(releases[0])
        points = [name for name in names if name not in PROGRAMS]
        interpreters = [environments[release].interpreter for release in releases]
        try:
            for release, measured in zip(
                releases, self._measure_in_processes(interpreters, releases, points), strict=False
            ):
                programs = [name for name in names if name in PROGRAMS]
                times_s = self._time_programs(release, environments[release].interpreter, programs)
                self._save(release, measured, times_s)
        except ProcessError as error:
            failed = [
                release
                for release, interpreter in zip(releases, interpreters, strict=True)
                if error.interpreter in (None, interpreter)
            ]
            for release in failed:
                works = len(self._failures.get(release, ())) < MAX_FAILURES
                benchmark = points[error.point] if works and error.point is not None else ALL
                self._note(release, benchmark, str(error))

    def _time_programs(
        self, release: str, interpreter: Interpreter, names: Sequence[str]
    ) -> dict[str, float]:
        """Time programs, and note which of them fail."""
        times_s = {}
        for name in names:
            try:
                times_s[name] = self.time_program(interpreter, name)
            except ProcessError as error:
                self._note(release, name, str(error))
        return times_s

    def _measure_in_processes(
        self,
        interpreters: Sequence[Interpreter],
        releases: Sequence[str],
        benchmarks: Sequence[str],
    ) -> Sequence[ResultSet | None]:
        """Measure benchmarks in a fresh process of each interpreter; None if there are none."""
        if not benchmarks:
            return [None] * len(interpreters)
        is_new = any(set(benchmarks) - self._runs(release).keys() for release in releases)
        task = Task(
            name=EXPERIMENT,
            reference="jaxcap.releases.benchmarks:prepare",
            points=tuple({"benchmark": name} for name in benchmarks),
            sample_s=SAMPLE_S,
            allocator="steady",
            empty_caches=False,
            analysed="all" if is_new else "none",
        )
        sets = self.measure(
            task, interpreters, budget_s=BUDGET_S, limit_s=LIMIT_S, on_progress=lambda _: None
        )
        return [results.subset(map(_with_code, results)) for results in sets]

    def _save(self, release: str, measured: ResultSet | None, times_s: Mapping[str, float]) -> None:
        """Add what a process measured to the file of the release."""
        kept = self.files.load(release)
        latest = measured or kept
        assert latest, "programs are timed after everything else"
        results = {result.key: result for result in kept or ()}
        device = latest.environment.device
        programs = [_of_program(name, seconds, device) for name, seconds in times_s.items()]
        for new in (*(measured or ()), *programs):
            old = results.get(new.key)
            if old and old.code == new.code:
                results[new.key] = old.model_copy(update={"runs": old.runs + new.runs})
            else:
                results[new.key] = new
        self.files.save(release, latest.subset(results.values()))

    def _forget_failures(self, release: str) -> None:
        """Forget why benchmarks failed that are now tried again."""
        for benchmark in (ALL, *self.benchmarks):
            self._failures.get(release, {}).pop(benchmark, None)

    def _note(self, release: str, benchmark: str, failure: str) -> None:
        self._failures.setdefault(release, {})[benchmark] = failure
        self.files.note_failures(self._failures)
        self.on_failure(f"JAX {release}, {benchmark}: {failure}")


def _code(benchmark: str) -> str:
    """Return the digest of the code of a benchmark, which is that of its module."""
    if benchmark in PROGRAMS:
        return sha256(PROGRAMS[benchmark].encode()).hexdigest()[:12]
    return digest(BENCHMARKS[benchmark].prepare.__module__)


def _with_code(result: Result) -> Result:
    """Note the digest of the code of a result's benchmark."""
    return result.model_copy(update={"code": _code(str(result.parameters["benchmark"]))})


def _of_program(name: str, seconds: float, device: Device) -> Result:
    run = ProcessSamples(
        first_call_s=seconds,
        calls_per_sample=1,
        samples_s=(seconds,),
        dispatch_s=(seconds,),
        minor_faults=(),
    )
    return Result(
        experiment=EXPERIMENT,
        variant=JAX,
        parameters={"benchmark": name},
        device=device,
        comparison=uuid4().hex[:12],
        code=_code(name),
        allocator="default",
        working_set_bytes=0,
        runs=(run,),
    )
