"""Results as CSV, JSON and Markdown, and several sets side by side."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from types import MappingProxyType
from typing import Any, NamedTuple

from jaxcap.results.models import Result
from jaxcap.results.sets import ResultSet, ResultTable
from jaxcap.results.statistics import Estimate, Speedup
from jaxcap.results.tables import Table
from jaxcap.results.tabulation import (
    Column,
    RowKey,
    columns_of_speedups,
    columns_of_times,
    detail,
    devices_of,
    interval_column,
    pivot,
    spread_column,
)

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
            "time_s": time.value,
            "time_low_s": time.low,
            "time_high_s": time.high,
            "confidence": round(time.confidence, 4),
            "interval": time.kind,
            "basis": time.basis,
            "dispatch_s": result.dispatch.value,
            "first_call_s": result.first_call.value,
            "fits_cache": results.fits_cache(result),
            "measured_at": results.environment.measured_at.isoformat(),
        }
        for result in results
        for time in [result.time]
    ]


def as_csv(results: ResultSet) -> str:
    """Return `rows` with a column for each parameter, as in RFC 4180 but for the line ends.

    A parameter with the name of an earlier column is called ``parameter_name``.
    """
    flat = rows(results)
    names = dict.fromkeys(name for row in flat for name in row["parameters"])
    columns: dict[str, str] = {}
    for name in names:
        column = name
        while column in flat[0] or column in columns.values():
            column = f"parameter_{column}"
        columns[name] = column
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
#:
#: :meta hide-value:
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
        results = {name: tuple(part.get(experiment, ())) for name, part in parts.items()}
        yield _side_by_side(experiment, results, ratios=ratios)


def with_other_machines(table: ResultTable, others: Mapping[str, ResultSet]) -> Table:
    """Add a column for each of other sets to a table, and the rows that only they have.

    Ranges then follow their numbers in brackets, for the tables to be less wide and to be read alike.

    Parameters
    ----------
    table
        Of times or of speed-ups.
    others
        By a name to head their column.
    """
    results, over = table.results, table.over
    if over is None:
        compared: Sequence[Result] = results.results
        columns, name = columns_of_times(compared), "time"
        own = _times(compared)
        elsewhere = {device: _times(other.results) for device, other in others.items()}
    else:
        speedups = results.paired_speedups(over)
        compared = [result for result, _ in speedups]
        columns, name = columns_of_speedups(speedups), "times as fast"
        own = _ratios(speedups)
        elsewhere = {device: _speedups(other, over) for device, other in others.items()}
    del columns[own.brackets]
    shown = {name: own} | elsewhere
    columns |= {header: column.texts for header, column in shown.items()}
    key = RowKey.for_sets([compared], results.varying())
    notes = [*table.notes, *_note_on_brackets(shown.values())]
    return pivot(table.caption, key, columns, notes=notes)


def _side_by_side(experiment: str, sets: Mapping[str, Sequence[Result]], *, ratios: bool) -> Table:
    everything = [result for results in sets.values() for result in results]
    names = dict.fromkeys(name for result in everything for name in result.parameters)
    key = RowKey.for_sets(sets.values(), tuple(names))
    columns: dict[str, Column] = {
        name: [(result, detail(result, name)) for result in everything]
        for name in key.details
        if name != "experiment"
    }
    times = {name: _times(results) for name, results in sets.items()}
    columns |= {name: column.texts for name, column in times.items()}
    first, *others = sets
    baselines = {key(result): result for result in sets[first]}
    for name in others if ratios else ():
        columns[f"{first} / {name}"] = [
            (result, _ratio(baselines[key(result)], result))
            for result in sets[name]
            if key(result) in baselines
        ]
    notes = [f"{name}: {devices_of(results) or 'nothing'}" for name, results in sets.items()]
    notes += _note_on_brackets(times.values())
    return pivot(experiment, key, columns, missing=_NONE, notes=notes)


class _Estimates(NamedTuple):
    """The cells of a column, each a number with a range or an interval, and what those are called."""

    texts: Column
    brackets: str = ""


def _times(results: Sequence[Result]) -> _Estimates:
    """Show times with the same ranges as a table of one set does."""
    times = [(result, result.time) for result in results]
    ((name, ranges),) = spread_column(times).items()
    texts = [_in_brackets(time, text) for (_, time), (_, text) in zip(times, ranges, strict=True)]
    return _Estimates(list(zip(results, texts, strict=True)), name)


def _ratios(speedups: Sequence[tuple[Result, Speedup]]) -> _Estimates:
    """Show ratios with the same intervals as a table of one set does, which has the verdicts."""
    texts = [(result, _in_brackets(ratio, ratio.range)) for result, ratio in speedups]
    return _Estimates(texts, next(iter(interval_column(speedups))))


def _speedups(results: ResultSet, over: str) -> _Estimates:
    """Show ratios of another machine, with words where these are undecided."""
    speedups = results.paired_speedups(over)
    if not speedups:
        return _Estimates([])
    return _Estimates(
        [(result, _ratio_in_words(speedup)) for result, speedup in speedups],
        next(iter(interval_column(speedups))),
    )


def _note_on_brackets(columns: Iterable[_Estimates]) -> list[str]:
    names = dict.fromkeys(column.brackets for column in columns if column.brackets)
    return [f"In brackets: {' or '.join(names)}."] if names else []


def _ratio(result: Result, other: Result) -> str:
    if min(result.time.low, other.time.low) <= 0:  # a coarse clock shows zeros
        return _NONE
    return _ratio_in_words(Speedup.from_separate_times(other.time, over=result.time))


def _ratio_in_words(speedup: Speedup) -> str:
    """Return the ratio, with words only where it alone could mislead."""
    ratio = _in_brackets(speedup, speedup.range)
    return f"{ratio}, {speedup.verdict_in_words}" if speedup.verdict == "undecided" else ratio


def _in_brackets(estimate: Estimate, text: str) -> str:
    return f"{estimate.short} ({text})" if text else estimate.short
