"""What a report measures, in the time that there is."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jaxcap.cli.output import refusing_unwritable
from jaxcap.measure.machine import lock
from jaxcap.measure.machine.doctor import Facts
from jaxcap.measure.machine.limits import Limits
from jaxcap.report.statements import tutorial_claims
from jaxcap.results import Environment, ResultSet
from jaxcap.results.recordings import Recording, load_all

if TYPE_CHECKING:
    from jaxcap.experiments.brief import Question
    from jaxcap.measure.experiment import Experiment
    from jaxcap.report.claims import Statement

CEILINGS, PRECISION, DISPATCH = "ceilings", "precision", "dispatch"
# Kernels that are compared with themselves: a call that computes next to nothing, and one that
# keeps all cores busy.
NOISE = ("scalar product, jit", "matrix product, jit")
# The time that is left for reading recordings and writing the report.
_WRITING_S = 7.0
# What the cost of experiments was recorded with.
_USUAL_CORES = 2


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    limit_s
        The seconds that the report should take.
    processes
        How many processes measure each experiment.
    budget_s
        Seconds of sampling for each variant, in each process and at each point.
    """

    limit_s: float
    processes: int
    budget_s: float


FULL = Effort(limit_s=120.0, processes=4, budget_s=0.05)
QUICK = Effort(limit_s=20.0, processes=1, budget_s=0.1)


@dataclass(kw_only=True)
class Measured:
    """What was measured, and what others recorded.

    Attributes
    ----------
    environment
        This machine; None if JAX doesn't start.
    sets
        Results by experiment.
    missing
        Why others weren't measured, by experiment; by the empty text why none was.
    threads
        What `jaxcap.measure.threads.usage` returned; None if it wasn't asked.
    recordings
        What other machines recorded.
    warnings
        Why the measurements aren't quite what was asked for, other work aside.
    effort, duration_s
        How much was to be measured, and how many seconds that took.
    """

    effort: Effort
    environment: Environment | None = None
    sets: dict[str, ResultSet] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    threads: dict[str, Any] | None = None
    recordings: list[Recording] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    duration_s: float = 0.0

    def why_missing(self, experiment: str) -> str:
        """Say why an experiment wasn't measured."""
        return self.missing.get(experiment) or self.missing.get("", "it wasn't asked for")

    @property
    def results(self) -> ResultSet | None:
        """All results as a file holds them, which is about one machine; None if there are none.

        Where a CPU acted as several devices, it was another machine.
        """
        joined: ResultSet | None = None
        for results in self.sets.values():
            with suppress(ValueError):
                joined = joined + results if joined else results
        return joined


def measure(
    effort: Effort,
    facts: Facts,
    limits: Limits,
    *,
    start_s: float,
    on_progress: Callable[[str], object],
) -> Measured:
    """Measure the ceilings, the noise, and what claims rest on, as far as the time allows.

    Parameters
    ----------
    effort
        How much.
    facts, limits
        About this machine. If JAX doesn't start, nothing is measured.
    start_s
        The value of `time.monotonic` when the report began.
    on_progress
        Called again and again with what is being measured.

    Raises
    ------
    BusyError
        If something else is being measured on this machine.
    """
    measured = Measured(effort=effort)
    if not facts.backend:
        measured.missing[""] = f"JAX doesn't start ({facts.failure})"
        return measured
    with (
        refusing_unwritable(lock.LOCK),
        lock.measuring_alone(),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            _measure(measured, facts, limits, start_s, on_progress)
        except Exception as error:  # noqa: BLE001 (what is broken may raise anything, and that is reported)
            measured.missing.setdefault("", _reason(error))
    texts = dict.fromkeys(str(warning.message) for warning in caught)
    # How much other work disturbed is known from the samples.
    measured.warnings = [text for text in texts if not text.startswith("other work")]
    measured.duration_s = time.monotonic() - start_s
    return measured


def _measure(
    measured: Measured,
    facts: Facts,
    limits: Limits,
    start_s: float,
    on_progress: Callable[[str], object],
) -> None:
    # Imported here, as below, because JAX may be missing.
    from jaxcap.experiments import brief
    from jaxcap.measure import fresh, threads
    from jaxcap.measure.machine.description import capture
    from jaxcap.releases.recorded import packaged_folder

    effort = measured.effort
    measured.environment = capture()
    if folder := packaged_folder():
        measured.recordings = load_all(folder, on_invalid=lambda _: None)
    if effort.processes > 1:  # which takes seconds, too
        on_progress("threads")
        with suppress(fresh.FreshProcessError):
            measured.threads = fresh.call(threads.usage, JAX_PLATFORMS="cpu")
    experiments, without = _experiments()
    available = limits.effective_cores * (1 - min(facts.other_work or 0.0, 0.9))
    slowness = max(1.0, _USUAL_CORES / available)
    answers = brief.measure(
        _required(experiments, measured.environment.device.platform),
        _questions(experiments, measured),
        processes=effort.processes,
        budget_s=effort.budget_s,
        until_s=start_s + effort.limit_s - _WRITING_S * slowness,
        slowness=slowness,
        on_progress=on_progress,
    )
    measured.sets.update(answers.sets)
    measured.missing.update(without | answers.missing)


def _experiments() -> tuple[Mapping[str, Experiment], dict[str, str]]:
    """Return all experiments by name, and why those that claims need besides are missing."""
    from jaxcap.experiments import catalogue

    libraries: set[str] = set()
    experiments = catalogue(lambda _, library: libraries.add(library))
    reason = f"it needs a library that isn't installed ({', '.join(sorted(libraries))})"
    wanted = {claim.statement.experiment for claim in tutorial_claims()}
    return experiments, dict.fromkeys(wanted - experiments.keys(), reason)


def _required(experiments: Mapping[str, Experiment], platform: str) -> list[Question]:
    """Ask for the ceilings and the noise."""
    from jaxcap.experiments.brief import Question, points_on

    ceilings = experiments[CEILINGS]
    # The first calls of the same call twice tell nothing, so it may share the processes of ceilings.
    twice = replace(experiments[PRECISION], empty_caches=ceilings.empty_caches)
    return [
        Question(ceilings, points_on(ceilings, platform), seconds=2.0),
        Question(twice, [{"kernel": kernel} for kernel in NOISE], seconds=0.5),
    ]


def _questions(experiments: Mapping[str, Experiment], measured: Measured) -> list[Question]:
    """Ask for what claims rest on."""
    from jaxcap.experiments.brief import Question

    assert measured.environment
    platform = measured.environment.device.platform
    recorded = _most_alike(measured.recordings, platform)
    statements: dict[str, list[Statement]] = {}
    for claim in tutorial_claims():
        statements.setdefault(claim.statement.experiment, []).append(claim.statement)
    return [
        Question.of(
            experiments[name],
            own,
            platform=platform,
            recorded=recorded.get(name),
            budget_s=measured.effort.budget_s,
        )
        for name, own in statements.items()
        if name in experiments and name != PRECISION  # of which the noise decides the claim
    ]


def _most_alike(recordings: Sequence[Recording], platform: str) -> Mapping[str, ResultSet]:
    """Return what was recorded on a device of the platform, or else on any device."""
    alike = [recording for recording in recordings if recording.device.platform == platform]
    return next((recording.sets for recording in (*alike, *recordings)), {})


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0]
