"""Samples among other processes: calibrated without bad luck, warm, and leaving nothing running."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, count, repeat

import pytest
from fakes import FakeClock

from jaxcap.measure import sampling
from jaxcap.measure.sampling import Comparison, _KernelCounts, wait_until_idle

MS = 1e-3


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend to wait, and note when."""
    events: list[str] = []
    monkeypatch.setattr(sampling, "wait_until_idle", lambda: events.append("idle"))
    return events


def prepared(durations_s: Iterator[float], events: list[str]) -> Comparison:
    clock = FakeClock()

    def call() -> None:
        events.append("call")
        clock.advance(next(durations_s))

    comparison = Comparison({"a": call}, clock=clock)
    comparison.call_first(empty_caches=False)
    comparison.calibrate(MS)
    events.clear()
    return comparison


def test_one_slow_call_does_not_make_samples_short(idle: list[str]) -> None:
    comparison = prepared(chain([MS, 100 * MS], repeat(0.25 * MS)), idle)
    comparison.sample()
    assert idle == ["call"] * 4


def test_long_calls_are_not_repeated_to_count_them(idle: list[str]) -> None:
    durations_s = iter([1.0] * 3)
    comparison = prepared(durations_s, idle)
    comparison.sample()
    assert next(durations_s, None) is None  # a first call, one to count, and a sample


def test_short_calls_are_warmed_up_among_other_processes(idle: list[str]) -> None:
    comparison = prepared(repeat(2 * MS), idle)
    assert comparison.sample(among_others=True) == {"a": pytest.approx(2 * MS)}
    assert idle == ["call", "call", "idle"]


def test_long_calls_need_no_warm_up_among_other_processes(idle: list[str]) -> None:
    comparison = prepared(repeat(20 * MS), idle)
    comparison.sample(among_others=True)
    assert idle == ["call", "idle"]


def test_counts_how_often_a_sample_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    monkeypatch.setattr(
        sampling, "_kernel_counts", lambda: _KernelCounts(0, involuntary_switches=len(events))
    )
    comparison = prepared(repeat(0.25 * MS), events)  # samples of four calls
    comparison.sample()
    comparison.sample()
    (result,) = comparison.results("test", {}, "steady")
    assert result.runs[0].involuntary_switches == (4, 4)


def test_waits_for_threads_that_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    spinning_s = iter([0.0, 0.1, 0.2, 0.3])
    monkeypatch.setattr(time, "process_time", lambda: next(spinning_s, 0.3))
    wait_until_idle()
    assert next(spinning_s, None) is None


def test_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    monkeypatch.setattr(time, "process_time", lambda: float(next(seconds)))
    wait_until_idle()
    assert next(seconds) > 2
