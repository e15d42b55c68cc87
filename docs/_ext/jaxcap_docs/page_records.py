"""Where pages get all their numbers: what each tutorial measured as it ran, and all recordings.

A tutorial leaves a record in a file of its own, from which its page and others are written.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import NonNegativeInt
from sphinx.errors import ExtensionError
from sphinx.util import logging

from jaxcap.experiments import catalogue, unknown_parameters
from jaxcap.measure.machine.description import capture
from jaxcap.measure.settings import session_start_s
from jaxcap.measure.store import shown_machine
from jaxcap.report.claims import Claim, Statement
from jaxcap.report.figures import Drawing
from jaxcap.results import Environment, Result, ResultSet, ResultTable
from jaxcap.results.base import FrozenModel
from jaxcap.results.recordings import Recording, changes_since, load_all
from jaxcap.results.statistics import Estimate, Speedup
from jaxcap_docs.lessons import TUTORIALS
from jaxcap_docs.sources import write_if_changed

BUILD = Path(__file__).parents[2] / "_build"
RECORDS = BUILD / "records"
RECORDED = Path(__file__).parents[2] / "recorded"
# When the nox session began, or else this build. Environments have no fractions of seconds.
BUILD_START = datetime.fromtimestamp(int(session_start_s() or time.time()), UTC)

logger = logging.getLogger(__name__)


class Interval(FrozenModel):
    """A measured number and the ends of its interval, all in the same unit.

    Attributes
    ----------
    value, low, high
        The number and the ends.
    confidence
        Of the interval; below 0.95 where few samples were taken.
    """

    value: float
    low: float
    high: float
    confidence: float

    @classmethod
    def of(cls, estimate: Estimate) -> Self | None:
        """Return the numbers of an estimate, or None if one is not finite."""
        numbers = {name: getattr(estimate, name) for name in cls.model_fields}
        return cls(**numbers) if all(map(isfinite, numbers.values())) else None


class Number(FrozenModel):
    """A measured variable as prose quotes it, and its interval or where it comes from.

    What is settled may stand in a headline, as `~jaxcap.results.statistics.Estimate.is_settled` says,
    or at least has a sure side, and is quoted by its interval.
    """

    text: str
    detail: str
    is_settled: bool = True
    interval: Interval | None = None


#: The positions of results among all of a record, as `PageRecord.shown` finds them.
Positions = tuple[NonNegativeInt, ...]


class ClaimRecord(FrozenModel):
    """A claim of a page, and the results that it was checked on."""

    statement: Statement
    results: Positions


class TableRecord(FrozenModel):
    """A table of a page: its HTML as the script showed it, and its results.

    ``over`` is as in `~jaxcap.results.ResultTable`.
    """

    html: str
    results: Positions
    over: str | None


class FigureRecord(FrozenModel):
    """A figure of a page that shows results.

    Attributes
    ----------
    path
        The image for light pages, below the folder of the site's sources.
    drawing, results
        How and from what it was drawn.
    is_changed
        Whether the script changed it afterwards, so that only the script can draw it.
    """

    path: str
    drawing: Drawing
    results: Positions
    is_changed: bool


class PageRecord(FrozenModel):
    """What the script of a page measured, and what the page shows of it.

    Attributes
    ----------
    environment
        The machine that measured, and when the script ended.
    duration_s
        How long the script ran, in seconds.
    numbers
        By the names of the script's variables.
    results
        All results among the variables.
    other_results
        Those that were shown without being among the variables when the script ended.
    measured
        The machine and the moment of each experiment's measurement, by its name.
    claims, tables, figures
        In the order of the page.
    """

    environment: Environment
    duration_s: float
    numbers: dict[str, Number]
    results: tuple[Result, ...]
    other_results: tuple[Result, ...]
    measured: dict[str, Environment]
    claims: tuple[ClaimRecord, ...]
    tables: tuple[TableRecord, ...]
    figures: tuple[FigureRecord, ...]

    def shown(self, positions: Positions) -> ResultSet:
        """Return the results that a claim, a table or a figure shows."""
        everything = self.results + self.other_results
        return self._set(tuple(everything[position] for position in positions))

    def checked_claims(self) -> list[Claim]:
        """Check the claims on the results that the page shows, in the order of the page."""
        return [claim.statement.check(self.shown(claim.results)) for claim in self.claims]

    def by_experiment(self) -> dict[str, ResultSet]:
        """Split the results among the variables by experiment."""
        names = dict.fromkeys(result.experiment for result in self.results)
        return {
            name: self._set(tuple(r for r in self.results if r.experiment == name))
            for name in names
        }

    def _set(self, results: tuple[Result, ...]) -> ResultSet:
        return ResultSet(environment=self.measured[results[0].experiment], results=results)

    @property
    def newest(self) -> Environment:
        """The machine as it was when the newest results were measured, or the script ended."""
        measured = sorted(self.measured.values(), key=lambda environment: environment.measured_at)
        return measured[-1] if measured else self.environment


class ShownFigure(NamedTuple):
    """A figure that a script has just shown, as in `FigureRecord`."""

    path: str
    drawing: Drawing
    results: ResultSet
    is_changed: bool


def record_path(page: str) -> Path:
    """Return the file of a page's record."""
    return RECORDS / f"{page}.json"


def save(
    page: str,
    duration_s: float,
    variables: Mapping[str, Any],
    tables: Mapping[str, ResultTable],
    figures: Sequence[ShownFigure],
) -> None:
    """Write the record of a script that has just ended with these variables.

    Parameters
    ----------
    page, duration_s
        The page, and how long its script ran, in seconds.
    variables
        By name.
    tables
        What the page shows, by its HTML.
    figures
        What else it shows.
    """
    everything = _PageResults()
    own = everything.add(_results(variables))
    for value in variables.values():
        if isinstance(value, ResultSet):
            everything.add(value)
    claims = {id(value): value for value in variables.values() if isinstance(value, Claim)}
    claim_records = [
        ClaimRecord(statement=claim.statement, results=everything.add(claim.results))
        for claim in claims.values()
    ]
    table_records = [
        TableRecord(html=html, results=everything.add(table.results), over=table.over)
        for html, table in tables.items()
    ]
    figure_records = [
        FigureRecord(**figure._asdict() | {"results": everything.add(figure.results)})
        for figure in figures
    ]
    environment = machine()
    record = PageRecord(
        environment=environment,
        duration_s=duration_s,
        numbers={name: number for name, value in variables.items() if (number := _number(value))},
        results=tuple(everything.results[: len(own)]),
        other_results=tuple(everything.results[len(own) :]),
        measured=everything.environments(environment),
        claims=tuple(claim_records),
        tables=tuple(table_records),
        figures=tuple(figure_records),
    )
    write_if_changed(record_path(page), record.model_dump_json(indent=1))


class _PageResults:
    """The results of a page, each once, in the order in which they are added."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self._places: dict[int, int] = {}  # by identity
        self._environments: dict[str, Environment] = {}  # by experiment

    def add(self, results: ResultSet | Sequence[Result]) -> Positions:
        """Add the results that are new, and return the positions of all of them."""
        for result in results:
            if id(result) not in self._places:
                self._places[id(result)] = len(self.results)
                self.results.append(result)
            if isinstance(results, ResultSet):
                self._environments[result.experiment] = results.environment
        return tuple(self._places[id(result)] for result in results)

    def environments(self, default: Environment) -> dict[str, Environment]:
        """Return the machine and the moment of each experiment, if a set has told them."""
        names = dict.fromkeys(result.experiment for result in self.results)
        return {name: self._environments.get(name, default) for name in names}


@cache  # all scripts have run before the first page is read
def load(page: str) -> PageRecord | None:
    """Return the record of a page, or None if its script was not run."""
    path = record_path(page)
    return PageRecord.model_validate_json(path.read_bytes()) if path.exists() else None


def results_of_build() -> dict[str, tuple[str, ResultSet]]:
    """Return the results of this build by experiment, each with the first page that shows it.

    Raises
    ------
    ExtensionError
        If two pages measured an experiment of the same name, at different times.
    """
    measured: dict[str, tuple[str, ResultSet]] = {}
    for page in TUTORIALS:
        record = load(page)
        for name, results in (record.by_experiment() if record else {}).items():
            if name not in measured:
                measured[name] = page, results
            elif measured[name][1] != results:
                raise ExtensionError(
                    f"{measured[name][0]} and {page} both measured an experiment named {name!r}: "
                    "rename one, so that their results do not overwrite each other"
                )
    return measured


def recordings() -> list[Recording]:
    """Return the results of all machines, those of this build first."""
    sets = {name: results for name, (_, results) in results_of_build().items()}
    return [*([Recording(sets, live=True)] if sets else []), *other_recordings()]


@cache
def other_recordings() -> list[Recording]:
    """Read all recordings once, without the comparisons that pages show as their own.

    Warns of each file that can't be used.
    """
    here = {results[0].comparison for _, results in results_of_build().values()}
    others = []
    for machine in load_all(RECORDED, on_invalid=logger.warning, check=unknown_parameters):
        sets = {n: part for n, part in machine.sets.items() if part[0].comparison not in here}
        if sets:
            others.append(replace(machine, sets=sets))
    return others


def recordings_elsewhere() -> list[Recording]:
    """Leave out what the hardware of this build recorded with its JAX: that would only repeat a page."""
    here = machine()
    return [
        recording
        for recording in other_recordings()
        if not here.is_same_hardware(recording.environment)
        or here.versions.get("jax") != recording.environment.versions.get("jax")
    ]


def machine() -> Environment:
    """Return the machine whose results the pages show as their own, which may be another one."""
    return shown_machine() or capture()


def differences_from_build(results: ResultSet) -> str:
    """Say with which versions another machine measured, and in what that differs from this build."""
    recorded = results.environment
    current = machine().model_copy(update={"device": recorded.device})
    experiments = catalogue()
    changes: dict[str, None] = {}  # each once, in order
    for name, part in results.by_experiment().items():
        code = experiments[name].code if name in experiments else None
        changes |= dict.fromkeys(changes_since(part, current, code))
    jax = recorded.versions.get("jax", "of unknown version")
    text = f"measured with JAX {jax}, commit {recorded.commit or 'unknown'}"
    return f"{text}; it differs from this build in {', '.join(changes)}" if changes else text


def _number(value: Any) -> Number | None:
    match value:
        case Estimate():
            return Number(
                text=value.words,
                detail=str(value),
                is_settled=value.is_settled or _has_sure_side(value),
                interval=Interval.of(value),
            )
        case bool():
            return None
        case int():
            return Number(text=f"{value:,}", detail="counted")
        case float():
            return Number(text=f"{value:.3g}", detail="computed")
        case str():
            return Number(text=value, detail="found")
    return None


def _has_sure_side(estimate: Estimate) -> bool:
    """Whether processes agree on which of two is faster, if not by how much."""
    is_decided = isinstance(estimate, Speedup) and estimate.verdict != "undecided"
    return is_decided and estimate.kind == "prediction"


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
