"""What tutorials measured when they ran, in a folder of JSON for each page, and what others recorded.

All numbers on pages come from here.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from sphinx.util import logging

from jaxcap.experiments import catalogue, unknown_parameters
from jaxcap.measure.machine import capture
from jaxcap.report.claims import Claim, Outcome
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.environment import Device, Environment, FrozenModel
from jaxcap.results.recordings import Recording, changes_since, load_all
from jaxcap.results.statistics import Estimate

BUILD = Path(__file__).parents[2] / "_build"
RECORDS = BUILD / "records"
GALLERY = Path(__file__).parents[3] / "gallery"
RECORDED = Path(__file__).parents[2] / "recorded"

logger = logging.getLogger(__name__)


class Run(FrozenModel):
    """When, where and for how many seconds a script ran."""

    environment: Environment
    duration_s: float


class ClaimOutcome(FrozenModel):
    """The outcome of a claim on a machine, which is named together with the time of measurement."""

    machine: str
    outcome: Outcome
    evidence: str


class ClaimRecord(FrozenModel):
    """A claim of a page, what it needs to hold, and its outcomes on all machines that measured it."""

    text: str
    needs: str
    findings: tuple[ClaimOutcome, ...]


_CLAIMS = TypeAdapter(tuple[ClaimRecord, ...])


def folder(page: str) -> Path:
    """Return the folder of a page named like ``"basics/introduction"``."""
    return RECORDS / page


def page_of_script(script: Path) -> str:
    """Name the page that a gallery script becomes."""
    return script.resolve().relative_to(GALLERY).with_suffix("").as_posix()


def write(
    page: str, run: Run, variables: Mapping[str, Any], tables: Mapping[str, str] | None = None
) -> None:
    """Keep a run, the numbers and claims among its variables, its results and its tables."""
    target = folder(page)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    numbers = {name: text for name, value in variables.items() if (text := _number(value))}
    (target / "numbers.json").write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    (target / "tables.json").write_text(json.dumps(tables or {}), encoding="utf-8")
    results = _results(variables)
    if results:
        ResultSet(environment=run.environment, results=results).save(target / "results.json")
    claims = {id(value): value for value in variables.values() if isinstance(value, Claim)}
    checked = tuple(map(_checked, claims.values()))
    (target / "claims.json").write_bytes(_CLAIMS.dump_json(checked, indent=1))
    # Written last: a page with this file has all of its record.
    (target / "run.json").write_text(run.model_dump_json(indent=1), encoding="utf-8")


def run_of(page: str) -> Run | None:
    """Return a page's run, or None if this build has not run it."""
    path = folder(page) / "run.json"
    return Run.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else None


def numbers_of(page: str) -> dict[str, dict[str, str]]:
    """Return a page's numbers by variable name: ``text`` to show and ``detail`` to explain."""
    path = folder(page) / "numbers.json"
    numbers: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    return numbers


def tables_of(page: str) -> dict[str, str]:
    """Return the HTML of a page's tables without other machines, each with its HTML with them."""
    tables: dict[str, str] = json.loads((folder(page) / "tables.json").read_text(encoding="utf-8"))
    return tables


def claims_of(page: str) -> tuple[ClaimRecord, ...]:
    """Return a page's claims, in the order in which they are made."""
    return _CLAIMS.validate_json((folder(page) / "claims.json").read_bytes())


def results_by_page() -> Iterator[tuple[str, ResultSet]]:
    """Go through the results of all pages."""
    for path in sorted(RECORDS.glob("*/*/results.json")):
        yield path.parent.relative_to(RECORDS).as_posix(), ResultSet.load(path)


def recordings() -> list[Recording]:
    """Return the results of all machines: this one first, as measured in this build, then others."""
    live = {
        name: results
        for _, everything in results_by_page()
        for name, results in everything.by_experiment().items()
    }
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


def _checked(claim: Claim) -> ClaimRecord:
    """Check a claim against the results of this machine, and against those of all others."""
    here = claim.results.environment.device
    findings = [_finding(claim, here, f"{here}, in this build")]
    for recording in other_recordings():
        name = f"{recording.name}, recorded {recording.environment.measured_at:%Y-%m-%d}"
        # Experiments or points may be missing there, and times by a coarse clock may be zero.
        with suppress(KeyError, ResultsError, ArithmeticError):
            there = claim.recheck(recording.sets[claim.experiment])
            findings.append(_finding(there, recording.device, name))
    return ClaimRecord(text=claim.text, needs=claim.needs, findings=tuple(findings))


def _finding(claim: Claim, device: Device, machine: str) -> ClaimOutcome:
    elsewhere = claim.devices != (device,)
    where = f", on {' and '.join(map(str, claim.devices))}" if elsewhere else ""
    return ClaimOutcome(
        machine=machine,
        outcome=claim.outcome,
        evidence=f"{claim.evidence}{where}",
    )


def _number(value: Any) -> dict[str, str] | None:
    if isinstance(value, Estimate):
        return {"text": value.short, "detail": str(value)}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"text": f"{value:,}", "detail": "counted in this build"}
    if isinstance(value, float):
        return {"text": f"{value:.3g}", "detail": "computed in this build"}
    if isinstance(value, str):
        return {"text": value, "detail": "found in this build"}
    return None


def _results(variables: Mapping[str, Any]) -> tuple[Result, ...]:
    """Return each result once, though several sets may hold it, in the order of the largest set."""
    sets = [value.results for value in variables.values() if isinstance(value, ResultSet)]
    alone = [(value,) for value in variables.values() if isinstance(value, Result)]
    unique: dict[int, Result] = {}
    for results in (*sorted(sets, key=len, reverse=True), *alone):
        unique |= {id(result): result for result in results if id(result) not in unique}
    return tuple(unique.values())
