"""The search for the release in which something changed, on numbers that are drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from math import exp

import pytest
from fakes import make_result, make_run, make_set

from jaxcap.releases.search.bisection import (
    ERROR_RATE,
    LOOKS,
    PROCESSES,
    Measure,
    Ratio,
    ReleaseError,
    bisect,
    changed_benchmarks,
    most_comparisons,
)
from jaxcap.results import ResultSet

RELEASES = tuple(f"0.4.{patch}" for patch in range(20))


def times(*changes: tuple[int, float]) -> dict[str, float]:
    """Return the true time under each release, after changes to a time at a release."""
    return {
        release: next((time_s for start, time_s in reversed(changes) if index >= start), 1.0)
        for index, release in enumerate(RELEASES)
    }


Noise = Callable[[random.Random], float]


def measuring(true: Mapping[str, float], noise: Noise | float, *, seed: int = 0) -> Measure:
    """Pretend to measure: processes scatter around the true time, by this deviation if a number."""
    drawn = random.Random(seed)

    def value() -> float:
        return exp(drawn.gauss(0, noise) if isinstance(noise, float) else noise(drawn))

    return lambda releases, processes: {
        release: [true[release] * value() for _ in range(processes)] for release in releases
    }


def failing(measure: Measure, *broken: str) -> Measure:
    def fails(releases: Sequence[str], processes: int) -> Mapping[str, Sequence[float]]:
        for release in releases:
            if release in broken:
                raise ReleaseError(release, "no wheel")
        return measure(releases, processes)

    return fails


@pytest.mark.parametrize("start", [1, 7, 19])
@pytest.mark.parametrize("time_s", [1.5, 0.5, 13.0])
def test_the_release_is_found_in_which_it_got_slower_or_faster(start: int, time_s: float) -> None:
    measure = measuring(times((start, time_s)), 0.02)
    outcome = bisect(RELEASES, measure, threshold=1.1)
    assert outcome.verdict == "found"
    assert (outcome.older, outcome.newer) == (RELEASES[start - 1], RELEASES[start])
    assert outcome.ratio.low < time_s < outcome.ratio.high
    assert not any(step.has_several_changes for step in outcome.steps)
    assert len(outcome.steps) <= most_comparisons(len(RELEASES))
    assert outcome.processes == sum(len(v) for s in outcome.steps for v in s.values.values())


def test_a_change_between_two_neighbours_needs_no_second_comparison() -> None:
    outcome = bisect(RELEASES[:2], measuring(times((1, 2.0)), 0.02), threshold=1.1)
    assert outcome.verdict == "found"
    assert len(outcome.steps) == 1


def test_a_machine_that_is_slow_for_some_of_the_time_hides_nothing() -> None:
    quiet, speeds = measuring(times((1, 1.3)), 0.02), iter([1.0, 2.3, 0.9, 1.7] * 2)

    def measure(releases: Sequence[str], processes: int) -> Mapping[str, Sequence[float]]:
        speed = next(speeds)
        return {r: [speed * v for v in values] for r, values in quiet(releases, processes).items()}

    # So small a difference from the threshold takes several looks.
    outcome = bisect(RELEASES[:2], measure, threshold=1.26)
    assert outcome.verdict == "found"
    assert outcome.processes > 2 * PROCESSES


def test_what_does_not_change_costs_one_comparison() -> None:
    outcome = bisect(RELEASES, measuring(times(), 0.02), threshold=1.1)
    assert outcome.verdict == "no change"
    assert (outcome.older, outcome.newer) == (RELEASES[0], RELEASES[-1])
    assert outcome.ratio.low < 1 < outcome.ratio.high
    assert len(outcome.steps) == 1


def test_a_change_below_the_threshold_does_not_count() -> None:
    outcome = bisect(RELEASES, measuring(times((5, 1.04)), 0.01), threshold=1.1)
    assert outcome.verdict == "no change"


def share_wrong(true: Mapping[str, float], *, threshold: float, deviation: float) -> float:
    """Return how often a search says that it found a change or that there is none, and is wrong."""
    searches = 400
    wrong = 0
    for seed in range(searches):
        measure = measuring(true, deviation, seed=seed)
        outcome = bisect(RELEASES, measure, threshold=threshold)
        is_right = true[outcome.newer] != true[outcome.older]
        wrong += outcome.verdict in ("found", "no change") and not is_right
    return wrong / searches


def one_normal(drawn: random.Random) -> float:
    return drawn.gauss(0, 0.05)


def one_with_outliers(drawn: random.Random) -> float:
    return drawn.gauss(0, 0.03) + (0.5 if drawn.random() < 0.1 else 0.0)


def one_of_two_modes(drawn: random.Random) -> float:
    return drawn.gauss(0, 0.03) + (0.5 if drawn.random() < 0.5 else 0.0)


@pytest.mark.parametrize("noise", [one_normal, one_with_outliers, one_of_two_modes])
def test_noise_is_taken_for_a_change_at_most_at_the_stated_rate(noise: Noise) -> None:
    # The least threshold is the worst case: without the correction for looks, 13 % would be wrong.
    found = sum(
        bisect(RELEASES[:2], measuring(times(), noise, seed=seed), threshold=1 + 1e-9).verdict
        == "found"
        for seed in range(1000)
    )
    assert found / 1000 <= ERROR_RATE


def test_a_process_that_is_far_off_does_not_hide_a_change() -> None:
    verdicts = [
        bisect(
            RELEASES[:2], measuring(times((1, 1.4)), one_with_outliers, seed=seed), threshold=1.1
        ).verdict
        for seed in range(100)
    ]
    assert verdicts.count("found") >= 85


def test_a_change_is_found_at_the_wrong_release_at_most_at_the_stated_rate() -> None:
    assert share_wrong(times((6, 1.4)), threshold=1.1, deviation=0.05) <= ERROR_RATE


def test_of_several_changes_the_largest_is_followed_and_the_outcome_says_so() -> None:
    # As a scan in JAX: slow from one release on, and then better, but not as before.
    measure = measuring(times((4, 13.0), (9, 2.5)), 0.03)
    outcome = bisect(RELEASES, measure, threshold=1.1)
    assert outcome.verdict == "found"
    assert (outcome.older, outcome.newer) == (RELEASES[3], RELEASES[4])
    # Release 10 is like the last one, and only release 5 or 7 is like neither end.
    assert any(step.has_several_changes for step in outcome.steps)


def test_changes_of_equal_size_lead_to_one_of_them() -> None:
    measure = measuring(times((5, 2.0), (15, 4.0)), 0.02)
    outcome = bisect(RELEASES, measure, threshold=1.1)
    assert outcome.verdict == "found"
    assert outcome.newer in (RELEASES[5], RELEASES[15])
    assert outcome.steps[1].has_several_changes


def test_many_small_changes_are_gradual() -> None:
    true = {release: 1.03**index for index, release in enumerate(RELEASES)}
    outcome = bisect(RELEASES, measuring(true, 0.005), threshold=1.1)
    assert outcome.verdict == "gradual"
    assert outcome.ratio.high < 1.1


def test_releases_that_fail_are_skipped_and_named() -> None:
    broken = RELEASES[5:12]
    measure = failing(measuring(times((8, 3.0)), 0.02), *broken)
    outcome = bisect(RELEASES, measure, threshold=1.1)
    assert outcome.verdict == "found"
    assert (outcome.older, outcome.newer) == (RELEASES[4], RELEASES[12])
    assert set(outcome.skipped) <= set(broken)
    assert set(outcome.skipped.values()) == {"no wheel"}


@pytest.mark.parametrize("end", [RELEASES[0], RELEASES[-1]])
def test_an_end_that_fails_ends_the_search(end: str) -> None:
    with pytest.raises(ReleaseError, match="no wheel") as caught:
        bisect(RELEASES, failing(measuring(times(), 0.02), end), threshold=1.1)
    assert caught.value.release == end


def test_noise_as_large_as_the_change_leaves_it_undecided() -> None:
    outcome = bisect(RELEASES, measuring(times((7, 1.3)), 0.6), threshold=1.1)
    assert outcome.verdict == "undecided"
    assert outcome.processes == 2 * LOOKS * PROCESSES


def test_what_does_not_scatter_is_decided_at_the_first_look() -> None:
    outcome = bisect(RELEASES, measuring(times((7, 452.0)), 0.0), threshold=1.1)
    assert (outcome.verdict, outcome.newer) == ("found", RELEASES[7])
    assert outcome.ratio.low == outcome.ratio.high == pytest.approx(452)
    assert all(len(v) == PROCESSES for step in outcome.steps for v in step.values.values())


def test_comparisons_are_announced() -> None:
    announced: list[Sequence[str]] = []
    outcome = bisect(
        RELEASES,
        measuring(times((7, 2.0)), 0.02),
        threshold=1.1,
        on_comparison=announced.append,
    )
    assert announced == [tuple(step.values) for step in outcome.steps]


@pytest.mark.parametrize(
    ("ratio", "is_beyond", "is_within"),
    [
        ((2.0, 1.2, 3.0), True, False),
        ((0.5, 0.4, 0.8), True, False),
        ((1.0, 0.95, 1.05), False, True),
        ((1.1, 0.95, 1.3), False, False),
    ],
)
def test_an_interval_is_a_change_only_as_a_whole(
    ratio: tuple[float, float, float], is_beyond: bool, is_within: bool
) -> None:
    value, low, high = ratio
    of = Ratio(value=value, low=low, high=high)
    assert (of.is_beyond(1.1), of.is_within(1.1)) == (is_beyond, is_within)


def recorded(
    benchmarks: Mapping[str, Callable[[int], float]], *, temporary_bytes: int | None = 8
) -> ResultSet:
    return make_set(
        *(
            make_result(
                variant,
                *(make_run([time_s(i)] * 3, first_call_s=2 * time_s(i)) for i in range(5)),
                parameters={"benchmark": name},
                experiment="releases",
                temporary_bytes=temporary_bytes,
            )
            for name, time_s in benchmarks.items()
            for variant in ("JAX", "NumPy")
        )
    )


def test_recorded_benchmarks_that_changed_are_named_largest_first() -> None:
    before = {name: lambda i: 1e-3 + 1e-5 * i for name in ("scan", "sort", "loop")}
    after = before | {"sort": lambda i: 5e-4 + 1e-5 * i, "scan": lambda i: 9e-3 + 1e-5 * i}
    older, newer = recorded(before), recorded(after)
    changed = changed_benchmarks(older, newer, quantity="time", threshold=1.1)
    assert list(changed) == ["scan", "sort"]
    assert changed["scan"].low < 9 < changed["scan"].high + 1
    assert list(changed_benchmarks(older, newer, quantity="first call", threshold=1.1)) == [
        "scan",
        "sort",
    ]
    more = recorded(before, temporary_bytes=80)
    in_memory = changed_benchmarks(older, more, quantity="temporary memory", threshold=1.1)
    assert in_memory["loop"].value == pytest.approx(10)
    unknown = recorded(before, temporary_bytes=None)
    assert not changed_benchmarks(unknown, more, quantity="temporary memory", threshold=1.1), (
        "not known is not nothing"
    )


def test_benchmarks_that_were_recorded_on_another_day_have_to_differ_more() -> None:
    older = recorded({"scan": lambda i: 1e-3 + 1e-7 * i})
    newer = recorded({"scan": lambda i: 1.2e-3 + 1e-7 * i})
    later = older.environment.measured_at + timedelta(days=1)
    environment = newer.environment.model_copy(update={"measured_at": later})
    another_day = newer.model_copy(update={"environment": environment})
    assert changed_benchmarks(older, newer, quantity="time", threshold=1.1)
    assert not changed_benchmarks(older, another_day, quantity="time", threshold=1.1)
