"""Intervals must cover what they claim to, and modes must be there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from math import exp, hypot, inf, log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from jaxcap.results.statistics import (
    DRIFT,
    DRIFT_OF_RATIOS,
    Estimate,
    Speedup,
    modes,
    prediction_interval,
)

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[Generator, int], list[float]]
Machine = Callable[[Generator, int], Array]

# Skewed distributions, with their medians.
SKEWED: dict[str, tuple[Draw, float]] = {
    "lognormal": (lambda rng, n: rng.lognormal(0, 1, n).tolist(), 1.0),
    "shifted exponential": (lambda rng, n: (1 + rng.exponential(1, n)).tolist(), 1 + log(2)),
}
ONE_MODE: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(1, 0.1, n).tolist(),
    "lognormal": lambda rng, n: rng.lognormal(0, 0.5, n).tolist(),
    "exponential": lambda rng, n: rng.exponential(1, n).tolist(),
    "uniform": lambda rng, n: rng.uniform(1, 2, n).tolist(),
}
REPEATS = 3000

samples = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=50)


def of_samples(samples: Sequence[float], unit: str = "") -> Estimate:
    return Estimate.from_runs([samples], unit=unit)


def of_processes(medians: Sequence[float]) -> Estimate:
    return Estimate.from_runs([[median] for median in medians])


def make_estimate(value: float, low: float, high: float, unit: str = "s") -> Estimate:
    return Estimate(value, low, high, 0.95, unit, "one process")


def make_speedup(value: float, low: float, high: float, confidence: float = 0.95) -> Speedup:
    return Speedup(value, low, high, confidence, "", "one process")


@pytest.mark.parametrize("name", SKEWED)
@pytest.mark.parametrize("n", [6, 7, 10, 30, 101])
def test_interval_covers_the_true_median_as_often_as_it_says(name: str, n: int) -> None:
    draw, truth = SKEWED[name]
    rng = np.random.default_rng(n)
    estimates = [of_samples(draw(rng, n)) for _ in range(REPEATS)]
    assert {one.confidence for one in estimates} == {0.95}
    assert 0.93 <= np.mean([one.low <= truth <= one.high for one in estimates]) <= 0.97


def test_interval_follows_the_published_formula() -> None:
    # Ten samples: the intervals from the 2nd to the 9th and from the 3rd to the 8th cover the
    # median with 1 - 22/1024 and 1 - 112/1024, and 95 % lies between the two.
    one = of_samples(range(1, 11))
    share = (1002 / 1024 - 0.95) / (90 / 1024)
    inward = 8 * share / (2 + 6 * share)
    assert (one.value, one.low, one.high) == pytest.approx((5.5, 2 + inward, 9 - inward))


@pytest.mark.parametrize(("n", "confidence"), [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375)])
def test_few_samples_say_what_their_range_is_worth(n: int, confidence: float) -> None:
    one = of_samples(range(1, n + 1))
    assert (one.low, one.high, one.confidence) == (1, n, confidence)


@settings(deadline=None)  # a busy machine is no failure
@given(samples)
def test_interval_holds_the_median_and_ignores_order(values: list[float]) -> None:
    one = of_samples(values)
    assert one == of_samples(values[::-1])
    assert min(values) <= one.low <= one.value <= one.high <= max(values)
    assert one.value == np.median(values)


def test_equal_samples_leave_no_doubt() -> None:
    for n in range(6, 60):
        one = of_samples([1 / 3] * n)
        assert one.low == one.value == one.high == 1 / 3


@settings(deadline=None)  # a busy machine is no failure
@given(samples, st.integers(-10, 10))
def test_interval_scales_with_the_unit(values: list[float], power: int) -> None:
    factor = 2.0**power
    one = of_samples(values)
    scaled = of_samples([value * factor for value in values])
    assert (scaled.value, scaled.low, scaled.high) == pytest.approx(
        (one.value * factor, one.low * factor, one.high * factor)
    )


def test_no_sample_is_an_error() -> None:
    with pytest.raises(ValueError, match="an estimate needs at least one sample, got none"):
        of_samples([])


@pytest.mark.parametrize("following", [1, 6, 20])
@pytest.mark.parametrize("n", [2, 6, 10])
def test_prediction_holds_what_further_processes_measure(n: int, following: int) -> None:
    rng = np.random.default_rng(n)
    first, second = (
        rng.lognormal(0, 0.3, (REPEATS, processes)) * rng.lognormal(0, DRIFT, (REPEATS, 1))
        for processes in (n, following)
    )
    held = []
    for seen, later in zip(first, second, strict=True):
        low, high, confidence = prediction_interval(seen.tolist(), processes=following)
        held.append(low <= np.median(later) <= high)
    assert confidence == 0.95
    assert 0.92 <= np.mean(held) <= 0.97


@pytest.mark.parametrize("following", [1, 2, 3, 6, 20])
@pytest.mark.parametrize("n", [2, 6, 10])
def test_prediction_is_right_for_medians_without_the_allowance_for_drift(
    n: int, following: int
) -> None:
    rng = np.random.default_rng(10 * n + following)
    seen, later = (rng.lognormal(0, 0.3, (REPEATS, number)) for number in (n, following))
    ends = [prediction_interval(s.tolist(), processes=following, drift=0.0)[:2] for s in seen]
    middles = np.median(later, axis=1)
    held = [low <= median <= high for (low, high), median in zip(ends, middles, strict=True)]
    assert 0.94 <= np.mean(held) <= 0.96


def drift(rng: Generator, rounds: int) -> Array:
    """A machine that is slower in some sessions, and changes while it measures."""
    return rng.normal(0, 0.2) + np.cumsum(rng.normal(0, 0.02, rounds))


def bursts(rng: Generator, rounds: int) -> Array:
    """Other work that makes a tenth of the rounds up to twice as slow, a dozen in a row."""
    slow = np.repeat(rng.random(rounds // 12) < 0.1, 12)
    return np.where(slow, rng.uniform(0, log(2), rounds), 0.0)


def quiet(rng: Generator, rounds: int) -> Array:
    return np.zeros(rounds)


def measure_speedup(rng: Generator, machine: Machine, modes: str = "") -> Speedup:
    """Simulate six processes that take turns for forty rounds each. The true speed-up is 3."""
    processes, rounds = 6, 40
    whose = rng.permutation(np.repeat(range(processes), rounds))
    speed = machine(rng, len(whose))
    difference = rng.normal(
        0, DRIFT_OF_RATIOS
    )  # what changed since the last time, for one variant only
    runs = []
    for process in range(processes):
        layout = rng.normal(0, 0.05)  # drawn once for each process
        slow_mode = rng.random(rounds) < 0.5 if modes == "in a process" else np.zeros(rounds, bool)
        if modes == "of processes" and rng.random() < 0.5:
            slow_mode[:] = True
        there = speed[whose == process]
        slow = np.exp(log(3) + difference + there + layout + rng.normal(0, 0.1, rounds))
        fast = np.exp(there + slow_mode * log(1.8) + rng.normal(0, 0.1, rounds))
        runs.append((slow / fast).tolist())
    return Speedup.from_runs(runs)


@pytest.mark.parametrize("modes", ["", "in a process", "of processes"])
@pytest.mark.parametrize("machine", [quiet, drift, bursts])
def test_prediction_holds_the_next_measurement(machine: Machine, modes: str) -> None:
    rng = np.random.default_rng(0)
    measured = [measure_speedup(rng, machine, modes) for _ in range(400)]
    held = [now.low <= later.value <= now.high for now, later in pairwise(measured)]
    assert 0.90 <= np.mean(held) <= 0.97


@pytest.mark.parametrize("machine", [quiet, drift, bursts])
def test_equal_variants_are_rarely_called_different(machine: Machine) -> None:
    rng = np.random.default_rng(1)
    verdicts = []
    for _ in range(400):
        speedup = measure_speedup(rng, machine)
        equal = [[ratio / 3] for ratio in speedup.medians]
        verdicts.append(Speedup.from_runs(equal).verdict)
    assert verdicts.count("undecided") >= 0.95 * len(verdicts)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.floats(1e-9, 1e3), min_size=2, max_size=20))
def test_prediction_holds_the_median_and_ignores_order(values: list[float]) -> None:
    one = of_processes(values)
    again = of_processes(values[::-1])
    assert (again.low, again.high) == pytest.approx((one.low, one.high))
    assert one.low <= one.value * (1 + 1e-9)
    assert one.value <= one.high * (1 + 1e-9)
    assert one.value == np.median(values)


@pytest.mark.parametrize("values", [[2.0], [0.0, 1.0, 2.0]])
def test_prediction_needs_two_logarithms(values: list[float]) -> None:
    processes, samples = of_processes(values), of_samples(values)
    assert (processes.low, processes.high) == (samples.low, samples.high)
    assert processes.kind == "median"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.01, 2.0, "faster"),
        (1.0, 2.0, "undecided"),
        (0.9, 1.1, "undecided"),
        (0.5, 1.0, "undecided"),
        (0.5, 0.99, "slower"),
    ],
)
def test_verdict_is_undecided_where_the_interval_includes_one(
    low: float, high: float, verdict: str
) -> None:
    assert make_speedup((low + high) / 2, low, high).verdict == verdict


def test_a_rate_is_fast_where_the_time_is_short() -> None:
    rate = make_estimate(0.5, 0.4, 0.8, "s").rate(100, "images")
    assert (rate.value, rate.low, rate.high, rate.unit) == (200, 125, 250, "images/s")
    assert rate.short == "200 images/s"


def test_a_ratio_has_no_unit() -> None:
    ratio = make_estimate(0.5, 0.4, 0.8, "s").ratio_of(0.25)
    assert (ratio.value, ratio.low, ratio.high, ratio.unit) == (0.5, 0.3125, 0.625, "")


def test_rates_by_a_clock_that_saw_no_time_are_infinite() -> None:
    assert make_estimate(0.0, 0.0, 0.8, "s").rate(100, "images").short == "inf images/s"
    some = make_estimate(0.5, 0.0, 0.8, "s").rate(100, "images")
    assert str(some) == "200 images/s (95% interval 120 to inf, one process)"
    none = make_estimate(0.0, 0.0, 0.0, "s")
    assert none.rate(100, "images").short_with_range == "inf images/s (inf to inf)"
    assert none.ratio_of(100).value == inf


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "short", "interval"),
    [
        (1.2345, 1.2, 1.27, "s", "1.23 s", "1.20 to 1.27"),
        (1.2345e-3, 1.2e-3, 1.27e-3, "s", "1.23 ms", "1.20 to 1.27"),
        (3.6e-6, 3.0e-6, 4.2e-6, "s", "3.6 µs", "3.0 to 4.2"),
        (250e-9, 249.9e-9, 250.1e-9, "s", "250.0 ns", "249.9 to 250.1"),
        (0.5e-9, 0.4e-9, 0.6e-9, "s", "0.50 ns", "0.40 to 0.60"),
        (12.3456, 12.3455, 12.3457, "s", "12.35 s", "12.35 to 12.35"),
        (0.9, 0.1, 1.7, "s", "900 ms", "100 to 1,700"),
        (999.96e-6, 999.9e-6, 1000.2e-6, "s", "1.000 ms", "1.000 to 1.000"),
        (998e-6, 670e-6, 1700e-6, "s", "1.0 ms", "0.7 to 1.7"),
        (994e-6, 670e-6, 1700e-6, "s", "990 µs", "670 to 1,700"),
        (9.96, 9.0, 11.0, "", "10.0", "9.0 to 11.0"),
        (5.36, 5.0, 5.8, "", "5.4", "5.0 to 5.8"),  # as its last digit would say nothing
        (1.24, 1.16, 1.32, "", "1.24", "1.16 to 1.32"),
        (2.5, 1.0, 4.0, "", "2.5", "1.0 to 4.0"),
        (1.5, 0.5, 4.5, "", "1.5", "0.5 to 4.5"),
        (17.26, 17.21, 17.31, "", "17.26", "17.21 to 17.31"),
        (1270.0, 1190.0, 1350.0, "images/s", "1,270 images/s", "1,190 to 1,350"),
        (-12.0, -15.0, -9.0, "", "-12", "-15 to -9"),
        (0.0, 0.0, 0.0, "s", "0.000 ns", "0.000 to 0.000"),
        (24e-3, 310e-6, 40e-3, "s", "24 ms", "310 µs to 40 ms"),  # not from 0 ms
        (1300.0, 0.4, 4000.0, "images/s", "1,300 images/s", "0.40 images/s to 4,000 images/s"),
    ],
)
def test_text_has_a_unit_and_the_digits_that_the_interval_supports(
    value: float, low: float, high: float, unit: str, short: str, interval: str
) -> None:
    one = make_estimate(value, low, high, unit)
    assert (one.short, one.range) == (short, interval)


@pytest.mark.parametrize(
    ("value", "low", "high", "short", "interval"),
    [
        (12345.6, 12300.0, 12400.0, "12,350", "12,300 to 12,400"),
        (123456.7, 100000.0, 150000.0, "120,000", "100,000 to 150,000"),
    ],
)
def test_text_of_a_large_number_has_no_more_digits(
    value: float, low: float, high: float, short: str, interval: str
) -> None:
    estimate = make_estimate(value, low, high, "")
    assert (estimate.short, estimate.range) == (short, interval)


@pytest.mark.parametrize(
    ("value", "low", "high", "interval"),
    [
        (3.5, 1.04, 6.8, "1.04 to 6.80"),
        (120.0, 1.2, 400.0, "1.2 to 400.0"),  # not from 0, which the digits of the value would give
        (0.5, 0.2, 0.9996, "0.2000 to 0.9996"),
        (1.00000015, 1.0000001, 1.0000002, "1.0000001 to 1.0000002"),
        (3.5, 1.0, 6.8, "1.0 to 6.8"),  # undecided
        (3.5, 0.96, 6.8, "0.96 to 6.80"),  # not from 1.0, which would look almost decided
        (0.7, 0.2, 1.004, "0.200 to 1.004"),
    ],
)
def test_range_of_a_speedup_shows_whether_it_includes_one(
    value: float, low: float, high: float, interval: str
) -> None:
    assert make_speedup(value, low, high).range == interval


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (2.0, 1.7, 2.3, "2.0 times faster"),
        (0.53, 0.45, 0.62, "1.9 times slower"),
        (1 / 3, 0.33, 0.336, "3.00 times slower"),
        (1.04, 1.01, 1.3, "1.04 times faster"),  # and not 1.0 times
        (0.96, 0.75, 0.99, "1.04 times slower"),
        (2.0, 1.2, 3.5, "2.0 times faster"),
        (3.0, 1.4, 9.0, "somewhere from 1.4 to 9.0 times faster"),
        (1 / 3, 1 / 9, 1 / 1.4, "somewhere from 1.4 to 9.0 times slower"),
        (1.05, 0.9, 1.2, "about as fast (0.9 to 1.2)"),
        (1.0, 0.8, 1.25, "about as fast (0.8 to 1.2)"),
        (1.05, 0.9, 1.26, "undecided (0.9 to 1.3)"),
        (1.0, 0.79, 1.2, "undecided (0.8 to 1.2)"),
        (1.2, 0.5, 3.1, "undecided (0.5 to 3.1)"),
    ],
)
def test_words_of_a_speedup_follow_its_direction(
    value: float, low: float, high: float, words: str
) -> None:
    assert make_speedup(value, low, high).words == words


def test_words_of_a_speedup_need_their_confidence() -> None:
    assert make_speedup(2.0, 1.7, 2.3, 0.9).words == "undecided (1.7 to 2.3)"
    assert make_speedup(1.0, 0.99, 1.01, 0.9).words == "undecided (0.990 to 1.010)"


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (2.0, 1.7, 2.3, "2.0 times faster (95% interval 1.7 to 2.3, one process)"),
        (0.53, 0.45, 0.62, "1.9 times slower (95% interval 1.6 to 2.2, one process)"),
        (
            1.2,
            0.5,
            3.1,
            "undecided whether faster, 1.2 times as fast (95% interval 0.5 to 3.1, one process)",
        ),
        (1.05, 0.9, 1.2, "about as fast, 1.1 times as fast (95% interval 0.9 to 1.2, one process)"),
        (
            3.0,
            1.4,
            9.0,
            "somewhere from 1.4 to 9.0 times faster, 95% confidence interval (one process)",
        ),
    ],
)
def test_text_of_a_speedup_has_its_interval_in_the_same_direction(
    value: float, low: float, high: float, text: str
) -> None:
    speedup = make_speedup(value, low, high)
    assert str(speedup) == text
    verdicts = ("undecided whether faster, ", "about as fast, ")
    without_verdict = reduce(str.removeprefix, verdicts, text)
    assert speedup.factor_in_full == without_verdict


@settings(deadline=None)
@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=8))
def test_no_words_say_one_times_or_the_wrong_direction(ratios: list[float]) -> None:
    speedup = Speedup.from_runs([[ratio] for ratio in ratios])
    factor, *_, last = speedup.words.split()
    if speedup.verdict == "undecided":
        assert factor in {"about", "undecided"}
    else:
        assert last == speedup.verdict
        assert factor == "somewhere" or float(factor.replace(",", "")) > 1


def test_words_quote_no_number_whose_interval_is_wide() -> None:
    assert make_estimate(3e-3, 1.2e-3, 3.6e-3, "s").words == "3.0 ms"
    assert make_estimate(3e-3, 1.2e-3, 9e-3, "s").words == "somewhere from 1.2 to 9.0 ms"
    assert make_estimate(3.0, 1.2, 9.0, "").words == "somewhere from 1.2 to 9.0"


@pytest.mark.parametrize(
    ("low", "high", "confidence", "verdict"),
    [
        (1.1, 2.0, 0.95, "faster"),
        (1.1, 2.0, 0.94, "undecided"),
        (0.5, 0.9, 0.95, "slower"),
        (0.5, 0.9, 0.0, "undecided"),
        (1.0, 2.0, 0.95, "undecided"),
        (0.5, 1.0, 0.95, "undecided"),
    ],
)
def test_verdict_needs_an_interval_beside_one_and_its_confidence(
    low: float, high: float, confidence: float, verdict: str
) -> None:
    assert make_speedup(1.0, low, high, confidence).verdict == verdict


def test_an_interval_says_what_it_is_of() -> None:
    assert of_samples([1.0, 2.0]).kind == "median"
    assert of_processes([1.0, 2.0]).kind == "prediction"
    assert of_processes([1.0]).kind == "median"


def test_prediction_is_that_of_the_published_formula() -> None:
    logs = [0.0, 0.5, 1.0, 4.0]  # their mean is not their median
    mean, std = 1.375, sqrt(sum((x - 1.375) ** 2 for x in logs) / 3)
    # Student's t for 3 degrees of freedom, and the normal distribution's quantile, for 97.5 %
    reach = hypot(3.182446 * std * sqrt(1 / 4 + 1), 1.959964 * sqrt(2) * DRIFT)
    low, high, _ = prediction_interval([exp(x) for x in logs], processes=1)
    assert low == pytest.approx(exp(mean - reach), rel=1e-5)
    assert high == pytest.approx(exp(mean + reach), rel=1e-5)


def test_value_of_processes_is_the_median_of_theirs() -> None:
    assert of_processes([1.0, 2.0, 4.0, 50.0]).value == 3.0


def test_prediction_holds_its_own_value_where_all_medians_are_equal() -> None:
    for median in (0.1 * n for n in range(1, 200)):
        interval = of_processes([median] * 6)
        assert interval.low <= interval.value <= interval.high


def test_text_of_a_single_sample_claims_two_digits() -> None:
    assert of_samples([2.345e-3], unit="s").short == "2.3 ms"


def test_text_of_a_single_sample_has_no_interval() -> None:
    first_call = of_samples([0.5], unit="s")
    assert str(first_call) == "500 ms (a single sample, one process)"


def test_text_names_confidence_and_basis() -> None:
    assert str(make_estimate(2.5, 1.0, 4.0, "")) == "2.5 (95% interval 1.0 to 4.0, one process)"


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("n", [40, 200])
def test_modes_finds_both_of_a_mixture(n: int, share: float) -> None:
    rng = np.random.default_rng(n)
    fast = round(share * n)
    for _ in range(200):
        noise = rng.lognormal(0, 0.05, n)
        mixture = noise * np.where(np.arange(n) < fast, 3.6, 8.5)
        found = modes(rng.permutation(mixture).tolist())
        assert list(found) == pytest.approx([3.6, 8.5], rel=0.1)
        assert list(found.values()) == pytest.approx([fast / n, 1 - fast / n])


@pytest.mark.parametrize("fast", [15, 16, 84, 85])
def test_modes_finds_groups_of_the_least_share(fast: int) -> None:
    found = modes([3.6] * fast + [8.5] * (100 - fast))
    assert list(found) == pytest.approx([3.6, 8.5])
    assert list(found.values()) == pytest.approx([fast / 100, 1 - fast / 100])


@pytest.mark.parametrize("name", ONE_MODE)
@pytest.mark.parametrize("n", [40, 100, 1000])
def test_modes_does_not_split_one_cluster(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    split = [len(modes(ONE_MODE[name](rng, n))) > 1 for _ in range(REPEATS)]
    assert np.mean(split) < 0.02


@pytest.mark.parametrize(
    "values",
    [
        [3.6] * 19 + [8.5] * 20,  # too few in all
        [3.6] * 95 + [8.5] * 5,  # too few in one group
        [3.6] * 86 + [8.5] * 14,
        [3.6] * 14 + [8.5] * 86,
        [1.0] * 50 + [1.15] * 50,  # too close
        [0.0] * 50 + [1.0] * 50,  # without a logarithm
    ],
)
def test_modes_does_not_count(values: list[float]) -> None:
    assert modes(values) == {np.median(values): 1.0}
