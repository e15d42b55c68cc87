"""Other work on the machine is noticed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import FakeClock

from jaxcap.measure.machine import disturbance
from jaxcap.measure.machine.disturbance import (
    WINDOW_S,
    CpuTimes,
    Monitor,
    cpu_times,
    other_work_now,
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


def script(monkeypatch: pytest.MonkeyPatch, *times: CpuTimes | None) -> None:
    answers: Iterator[CpuTimes | None] = iter(times)
    monkeypatch.setattr(disturbance, "cpu_times", lambda: next(answers))


def test_reads_all_cores_with_stolen_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    stat.write_text(
        "cpu  100 10 20 500 30 1 2 40 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n", encoding="ascii"
    )
    monkeypatch.setattr(disturbance, "_STAT", stat)
    monkeypatch.setattr(os, "sysconf", lambda _: 100)
    assert cpu_times() == CpuTimes(total_s=7.03, idle_s=5.3, stolen_s=0.4)


def test_knows_nothing_where_the_system_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    monkeypatch.setattr(disturbance, "_STAT", tmp_path / "missing")
    assert cpu_times() is None
    monitor = Monitor(own_s=0.0)
    clock.advance(1)
    assert monitor.end_window(own_s=0.0)
    assert monitor.shares == [0.0]
    assert other_work_now() is None


@pytest.mark.parametrize(
    ("idle_s", "own_s", "share"),
    [
        (1.0, 1.0, 0.0),  # one of two cores is ours, the other idle
        (0.4, 1.0, 0.3),  # something else took 0.6 of 2 s
        (0.0, 0.5, 0.75),
        (1.0, 1.2, 0.0),  # the counters are coarse, but no share is negative
    ],
)
def test_what_is_neither_idle_nor_ours_is_others(
    idle_s: float, own_s: float, share: float, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    script(monkeypatch, CpuTimes(10.0, 5.0, 1.0), CpuTimes(12.0, 5.0 + idle_s, 1.0))
    monitor = Monitor(own_s=3.0)
    clock.advance(1)
    assert monitor.end_window(own_s=3.0 + own_s)
    assert monitor.shares == [share]


@pytest.mark.parametrize(
    ("cores", "idle_s", "stolen_s", "share"),
    [
        (2, 1.0, 0.25, 0.25),  # ours is the only busy core
        (64, 63.0, 0.25, 0.25),
        (2, 0.0, 0.5, 0.25),  # we compute on all cores
        (64, 0.0, 16.0, 0.25),
        (2, 1.99, 0.01, 0.01),  # a tick, while we wait for a device
    ],
)
def test_stolen_time_is_part_of_what_was_wanted(
    cores: int,
    idle_s: float,
    stolen_s: float,
    share: float,
    monkeypatch: pytest.MonkeyPatch,
    clock: FakeClock,
) -> None:
    script(monkeypatch, CpuTimes(0.0, 0.0, 0.0), CpuTimes(cores, idle_s, stolen_s))
    monitor = Monitor(own_s=0.0)
    clock.advance(1)
    assert monitor.end_window(own_s=cores - idle_s - stolen_s)
    assert monitor.shares == [share]


def test_the_larger_share_counts(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    # Of two cores, another process has 0.6 s, and ours wanted 1 s and got 0.9 s.
    script(monkeypatch, CpuTimes(0.0, 0.0, 0.0), CpuTimes(2.0, 0.4, 0.1))
    monitor = Monitor(own_s=0.0)
    clock.advance(1)
    monitor.end_window(own_s=0.9)
    assert monitor.shares == [0.3]


def test_watches_for_the_length_of_a_window(
    monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    clock.tick_s = 0.1
    monkeypatch.setattr(time, "process_time", clock)
    monkeypatch.setattr(
        disturbance, "cpu_times", lambda: CpuTimes(2 * clock.now_s, 0.2 * clock.now_s, 0.0)
    )
    # One of two cores is ours, and 0.8 of the other are not.
    assert other_work_now() == pytest.approx(0.4, abs=0.05)
    assert WINDOW_S <= clock.now_s < 2 * WINDOW_S + 1


def test_windows_follow_one_another(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    script(monkeypatch, CpuTimes(0.0, 0.0, 0.0), CpuTimes(1.0, 0.5, 0.0), CpuTimes(2.0, 0.5, 0.0))
    monitor = Monitor(own_s=0.0)
    clock.advance(0.4)
    assert not monitor.end_window(own_s=0.0)
    clock.advance(0.1)
    assert monitor.end_window(own_s=0.5)
    assert not monitor.end_window(own_s=0.5)
    assert monitor.end_window(own_s=0.5, at_once=True)
    assert monitor.shares == [0.0, 0.0]  # too short to know, so like the one before


def test_the_only_window_is_measured_however_short(
    monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    script(monkeypatch, CpuTimes(0.0, 0.0, 0.0), CpuTimes(1.0, 0.5, 0.0))
    monitor = Monitor(own_s=0.0)
    clock.advance(0.1)
    assert monitor.end_window(own_s=0.0, at_once=True)
    assert monitor.shares == [0.5]
