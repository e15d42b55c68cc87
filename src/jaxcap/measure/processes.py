"""Fresh processes that measure, each with a memory layout and compilation caches of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Self

from jaxcap.measure import machine
from jaxcap.measure.progress import progress_bar
from jaxcap.measure.timing import sweep
from jaxcap.results import Allocator, Parameter, Result, ResultSet
from jaxcap.results.environment import FrozenModel

# A fresh process counts as hanging when it takes longer than this to start, and at each point longer
# than this plus that many budgets. First calls may take minutes, and the fewest rounds far more than
# the budget.
START_LIMIT_S, POINT_LIMIT_S, BUDGETS_LIMIT = 600, 1200, 100


class ProcessError(RuntimeError):
    """A fresh process failed to measure; the message ends with the last line that it printed."""


class Task(FrozenModel):
    """What a fresh process measures.

    Attributes
    ----------
    name
        Name of the experiment.
    reference
        Where the process finds the function that prepares the variants, as ``"module:name"``.
    points
        The sets of parameters to measure with.
    budget_s, allocator, empty_caches
        See `jaxcap.measure.timing.compare`.
    """

    name: str
    reference: str
    points: tuple[dict[str, Parameter], ...]
    budget_s: float
    allocator: Allocator
    empty_caches: bool

    @property
    def limit_s(self) -> float:
        """The time, in seconds, after which a process that works on the task counts as hanging."""
        return START_LIMIT_S + len(self.points) * (POINT_LIMIT_S + BUDGETS_LIMIT * self.budget_s)

    def run(self) -> ResultSet:
        """Measure all points in this process."""
        return sweep(
            resolve_name(self.reference),
            self.points,
            experiment=self.name,
            budget_s=self.budget_s,
            allocator=self.allocator,
            empty_caches=self.empty_caches,
            precision=0,
        )


class Worker:
    """A fresh process that carries out one task, and ends no later than this process."""

    def __init__(self, commit: str) -> None:
        stdin, self._stdin = os.pipe()  # the system closes this end when this process dies
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "jaxcap.measure.worker"],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(commit),
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        finally:
            os.close(stdin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._stdin)
        with self._process:
            self._process.kill()

    def send(self, task: Task) -> None:
        """Hand a task to the process."""
        with suppress(BrokenPipeError):  # it has failed already, and `receive` says why
            os.write(self._stdin, f"{task.model_dump_json()}\n".encode())

    def receive(self, task: Task) -> ResultSet:
        """Wait for the results of the task that was sent.

        Raises
        ------
        ProcessError
            If the process fails or hangs.
        """
        try:
            output, errors = self._process.communicate(timeout=task.limit_s)
        except subprocess.TimeoutExpired:
            raise ProcessError(
                f"experiment {task.name!r} was stopped after {task.limit_s:,.0f} s in a fresh "
                "process, which is far more than its budget: measure it in this process to see "
                "where it hangs"
            ) from None
        if self._process.returncode != 0 or not output:
            last_line = (errors.strip().splitlines() or ["it printed nothing"])[-1]
            raise ProcessError(
                f"experiment {task.name!r} failed in a fresh process "
                f"(exit code {self._process.returncode}): {last_line}"
            )
        return ResultSet.model_validate_json(output, strict=True)


def run_in_processes(
    task: Task, *, processes: int, code: str, on_process: Callable[[], object] | None
) -> ResultSet:
    """Carry out a task in fresh processes, one after another, and pool what they measured.

    ``code`` is the digest that the results record. For the other parameters and the errors see
    `jaxcap.measure.experiment.Experiment.run`.
    """
    # The same for all processes, even if somebody commits in the meantime.
    commit = machine.capture().commit or ""
    sets = []
    # A caller with a callback has a progress bar already.
    with progress_bar(hidden=on_process is not None) as bar:
        for _ in bar.track(range(processes), description=f"{task.name}: fresh processes"):
            sets.append(_run_in_process(task, commit))
            if on_process:
                on_process()
    return _pool(sets, code)


def _run_in_process(task: Task, commit: str) -> ResultSet:
    with Worker(commit) as worker:
        worker.send(task)
        return worker.receive(task)


def _environment(commit: str) -> dict[str, str]:
    """Environment variables of a fresh process, which imports from where this one does."""
    return {
        # Variants of other libraries need memory on a GPU, too.
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
        "JAXCAP_COMMIT": commit,
        "JAX_TRACEBACK_FILTERING": "off",  # its note would be the last line
    }


def _pool(sets: Sequence[ResultSet], code: str) -> ResultSet:
    """Join what several processes measured with the same code, variants and points."""
    first, *others = sets
    for other in others:
        first.environment.require_same_machine(other.environment)

    def pooled(results: tuple[Result, ...]) -> Result:
        runs = tuple(run for result in results for run in result.runs)
        return results[0].model_copy(update={"runs": runs, "code": code})

    keys = {tuple(result.key for result in results) for results in sets}
    if len(keys) > 1:
        raise ProcessError("fresh processes prepared different variants, or in another order")
    same_results = zip(*(results.results for results in sets), strict=True)
    return first.model_copy(update={"results": tuple(map(pooled, same_results))})
