"""What an audit counts, on made-up runs whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import exp, isnan

import numpy as np
import pytest
from fakes import ENVIRONMENT
from pyperf._utils import is_significant

from jaxcap.report import reliability
from jaxcap.report.reliability import Interval, Share
from jaxcap.results.audit import (
    BUSY,
    JAXCAP,
    PYPERF,
    PYTORCH,
    QUIET,
    TIMEIT,
    TOOLS,
    Audit,
    Pair,
    Run,
)
from jaxcap.results.statistics import Estimate
from jaxcap.results.tables import Table

LOW, HIGH = (1.0, 1.1, 1.2, 1.1, 1.0, 1.2), (2.0, 2.1, 2.2, 2.1, 2.0, 2.2)
EQUAL, DIFFERENT = (1.0, 0.9, 1.1, 1.0, 0.9, 1.1), (2.0, 1.9, 2.1, 2.0, 1.9, 2.1)

ALIKE = Pair(a_s=LOW, b_s=LOW, ratios=EQUAL)
APART = Pair(a_s=HIGH, b_s=LOW, ratios=DIFFERENT)


def run(tool: str, number: int = 1, *same: Pair, wave: Pair | None = None) -> Run:
    return Run(
        tool=tool,
        load=QUIET,
        number=number,
        duration_s=2.0,
        same={f"kernel {i}": pair for i, pair in enumerate(same)},
        wave=wave,
    )


def audit(*runs: Run) -> Audit:
    return Audit(environment=ENVIRONMENT, runs=runs)


def times_of(*runs: Sequence[float]) -> Audit:
    """Make an audit of jaxcap in whose runs the processes saw these times."""
    pairs = [Pair(a_s=tuple(times), b_s=tuple(times), ratios=EQUAL) for times in runs]
    return audit(*(run(JAXCAP, number, pair) for number, pair in enumerate(pairs, start=1)))


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_tells_calls_apart_that_differ_and_no_others(tool: str) -> None:
    assert reliability.tells_apart(tool, APART)
    assert not reliability.tells_apart(tool, ALIKE)


def test_tools_judge_by_what_their_documentation_names() -> None:
    """Ranges overlap because of one slow repeat, quartiles don't, and means are apart, too."""
    outlier = Pair(a_s=(1.0, 1.01, 1.02, 1.03, 1.04), b_s=(1.03, 1.06, 1.07, 1.08, 1.09))
    assert not reliability.tells_apart(TIMEIT, outlier)
    assert reliability.tells_apart(PYTORCH, outlier)
    assert reliability.tells_apart(PYPERF, outlier)


def test_t_test_agrees_with_pyperf() -> None:
    rng = np.random.default_rng(0)
    for shift in np.linspace(0, 3, 20):
        a, b = (tuple(rng.normal(mean, 1, 6).tolist()) for mean in (10, 10 + shift))
        expected, _ = is_significant(a, b)
        assert reliability.tells_apart(PYPERF, Pair(a_s=a, b_s=b)) == expected


def test_times_are_what_the_tool_prints() -> None:
    samples = (1.0, 2.0, 3.0, 4.0, 10.0)
    assert reliability.time(TIMEIT, samples) == Interval(1.0, 1.0, 10.0)
    assert reliability.time(PYTORCH, samples) == Interval(3.0, 2.0, 4.0)
    mean, deviation = np.mean(samples), np.std(samples, ddof=1)
    given = reliability.time(PYPERF, samples)
    assert (given.value, given.low, given.high) == pytest.approx(
        (mean, mean - deviation, mean + deviation)
    )
    ours, estimate = reliability.time(JAXCAP, LOW), Estimate.from_runs([[x] for x in LOW])
    assert (ours.value, ours.low, ours.high) == (estimate.value, estimate.low, estimate.high)


def test_speedup_is_paired_where_calls_took_turns_and_else_a_quotient() -> None:
    assert reliability.speedup(JAXCAP, APART).value == 2.0
    quotient = reliability.speedup(TIMEIT, Pair(a_s=(4.0, 6.0), b_s=(1.0, 2.0)))
    assert quotient == Interval(4.0, 2.0, 6.0)


def test_false_alarms_and_detections_are_counted_apart() -> None:
    runs = audit(run(JAXCAP, 1, ALIKE, APART, wave=APART), run(JAXCAP, 2, ALIKE, wave=ALIKE))
    assert reliability.false_alarms(runs, JAXCAP, QUIET) == Share(1, 3)
    assert reliability.detections(runs, JAXCAP, QUIET) == Share(1, 2)
    assert reliability.false_alarms(runs, JAXCAP, BUSY) == Share(0, 0)
    assert reliability.false_alarms(runs, TIMEIT, QUIET) == Share(0, 0)


def test_a_match_is_a_verdict_and_not_an_undecided_pair() -> None:
    wide = Pair(a_s=LOW, b_s=LOW, ratios=(0.5, 2.0, 0.6, 1.7, 0.8, 1.3))
    runs = audit(run(JAXCAP, 1, ALIKE, APART), run(JAXCAP, 2, wide), run(TIMEIT, 1, ALIKE))
    assert reliability.matches(runs, QUIET) == Share(1, 3)
    assert reliability.matches(runs, BUSY) == Share(0, 0)


def test_share_has_wilsons_interval() -> None:
    # Brown, Cai and DasGupta's formula, by hand for 1 of 10.
    interval = Share(1, 10).interval
    assert (interval.low, interval.high) == pytest.approx((0.0179, 0.4042), abs=1e-4)
    assert Share(0, 20).interval.low == 0
    assert Share(20, 20).interval.high == 1
    assert isnan(Share(0, 0).interval.value)
    assert str(Share(5, 200)) == "2% (5 of 200)"
    assert str(Share(208, 209)) == "99.5% (208 of 209)"
    assert str(Share(209, 209)) == "100% (209 of 209)"
    assert str(Share(0, 0)) == "not measured"


def test_next_run_is_looked_for_in_each_interval_but_the_last() -> None:
    series = [[Interval(1, 0.5, 1.5), Interval(1.4, 1.3, 1.45), Interval(2, 1, 3)]]
    assert reliability.next_inside(series) == Share(1, 2)
    assert reliability.next_inside([[Interval(1, 0, 2)], []]) == Share(0, 0)


def test_width_is_a_ratio() -> None:
    series = [[Interval(2, 1, 3), Interval(2, 1.9, 2.1)], [Interval(2, 1.5, 3.75)]]
    assert reliability.median_width(series) == 2.5
    assert reliability.wide(series) == Share(2, 3)
    assert Interval(1, -1, 3).width == float("inf")  # a mean less more than itself


def test_spread_is_that_of_runs_in_which_all_tools_took_part() -> None:
    def wave(a_s: float) -> Pair:
        return Pair(a_s=(a_s,) * 2, b_s=(1.0,) * 2, ratios=(a_s,) * 2)

    far_off = run(TIMEIT, 3, wave=wave(1e6))
    runs = [run(tool, n, wave=wave(exp(n))) for tool in TOOLS for n in (1, 2)]
    expected = np.std([0, 1], ddof=1)
    for tool in TOOLS:
        spread = reliability.spread(audit(*runs, far_off), tool, QUIET)
        assert spread.value == pytest.approx(expected, rel=1e-5)  # ratios have six digits
        assert spread.low < spread.value < spread.high
    assert isnan(reliability.spread(audit(*runs[:-1]), TIMEIT, QUIET).value)


def test_interval_of_the_spread_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        waves = [
            Pair(a_s=(x,) * 2, b_s=(1.0,) * 2, ratios=(x,) * 2) for x in rng.lognormal(0, 0.1, 5)
        ]
        runs = audit(
            *(run(tool, n, wave=wave) for tool in TOOLS for n, wave in enumerate(waves, start=1))
        )
        covered += reliability.spread(runs, TIMEIT, QUIET).contains(0.1)
    assert 360 <= covered <= 395


def test_variation_is_split_into_processes_and_runs() -> None:
    rng = np.random.default_rng(0)
    shifts = rng.normal(0, 0.2, 300)
    runs = times_of(*(np.exp(shift + rng.normal(0, 0.1, 6)) for shift in shifts))
    inside, between = reliability.deviations(runs, QUIET)
    assert inside == pytest.approx(0.1, rel=0.1)
    assert between == pytest.approx(0.2, rel=0.1)


def test_runs_that_differ_no_more_than_their_processes_explain_do_not_drift() -> None:
    _, between = reliability.deviations(times_of(LOW, tuple(reversed(LOW))), QUIET)
    assert between == 0
    assert all(map(isnan, reliability.deviations(times_of(LOW), QUIET)))


def test_single_processes_of_the_next_run_are_looked_for() -> None:
    # Both calls of the comparison count, and the last run has no next one.
    later = (*LOW[:5], 50.0)
    assert reliability.next_processes_inside(times_of(LOW, later), QUIET) == Share(10, 12)


def test_one_run_says_nothing_of_how_runs_differ() -> None:
    (row,) = reliability.table_of_deviations(times_of(LOW)).rows
    load, *differ, _, next_inside = row
    assert load == QUIET
    assert {*differ, next_inside} == {"not measured"}


@pytest.mark.parametrize(
    "table_of",
    [
        reliability.table_of_verdicts,
        partial(reliability.table_of_intervals, quantity="time"),
        partial(reliability.table_of_intervals, quantity="speed-up"),
        reliability.table_of_deviations,
    ],
)
def test_tables_have_a_row_for_what_was_measured(table_of: Callable[[Audit], Table]) -> None:
    table = table_of(audit(run(JAXCAP, 1, ALIKE), run(JAXCAP, 2, ALIKE, wave=APART)))
    assert len(table.rows) == 1
    assert {len(row) for row in table.rows} == {len(table.headers)}
    assert len(table.headers) <= 6  # more don't fit on a page
    assert "Test CPU" in table.caption
    empty = table_of(Audit())
    assert not empty.rows
    assert "not recorded yet" in empty.caption
