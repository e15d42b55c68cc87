"""What each tutorial measured when it ran, in a file for each page, and what others recorded.

All numbers on pages come from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError
from sphinx.util import logging

from jaxcap.experiments import catalogue, unknown_parameters
from jaxcap.measure.machine import capture
from jaxcap.report.claims import Claim, Outcome
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.atomic import write_atomically
from jaxcap.results.base import FrozenModel
from jaxcap.results.environment import Device, Environment
from jaxcap.results.recordings import Recording, changes_since, load_all
from jaxcap.results.statistics import Estimate
from jaxcap_docs.lessons import TUTORIALS

BUILD = Path(__file__).parents[2] / "_build"
RECORDS = BUILD / "records"
RECORDED = Path(__file__).parents[2] / "recorded"

logger = logging.getLogger(__name__)


class Number(FrozenModel):
    """A measured variable as prose quotes it, and where its value comes from."""

    text: str
    detail: str


class ClaimOutcome(FrozenModel):
    """The outcome of a claim on a machine, and the evidence for it in words."""

    outcome: Outcome
    evidence: str


class ClaimRecord(FrozenModel):
    """A claim of a page, what it needs to hold, and its outcomes.

    They are keyed by the name of each machine that measured it, together with when it did.
    """

    text: str
    needs: str
    outcomes: dict[str, ClaimOutcome]


class PageRecord(FrozenModel):
    """What the script of a page measured, when, where and for how many seconds it ran.

    ``numbers`` are named as in the script. ``tables`` has the HTML of each table that other machines
    have measured too, without and with their columns. ``claims`` come in the order of the page.
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
    """Keep the record of a script that ended just now with these variables and tables."""
    environment = capture()
    results = _results(variables)
    claims = {id(value): value for value in variables.values() if isinstance(value, Claim)}
    record = PageRecord(
        environment=environment,
        duration_s=duration_s,
        numbers={name: number for name, value in variables.items() if (number := _number(value))},
        claims=tuple(map(_check, claims.values())),
        results=ResultSet(environment=environment, results=results) if results else None,
        tables=dict(tables),
    )
    write_atomically(record_path(page), record.model_dump_json(indent=1))


@cache  # all scripts have run before the first page is read
def load(page: str) -> PageRecord | None:
    """Return the record of a page, or None if its script was not run."""
    path = record_path(page)
    return PageRecord.model_validate_json(path.read_bytes()) if path.exists() else None


def results_here() -> dict[str, tuple[str, ResultSet]]:
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
    """Return the results of all machines: this one first, as measured in this build, then others."""
    live = {name: results for name, (_, results) in results_here().items()}
    return [*([Recording(live, live=True)] if live else []), *other_recordings()]


@cache
def other_recordings() -> list[Recording]:
    """Read all recordings, once, with a warning for each file that can't be used."""
    return load_all(RECORDED, on_invalid=logger.warning, check=unknown_parameters)


def state_of(results: ResultSet) -> str:
    """Say with which versions another machine measured, and in what this build differs."""
    then = results.environment
    here = capture().model_copy(update={"device": then.device})
    known = catalogue()
    changed = dict.fromkeys(
        difference
        for name, part in results.by_experiment().items()
        for difference in changes_since(part, here, known[name].code if name in known else None)
    )
    state = f"measured with JAX {then.versions.get('jax')}, commit {then.commit}"
    return f"{state}; it differs from this build in {', '.join(changed)}" if changed else state


def _check(claim: Claim) -> ClaimRecord:
    """Check a claim against the results of this machine, and against those of all others."""
    here = claim.results.environment.device
    outcomes = {f"{here}, in this build": _outcome(claim, here)}
    for recording in other_recordings():
        name = f"{recording.name}, recorded {recording.environment.measured_at:%Y-%m-%d}"
        # Experiments or points may be missing there, and times by a coarse clock may be zero.
        with suppress(KeyError, ResultsError, ArithmeticError):
            there = claim.recheck(recording.sets[claim.experiment])
            outcomes[name] = _outcome(there, recording.device)
    return ClaimRecord(text=claim.text, needs=claim.needs, outcomes=outcomes)


def _outcome(claim: Claim, device: Device) -> ClaimOutcome:
    evidence = str(claim.evidence)
    if claim.devices != (device,):
        evidence += f", on {' and '.join(map(str, claim.devices))}"
    return ClaimOutcome(outcome=claim.outcome, evidence=evidence)


def _number(value: Any) -> Number | None:
    match value:
        case Estimate():
            return Number(text=value.short, detail=str(value))
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
    return tuple({id(result): result for group in groups for result in group}.values())
