"""What each tutorial measured when it ran, in a file for each page, and what others recorded.

All numbers on pages come from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.util import logging

from jaxcap.experiments import catalogue, unknown_parameters
from jaxcap.measure.machine import capture
from jaxcap.report.claims import Claim, Outcome
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.atomic import write_atomically
from jaxcap.results.environment import Device, Environment, FrozenModel
from jaxcap.results.recordings import Recording, changes_since, load_all
from jaxcap.results.statistics import Estimate

BUILD = Path(__file__).parents[2] / "_build"
RECORDS = BUILD / "records"
GALLERY = Path(__file__).parents[3] / "gallery"
RECORDED = Path(__file__).parents[2] / "recorded"

logger = logging.getLogger(__name__)


class Number(FrozenModel):
    """A measured variable as prose quotes it, and where its value comes from."""

    text: str
    detail: str


class ClaimOutcome(FrozenModel):
    """The outcome of a claim on a machine, which is named together with the time of measurement."""

    machine: str
    outcome: Outcome
    evidence: str


class ClaimRecord(FrozenModel):
    """A claim of a page, what it needs to hold, and its outcomes on all machines that measured it."""

    text: str
    needs: str
    outcomes: tuple[ClaimOutcome, ...]


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


def page_of_script(script: Path) -> str:
    """Return the name of the page that a script becomes, such as ``"basics/introduction"``."""
    return script.resolve().relative_to(GALLERY).with_suffix("").as_posix()


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


def results_here() -> Iterator[tuple[str, ResultSet]]:
    """Go through the results of this build: for each page, those of each of its experiments."""
    for path in sorted(RECORDS.glob("*/*.json")):
        page = path.relative_to(RECORDS).with_suffix("").as_posix()
        record = load(page)
        if record and record.results:
            for results in record.results.by_experiment().values():
                yield page, results


def recordings() -> list[Recording]:
    """Return the results of all machines: this one first, as measured in this build, then others."""
    live = {results[0].experiment: results for _, results in results_here()}
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
    outcomes = [_outcome(claim, here, f"{here}, in this build")]
    for recording in other_recordings():
        name = f"{recording.name}, recorded {recording.environment.measured_at:%Y-%m-%d}"
        # Experiments or points may be missing there, and times by a coarse clock may be zero.
        with suppress(KeyError, ResultsError, ArithmeticError):
            there = claim.on(recording.sets[claim.experiment])
            outcomes.append(_outcome(there, recording.device, name))
    return ClaimRecord(text=claim.text, needs=claim.needs, outcomes=tuple(outcomes))


def _outcome(claim: Claim, device: Device, machine: str) -> ClaimOutcome:
    evidence = str(claim.evidence)
    if claim.devices != (device,):
        evidence += f", on {' and '.join(map(str, claim.devices))}"
    return ClaimOutcome(machine=machine, outcome=claim.outcome, evidence=evidence)


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
