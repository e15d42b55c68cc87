"""A benchmark under two releases: what is called a change, and how certain that is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import isnan

import numpy as np
import pytest

from jaxcap.releases.changes.comparison import OTHER
from jaxcap.releases.changes.series import (
    FALSE_SHARE,
    ReleaseChange,
    Series,
    adjust,
)
from jaxcap.results.statistics import DRIFT, Estimate


def series_of(levels: list[list[float]], hours: Sequence[float] = ()) -> Series:
    """Make a series of what processes measured, and of the hours at which they did."""
    estimates = {
        f"0.{number}.0": Estimate.from_runs([[second] for second in seconds], unit="s")
        for number, seconds in enumerate(levels)
    }
    start = datetime(2026, 11, 23, tzinfo=UTC)
    measured_at = dict(zip(estimates, (start + timedelta(hours=h) for h in hours), strict=False))
    return Series("made up", OTHER, "JAX", "time", estimates, measured_at)


def noise(rng: np.random.Generator, level_s: float, count: int = 5) -> list[float]:
    return [float(level_s * rng.lognormal(0, 0.03)) for _ in range(count)]


def test_equal_modes_in_all_processes_of_a_release_are_no_change() -> None:
    fast, slow = [4e-4] * 5, [0.12] * 5
    mixed = [4e-4, 0.12, 4e-4, 0.12, 0.12]
    series = series_of([mixed, fast, slow, mixed])
    (alone,) = adjust([series.compare("0.1.0", "0.2.0")])
    assert alone.p > 1e-4, "Welch's test alone would say that it is impossible"


def test_range_of_modes_has_to_be_left() -> None:
    series = series_of([[1.0, 1.0, 1.0, 9.0], [3.0, 3.0, 3.0, 3.0]])
    overlapping = ReleaseChange(series, "0.0.0", "0.1.0", 3.0, 2.0, 4.0, 0.0, adjusted_p=0.0)
    assert not overlapping.is_change
    apart = series_of([[1.0, 1.6], [3.0, 3.1]])
    assert ReleaseChange(apart, "0.0.0", "0.1.0", 3.0, 2.0, 4.0, 0.0, adjusted_p=0.0).is_change


@pytest.mark.parametrize(
    ("ratio", "low", "high", "words", "interval"),
    [
        (3.0, 2.0, 4.0, "3.0 times slower", "2.0 to 4.0"),
        (0.25, 0.2, 0.5, "4.0 times faster", "2.0 to 5.0"),
        (120.0, 98.1, 173.2, "120 times slower", "98 to 173"),
        (1.9, 1.85, 3.0, "1.90 times slower", "1.85 to 3.00"),
        (0.25, 0.0, float("inf"), "4.0 times faster", ""),
    ],
)
def test_interval_of_the_factor_has_the_direction_of_the_words(
    ratio: float, low: float, high: float, words: str, interval: str
) -> None:
    change = ReleaseChange(series_of([[1.0], [ratio]]), "0.0.0", "0.1.0", ratio, low, high, 0.0)
    assert (change.words, change.interval_of_factor) == (words, interval)


def test_small_differences_do_not_count() -> None:
    series = series_of([[1.00, 1.001], [1.09, 1.091]])
    (small,) = adjust([series.compare("0.0.0", "0.1.0")])
    assert small.adjusted_p < FALSE_SHARE
    assert not small.is_change


def test_of_noise_alone_hardly_anything_is_called_a_change() -> None:
    rng = np.random.default_rng(1)
    trials = 200
    p = []
    found = 0
    for _ in range(trials):
        steps = [
            series.compare("0.0.0", "0.1.0")
            for series in (series_of([noise(rng, 1), noise(rng, 1)]) for _ in range(20))
        ]
        p += [step.p for step in steps]
        found += any(step.adjusted_p <= FALSE_SHARE for step in adjust(steps))
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.015)
    assert found / trials <= FALSE_SHARE + 0.04
    assert sum(value <= 0.05 for value in p) > 10 * found, "uncorrected, many would be found"


def test_intervals_hold_the_true_ratio_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(500):
        one = series_of([noise(rng, 1), noise(rng, 2)]).compare("0.0.0", "0.1.0")
        held += one.low <= 2 <= one.high
    assert held / 500 >= 0.93


@pytest.mark.parametrize(
    ("hours", "is_change"), [((0, 5), True), ((0, 24), False), ((24, 0), False), ((), True)]
)
def test_what_was_recorded_on_another_day_may_have_drifted(
    hours: Sequence[float], is_change: bool
) -> None:
    series = series_of([[1.0, 1.001] * 3, [1.12, 1.121] * 3], hours)
    (change,) = adjust([series.compare("0.0.0", "0.1.0")])
    assert change.is_change == is_change
    assert (change.low > 1) == is_change


def test_intervals_of_recordings_that_drift_hold_the_true_ratio() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(500):
        levels = [noise(rng, level * rng.lognormal(0, DRIFT)) for level in (1, 2)]
        change = series_of(levels, hours=(0, 24)).compare("0.0.0", "0.1.0")
        held += change.low <= 2 <= change.high
    assert held / 500 >= 0.93


def test_what_is_counted_takes_no_part_in_the_correction() -> None:
    timed = series_of([[1.0, 1.1, 1.2], [1.3, 1.4, 1.5]]).compare("0.0.0", "0.1.0")
    estimates = {
        release: Estimate(number, number, number, 1.0, "bytes", "counted")
        for release, number in {"0.0.0": 100.0, "0.1.0": 250.0}.items()
    }
    counted = Series("made up", OTHER, "JAX", "temporary memory", estimates)
    alone, more = adjust([timed, counted.compare("0.0.0", "0.1.0")])
    assert alone.adjusted_p == timed.p
    assert isnan(more.p)
    assert more.is_change
