"""Many experiments in minutes: a few points of each, measured together in the same fresh processes.

Starting processes takes longer than measuring a short call. So experiments share them, where they
allow it, and the points of all of them take turns as the points of one experiment do. What is
measured of each are the points that decide claims, the cheapest experiments first, until the time
is up. The results are those of the experiments, with their names, parameters and digests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pkgutil import resolve_name
from typing import Any

from jaxcap.measure.experiment import Experiment, Point, Points
from jaxcap.measure.processes import ProcessError
from jaxcap.measure.sampling import Variants
from jaxcap.measure.timing import MAX_ROUNDS
from jaxcap.measure.turns import MIN_ROUNDS, measure_in_turns
from jaxcap.measure.worker import Task
from jaxcap.report.claims import BEST, LARGEST, Statement
from jaxcap.results import Parameter, Result, ResultSet

# These make several devices of a CPU, which must be done before a process uses JAX.
ALONE = frozenset({"collectives", "mnist scaling", "shared_steps"})
# What isn't recorded at a point is expected to take a second: most first calls take less.
_UNKNOWN_S = 1.0
# Processes take about so long to start, and experiments are measured together for about so long: a
# failure costs little, and there are few starts.
_START_S, _TOGETHER_S = 4.0, 12.0
# A point is known by these, besides its own parameters, until its results are told apart.
_NUMBER, _PREPARED_BY = "number of the question", "prepared by"


@dataclass(frozen=True)
class Question:
    """An experiment at some of its points, with the claims that they decide.

    Attributes
    ----------
    experiment
        What is measured.
    points
        Where. There may be none for the device.
    seconds
        How long that is expected to take in a process.
    claims
        How many claims the points decide.
    """

    experiment: Experiment
    points: Points
    seconds: float
    claims: int = 1

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        statements: Sequence[Statement],
        *,
        platform: str,
        recorded: ResultSet | None,
        budget_s: float,
    ) -> Question:
        """Ask for the points that decide claims about an experiment.

        Parameters
        ----------
        experiment, statements
            The experiment, and the claims.
        platform
            That of the machine's best device.
        recorded
            Results from any machine, which show how long the points take.
        budget_s
            See `measure`.
        """
        points: list[Point] = []
        for statement in statements:
            chosen = decisive_points(statement, points_on(experiment, platform), platform, recorded)
            points += [point for point in chosen if point not in points]
        seconds = sum(_seconds_at(point, recorded, budget_s) for point in points)
        return cls(experiment, points, seconds, len(statements))


@dataclass
class Answers:
    """What was measured.

    Attributes
    ----------
    sets
        Results by experiment.
    missing
        Why the others weren't measured, or not at all of their points, by experiment.
    """

    sets: dict[str, ResultSet] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def points_on(experiment: Experiment, platform: str) -> Points:
    """Return the points for a machine whose best device is of this platform."""
    return experiment.full if experiment.full and platform != "cpu" else experiment.quick


def decisive_points(
    statement: Statement, points: Points, platform: str, recorded: ResultSet | None = None
) -> Points:
    """Choose the points at which a claim is decided.

    Parameters
    ----------
    statement
        The claim.
    points
        Those of its experiment.
    platform
        That of the machine's best device.
    recorded
        Results of the experiment. Points are left out at which they lack the claim's variants.
    """
    for name, value in statement.evidence.criteria.items():
        having = [point for point in points if name in point]
        if not having:  # a fact of the result, not of the point
            continue
        wanted: Any = platform if value == BEST else value
        if value == LARGEST:
            wanted = max(point[name] for point in having)
        points = [point for point in having if point[name] == wanted]
    variants = {statement.evidence.variant, statement.evidence.over} - {None}
    with_variants = [
        point for point in points if variants <= {r.variant for r in _at(point, recorded)}
    ]
    return with_variants or points


def measure(
    required: Iterable[Question],
    others: Iterable[Question] = (),
    *,
    processes: int,
    budget_s: float,
    until_s: float,
    slowness: float = 1.0,
    on_progress: Callable[[str], object] = lambda _: None,
) -> Answers:
    """Measure experiments in fresh processes that take turns, until the time is up.

    Parameters
    ----------
    required
        What is measured first, and together, however long that takes. The experiments must have the
        same allocator, and all or none of them empty caches.
    others
        What is measured as long as there is time. Those come first that decide the most claims in
        the least time.
    processes
        How many processes measure each experiment.
    budget_s
        Seconds of sampling for each variant, in each process and at each point.
    until_s
        The value of ``time.monotonic()`` at which it should be done. What can't be expected to be done by
        then isn't begun.
    slowness
        How many times longer than expected everything is thought to take, until that is known.
    on_progress
        Called again and again with the names of the experiments that are being measured.
    """
    answers, together = Answers(), list(required)
    waiting = sorted(others, key=lambda question: question.seconds / question.claims)
    unsuited = [question.experiment.name for question in waiting if not question.points]
    answers.missing |= dict.fromkeys(unsuited, "no point of it is for this device")
    waiting = [question for question in waiting if question.points]
    while together:
        start_s = time.monotonic()
        left_s = (until_s - start_s) / slowness
        together += _companions(together, waiting, processes, min(left_s, _TOGETHER_S))
        waiting = [question for question in waiting if question not in together]
        _measure_together(together, processes, budget_s, answers, on_progress)
        now_s = time.monotonic()
        slowness = max((now_s - start_s) / _expected_s(together, processes), 0.1)
        left_s = (until_s - now_s) / slowness
        in_time = (question for question in waiting if _expected_s([question], processes) <= left_s)
        together = list(islice(in_time, 1))
    answers.missing |= {question.experiment.name: "not enough time" for question in waiting}
    return answers


def prepare(**parameters: Parameter) -> Variants:
    """Prepare a point of the experiment that the parameters name."""
    own = {name: v for name, v in parameters.items() if name not in (_NUMBER, _PREPARED_BY)}
    variants: Variants = resolve_name(str(parameters[_PREPARED_BY]))(**own)
    return variants


def _companions(
    together: Sequence[Question], waiting: Iterable[Question], processes: int, limit_s: float
) -> list[Question]:
    """Choose experiments that may be measured with others, and that fit into a time."""
    chosen: list[Question] = []
    for question in waiting:
        is_alike = _conditions(question.experiment) == _conditions(together[0].experiment)
        is_other = question not in together
        if (
            is_alike
            and is_other
            and _expected_s([*together, *chosen, question], processes) <= limit_s
        ):
            chosen.append(question)
    return chosen


def _conditions(experiment: Experiment) -> tuple[object, ...]:
    """Return what experiments must share to be measured in the same processes."""
    alone = experiment.name if experiment.name in ALONE else ""
    return experiment.allocator, experiment.empty_caches, alone


def _expected_s(questions: Iterable[Question], processes: int) -> float:
    return _START_S + processes * sum(question.seconds for question in questions)


def _measure_together(
    questions: Sequence[Question],
    processes: int,
    budget_s: float,
    answers: Answers,
    on_progress: Callable[[str], object],
) -> None:
    """Measure experiments in the same processes. If a point fails, the others are measured without it."""
    experiments = [question.experiment for question in questions]
    points = [
        {_NUMBER: number, _PREPARED_BY: question.experiment.reference, **point}
        for number, question in enumerate(questions)
        for point in question.points
    ]
    while points:
        names = ", ".join(dict.fromkeys(experiments[int(p[_NUMBER])].name for p in points))
        on_progress(names)
        task = Task(
            name="report",
            reference=f"{prepare.__module__}:{prepare.__name__}",
            points=tuple(points),
            sample_s=budget_s / MAX_ROUNDS,
            allocator=experiments[0].allocator,
            empty_caches=experiments[0].empty_caches,
        )
        try:
            results = measure_in_turns(
                task,
                processes=processes,
                budget_s=budget_s,
                code="",
                on_progress=partial(_tell, on_progress, names),
            )
        except (ProcessError, ValueError) as error:  # the latter if the machine changed meanwhile
            place = getattr(error, "point", None)
            failed = points if place is None else [points[place]]
            for point in failed:
                answers.missing[experiments[int(point[_NUMBER])].name] = _reason(error)
            points = [point for point in points if point not in failed]
            continue
        asked = {"planned_processes": processes, "budget_s": budget_s}
        for number, experiment in enumerate(experiments):
            own = [result for result in results if result.parameters[_NUMBER] == number]
            if own:
                answers.sets[experiment.name] = results.subset(
                    _as_own(result, experiment, asked) for result in own
                )
        return


def _reason(error: Exception) -> str:
    """Say why a point failed, without the name of the task, which says nothing."""
    return str(error).replace("experiment 'report' failed in a fresh process", "its process failed")


def _tell(on_progress: Callable[[str], object], names: str, _: float) -> None:
    on_progress(names)


def _as_own(result: Result, experiment: Experiment, asked: Mapping[str, object]) -> Result:
    """Return a result as the experiment would have measured it by itself."""
    parameters = {
        name: value
        for name, value in result.parameters.items()
        if name not in (_NUMBER, _PREPARED_BY)
    }
    own = {"experiment": experiment.name, "parameters": parameters, "code": experiment.code}
    return result.model_copy(update={**own, **asked})


def _seconds_at(point: Point, recorded: ResultSet | None, budget_s: float) -> float:
    """Estimate how long a process needs at a point: two first calls of each variant, and samples."""
    found = _at(point, recorded)
    if not found:
        return _UNKNOWN_S
    return sum(
        2 * result.first_call.value + max(budget_s, MIN_ROUNDS * result.time.value)
        for result in found
    )


def _at(point: Point, recorded: ResultSet | None) -> list[Result]:
    return [r for r in recorded or () if dict(r.parameters) == dict(point)]
