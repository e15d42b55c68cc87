"""Fresh processes that measure, each with a memory layout and compilation caches of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import Literal, NoReturn, Self

from jaxcap.results import Allocator, Parameter, ResultSet
from jaxcap.results.base import FrozenModel

# A process hangs if it takes longer to start, or to answer: a first call may take minutes.
START_LIMIT_S, ANSWER_LIMIT_S = 600.0, 1200.0


Action = Literal["prepare", "compile", "analyse", "calibrate", "measure", "report"]


class ProcessError(RuntimeError):
    """A fresh process failed to measure; the message ends with the last line that it printed."""


class Task(FrozenModel):
    """What a fresh process measures.

    Attributes
    ----------
    name
        Name of the experiment.
    reference
        Where to find the function that prepares a point, as ``"module:name"``.
    points
        The sets of parameters.
    sample_s
        The least length of a sample.
    allocator
        The allocator to use.
    empty_caches
        See `jaxcap.measure.timing.compare`.
    """

    name: str
    reference: str
    points: tuple[dict[str, Parameter], ...]
    sample_s: float
    allocator: Allocator
    empty_caches: bool


class Request(FrozenModel):
    """One thing for a process to do, which disturbs all others if they do anything meanwhile.

    Attributes
    ----------
    action
        ``"prepare"`` a point, and call its variants for the first time; ``"compile"`` all points
        again, ``"analyse"`` what their calls do, ``"calibrate"`` the length of their samples;
        ``"measure"`` one round at a point; ``"report"`` all results.
    point
        Index of the point.
    """

    action: Action
    point: int = 0


class Answer(FrozenModel):
    """What a process tells when it has done what was asked.

    Attributes
    ----------
    samples_s
        Time of a call by variant.
    cpu_s
        CPU time of the process so far.
    memory_bytes
        The most memory that it has held on the device; None where nobody counts it.
    results
        All results, in a report.
    """

    samples_s: dict[str, float]
    cpu_s: float
    memory_bytes: int | None
    results: ResultSet | None


class Worker:
    """A fresh process, which measures when it is asked to and otherwise waits.

    A context manager: the process ends with the context, or with this process.
    """

    def __init__(self, task: Task, commit: str) -> None:
        self._task = task
        self._errors = TemporaryFile()  # noqa: SIM115 (closed with the context)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "jaxcap.measure.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_environment(commit),
            text=True,
            encoding="utf-8",
        )
        self.cpu_s = 0.0
        self.memory_bytes: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def start(self) -> None:
        """Hand the task over. The process answers when it is ready for requests."""
        self._send(self._task)

    def request(self, action: Action, point: int = 0) -> None:
        """Ask for something, without waiting for the answer."""
        self._send(Request(action=action, point=point))

    def _send(self, message: FrozenModel) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):  # it has failed, and `answer` says why
            print(message.model_dump_json(), file=self._process.stdin, flush=True)

    def answer(self, limit_s: float | None = None) -> Answer:
        """Wait for the answer to a request.

        Raises
        ------
        ProcessError
            If the process ends instead, or takes longer than a process that hangs.
        """
        assert self._process.stdout
        limit_s = limit_s or ANSWER_LIMIT_S
        timer = Timer(limit_s, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()  # nothing, if the process ends
        has_hung = not timer.is_alive()
        timer.cancel()
        if not line and has_hung:
            raise ProcessError(
                f"experiment {self._task.name!r} was stopped after {limit_s:,.0f} s in a fresh process "
                "without an answer: measure it in this process to see where it hangs"
            )
        if not line:
            self._fail()
        answer = Answer.model_validate_json(line)
        self.cpu_s, self.memory_bytes = answer.cpu_s, answer.memory_bytes
        return answer

    def ask(self, action: Action, point: int = 0) -> Answer:
        """Ask for something, and wait for the answer."""
        self.request(action, point)
        return self.answer()

    def _fail(self) -> NoReturn:
        code = self._process.wait()
        self._errors.seek(0)
        printed = self._errors.read().decode(errors="replace").strip().splitlines()
        raise ProcessError(
            f"experiment {self._task.name!r} failed in a fresh process (exit code {code}): "
            f"{printed[-1] if printed else 'it printed nothing'}"
        )


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
