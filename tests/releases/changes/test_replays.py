"""Replays of public issues: that they run here, and which verdicts results lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import jax
import numpy as np
import pytest
from fakes import make_result, make_run, make_set

from jaxcap.releases.benchmarks import BENCHMARKS, prepare
from jaxcap.releases.benchmarks.issues import BENCHMARKS as OF_ISSUES
from jaxcap.releases.changes.replays import (
    REPLAYS,
    Replay,
    ReplayOutcome,
    ReplayStanding,
    ReplayVerdict,
    judge,
    standing,
    summary,
)
from jaxcap.releases.quantities import JAX, NUMPY
from jaxcap.results import Result, ResultSet
from jaxcap.results.statistics import Speedup

MS = 1e-3
LOOP = "while_loop of 10,000 maxima"
COMPILATION = "compilation of an update of a new array"

# Random numbers, and alternatives that are not the same computation.
DIFFERENT = {
    "shuffle of 20,000 numbers",
    "three random numbers from a new key",
    "transposed convolution of four images",
    "vmap of 3,000 updates under a condition",
    "vmap of 3,000 updates in a while_loop",
}

IN_LOOP = Replay(thread="a/b#1", report="A loop.", benchmark=LOOP, factor=16, good="0.4.31")
BESIDE_NUMPY = Replay(
    thread="a/b#2", report="A sort.", benchmark="argsort of columns", factor=9, alternative=NUMPY
)
COMPILING = Replay(
    thread="a/b#3", report="A list.", benchmark=COMPILATION, factor=9, alternative="array"
)


def measured(benchmark: str, *times_s: float, variant: str = JAX, **changes: Any) -> Result:
    """Make a result with one process for each time."""
    runs = [make_run([time_s] * 6) for time_s in times_s]
    return make_result(variant, *runs, parameters={"benchmark": benchmark}, **changes)


def in_releases(**times_s: Sequence[float]) -> dict[str, ResultSet]:
    """Make the results of a loop by release, each in a comparison of its own."""
    return {
        name.replace("_", "."): make_set(measured(LOOP, *times, comparison=name))
        for name, times in times_s.items()
    }


def words(verdicts: Mapping[str, ReplayVerdict]) -> list[str]:
    return [verdict.outcome for verdict in verdicts.values()]


@pytest.mark.parametrize("name", [benchmark.name for benchmark in OF_ISSUES])
def test_variants_of_a_benchmark_agree(name: str) -> None:
    variants = prepare(name)
    assert next(iter(variants)) == JAX
    results = {variant: jax.tree.map(np.asarray, fn()) for variant, fn in variants.items()}
    expected: Any = results.pop(JAX)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(expected))
    if name in DIFFERENT:
        return
    for result in results.values():
        np.testing.assert_allclose(result, expected, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda r: f"{r.thread} {r.benchmark} {r.good}")
def test_a_replay_says_what_it_compares(replay: Replay) -> None:
    assert BENCHMARKS[replay.benchmark].quantity != "temporary memory"  # which has no verdicts
    assert bool(replay.good) != bool(replay.alternative)
    assert replay.factor > 1
    assert replay.report.endswith(".")
    if replay.alternative:
        assert replay.alternative in prepare(replay.benchmark)


def test_each_benchmark_of_issues_replays_one() -> None:
    assert {replay.benchmark for replay in REPLAYS} == {benchmark.name for benchmark in OF_ISSUES}


def test_the_address_is_that_of_the_thread() -> None:
    assert IN_LOOP.url == "https://github.com/a/b/issues/1"


@pytest.mark.parametrize(("factor", "threshold"), [(16, 4), (1.4, 1.25)])
def test_half_of_the_reported_factor_is_enough(factor: float, threshold: float) -> None:
    replay = Replay(thread="a/b#1", report="", benchmark=LOOP, factor=factor, good="0.4.31")
    assert replay.threshold == threshold


class TestReleases:
    def test_are_compared_with_the_last_good_one(self) -> None:
        recorded = in_releases(
            **{"0_4_33": [10 * MS] * 3, "0_4_9": [5 * MS] * 3, "0_4_31": [MS] * 3},
            **{"0_12_0": [3 * MS] * 3, "0_5_0": [1.1 * MS] * 3},
        )
        verdicts = judge(IN_LOOP, recorded)
        assert list(verdicts) == ["0.4.9", "0.4.31", "0.4.33", "0.5.0", "0.12.0"]
        assert words(verdicts) == ["reproduced", "not seen", "reproduced", "not seen", "smaller"]
        assert verdicts["0.4.33"].speedup.value == pytest.approx(0.1)

    def test_use_the_one_before_if_the_last_good_one_is_missing(self) -> None:
        recorded = in_releases(**{"0_4_18": [5 * MS] * 3, "0_4_30": [MS] * 3, "0_4_33": [MS] * 3})
        recorded["0.4.31"] = make_set(measured("another", MS))
        assert words(judge(IN_LOOP, recorded)) == ["reproduced", "not seen", "not seen"]

    def test_that_are_all_newer_have_no_verdict(self) -> None:
        verdicts = judge(IN_LOOP, in_releases(**{"0_4_33": [MS] * 3}))
        assert verdicts == {}
        assert summary(verdicts) == "not measured"

    def test_are_undecided_where_processes_differ_too_much(self) -> None:
        recorded = in_releases(**{"0_4_31": [MS] * 3, "0_4_33": [2 * MS, 10 * MS, 30 * MS]})
        assert words(judge(IN_LOOP, recorded)) == ["not seen", "undecided"]

    def test_leave_the_drift_of_the_machine_out(self) -> None:
        # In each round all take twice as long as in the one before.
        drift = np.array([1, 2, 4, 8]) * MS
        recorded = in_releases(**{"0_4_31": list(drift), "0_4_33": list(5 * drift)})
        assert judge(IN_LOOP, recorded)["0.4.33"].outcome == "reproduced"

    def test_were_not_in_turns_on_different_days(self) -> None:
        drift = np.array([1, 2, 4, 8]) * MS
        recorded = in_releases(**{"0_4_31": list(drift), "0_4_33": list(5 * drift)})
        later = recorded["0.4.31"].environment.measured_at + timedelta(days=1)
        environment = recorded["0.4.33"].environment.model_copy(update={"measured_at": later})
        recorded["0.4.33"] = recorded["0.4.33"].model_copy(update={"environment": environment})
        verdict = judge(IN_LOOP, recorded)["0.4.33"]
        assert verdict.outcome == "undecided"
        assert verdict.speedup.value == pytest.approx(1 / 5)

    def test_may_have_fewer_processes(self) -> None:
        recorded = in_releases(**{"0_4_31": [MS] * 5, "0_4_33": [9 * MS] * 2})
        assert judge(IN_LOOP, recorded)["0.4.33"].outcome == "reproduced"

    def test_releases_that_were_slower_still_are_left_out(self) -> None:
        recorded = in_releases(
            **{"0_4_31": [MS] * 3, "0_4_33": [9 * MS] * 3, "0_5_0": [20 * MS] * 3}
        )
        until = replace(IN_LOOP, until="0.4.33")
        assert list(judge(until, recorded)) == ["0.4.31", "0.4.33"]
        assert list(judge(IN_LOOP, recorded)) == ["0.4.31", "0.4.33", "0.5.0"]

    def test_twins_are_left_out(self) -> None:
        recorded = in_releases(**{"0_4_31": [MS] * 3, "0_4_31 twin": [MS] * 3})
        assert list(judge(IN_LOOP, recorded)) == ["0.4.31"]


class TestAlternatives:
    @pytest.mark.parametrize(
        ("time_s", "outcome"),
        [(9 * MS, "reproduced"), (2.2 * MS, "smaller"), (MS, "not seen"), (0.1 * MS, "not seen")],
    )
    def test_are_compared_in_the_same_process(self, time_s: float, outcome: str) -> None:
        name = BESIDE_NUMPY.benchmark
        results = make_set(measured(name, *[time_s] * 3), measured(name, *[MS] * 3, variant=NUMPY))
        verdicts = judge(BESIDE_NUMPY, {"0.4.31": results})
        assert verdicts["0.4.31"].outcome == outcome
        assert verdicts["0.4.31"].speedup.value == pytest.approx(MS / time_s)

    def test_that_were_not_measured_have_no_verdict(self) -> None:
        results = make_set(measured(BESIDE_NUMPY.benchmark, MS))
        assert judge(BESIDE_NUMPY, {"0.4.31": results}) == {}

    def test_are_compared_by_their_first_calls_where_compilation_is_slow(self) -> None:
        def result(variant: str, first_call_s: float) -> Result:
            runs = [make_run([MS], first_call_s=first_call_s)] * 3
            return make_result(variant, *runs, parameters={"benchmark": COMPILATION})

        results = make_set(result(JAX, 0.9), result("array", 0.1))
        assert words(judge(COMPILING, {"0.4.31": results})) == ["reproduced"]

    def test_of_a_single_first_call_are_undecided(self) -> None:
        runs = make_run([MS], first_call_s=9.0), make_run([MS], first_call_s=0.1)
        results = make_set(
            *(
                make_result(variant, run, parameters={"benchmark": COMPILATION})
                for variant, run in zip((JAX, "array"), runs, strict=True)
            )
        )
        assert words(judge(COMPILING, {"0.4.31": results})) == ["undecided"]


def verdict(slowdown: float, *, spread: float = 1.01) -> ReplayVerdict:
    ratios = [[1 / slowdown * spread**n] for n in (-1, 0, 1)]
    return ReplayVerdict(Speedup.from_runs(ratios), threshold=4)


@pytest.mark.parametrize(
    ("least", "most", "outcome"),
    [
        (4.1, 9, "reproduced"),
        (3.9, 9, "undecided"),
        (2.1, 3.9, "smaller"),
        (1.3, 1.9, "smaller"),
        (1.2, 3.9, "undecided"),
        (1.2, 1.9, "not seen"),
        (1.5, 9, "undecided"),
        (0.5, 4.1, "undecided"),
        (0.5, 1.9, "not seen"),
    ],
)
def test_a_verdict_holds_for_the_whole_interval(
    least: float, most: float, outcome: ReplayOutcome
) -> None:
    speedup = replace(verdict(1).speedup, low=1 / most, high=1 / least)
    assert ReplayVerdict(speedup, threshold=4).outcome == outcome


@pytest.mark.parametrize(
    ("newest", "expected"), [((1.2, 3), "undecided"), ((1.5, 9), "at least in part")]
)
def test_a_slowdown_that_may_still_be_there_is_not_fixed(
    newest: tuple[float, float], expected: str
) -> None:
    least, most = newest
    speedup = replace(verdict(1).speedup, low=1 / most, high=1 / least)
    verdicts = {"0.1": R, "0.2": ReplayVerdict(speedup, threshold=4)}
    assert summary(verdicts) == f"reproduced in 0.1, {expected} since 0.2"


# Reproduced, smaller, not seen and undecided.
R, S, N, U = verdict(9), verdict(3), verdict(1), verdict(4, spread=3)


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ([N, R, R, N, N], "reproduced from 0.2 to 0.3, fixed in 0.4"),
        ([N, R, N], "reproduced in 0.2, fixed in 0.3"),
        ([R, R, N], "reproduced up to 0.2, fixed in 0.3"),
        ([N, R, R], "reproduced since 0.2"),
        ([N, N, R], "reproduced since 0.3"),
        ([R, R, R], "reproduced in all releases"),
        ([R, U, R], "reproduced in 2 of 3 releases, undecided in the other"),
        (
            [N, R, U, U, R, N],
            "reproduced from 0.2 to 0.5 (in 2 of 4 releases, undecided in the others), fixed in 0.6",
        ),
        ([N, R, U, N], "reproduced in 0.2, fixed by 0.4"),
        ([N, R, N, U], "reproduced in 0.2, fixed in 0.3, undecided since 0.4"),
        (
            [R, U, R, U, U],
            "reproduced up to 0.3 (in 2 of 3 releases, undecided in the other), undecided since 0.4",
        ),
        ([N, R, S, N], "reproduced in 0.2, smaller than reported in 0.3, fixed in 0.4"),
        ([N, R, R, N, R, R], "reproduced from 0.2 to 0.3, not seen in 0.4, reproduced since 0.5"),
        ([S, N, S, N, R, N], "seen on and off from 0.1 to 0.5, fixed in 0.6"),
        ([S, N, S, N, R, S], "seen on and off from 0.1 to 0.6"),
        ([N, N], "not seen here"),
        ([N, N, U], "not seen in 2 of 3 releases, undecided in the other"),
        ([U, U], "undecided"),
    ],
)
def test_a_summary_names_the_releases(sequence: Sequence[ReplayVerdict], expected: str) -> None:
    verdicts = {f"0.{number}": each for number, each in enumerate(sequence, start=1)}
    assert summary(verdicts) == expected


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ([N, R, S], "still there"),
        ([R, N, R], "still there"),
        ([R, N], "fixed"),
        ([S, U, N], "fixed"),
        ([R, N, U], "undecided"),
        ([R, U], "undecided"),
        ([U, U], "undecided"),
        ([N, U], "not seen"),
        ([U, N], "not seen"),
        ([], "not measured"),
    ],
)
def test_what_became_of_a_report_is_told_by_the_newest_release(
    sequence: Sequence[ReplayVerdict], expected: ReplayStanding
) -> None:
    verdicts = {f"0.{number}": each for number, each in enumerate(sequence, start=1)}
    assert standing(verdicts) == expected
