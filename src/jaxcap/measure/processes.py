"""Fresh processes that measure, each with its own memory layout and compilation caches.

This is the parent's side: it starts workers, sends them requests and ends them. What runs in a
worker, and the messages between the two, are in `jaxcap.measure.worker`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import Self
from warnings import warn

import jax

from jaxcap.measure.machine import description
from jaxcap.measure.machine.disturbance import BUSY_SHARE, Monitor
from jaxcap.measure.worker import Action, Answer, Request, Task

# A worker that takes longer to answer hangs: a first call may take minutes.
ANSWER_LIMIT_S = 1200.0
# Workers may fill this share of the memory that is free.
MEMORY_SHARE = 0.8


class ProcessError(RuntimeError):
    """A fresh process failed to measure; the message ends with the last line that it printed.

    Attributes
    ----------
    point
        Index of the point that it failed to prepare; None if it failed at something else.
    interpreter
        The Python that ran it; None if that isn't known.
    """

    point: int | None = None
    interpreter: Interpreter | None = None


@dataclass(frozen=True)
class Interpreter:
    """The Python that runs fresh processes; by default this one.

    Attributes
    ----------
    executable
        Its file.
    path
        Folders that it imports from, before its own; by default those of this process.
    """

    executable: str = sys.executable
    path: tuple[str, ...] = ()


class WorkerProcess:
    """The process of a `~jaxcap.measure.worker.Worker`, as its parent sees it.

    A context manager: the process ends with the context, or with this process.

    Attributes
    ----------
    cpu_s, memory_bytes
        From the last answer.
    variants
        Names of the variants at each point, once they are prepared.
    limit_s
        Seconds after which a process that doesn't answer counts as hanging.
    """

    def __init__(
        self,
        experiment: str,
        commit: str,
        interpreter: Interpreter,
        *,
        limit_s: float = ANSWER_LIMIT_S,
    ) -> None:
        self._experiment = experiment
        self._interpreter = interpreter
        self.limit_s = limit_s
        self._errors = TemporaryFile()  # noqa: SIM115 (closed with the context)
        self._process = subprocess.Popen(
            [interpreter.executable, "-P", "-m", "jaxcap.measure.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_environment(commit, interpreter),
            text=True,
            encoding="utf-8",
        )
        self.cpu_s = 0.0
        self.memory_bytes: int | None = None
        self.variants: list[tuple[str, ...]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def send(self, message: Task | Request) -> None:
        """Send the task or a request, without waiting for the answer."""
        assert self._process.stdin
        with suppress(BrokenPipeError):  # the worker has failed, and `answer` says why
            print(message.model_dump_json(), file=self._process.stdin, flush=True)

    def answer(self) -> Answer:
        """Wait for the answer to the task or to a request.

        Raises
        ------
        ProcessError
            If the process ends instead, or doesn't answer in time.
        """
        assert self._process.stdout
        start_s = time.monotonic()
        timer = Timer(self.limit_s, self._process.kill)
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()  # a timer that runs on would keep an interrupted program alive
        if not line.endswith("\n"):  # the process ended, perhaps while it was writing
            error = ProcessError(self._failure(hangs=time.monotonic() - start_s >= self.limit_s))
            error.interpreter = self._interpreter
            raise error
        answer = Answer.model_validate_json(line)
        self.cpu_s, self.memory_bytes = answer.cpu_s, answer.memory_bytes
        return answer

    def ask(self, action: Action, point: int = 0) -> Answer:
        """Send a request, and wait for the answer."""
        self.send(Request(action=action, point=point))
        return self.answer()

    def _failure(self, *, hangs: bool) -> str:
        if hangs:
            return (
                f"experiment {self._experiment!r} was stopped after {self.limit_s:,.0f} s in a "
                "fresh process without an answer: measure it in this process to see where it hangs"
            )
        code = self._process.wait()
        self._errors.seek(0)
        printed = self._errors.read().decode(errors="replace").strip().splitlines()
        return (
            f"experiment {self._experiment!r} failed in a fresh process (exit code {code}): "
            f"{printed[-1] if printed else 'it printed nothing'}"
        )


def cpu_s(workers: Iterable[WorkerProcess]) -> float:
    """Return the CPU seconds that this process and the workers have used so far."""
    return time.process_time() + sum(worker.cpu_s for worker in workers)


def start(workers: Iterable[WorkerProcess], task: Task) -> None:
    """Give workers their task, and wait until they have imported what it needs."""
    for worker in workers:
        worker.send(task)
    for worker in workers:
        worker.answer()


def prepare(workers: list[WorkerProcess], task: Task) -> list[WorkerProcess]:
    """Make as many workers ready to measure as fit into memory, and return these.

    Warns if the machine is too busy to measure on.
    """
    workers = _prepare_points(workers, task)
    for worker in workers:  # nothing is timed, so all may compile at the same time
        worker.send(Request(action="compile"))
    for worker in workers:
        worker.answer()
    for worker in {"all": workers, "first": workers[:1], "none": []}[task.analysed]:
        worker.ask("analyse")
    # From here on one worker runs at a time, as when they measure, and shows what is stolen from it.
    monitor = Monitor(cpu_s(workers))
    for worker in workers:
        worker.ask("calibrate")
    if monitor.end_window(cpu_s(workers)) and monitor.shares[0] > BUSY_SHARE:
        warn(
            f"other work takes {monitor.shares[0]:.0%} of the CPU, so times will be too long and "
            "intervals wide: end it, or measure later",
            stacklevel=5,
        )
    return workers


def _prepare_points(workers: list[WorkerProcess], task: Task) -> list[WorkerProcess]:
    free_bytes = description.free_memory_bytes(jax.default_backend())
    for number, worker in enumerate(workers, start=1):
        worker.variants = [_prepare_point(worker, point) for point in range(len(task.points))]
        if worker.variants != workers[0].variants:
            raise ProcessError("fresh processes prepared different variants, or in another order")
        if free_bytes is None or worker.memory_bytes is None:
            continue
        free_bytes -= worker.memory_bytes
        if worker.memory_bytes > MEMORY_SHARE * free_bytes and number < len(workers):
            warn(
                f"experiment {task.name!r} was measured in fewer than {len(workers)} processes, "
                f"because it fits into this machine's memory {number} times",
                stacklevel=6,
            )
            return workers[:number]
    return workers


def _prepare_point(worker: WorkerProcess, point: int) -> tuple[str, ...]:
    try:
        return worker.ask("prepare", point).variants
    except ProcessError as error:
        error.point = point
        raise


def _environment(commit: str, interpreter: Interpreter) -> dict[str, str]:
    """Environment variables of a fresh process."""
    own_path = [path or str(Path.cwd()) for path in sys.path]
    return {
        # Variants of other libraries need memory on a GPU, too.
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(interpreter.path or own_path),
        "JAXCAP_COMMIT": commit,
        "JAX_TRACEBACK_FILTERING": "off",  # its note would be the last line
    }
