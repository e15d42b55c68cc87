"""The probe sees a slow machine, by a clock that the tests turn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import repeat

import pytest
from fakes import FakeClock

from jaxcap.measure.machine.speed import WAIT_LIMIT_S, Probe

US = 1e-6


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Probe:
    """A probe that takes 20 µs when it is first used."""
    probe = Probe()
    assert take(probe, monkeypatch, iter([20 * US])) == pytest.approx(20 * US)
    return probe


def take(probe: Probe, monkeypatch: pytest.MonkeyPatch, durations_s: Iterator[float]) -> float:
    """Wait until the machine is fast, if its probes last as long as this."""
    clock = FakeClock()
    readings = 0

    def perf_counter() -> float:
        nonlocal readings
        readings += 1
        # The first reading is that of the wait; then probes begin and end, and the wait looks.
        if readings % 3 == 0:
            clock.advance(next(durations_s))
        return clock.now_s

    monkeypatch.setattr(time, "perf_counter", perf_counter)
    return probe.wait_until_fast()


def test_waits_for_the_end_of_a_slow_moment(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    assert take(probe, monkeypatch, iter([40 * US, 28 * US, 26 * US])) == pytest.approx(26 * US)


def test_does_not_wait_for_ever(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    enough = round(WAIT_LIMIT_S / (40 * US)) + 1
    assert take(probe, monkeypatch, repeat(40 * US, enough)) == pytest.approx(40 * US)
    assert probe.is_slow(40 * US)


def test_compares_with_the_fastest_time_so_far(probe: Probe) -> None:
    assert probe.fastest_s == pytest.approx(20 * US)
    assert probe.is_slow(27.1 * US)
    assert not probe.is_slow(26.9 * US)


def test_takes_a_short_time_on_this_machine() -> None:
    probe = Probe()
    assert 0 < probe.time_s() < 1
    assert probe.fastest_s > 0
