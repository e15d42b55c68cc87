"""Results for other programs and for other eyes: as rows, and files side by side."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from types import MappingProxyType
from typing import Any

from jaxcap.results import Result, ResultsError, ResultSet, ResultTable
from jaxcap.results.statistics import Estimate
from jaxcap.results.tables import Table


def rows(results: ResultSet) -> list[dict[str, Any]]:
    """Flatten results: one row for each, times in seconds for a call."""
    return [
        {
            "experiment": one.experiment,
            "variant": one.variant,
            "parameters": one.parameters,
            "device": str(one.device),
            "time_s": one.time.value,
            "time_low_s": one.time.low,
            "time_high_s": one.time.high,
            "confidence": round(one.time.confidence, 4),
            "basis": one.basis,
            "dispatch_s": one.dispatch.value,
            "first_call_s": one.first_call.value,
            "measured_at": results.environment.measured_at.isoformat(),
        }
        for one in results.results
    ]


def as_csv(results: ResultSet) -> str:
    """Return `rows` with a column for each parameter, as in RFC 4180 but for the line ends."""
    names = dict.fromkeys(name for one in results.results for name in one.parameters)
    flat = [row | row.pop("parameters") for row in rows(results)]
    columns = ["experiment", "variant", *names]
    text = StringIO()
    writer = csv.DictWriter(
        text, [*columns, *(key for key in flat[0] if key not in columns)], lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def as_json(results: ResultSet) -> str:
    """Return `rows` as a JSON array."""
    return json.dumps(rows(results), indent=1) + "\n"


def as_markdown(results: ResultSet) -> str:
    """Return tables to read, one for each experiment."""
    return "\n".join(one.table().markdown() for one in results.by_experiment().values())


def as_table(results: ResultSet) -> str:
    """Return tables for a terminal, one for each experiment."""
    return "\n\n".join(str(one.table()) for one in results.by_experiment().values()) + "\n"


#: Texts that results can be turned into, by the name of the format.
FORMATS: Mapping[str, Callable[[ResultSet], str]] = MappingProxyType(
    {"csv": as_csv, "json": as_json, "markdown": as_markdown, "table": as_table}
)


def side_by_side(sets: Mapping[str, ResultSet], *, ratios: bool = True) -> Iterator[Table]:
    """Tabulate the times of several sets, a table for each experiment.

    Parameters
    ----------
    sets
        By a name to show.
    ratios
        Whether to compare each with the first.
    """
    experiments = dict.fromkeys(one.experiment for found in sets.values() for one in found.results)
    for experiment in experiments:
        found = {
            name: {_question(one): one for one in some.results if one.experiment == experiment}
            for name, some in sets.items()
        }
        yield _table(experiment, found, ratios=ratios)


def with_other_machines(shown: ResultTable, others: Mapping[str, ResultSet]) -> Table:
    """Add columns to a table: the same of other results, and rows that only these have.

    Parameters
    ----------
    shown
        A table of times or of speed-ups.
    others
        By a name to head their column.
    """
    names = shown.results.varying()
    mine = [one for one in shown.results.results if one.variant != shown.over]
    prefix = {_row_key(one, names): row for one, row in zip(mine, shown.rows, strict=True)}
    columns = {head: dict(_cells(some, shown.over, names)) for head, some in others.items()}
    for key in (key for column in columns.values() for key in column):
        texts = map(_shown, key)
        prefix.setdefault(key, (*texts, *[""] * (len(shown.headers) - len(key))))
    rows = [
        (*row, *(column.get(key, "") for column in columns.values())) for key, row in prefix.items()
    ]
    return Table(shown.caption, (*shown.headers, *columns), rows, shown.notes)


RowKey = tuple[Any, ...]


def _shown(parameter: Any) -> str:
    return f"{parameter:,}" if type(parameter) is int else str(parameter)


def _row_key(result: Result, names: Sequence[str]) -> RowKey:
    return *(result.parameters.get(name, "") for name in names), result.variant


def _cells(
    results: ResultSet, over: str | None, names: Sequence[str]
) -> Iterator[tuple[RowKey, str]]:
    for one in results.results:
        if over is None:
            yield _row_key(one, names), _time(one)
        elif one.variant != over:
            with suppress(ResultsError):  # the other variant may not have been measured there
                ratio = results.speedup(one.variant, over=over, **one.parameters)
                yield _row_key(one, names), f"{ratio.short} ({ratio.range}) {ratio.verdict}"


Question = tuple[str, tuple[tuple[str, Any], ...]]


def _question(result: Result) -> Question:
    return result.variant, tuple(result.parameters.items())


def _table(
    experiment: str, found: Mapping[str, Mapping[Question, Result]], *, ratios: bool
) -> Table:
    first, *others = found
    compared = others if ratios else []
    questions = dict.fromkeys(question for some in found.values() for question in some)
    names = list(dict.fromkeys(name for _, parameters in questions for name, _ in parameters))
    rows = [
        (
            *(_shown(dict(parameters).get(name, "")) for name in names),
            variant,
            *(_time(some.get((variant, parameters))) for some in found.values()),
            *(
                _ratio(
                    found[first].get((variant, parameters)), found[other].get((variant, parameters))
                )
                for other in compared
            ),
        )
        for variant, parameters in questions
    ]
    quotients = [f"{first} / {other}" for other in compared]
    notes = [
        f"{name}: {', '.join(dict.fromkeys(str(one.device) for one in some.values())) or 'nothing'}"
        for name, some in found.items()
    ]
    return Table(experiment, (*names, "variant", *found, *quotients), rows, notes)


def _time(result: Result | None) -> str:
    return f"{result.time.short} ({result.time.range})" if result else "none"


def _ratio(ours: Result | None, theirs: Result | None) -> str:
    if not (ours and theirs):
        return "none"
    ratio = times_faster(theirs.time, ours.time)
    return f"{ratio.short} ({ratio.range}) {ratio.verdict}"


def times_faster(one: Estimate, other: Estimate) -> Estimate:
    """Divide two times that were not measured in turns, ``other`` by ``one``.

    The interval reaches from the smallest to the largest quotient of their intervals' ends, so it
    is wide: nobody knows whether the machines drifted meanwhile.
    """
    return Estimate(
        value=other.value / one.value,
        low=other.low / one.high,
        high=other.high / one.low,
        confidence=min(one.confidence, other.confidence),
        unit="",
        basis="separate measurements",
    )
