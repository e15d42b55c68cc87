"""Other work on the machine is noticed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import FakeClock

from jaxcap.measure.machine import disturbance
from jaxcap.measure.machine.disturbance import CpuTimes, Monitor, cpu_times


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
    assert cpu_times() == CpuTimes(total_s=7.03, idle_s=5.3)


def test_knows_nothing_where_the_system_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    monkeypatch.setattr(disturbance, "_STAT", tmp_path / "missing")
    assert cpu_times() is None
    monitor = Monitor(own_s=0.0)
    clock.advance(1)
    assert monitor.end_window(own_s=0.0)
    assert monitor.shares == [0.0]


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
    script(monkeypatch, CpuTimes(10.0, 5.0), CpuTimes(12.0, 5.0 + idle_s))
    monitor = Monitor(own_s=3.0)
    clock.advance(1)
    assert monitor.end_window(own_s=3.0 + own_s)
    assert monitor.shares == [share]


def test_windows_follow_one_another(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    script(monkeypatch, CpuTimes(0.0, 0.0), CpuTimes(1.0, 0.5), CpuTimes(2.0, 0.5))
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
    script(monkeypatch, CpuTimes(0.0, 0.0), CpuTimes(1.0, 0.5))
    monitor = Monitor(own_s=0.0)
    clock.advance(0.1)
    assert monitor.end_window(own_s=0.0, at_once=True)
    assert monitor.shares == [0.5]
