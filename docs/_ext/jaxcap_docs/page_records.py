"""Where pages get all their numbers: what each tutorial measured as it ran, and all recordings.

A tutorial leaves a record in a file of its own, from which its page and others are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Self

from sphinx.errors import ExtensionError
from sphinx.util import logging

from jaxcap.experiments import catalogue, unknown_parameters
from jaxcap.measure.machine.description import capture
from jaxcap.report.claims import Claim, Outcome
from jaxcap.results import Device, Environment, Result, ResultsError, ResultSet
from jaxcap.results.atomic import write_atomically
from jaxcap.results.base import FrozenModel
from jaxcap.results.recordings import Recording, changes_since, load_all
from jaxcap.results.statistics import Estimate
from jaxcap_docs.lessons import TUTORIALS

BUILD = Path(__file__).parents[2] / "_build"
RECORDS = BUILD / "records"
RECORDED = Path(__file__).parents[2] / "recorded"

logger = logging.getLogger(__name__)


class Interval(FrozenModel):
    """A measured number and the ends of its interval, all in the same unit."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, estimate: Estimate) -> Self | None:
        """Return the numbers of an estimate, or None if one is not finite."""
        numbers = {name: getattr(estimate, name) for name in cls.model_fields}
        return cls(**numbers) if all(map(isfinite, numbers.values())) else None


class Number(FrozenModel):
    """A measured variable as prose quotes it, and its interval or where it comes from."""

    text: str
    detail: str
    interval: Interval | None = None


class ClaimOutcome(FrozenModel):
    """The outcome of a claim on a machine, and the evidence for it in words and in numbers."""

    outcome: Outcome
    evidence: str
    interval: Interval | None


class ClaimRecord(FrozenModel):
    """A claim of a page, what it needs to hold, and its outcomes by machine and date."""

    text: str
    needs: str
    outcomes: dict[str, ClaimOutcome]


class PageRecord(FrozenModel):
    """What the script of a page measured.

    Attributes
    ----------
    environment
        The machine, and when the script ended.
    duration_s
        How long the script ran, in seconds.
    numbers
        By the names of the script's variables.
    claims
        In the order of the page.
    results
        All results among the variables; None if there are none.
    tables
        The HTML of each table with the columns of other machines, by its HTML without them.
    """

    environment: Environment
    duration_s: float
    numbers: dict[str, Number]
    claims: tuple[ClaimRecord, ...]
    results: ResultSet | None
    tables: dict[str, str]


def record_path(page: str) -> Path:
    """Return the file of a page's record."""
    return RECORDS / f"{page}.json"


def save(
    page: str, duration_s: float, variables: Mapping[str, Any], tables: Mapping[str, str]
) -> None:
    """Write the record of a script that has just ended with these variables and tables."""
    environment = capture()
    results = _results(variables)
    claims = {id(value): value for value in variables.values() if isinstance(value, Claim)}
    record = PageRecord(
        environment=environment,
        duration_s=duration_s,
        numbers={name: number for name, value in variables.items() if (number := _number(value))},
        claims=tuple(map(_claim_record, claims.values())),
        results=ResultSet(environment=environment, results=results) if results else None,
        tables=dict(tables),
    )
    write_atomically(record_path(page), record.model_dump_json(indent=1))


@cache  # all scripts have run before the first page is read
def load(page: str) -> PageRecord | None:
    """Return the record of a page, or None if its script was not run."""
    path = record_path(page)
    return PageRecord.model_validate_json(path.read_bytes()) if path.exists() else None


def results_of_build() -> dict[str, tuple[str, ResultSet]]:
    """Return the results of this build by experiment, each with the page that measured it.

    Raises
    ------
    ExtensionError
        If two pages measured an experiment of the same name.
    """
    measured: dict[str, tuple[str, ResultSet]] = {}
    for page in TUTORIALS:
        record = load(page)
        if record is None or record.results is None:
            continue
        for name, results in record.results.by_experiment().items():
            if name in measured:
                raise ExtensionError(
                    f"{measured[name][0]} and {page} both measured an experiment named {name!r}: "
                    "rename one, so that their results do not overwrite each other"
                )
            measured[name] = page, results
    return measured


def recordings() -> list[Recording]:
    """Return the results of all machines, those of this build first."""
    sets = {name: results for name, (_, results) in results_of_build().items()}
    return [*([Recording(sets, live=True)] if sets else []), *other_recordings()]


@cache
def other_recordings() -> list[Recording]:
    """Read all recordings, once, with a warning for each file that can't be used."""
    return load_all(RECORDED, on_invalid=logger.warning, check=unknown_parameters)


def differences_from_build(results: ResultSet) -> str:
    """Say with which versions another machine measured, and in what that differs from this build."""
    recorded = results.environment
    current = capture().model_copy(update={"device": recorded.device})
    experiments = catalogue()
    changes: dict[str, None] = {}  # each once, in order
    for name, part in results.by_experiment().items():
        code = experiments[name].code if name in experiments else None
        changes |= dict.fromkeys(changes_since(part, current, code))
    jax = recorded.versions.get("jax", "of unknown version")
    text = f"measured with JAX {jax}, commit {recorded.commit or 'unknown'}"
    return f"{text}; it differs from this build in {', '.join(changes)}" if changes else text


def _claim_record(claim: Claim) -> ClaimRecord:
    """Check a claim against the results of this machine and of all others."""
    device = claim.results.environment.device
    outcomes = {f"{device}, in this build": _outcome(claim, device)}
    for recording in other_recordings():
        name = f"{recording.name}, recorded {recording.environment.measured_at:%Y-%m-%d}"
        # A recording may lack experiments or points, and a coarse clock may have measured zero.
        with suppress(KeyError, ResultsError, ArithmeticError):
            rechecked = claim.recheck(recording.sets[claim.experiment])
            outcomes[name] = _outcome(rechecked, recording.device)
    return ClaimRecord(text=claim.text, needs=claim.needs, outcomes=outcomes)


def _outcome(claim: Claim, device: Device) -> ClaimOutcome:
    evidence = str(claim.evidence)
    if claim.devices != (device,):
        evidence += f", on {' and '.join(map(str, claim.devices))}"
    return ClaimOutcome(
        outcome=claim.outcome, evidence=evidence, interval=Interval.of(claim.evidence)
    )


def _number(value: Any) -> Number | None:
    match value:
        case Estimate():
            return Number(text=value.words, detail=str(value), interval=Interval.of(value))
        case bool():
            return None
        case int():
            return Number(text=f"{value:,}", detail="counted in this build")
        case float():
            return Number(text=f"{value:.3g}", detail="computed in this build")
        case str():
            return Number(text=value, detail="found in this build")
    return None


def _results(variables: Mapping[str, Any]) -> tuple[Result, ...]:
    """Return each result once, though several sets may hold it, in the order of the largest set."""
    groups = [
        value.results if isinstance(value, ResultSet) else (value,)
        for value in variables.values()
        if isinstance(value, ResultSet | Result)
    ]
    groups.sort(key=len, reverse=True)
    unique = {id(result): result for group in groups for result in group}
    return tuple(unique.values())
