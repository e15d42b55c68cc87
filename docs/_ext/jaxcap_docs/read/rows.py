"""What a browser must know of a table of results to add a reader's own: see ``_static/reader/tables.js``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jaxcap.results import Parameter, Result, ResultSet
from jaxcap.results.tabulation import RowKey, detail
from jaxcap_docs.read.elements import json_script

END = "</table></div>"  # which no name can contain, because cells are escaped


def with_rows(html: str, data: Mapping[str, Any]) -> str:
    """Put the data of a table's rows into its HTML."""
    return html.replace(END, f"</table>{json_script(data)}</div>", 1)


def rows_of(
    results: ResultSet, over: str | None, others: Mapping[str, ResultSet]
) -> dict[str, Any]:
    """Describe the rows of a table of one machine's results, and of others' beside it.

    Parameters
    ----------
    results, over
        As in `~jaxcap.results.ResultTable`.
    others
        Of other machines, as `~jaxcap.report.exports.with_other_machines` adds them.
    """
    names = results.varying()
    own = _shown(results, over)
    shown = [*own, *(result for other in others.values() for result in _shown(other, over))]
    fixed = {k: v for k, v in results[0].parameters.items() if k not in {"device", *names}}
    return describe(RowKey.for_sets([own], names), shown, over=over, fixed=fixed)


def describe(
    key: RowKey,
    shown: Sequence[Result],
    *,
    over: str | None = None,
    fixed: Mapping[str, Parameter] | None = None,
) -> dict[str, Any]:
    """Describe the rows of a table, in its order.

    Parameters
    ----------
    key, shown
        What the table has rows for.
    over
        The variant that the others are compared with, or None in a table of times.
    fixed
        Parameters that other results must share, or the table doesn't show them.
    """
    rows = {key(result): _values(key, result) for result in shown}
    first = shown[0]
    return {
        "experiment": first.experiment,
        "allocator": first.allocator,
        "code": first.code,
        "over": over,
        "parameters": list(key.parameters),
        "fixed": dict(fixed or {}),
        "details": list(key.details),
        "rows": list(rows.values()),
    }


def of_side_by_side(sets: Mapping[str, ResultSet]) -> dict[str, Any]:
    """Describe the rows of a table by `~jaxcap.report.exports.side_by_side`, of one experiment."""
    shown = [result for results in sets.values() for result in results]
    names = dict.fromkeys(name for result in shown for name in result.parameters)
    return describe(RowKey.for_sets([tuple(part) for part in sets.values()], tuple(names)), shown)


def _shown(results: ResultSet, over: str | None) -> Sequence[Result]:
    """Return the results that have rows in a table of times or of speed-ups."""
    if over is None:
        return results.results
    return [result for result, _ in results.paired_speedups(over)]


def _values(key: RowKey, result: Result) -> list[Any]:
    parameters = (result.parameters.get(name, "") for name in key.parameters)
    return [*parameters, result.variant, *(detail(result, name) for name in key.details)]
