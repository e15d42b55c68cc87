"""Measure a reader's own function in fresh processes of several releases, which take turns."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jaxcap.measure.functions import reason_of
from jaxcap.measure.processes import ProcessError, WorkerProcess
from jaxcap.measure.worker import Task
from jaxcap.releases.quantities import LEAST, Quantity, estimate_of
from jaxcap.releases.recording.environments import (
    DEFAULT_PYTHON,
    LOCK,
    InstallationError,
    ReleaseEnvironment,
    folder_of,
    install,
)
from jaxcap.releases.search.bisection import ReleaseError
from jaxcap.results import Device, Result

# In each process, as in a recording of releases: few and short samples, because processes differ far
# more than samples do. Rounds end when they have taken so long together, per process.
SAMPLE_S, BUDGET_S = 0.004, 0.3
MIN_ROUNDS, MAX_ROUNDS = 4, 12

_Workers = Sequence[tuple[str, WorkerProcess]]


@dataclass
class FunctionTrials:
    """What `jaxcap.releases.search.bisection.bisect` calls to measure a function.

    Attributes
    ----------
    function, setup
        See `jaxcap.measure.functions.prepare`.
    quantity
        What is measured of a call.
    environments
        The folder of the virtual environments.
    python
        See `jaxcap.releases.recording.environments.install`.
    packages
        What the function needs besides JAX, NumPy and SciPy.
    limit_s
        Seconds after which a process that doesn't answer counts as hanging.
    on_progress
        Called with what is being done.
    """

    function: str
    setup: str
    quantity: Quantity
    environments: Path
    python: str = DEFAULT_PYTHON
    packages: Sequence[str] = ()
    limit_s: float = 300.0
    on_progress: Callable[[str], object] = lambda _: None
    #: Environments by release, and where the function ran, once that is known.
    made: dict[str, ReleaseEnvironment] = field(default_factory=dict, init=False)
    device: Device | None = field(default=None, init=False)

    def __call__(self, releases: Sequence[str], processes: int) -> Mapping[str, Sequence[float]]:
        """Measure in a number of fresh processes of each release, all of them alive at once.

        Raises
        ------
        ReleaseError
            If a release can't be installed, or the function fails or hangs under it.
        """
        environments = {release: self._environment(release) for release in releases}
        task = Task(
            name="bisect",
            reference="jaxcap.measure.functions:prepare",
            points=({"function": self.function, "setup": self.setup},),
            sample_s=SAMPLE_S,
            allocator="steady",
            empty_caches=False,
        )
        self.on_progress(f"measuring {', '.join(releases)}")
        with ExitStack() as stack:
            workers = [
                (release, stack.enter_context(self._worker(environment)))
                for release, environment in environments.items()
                for _ in range(processes)
            ]
            for _, worker in workers:
                worker.send(task)
            self._measure(workers)
            values: dict[str, list[float]] = {release: [] for release in releases}
            for release, worker in workers:
                results = worker.ask("report").results
                assert results, "a report has results"
                values[release].append(self._value(release, results[0]))
                self.device = results[0].device
            return values

    def folder(self, release: str) -> Path:
        """Return where a release is installed."""
        return folder_of(release, self.environments, python=self.python, packages=self.packages)

    def installed(self) -> list[str]:
        """List the releases that are installed already.

        Raises
        ------
        InstallationError
            If there is no such Python.
        """
        names = (path.parent.name for path in self.environments.glob(f"*/{LOCK}"))
        releases = {name.partition("-")[0] for name in names if "twin" not in name}
        return [release for release in releases if (self.folder(release) / LOCK).exists()]

    def _environment(self, release: str) -> ReleaseEnvironment:
        if release not in self.made:
            self.on_progress(f"installing {release}")
            try:
                self.made[release] = install(
                    release, self.folder(release), python=self.python, packages=self.packages
                )
            except InstallationError as error:
                raise ReleaseError(release, str(error)) from error
        return self.made[release]

    def _worker(self, environment: ReleaseEnvironment) -> WorkerProcess:
        return WorkerProcess("bisect", "", environment.interpreter, limit_s=self.limit_s)

    def _measure(self, workers: _Workers) -> None:
        """Let workers prepare and measure, one at a time and in random order."""
        workers = list(workers)
        shuffle = random.Random().shuffle  # the user's own random state stays as it is
        shuffle(workers)
        for release, worker in workers:
            with self._naming(release):
                worker.answer()
        for release, worker in workers:
            with self._naming(release):
                worker.ask("prepare")
                if self.quantity == "temporary memory":
                    worker.ask("analyse")
        if self.quantity == "time":
            for release, worker in workers:
                with self._naming(release):
                    worker.ask("calibrate")
        # Whatever the quantity, a result needs a sample.
        most, least = (MAX_ROUNDS, MIN_ROUNDS) if self.quantity == "time" else (1, 1)
        start_s = time.perf_counter()
        for number in range(most):
            if number >= least and time.perf_counter() - start_s > BUDGET_S * len(workers):
                break
            shuffle(workers)
            for release, worker in workers:
                with self._naming(release):
                    worker.ask("measure")

    @contextmanager
    def _naming(self, release: str) -> Iterator[None]:
        """Say under which release a process failed."""
        try:
            yield
        except ProcessError as error:
            raise ReleaseError(release, self._reason(str(error))) from error

    def _reason(self, failure: str) -> str:
        if "without an answer" in failure:
            return f"a process was stopped after {self.limit_s:,.0f} s without an answer"
        return reason_of(failure)

    def _value(self, release: str, result: Result) -> float:
        estimate = estimate_of(result, self.quantity)
        if estimate is None:
            raise ReleaseError(
                release,
                "XLA doesn't report the temporary memory, because the function is not one that "
                "jax.jit returned",
            )
        return max(estimate.value, LEAST[estimate.unit])
