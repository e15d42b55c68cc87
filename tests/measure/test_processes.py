"""What a parent sees of its workers, also of those that fail, hang or are killed."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from sample_experiments import SUMS

from jaxcap.measure import processes
from jaxcap.measure.processes import Interpreter, ProcessError, WorkerProcess
from jaxcap.measure.worker import Task
from jaxcap.results import Parameter


@contextmanager
def started(prepare: str, *points: dict[str, Parameter]) -> Iterator[WorkerProcess]:
    task = Task(
        name="broken",
        reference=f"sample_experiments:{prepare}",
        points=points or ({"size": 10},),
        sample_s=1e-6,
        allocator="default",
        empty_caches=False,
    )
    with WorkerProcess(task.name, "", Interpreter()) as process:
        process.send(task)
        process.answer()
        yield process


def test_a_task_may_be_longer_than_a_pipe_holds() -> None:
    points: list[dict[str, Parameter]] = [
        {"size": 10, "note": "x" * 900, "number": number} for number in range(200)
    ]
    with (
        pytest.raises(ProcessError, match="ValueError: number 0 of the points"),
        started("prepare_and_name_the_point", *points) as process,
    ):
        process.ask("prepare")


@pytest.mark.parametrize(
    ("prepare", "size", "message"),
    [
        ("prepare_and_raise", 10, "code 1): ValueError: no size 10 here"),
        ("prepare_and_raise_in_jax", 10, "code 1): TypeError: "),
        ("prepare_nothing", 10, "code 1): ValueError: variants is empty: give at least one"),
        ("prepare_and_name_badly", 10, "code 1): ValueError: variants cannot be named 'a\\n'"),
        ("prepare_and_exit", 3, "code 3): it printed nothing"),
        ("prepare_and_exit", 0, "code 0): it printed nothing"),
    ],
)
def test_failed_process_is_reported_with_its_last_line(
    prepare: str, size: int, message: str
) -> None:
    expected = f"experiment 'broken' failed in a fresh process (exit {message}"
    with (
        pytest.raises(ProcessError, match=f"^{re.escape(expected)}"),
        started(prepare, {"size": size}) as process,
    ):
        process.ask("prepare")


def test_a_process_that_hangs_is_stopped() -> None:
    message = r"experiment 'broken' was stopped after .* without an answer"
    with started("prepare_and_hang") as process:
        process.limit_s = 0.5
        with pytest.raises(ProcessError, match=message):
            process.ask("prepare")


def test_a_process_that_hangs_is_reported_however_long_it_takes_to_stop_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def kill_slowly(process: subprocess.Popen[str]) -> None:
        kill(process)
        time.sleep(0.5)

    kill = subprocess.Popen.kill
    with started("prepare_and_hang") as process:
        process.limit_s = 0.1
        monkeypatch.setattr(subprocess.Popen, "kill", kill_slowly)
        with pytest.raises(ProcessError, match="was stopped after"):
            process.ask("prepare")


def test_a_process_that_is_killed_while_it_answers_is_reported() -> None:
    with started("prepare_sums") as process, pytest.MonkeyPatch.context() as patch:
        process._process.kill()
        patch.setattr(process._process, "stdout", io.StringIO('{"cpu_s": 1'))
        with pytest.raises(ProcessError, match="failed in a fresh process"):
            process.answer()


def test_an_interrupt_leaves_no_timer_that_keeps_the_program_alive() -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    with started("prepare_sums") as process, pytest.MonkeyPatch.context() as patch:
        patch.setattr(process._process, "stdout", SimpleNamespace(readline=interrupted))
        with pytest.raises(KeyboardInterrupt):
            process.answer()
    wait_until(lambda: set(threading.enumerate()) <= before, seconds=5)


def test_processes_import_what_their_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jaxcap.py").write_text("raise RuntimeError('not this one')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert SUMS.run(points=[{"size": 10}], processes=1, budget_s=1e-6)
    assert capfd.readouterr() == ("", "")  # what variants print stays with them


def test_processes_import_from_the_current_folder_where_their_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "/somewhere/else"])  # an interactive session
    variables = processes._environment("", Interpreter())
    assert variables["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "/somewhere/else"]


@pytest.mark.parametrize(("setting", "expected"), [(None, "false"), ("true", "true")])
def test_processes_leave_memory_of_a_gpu_to_other_libraries(
    setting: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = "XLA_PYTHON_CLIENT_PREALLOCATE"
    monkeypatch.delenv(variable, raising=False)
    if setting:
        monkeypatch.setenv(variable, setting)
    assert processes._environment("", Interpreter())[variable] == expected


MEASURE_LONG = """
import sys
from sample_experiments import SUMS

SUMS.run(points=[{"size": 10, "log": sys.argv[1]}], processes=1, budget_s=60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="ps and signals")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_process_ends_with_its_parent_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    log, temporary = tmp_path / "log", tmp_path / "temporary"
    temporary.mkdir()
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-c", MEASURE_LONG, log], env=os.environ | paths, stderr=subprocess.PIPE
    ) as parent:
        wait_until(lambda: log.exists() and bool(log.read_text(encoding="ascii")))
        worker = int(log.read_text(encoding="ascii"))
        assert is_running(worker)
        parent.send_signal(getattr(signal, name))
    try:
        wait_until(lambda: not is_running(worker), seconds=20)
    finally:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    assert list(temporary.iterdir()) == []


def wait_until(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(process: int) -> bool:
    command = ["ps", "-o", "stat=", "-p", str(process)]
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return bool(state) and not state.startswith("Z")
