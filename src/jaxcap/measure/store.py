"""Results that are kept, and reused as long as nothing that they depend on has changed.

A recording, the store of a build and a single file from another machine have the same layout: a
folder for each machine, and in it a file for each experiment. Only this module decides
whether the results in a file answer a question, and are current.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import jax

from jaxcap.measure.machine import description
from jaxcap.measure.settings import MACHINE, STORE, quick_is_on, reuse_is_on, session_start_s
from jaxcap.results import Environment, Parameter, Result, ResultsError, ResultSet
from jaxcap.results.atomic import write_atomically
from jaxcap.results.files import ENVIRONMENT_FILE, load_environment, recording_path, slug
from jaxcap.results.models import identity
from jaxcap.results.recordings import changes_since, load_recording

logger = logging.getLogger(__name__)

# What this process has measured in the session of a build, by the key of its plan.
_of_session: dict[tuple[Hashable, ...], ResultSet] = {}


class NotRecordedError(RuntimeError):
    """Another machine's results were asked for, and it hasn't recorded them."""


def measured_platform() -> str:
    """Return the platform of the machine whose results are shown, by its best device."""
    environment = shown_machine()
    return environment.device.platform if environment else jax.default_backend()


def shown_machine() -> Environment | None:
    """Return the machine whose recordings are shown; None if this machine measures.

    Raises
    ------
    ResultsError
        If `~jaxcap.measure.settings.MACHINE` names a folder that describes no machine.
    """
    folder = os.environ.get(MACHINE)
    return _environment_of(Path(folder)) if folder else None


@cache  # it is asked for by each experiment and each page
def _environment_of(folder: Path) -> Environment:
    if environment := load_environment(folder):
        return environment
    raise ResultsError(
        f"{MACHINE} is {folder}, which has no {ENVIRONMENT_FILE}: set it to the folder of a machine's "
        "recordings, such as docs/recorded/amd-epyc"
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is asked of an experiment.

    Attributes
    ----------
    experiment
        Its name.
    points
        Where it is to be measured.
    is_complete
        Whether these are all of its points.
    processes
        How many fresh processes take turns.
    budget_s
        Seconds of sampling for each variant, in each process and at each point.
    code
        Digest of the code that it measures.
    """

    experiment: str
    points: Sequence[Mapping[str, Parameter]]
    is_complete: bool
    processes: int
    budget_s: float
    code: str

    @property
    def name(self) -> str:
        """The name of its file, which is the experiment's, with a digest unless it asks for all points."""
        if self.is_complete:
            return self.experiment
        points = sorted(
            sorted((name, repr(value)) for name, value in point.items()) for point in self.points
        )
        return f"{self.experiment} {sha256(repr(points).encode()).hexdigest()[:8]}"

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What distinguishes this question from others."""
        return self.name, self.processes, self.budget_s, self.code

    def choose(self, kept: ResultSet) -> ResultSet | None:
        """Return the results that were asked for, in the order of the points, if all are there."""
        chosen: list[Result] = []
        for point in self.points:
            at_point = [result for result in kept if _is_at(result, point)]
            if not at_point:
                return None
            chosen += at_point
        return kept.subset(chosen)

    def reasons_to_measure(self, kept: ResultSet, now: Environment) -> list[str]:
        """Say why results no longer answer this question: what has changed, and what they lack."""
        reasons = changes_since(kept, now, self.code)
        processes = min(result.planned_processes or len(result.runs) for result in kept)
        if processes < self.processes:
            reasons.append(f"{processes} processes, now {self.processes}")
        budgets_s = [result.budget_s for result in kept if result.budget_s is not None]
        if budgets_s and min(budgets_s) < self.budget_s:
            reasons.append(f"{min(budgets_s):g} s for each variant, now {self.budget_s:g} s")
        if self.choose(kept) is None:
            reasons.append("other points")
        return reasons


@dataclass(frozen=True)
class Store:
    """A folder of results, which holds a folder for each machine."""

    folder: Path

    def files(self) -> list[Path]:
        """List the files of results, of all machines."""
        files = sorted(self.folder.glob("*/*.json"))
        return [file for file in files if file.name != ENVIRONMENT_FILE]

    def find(self, plan: Plan, now: Environment) -> ResultSet | None:
        """Return the results that a plan asks for, if they are kept and current.

        A file that can't be read is logged, and counts as missing.

        Raises
        ------
        ResultsError
            If the description of a machine's folder cannot be read.
        """
        for name in dict.fromkeys((plan.name, plan.experiment)):
            path = recording_path(self.folder, now, name)
            try:
                kept = ResultSet.load(path)
            except FileNotFoundError:
                continue
            except (OSError, ResultsError) as error:
                logger.warning("%s: %r is measured again", error, plan.experiment)
                continue
            if not plan.reasons_to_measure(kept, now):
                tell_source(plan.experiment, path)
                return plan.choose(kept)
        return None

    def save(self, results: ResultSet, plan: Plan) -> Path:
        """Keep what a plan asked for, in place of what was kept for it before.

        Raises
        ------
        OSError
            If the folder cannot be written to or is full. What was kept before stays.
        ResultsError
            If the description of a machine's folder cannot be read.
        """
        path = recording_path(self.folder, results.environment, plan.name)
        # Before the results, so that another machine never takes the folder for its own.
        environment = results.environment.model_dump_json(indent=1)
        write_atomically(path.with_name(ENVIRONMENT_FILE), environment + "\n")
        results.save(path)
        tell_source(plan.experiment, path)
        return path


def kept_results(plan: Plan) -> ResultSet | None:
    """Return the results that make measuring unnecessary, if there are any.

    Raises
    ------
    NotRecordedError
        If another machine's were asked for, and it has none.
    ResultsError
        If the description of a machine's folder cannot be read.
    """
    if machine := os.environ.get(MACHINE):
        return _recorded(Path(machine), plan)
    # A build that measures afresh measures nothing twice, though several pages may ask for it.
    if session_start_s() is not None and plan.key in _of_session:
        return _of_session[plan.key]
    folder = os.environ.get(STORE)
    if not folder or not reuse_is_on():
        return None
    return Store(Path(folder)).find(plan, description.capture())


def keep(results: ResultSet, plan: Plan) -> None:
    """Keep new results if there is a folder for them. If they can't be kept, log why."""
    if session_start_s() is not None:
        _of_session[plan.key] = results
    folder = os.environ.get(STORE)
    if not folder or quick_is_on():
        return
    try:
        Store(Path(folder)).save(results, plan)
    except (OSError, ResultsError) as error:
        logger.warning("the results of %r could not be kept: %s", plan.experiment, error)


def _recorded(folder: Path, plan: Plan) -> ResultSet:
    """Return what another machine recorded of a plan, whatever code and versions it had."""
    path = folder / f"{slug(plan.experiment)}.json"
    try:
        chosen = plan.choose(load_recording(path))
    except FileNotFoundError:
        chosen = None
    if chosen is None:
        raise NotRecordedError(
            f"{folder.name} has no recording of experiment {plan.experiment!r} at {list(plan.points)}: "
            f"run `jaxcap record {plan.experiment!r}` on that machine, and add the file"
        )
    tell_source(plan.experiment, path)
    return chosen


def tell_source(experiment: str, path: Path) -> None:
    """Log which file results come from, for a build that keeps what it made from them."""
    logger.info("results of %r are in %s", experiment, path, extra={"results_file": path})


def _is_at(result: Result, point: Mapping[str, Parameter]) -> bool:
    return result.parameters.keys() == point.keys() and all(
        identity(value) == identity(point[name]) for name, value in result.parameters.items()
    )
