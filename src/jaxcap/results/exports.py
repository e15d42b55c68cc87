"""Results as CSV, JSON and Markdown, and several sets side by side."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from io import StringIO
from types import MappingProxyType
from typing import Any

from jaxcap.results.formatting import make_row_key
from jaxcap.results.models import Result, ResultsError
from jaxcap.results.sets import ResultSet, ResultTable
from jaxcap.results.statistics import Estimate
from jaxcap.results.tables import Pivot, Table

_NONE = "none"


def rows(results: ResultSet) -> list[dict[str, Any]]:
    """Flatten results: a row for each, with times in seconds for one call."""
    return [
        {
            "experiment": result.experiment,
            "variant": result.variant,
            "parameters": result.parameters,
            "device": str(result.device),
            "allocator": result.allocator,
            "time_s": result.time.value,
            "time_low_s": result.time.low,
            "time_high_s": result.time.high,
            "confidence": round(result.time.confidence, 4),
            "interval": result.time.kind,
            "basis": result.basis,
            "dispatch_s": result.dispatch.value,
            "first_call_s": result.first_call.value,
            "fits_cache": results.fits_cache(result),
            "measured_at": results.environment.measured_at.isoformat(),
        }
        for result in results
    ]


def as_csv(results: ResultSet) -> str:
    """Return `rows` with a column for each parameter, as in RFC 4180 but for the line ends.

    A parameter with the name of another column is called ``parameter_name``.
    """
    flat = rows(results)
    names = dict.fromkeys(name for row in flat for name in row["parameters"])
    columns = {name: f"parameter_{name}" if name in flat[0] else name for name in names}
    for row in flat:
        parameters = row.pop("parameters")
        row.update({columns[name]: value for name, value in parameters.items()})
    leading = ["experiment", "variant", *columns.values()]
    text = StringIO()
    writer = csv.DictWriter(
        text, [*leading, *(name for name in flat[0] if name not in leading)], lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def as_json(results: ResultSet) -> str:
    """Return `rows` as a JSON array."""
    return json.dumps(rows(results), indent=1) + "\n"


def as_markdown(results: ResultSet) -> str:
    """Return tables to read, one for each experiment."""
    return "\n".join(part.table().markdown() for part in results.by_experiment().values())


def as_table(results: ResultSet) -> str:
    """Return tables for a terminal, one for each experiment."""
    return "\n\n".join(str(part.table()) for part in results.by_experiment().values()) + "\n"


#: Functions that turn results into text, by the name of the format.
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
    parts = {name: results.by_experiment() for name, results in sets.items()}
    for experiment in dict.fromkeys(name for part in parts.values() for name in part):
        found = {name: tuple(part.get(experiment, ())) for name, part in parts.items()}
        yield _side_by_side(experiment, found, ratios=ratios)


def with_other_machines(table: ResultTable, others: Mapping[str, ResultSet]) -> Table:
    """Add a column for each of other sets to a table, and the rows that only they have.

    Parameters
    ----------
    table
        Of times or of speed-ups.
    others
        By a name to head their column.
    """
    mine = [result for result in table.results if result.variant != table.over]
    names = table.results.varying()
    key = make_row_key([mine], names)
    columns = {
        name: {key(result): text for result, text in _cells(results, table.over)}
        for name, results in others.items()
    }
    return Pivot.pivot(
        table.caption, (*names, "variant"), {**table.cells, **columns}, notes=table.notes
    )


def times_faster(time: Estimate, other: Estimate) -> Estimate:
    """Divide two positive times that were not measured in turns, ``other`` by ``time``.

    The interval reaches from the smallest to the largest quotient of their intervals' ends. It is
    wide, because nobody knows whether the machines drifted meanwhile.
    """
    return Estimate(
        value=other.value / time.value,
        low=other.low / time.high,
        high=other.high / time.low,
        confidence=min(time.confidence, other.confidence),
        unit="",
        basis="separate measurements",
        kind=time.kind,
        devices=tuple(dict.fromkeys((*time.devices, *other.devices))),
    )


def _cells(results: ResultSet, over: str | None) -> Iterator[tuple[Result, str]]:
    for result in results:
        if over is None:
            yield result, _time(result)
        elif result.variant != over and (baseline := results.paired_result(result, over)):
            with suppress(ResultsError):  # by a coarse clock it may have taken no time
                ratio = result.speedup(baseline)
                yield result, f"{ratio.short} ({ratio.range}) {ratio.verdict}"


def _side_by_side(
    experiment: str, sets: Mapping[str, tuple[Result, ...]], *, ratios: bool
) -> Table:
    first, *others = sets
    names = tuple(dict.fromkeys(n for some in sets.values() for r in some for n in r.parameters))
    key = make_row_key(sets.values(), names)
    by_row = {name: {key(result): result for result in results} for name, results in sets.items()}
    cells = {
        name: {row: _time(result) for row, result in results.items()}
        for name, results in by_row.items()
    }
    for other in others if ratios else ():
        cells[f"{first} / {other}"] = {
            row: _ratio(by_row[first][row], result)
            for row, result in by_row[other].items()
            if row in by_row[first]
        }
    notes = []
    for name, results in sets.items():
        devices = dict.fromkeys(str(result.device) for result in results)
        notes.append(f"{name}: {', '.join(devices) or 'nothing'}")
    headers = (*names, "variant")
    if any(len(row) > len(headers) for rows_ in by_row.values() for row in rows_):
        headers = (*headers, "platform", "allocator")
    return Pivot.pivot(experiment, headers, cells, missing=_NONE, notes=notes)


def _time(result: Result) -> str:
    return f"{result.time.short} ({result.time.range})"


def _ratio(result: Result, other: Result) -> str:
    if min(result.time.low, other.time.low) <= 0:  # a coarse clock shows zeros
        return _NONE
    ratio = times_faster(other.time, result.time)
    return f"{ratio.short} ({ratio.range}) {ratio.verdict}"
