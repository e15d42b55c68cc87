"""Results as tables: which parameters head the rows, and what stands in the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxcap.results.statistics import median_interval
from jaxcap.results.tables import Pivot, shown

if TYPE_CHECKING:  # models shows itself as tables
    from jaxcap.results.models import Result


def make_row_key(
    sets: Iterable[Iterable[Result]], names: Sequence[str]
) -> Callable[[Result], tuple[Any, ...]]:
    """Return what heads the row of a result: its parameters and its variant.

    Where that would give two results of one set the same row, the platform, the allocator and the
    experiment follow, so that none of them is lost.
    """

    def short(result: Result) -> tuple[Any, ...]:
        return *(result.parameters.get(name, "") for name in names), result.variant

    def long(result: Result) -> tuple[Any, ...]:
        platform = result.device.platform.upper()
        return *short(result), platform, result.allocator, result.experiment

    lists = [list(map(short, results)) for results in sets]
    return long if any(len(set(keys)) < len(keys) for keys in lists) else short


def pivot_of(
    caption: str,
    names: Sequence[str],
    results: Sequence[Result],
    columns: Mapping[str, Sequence[str]],
    *,
    notes: Sequence[str] = (),
) -> Pivot:
    """Make a table with a row for each result.

    Parameters
    ----------
    caption, notes
        See `~jaxcap.results.tables.Table`.
    names
        The parameters that head a row, followed by the variant.
    results
        In the order of the rows.
    columns
        By header, a text for each result.
    """
    keys = list(map(make_row_key([results], names), results))
    cells = {header: dict(zip(keys, texts, strict=True)) for header, texts in columns.items()}
    return Pivot.pivot(caption, (*names, "variant"), cells, notes=notes)


def table_of_times(results: Sequence[Result]) -> Pivot:
    """Tabulate the times of results."""
    names = varying(results)
    columns: dict[str, list[str]] = {}
    for name in ("experiment", "device", "allocator"):
        facts = [str(getattr(result, name)) for result in results]
        if len(set(facts)) > 1:
            columns[name] = facts
    columns |= {
        "time": [result.time.short for result in results],
        interval_header(results): [result.time.range for result in results],
        "until it returns": [result.dispatch.short for result in results],
        "first call": [result.first_call.short for result in results],
    }
    modal = [_modes_in_words(r, names) for r in results if len(r.modes) > 1]
    notes = [f"Two modes, between which the median lies: {'; '.join(modal)}."] if modal else []
    caption = f"Time of a call on {devices_of(results)}"
    return pivot_of(caption, names, results, columns, notes=notes)


def varying(results: Sequence[Result]) -> list[str]:
    """Names of the parameters that differ between results, in order of appearance."""
    values: dict[str, set[object]] = {}
    for result in results:
        for key, value in result.parameters.items():
            values.setdefault(key, set()).add(value)
    shared = {key for key in values if all(key in result.parameters for result in results)}
    return [key for key, seen in values.items() if len(seen) > 1 or key not in shared]


def devices_of(results: Sequence[Result]) -> str:
    """Names of the devices of results, in order of appearance."""
    return ", ".join(dict.fromkeys(str(result.device) for result in results))


def interval_header(results: Sequence[Result]) -> str:
    """Head a column of intervals."""
    confidence = min(result.time.confidence for result in results)
    kind = f"{confidence:.0%} interval" if confidence else "range"
    return f"{kind} ({', '.join(dict.fromkeys(r.basis for r in results))})"


def _modes_in_words(result: Result, names: Sequence[str]) -> str:
    times = (median_interval([mode], unit="s", basis="").short for mode in result.modes)
    values = [shown(result.parameters[name]) for name in names if name in result.parameters]
    return f"{' '.join((*values, result.variant))}, {' and '.join(times)}"
