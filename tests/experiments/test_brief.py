"""Many experiments at once: which points, in which order, and what becomes of those that fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sample_experiments
from fakes import make_result, make_run, make_set

from jaxcap.experiments import brief
from jaxcap.experiments.brief import Question, decisive_points
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.processes import ProcessError
from jaxcap.measure.worker import Task
from jaxcap.report.claims import BEST, LARGEST, Evidence, Statement, speedup_of
from jaxcap.results import Result, ResultSet

POINTS = [
    *grid(device=("gpu", "cpu"), size=(10, 1000)),
    *grid(device=("gpu", "cpu"), size=(10,), dtype=("float64",)),
]
FAR_AWAY_S = 1e6


def statement(**criteria: Any) -> Statement:
    return of(speedup_of("jit", over="op by op", **criteria))


def of(evidence: Evidence) -> Statement:
    return Statement(text="it is", experiment="sums", evidence=evidence, above=1.0, below=None)


def question(name: str, seconds: float = 1.0, claims: int = 1, **settings: Any) -> Question:
    experiment = Experiment(
        name=name, prepare=sample_experiments.prepare_sums, quick=grid(size=(10,)), **settings
    )
    return Question(experiment, experiment.quick, seconds, claims)


def of_size(variant: str, size: int, time_s: float = 1e-3) -> Result:
    return make_result(variant, make_run([time_s] * 6), parameters={"size": size})


@pytest.mark.parametrize(
    ("criteria", "chosen"),
    [
        ({}, POINTS),
        ({"size": 1000, "device": "cpu"}, [POINTS[3]]),
        ({"size": LARGEST}, [POINTS[1], POINTS[3]]),
        ({"size": LARGEST, "device": BEST}, [POINTS[1]]),
        ({"allocator": "steady", "size": 1000}, [POINTS[1], POINTS[3]]),
        ({"dtype": "float64", "device": BEST}, [POINTS[4]]),
    ],
)
def test_the_points_are_those_that_decide_a_claim(criteria: Any, chosen: Any) -> None:
    assert decisive_points(statement(**criteria), POINTS, "gpu") == chosen


def test_points_without_the_variants_are_left_out_where_that_is_known() -> None:
    recorded = make_set(of_size("jit", 10), of_size("op by op", 10), of_size("else", 20))
    points = grid(size=(10, 20))
    assert decisive_points(statement(), points, "cpu", recorded) == points[:1]
    another = of(speedup_of("vmap", over="loop"))
    assert decisive_points(another, points, "cpu", recorded) == points


def test_each_point_is_asked_for_once() -> None:
    experiment = question("sums").experiment
    asked = Question.of(
        experiment, [statement(), statement()], platform="cpu", recorded=None, budget_s=0.1
    )
    assert asked.points == experiment.quick
    assert asked.claims == 2


def test_a_point_takes_two_first_calls_of_each_variant_and_their_samples() -> None:
    recorded = make_set(of_size("jit", 10), of_size("op by op", 10, 1.0))
    first_calls_s = sum(result.first_call.value for result in recorded)
    asked = Question.of(
        question("sums").experiment, [statement()], platform="cpu", recorded=recorded, budget_s=0.1
    )
    assert asked.seconds == pytest.approx(2 * first_calls_s + 0.1 + 4.0)


class Turns:
    """Stands for processes that take turns: it notes what they measure, and may fail."""

    def __init__(self, fails: Callable[[Task], int | None] = lambda _: None) -> None:
        self.tasks: list[Task] = []
        self._fails = fails

    def __call__(self, task: Task, **options: Any) -> ResultSet:
        self.tasks.append(task)
        options["on_progress"](0.5)
        if (point := self._fails(task)) is not None:
            error = ProcessError(
                "experiment 'report' failed in a fresh process (exit code 1): no luck"
            )
            error.point = point if point >= 0 else None
            raise error
        return make_set(*(make_result("jit", parameters=point) for point in task.points))


def measured(
    monkeypatch: pytest.MonkeyPatch,
    questions: Sequence[Question],
    turns: Turns,
    *,
    left_s: float = FAR_AWAY_S,
    **options: Any,
) -> brief.Answers:
    monkeypatch.setattr(brief, "measure_in_turns", turns)
    until_s = time.monotonic() + left_s
    first, *others = questions
    return brief.measure([first], others, processes=2, budget_s=0.1, until_s=until_s, **options)


def test_results_are_those_of_the_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [question("a"), question("b")]
    turns, told = Turns(), list[str]()
    answers = measured(monkeypatch, questions, turns, on_progress=told.append)
    assert len(turns.tasks) == 1
    assert not answers.missing
    for asked in questions:
        (result,) = answers.sets[asked.experiment.name]
        assert result.experiment == asked.experiment.name
        assert result.parameters == {"size": 10}
        assert result.code == asked.experiment.code
        assert (result.planned_processes, result.budget_s) == (2, 0.1)
    assert set(told) == {"a, b"}


def test_experiments_that_need_other_conditions_get_processes_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = Turns()
    questions = [
        question("a"),
        question("b", allocator="default"),
        question("c", empty_caches=False),
        question("shared_steps"),
        question("d"),
    ]
    answers = measured(monkeypatch, questions, turns)
    assert answers.sets.keys() == {"a", "b", "c", "d", "shared_steps"}
    assert [len(task.points) for task in turns.tasks] == [2, 1, 1, 1]


def test_the_first_is_measured_though_there_is_no_time_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    questions = [question("first", 50.0), question("second")]
    answers = measured(monkeypatch, questions, Turns(), left_s=0.0)
    assert answers.sets.keys() == {"first"}
    assert answers.missing == {"second": "not enough time"}


def test_what_decides_more_claims_in_less_time_comes_before_what_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    questions = [
        question("first", 1.0),
        question("long", 1000.0),
        question("short", 3.0),
        question("rich", 4.0, claims=4),
    ]
    turns = Turns()
    # Each of the others would need processes of its own, and there is time for those of one.
    monkeypatch.setattr(brief, "_TOGETHER_S", 5.0)
    answers = measured(monkeypatch, questions, turns, left_s=13.0)
    assert list(answers.sets) == ["first", "rich", "short"]
    assert answers.missing == {"long": "not enough time"}


def test_a_slow_machine_begins_with_less(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [question("first", 1.0), question("second", 1.0)]
    turns = Turns()
    measured(monkeypatch, questions, turns, left_s=30.0, slowness=10.0)
    assert len(turns.tasks[0].points) == 1


@pytest.mark.parametrize(("point", "left"), [(1, {"a", "c"}), (-1, set())])
def test_one_that_fails_is_left_out_and_says_why(
    monkeypatch: pytest.MonkeyPatch, point: int, left: set[str]
) -> None:
    turns = Turns(lambda task: point if len(task.points) == 3 else None)
    answers = measured(monkeypatch, [question("a"), question("b"), question("c")], turns)
    assert answers.sets.keys() == left
    reason = "its process failed (exit code 1): no luck"
    assert answers.missing == dict.fromkeys({"a", "b", "c"} - left, reason)


def test_the_points_of_an_experiment_are_measured_without_one_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = Turns(lambda task: 1 if len(task.points) == 3 else None)
    asked = Question(question("a").experiment, grid(size=(1, 2, 3)), 1.0)
    answers = measured(monkeypatch, [asked], turns)
    assert [result.parameters["size"] for result in answers.sets["a"]] == [1, 3]
    assert "no luck" in answers.missing["a"]


def test_an_experiment_without_points_for_the_device_is_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    questions = [question("a"), Question(question("b").experiment, [], 0.0)]
    answers = measured(monkeypatch, questions, Turns())
    assert answers.sets.keys() == {"a"}
    assert answers.missing == {"b": "no point of it is for this device"}


def test_real_processes_measure_what_works_beside_what_fails() -> None:
    works = Question(sample_experiments.SUMS, sample_experiments.SUMS.quick, 1.0)
    broken = Experiment(
        name="broken", prepare=sample_experiments.prepare_and_raise, quick=grid(size=(3,))
    )
    answers = brief.measure(
        [works],
        [Question(broken, broken.quick, 1.0)],
        processes=1,
        budget_s=0.001,
        until_s=time.monotonic() + FAR_AWAY_S,
    )
    assert answers.missing == {
        "broken": "its process failed (exit code 1): ValueError: no size 3 here"
    }
    results = answers.sets["sums"]
    assert [(r.variant, r.parameters) for r in results] == [
        (variant, {"size": size}) for size in (10, 20) for variant in ("NumPy", "JAX")
    ]
    assert {result.code for result in results} == {sample_experiments.SUMS.code}
