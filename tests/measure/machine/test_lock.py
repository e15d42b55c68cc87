"""One lock for a machine: who gets it, who waits, and where it lies."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from jaxcap.measure.machine import lock
from jaxcap.measure.machine.lock import BusyError, measuring_alone


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lock, "LOCK", tmp_path / "lock")
    monkeypatch.delenv("JAXCAP_LOCK_HELD", raising=False)


def test_only_one_process_measures() -> None:
    with measuring_alone():
        script = f"import runpy; lock = runpy.run_path({lock.__file__!r})"
        other = subprocess.run(
            [sys.executable, "-c", f"{script}; lock['measuring_alone']().__enter__()"],
            env=os.environ | {"JAXCAP_LOCK": str(lock.LOCK)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert "BusyError: another recording or build is measuring" in other.stderr
    with measuring_alone():  # the lock is free again
        pass


def test_one_process_may_wait_for_another() -> None:
    measured = Event()

    def wait_and_measure() -> None:
        with measuring_alone(wait=True):
            measured.set()

    with measuring_alone():
        waiting = Thread(target=wait_and_measure)
        waiting.start()
        assert not measured.wait(0.1)
    assert measured.wait(30)
    waiting.join()


def test_what_a_holder_starts_does_not_lock_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with measuring_alone():
        monkeypatch.setenv("JAXCAP_LOCK_HELD", "1")
        with measuring_alone():
            pass
        monkeypatch.setenv("JAXCAP_LOCK_HELD", "0")
        with pytest.raises(BusyError), measuring_alone():
            pass


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes")
def test_any_user_may_take_it() -> None:
    before = os.umask(0o077)
    try:
        with measuring_alone():
            pass
    finally:
        os.umask(before)
    assert lock.LOCK.stat().st_mode & 0o777 == 0o666


def test_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAXCAP_LOCK", str(tmp_path / "other"))
    assert runpy.run_path(lock.__file__)["LOCK"] == tmp_path / "other"


@pytest.mark.skipif(os.name != "posix", reason="temporary files are each user's own")
def test_is_the_same_for_all_jobs_and_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAXCAP_LOCK", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert runpy.run_path(lock.__file__)["LOCK"].parent == Path("/tmp")
