"""Training on many devices is the training on one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

Start = Callable[..., subprocess.Popen[str]]

SLURM_PORTS = range(2**16 - 2**12, 2**16)

SETTINGS = (
    *("--data", "subset", "--num-epochs", "2", "--dry-run"),
    *("--batch-size-training", "32", "--batch-size-validation", "200"),
)
DEADLINE_S = 300.0


@pytest.fixture(scope="module", autouse=True)
def _compile_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let all processes share what they compile, which takes most of their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("compiled")))
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        yield


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes of a job, and leaves none behind."""
    started = []

    def start_one(
        *arguments: str, devices: int, environment: Mapping[str, str] = MappingProxyType({})
    ) -> subprocess.Popen[str]:
        started.append(start_process(*arguments, devices=devices, environment=environment))
        return started[-1]

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def start_process(
    *arguments: str, devices: int, environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "jaxcap", "mnist", "flax", "--all-devices", *SETTINGS, *arguments],
        env=os.environ
        | {"JAX_NUM_CPU_DEVICES": str(devices), "JAX_PLATFORMS": "cpu"}
        | dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err
    return out


def rows_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def free_port(cluster: str) -> int:
    for port in SLURM_PORTS if cluster == "SLURM" else (0,):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            found: int = free.getsockname()[1]
            return found
    raise AssertionError("no port is free")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What one process with one device does."""
    log = tmp_path_factory.mktemp("alone") / "log"
    finish(start_process("--log", str(log), devices=1))
    return rows_of(log)


def assert_same_curve(one: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]) -> None:
    for name in "train_loss", "test_loss":
        expected = [row[name] for row in one]
        assert [row[name] for row in other] == pytest.approx(expected, rel=1e-4)


def test_eight_devices_train_as_one_does(
    start: Start, alone: list[dict[str, Any]], tmp_path: Path
) -> None:
    out = finish(start("--log", str(tmp_path / "log"), devices=8))
    assert "of 2,000" in out
    assert_same_curve(alone, rows_of(tmp_path / "log"))


@pytest.mark.parametrize("cluster", ["none", "SLURM"])
def test_two_processes_train_as_one_does(
    start: Start, alone: list[dict[str, Any]], tmp_path: Path, cluster: str
) -> None:
    port = free_port(cluster)
    logs = [tmp_path / "0", tmp_path / "1"]
    checkpoints = tmp_path / "checkpoints"
    processes = []
    for number, log in enumerate(logs):
        if cluster == "SLURM":
            job: tuple[str, ...] = ()
            environment = srun(number, port)
        else:
            job = ("--coordinator", f"127.0.0.1:{port}", "--processes", "2")
            job, environment = (*job, "--process", str(number)), {}
        files = ("--log", str(log), "--checkpoints", str(checkpoints))
        processes.append(start(*job, *files, devices=2, environment=environment))
    for process in processes:
        finish(process)
    assert_same_curve(alone, rows_of(logs[0]))
    assert not logs[1].exists()  # the first speaks for all
    if cluster == "none":  # one process goes on where they stopped
        files = ("--log", str(logs[0]), "--checkpoints", str(checkpoints))
        finish(start("--num-epochs", "3", *files, devices=1))
        assert_same_curve(alone, rows_of(logs[0])[:2])
        assert len(rows_of(logs[0])) == 3


def srun(number: int, port: int) -> dict[str, str]:
    """What SLURM tells each of two processes. JAX makes a port of the number of the job."""
    return {
        "SLURM_JOB_ID": str(port - SLURM_PORTS.start),
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_NTASKS": "2",
        "SLURM_PROCID": str(number),
        "SLURM_LOCALID": str(number),
    }


def test_killed_it_goes_on_from_the_last_checkpoint(
    start: Start, alone: list[dict[str, Any]], tmp_path: Path
) -> None:
    folder, log = tmp_path / "checkpoints", tmp_path / "log"
    files = ("--checkpoints", str(folder), "--log", str(log))
    killed = start("--num-epochs", "1000", *files, devices=1)
    deadline = time.monotonic() + DEADLINE_S
    while not log.exists():
        assert killed.poll() is None, killed.communicate()
        assert time.monotonic() < deadline, "no epoch was logged"
        time.sleep(0.02)
    killed.kill()  # somewhere in the second epoch, its test or its checkpoint
    killed.wait()
    done = len(rows_of(log))
    finish(start("--num-epochs", str(done + 1), *files, devices=1))
    assert [row["epoch"] for row in rows_of(log)] == list(range(1, done + 2))
    assert_same_curve(alone, rows_of(log)[:2])


def test_a_batch_that_devices_cannot_share_is_refused(start: Start) -> None:
    process = start(*("--batch-size-training", "30"), devices=8)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
    assert "batch_size_training is 30, which 8 devices can't share" in err.splitlines()[-1]
