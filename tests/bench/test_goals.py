"""Verdicts of the benchmarks: a goal is met or missed only where the whole interval says so."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import goals
import pytest
from goals import MET, MISSED, NO_GOAL, UNDECIDED, Comparison, NotMeasuredError
from rich.progress import Progress

from jaxcap.results.statistics import Estimate


def comparison(
    low: float = 1.0,
    high: float = 2.0,
    *,
    least: float = -inf,
    most: float = inf,
    confidence: float = 0.95,
) -> Comparison:
    ratio = Estimate((low + high) / 2, low, high, confidence, "", "20 processes")
    return Comparison("start", "3 ms", "click: 2 ms", ratio, least=least, most=most)


@pytest.mark.parametrize(
    ("least", "most", "verdict"),
    [
        (1, inf, MET),
        (0.9, inf, MET),
        (1.1, inf, UNDECIDED),
        (2, inf, UNDECIDED),
        (2.1, inf, MISSED),
        (-inf, 2, MET),
        (-inf, 1.9, UNDECIDED),
        (-inf, 0.9, MISSED),
        (-inf, inf, NO_GOAL),
    ],
)
def test_a_goal_is_decided_by_the_whole_interval(least: float, most: float, verdict: str) -> None:
    assert comparison(least=least, most=most).verdict == verdict


def test_too_few_samples_decide_nothing() -> None:
    assert comparison(most=3, confidence=0.9).verdict == UNDECIDED
    assert comparison(most=0.5, confidence=0.9).verdict == UNDECIDED


def test_a_row_has_the_interval_and_the_goal() -> None:
    *_, ratio, interval, goal, met = comparison(most=3).row
    assert (ratio, interval, goal, met) == ("1.5", "1.0 to 2.0", "at most 3", MET)
    assert comparison(least=0.5).row[-2:] == ("at least 0.5", MET)


def test_what_never_varies_has_no_interval() -> None:
    assert comparison(1.5, 1.5, most=1).row[-3:] == ("", "at most 1", MISSED)


def with_a_bar(bar: Progress, quick: bool) -> Iterator[Comparison]:
    for _ in bar.track(range(3)):
        pass
    yield comparison(most=1.5 if quick else 3)


def missing(bar: Progress, quick: bool) -> Iterator[Comparison]:
    raise NotMeasuredError("there is no site: build one")


def too_slow(bar: Progress, quick: bool) -> Iterator[Comparison]:
    yield comparison(most=0.5)


def test_what_cannot_be_measured_leaves_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        goals.run({"rebuild": missing, "start": with_a_bar}, quick=False)
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert "Not measured: rebuild: there is no site: build one." in said.out
    assert "at most 3" in said.out
    assert said.err.splitlines() == [
        "1 of 2: rebuild",
        "not measured: there is no site: build one",
        "2 of 2: start",
    ]


@pytest.mark.parametrize(("quick", "goal"), [(True, "at most 1.5"), (False, "at most 3")])
def test_a_missed_goal_fails_unless_it_was_quick(
    quick: bool, goal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as passed:
        goals.run({"start": with_a_bar}, quick=quick)
    with pytest.raises(SystemExit) as ended:
        goals.run({"start": with_a_bar, "training": too_slow}, quick=quick)
    assert not passed.value.code
    assert bool(ended.value.code) is not quick
    assert goal in capsys.readouterr().out
