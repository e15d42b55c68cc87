"""Results as tables: what heads the rows, and what the columns show."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from jaxcap.results.models import Result, identity
from jaxcap.results.statistics import DISAGREEMENT, Estimate, Speedup
from jaxcap.results.tables import Table

# At least so many processes that disagree are said to be in different modes: two might differ by chance.
MIN_IN_MODES = 3
_MODES = "Processes in different modes"
_DIFFERENCE = f"Two processes that differ by more than a factor of {DISAGREEMENT:g}"
# Where the quotient of two times differs from their ratio by more than this factor, rounding is not why.
QUOTIENT_FACTOR = 1.1
_ON_QUOTIENTS = (
    "Each ratio is the median of the ratios within rounds, so it may differ from the quotient of two "
    "times."
)

#: What a column shows of each result.
Column = Sequence[tuple[Result, str]]

# What tells results with the same parameters and variant apart, in the order in which it is tried.
# The platform comes before the device, so that the GPUs of several machines share a row.
_DETAILS = ((), ("platform", "allocator", "experiment"), ("device", "allocator", "experiment"))


@dataclass(frozen=True)
class RowKey:
    """Identifies the row of a result by parameters and variant, which head the row, and by details."""

    parameters: Sequence[str]
    details: Sequence[str]

    @classmethod
    def for_sets(cls, sets: Collection[Sequence[Result]], parameters: Sequence[str]) -> Self:
        """Choose the fewest details that give the results of each set different rows."""
        keys = [cls(parameters, details) for details in _DETAILS]
        for key in keys:
            if all(len(set(map(key, results))) == len(results) for results in sets):
                return key
        return keys[-1]

    def __call__(self, result: Result) -> tuple[Hashable, ...]:
        """Return what the results of a row share: parameters, variant and details."""
        return (
            *(identity(result.parameters.get(name, "")) for name in self.parameters),
            result.variant,
            *(detail(result, name) for name in self.details),
        )

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers of the columns that head a row."""
        return (*self.parameters, "variant")

    def head(self, result: Result) -> tuple[str, ...]:
        """Return the texts that head the row of a result."""
        values = (result.parameters.get(name, "") for name in self.parameters)
        return (*map(_shown, values), result.variant)


def detail(result: Result, name: str) -> str:
    """Return the platform of a result's device, or the attribute of that name, as text."""
    return result.device.platform.upper() if name == "platform" else str(getattr(result, name))


def pivot(
    caption: str,
    key: RowKey,
    columns: Mapping[str, Column],
    *,
    missing: str = "",
    notes: Sequence[str] = (),
) -> Table:
    """Make a table in which results with the same key share a row.

    Parameters
    ----------
    caption, notes
        See `~jaxcap.results.tables.Table`.
    key
        Its parameters and the variant head the rows.
    columns
        By header. Rows come in the order in which their results first appear.
    missing
        The text of a cell for which a column has no result.
    """
    heads: dict[Hashable, tuple[str, ...]] = {}
    cells: dict[tuple[Hashable, str], str] = {}
    for header, column in columns.items():
        for result, text in column:
            heads.setdefault(key(result), key.head(result))
            cells[key(result), header] = text
    rows = [
        (*head, *(cells.get((row, header), missing) for header in columns))
        for row, head in heads.items()
    ]
    return Table(caption, (*key.headers, *columns), rows, notes, heads=len(key.headers))


def table_of_times(results: Sequence[Result]) -> Table:
    """Tabulate the times of results."""
    names = varying(results)
    return pivot(
        f"Time of a call on {devices_of(results)}",
        RowKey.for_sets([results], names),
        columns_of_times(results),
        notes=[
            *_note_on_modes(results, names),
            *note_on_disagreement([(result, result.time) for result in results], names),
            *_note_on_disturbance(results),
        ],
    )


def columns_of_times(results: Sequence[Result]) -> dict[str, Column]:
    """Return columns of times, after those of what else differs between results."""
    parameters = varying(results)
    columns: dict[str, Column] = {
        f"{name} used" if name in parameters else name: [(r, detail(r, name)) for r in results]
        for name in ("experiment", "device", "allocator")
        if len({getattr(result, name) for result in results}) > 1
    }
    times = [(result, result.time) for result in results]
    return columns | {
        "time": [(result, time.short) for result, time in times],
        **spread_column(times),
        "until it returns": [(result, result.dispatch.short) for result in results],
        "first call": [(result, result.first_call.short) for result in results],
    }


def columns_of_speedups(speedups: Sequence[tuple[Result, Speedup]]) -> dict[str, Column]:
    """Return columns of verdicts in words, of ratios, which compare down a column, and of intervals.

    The verdict comes first, because a phone has room for few columns. The ratio's header is neutral,
    because a ratio below 1 is a slowdown.
    """
    return {
        "verdict": [(result, speedup.verdict_in_words) for result, speedup in speedups],
        "times as fast": [(result, speedup.short) for result, speedup in speedups],
        **interval_column(speedups),
    }


def varying(results: Sequence[Result]) -> list[str]:
    """Names of the parameters that differ between results, in order of appearance."""
    values: dict[str, set[Hashable]] = {}
    for result in results:
        for key, value in result.parameters.items():
            values.setdefault(key, set()).add(identity(value))
    shared = {key for key in values if all(key in result.parameters for result in results)}
    return [key for key, seen in values.items() if len(seen) > 1 or key not in shared]


def devices_of(results: Iterable[Result]) -> str:
    """Names of the devices of results, in order of appearance."""
    return ", ".join(dict.fromkeys(str(result.device) for result in results))


def _shown(value: object) -> str:
    """Return a parameter as text, with separators for thousands if it is a count."""
    return f"{value:,}" if type(value) is int else str(value)


def spread_column(estimates: Sequence[tuple[Result, Estimate]]) -> dict[str, Column]:
    """Return what the processes saw, or the intervals if some results are from a single process."""
    if any(len(estimate.medians) < 2 for _, estimate in estimates):
        return interval_column(estimates)
    names = dict.fromkeys(f"range of {estimate.basis}" for _, estimate in estimates)
    return {" or ".join(names): [(result, estimate.spread) for result, estimate in estimates]}


def interval_column(estimates: Sequence[tuple[Result, Estimate]]) -> dict[str, Column]:
    """Return the intervals by their header; those of less confidence than it says show their own."""
    confidence = max(estimate.confidence for _, estimate in estimates)
    names = dict.fromkeys(e.interval_name for _, e in estimates if e.confidence == confidence)
    cells = []
    for result, estimate in estimates:
        text = estimate.range
        if estimate.confidence < confidence:
            text = f"{text} ({estimate.confidence:.0%})" if estimate.confidence else ""
        cells.append((result, text))
    return {" or ".join(names): cells}


def _note_on_disturbance(results: Sequence[Result]) -> list[str]:
    """Say how many samples are disturbed, if any are, and whether they count."""
    undisturbed = [flag for result in results for run in result.runs for flag in run.undisturbed]
    if all(undisturbed):
        return []
    share = f"{1 - sum(undisturbed) / len(undisturbed):.1%} of the" if any(undisturbed) else "all"
    note = f"Other work or slow moments of the machine disturbed {share} samples"
    left_out = {result.leaves_disturbed_out for result in results if result.disturbed_share}
    if left_out == {True}:
        return [f"{note}, which are left out."]
    if left_out == {False}:
        return [f"{note}. They are kept, because some processes would have too few left."]
    return [f"{note}, which are left out where each process has enough others."]


def _note_on_modes(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    modal = [_modes_in_words(result, names) for result in results if len(result.modes) > 1]
    return [f"Two modes, with their shares of the samples: {'; '.join(modal)}."] if modal else []


def note_on_disagreement(
    estimates: Sequence[tuple[Result, Estimate]], names: Sequence[str]
) -> list[str]:
    """List what each process measured where these differ so much that no number is typical.

    The interval says nothing about that: that of two or three processes is wide in any case.
    """
    listed: dict[str, list[str]] = {}
    for result, estimate in estimates:
        medians = sorted(estimate.medians)
        if not estimate.is_typical:
            heading = _MODES if len(medians) >= MIN_IN_MODES else _DIFFERENCE
            texts = ", ".join(_short(median, estimate.unit) for median in medians)
            listed.setdefault(heading, []).append(f"{_name(result, names)}, {texts}")
    return [f"{heading}: {'; '.join(texts)}." for heading, texts in listed.items()]


def note_on_quotients(
    speedups: Sequence[tuple[Result, Speedup]], baselines: Iterable[Result | None]
) -> list[str]:
    """Explain ratios to those who divide the times, if they would get other numbers anywhere.

    Parameters
    ----------
    speedups
        The ratios in the table.
    baselines
        What each of these results is compared with.
    """
    for (result, speedup), baseline in zip(speedups, baselines, strict=True):
        quotient = baseline.time.value / result.time.value if baseline else speedup.value
        if not speedup.value / QUOTIENT_FACTOR <= quotient <= speedup.value * QUOTIENT_FACTOR:
            return [_ON_QUOTIENTS]
    return []


def _modes_in_words(result: Result, names: Sequence[str]) -> str:
    times = (f"{_short(time, 's')} ({share:.0%})" for time, share in result.modes.items())
    return f"{_name(result, names)}, {' and '.join(times)}"


def _name(result: Result, names: Sequence[str]) -> str:
    """Name a result by its parameters of these names and its variant."""
    values = [_shown(result.parameters[name]) for name in names if name in result.parameters]
    return " ".join((*values, result.variant))


def _short(number: float, unit: str = "") -> str:
    return Estimate.from_runs([[number]], unit=unit).short
