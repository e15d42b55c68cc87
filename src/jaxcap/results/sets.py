"""Sets of results from one machine: selected from, tabulated, written to files and read again."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Self, overload

from pydantic import Field, model_validator

from jaxcap.results.atomic import write_atomically
from jaxcap.results.base import FrozenModel
from jaxcap.results.environment import Environment
from jaxcap.results.files import SCHEMA_VERSION, load_results
from jaxcap.results.models import Result, ResultsError, identity, not_in_turns
from jaxcap.results.statistics import Speedup
from jaxcap.results.tables import Table
from jaxcap.results.tabulation import (
    RowKey,
    columns_of_speedups,
    devices_of,
    note_on_disagreement,
    note_on_quotients,
    pivot,
    table_of_times,
    varying,
)

# Choices that an error lists at most.
_MAX_CHOICES = 10
# Strings are safe: in JSON they hold no line break.
_LIST_OF_NUMBERS = re.compile(r"\[\n[-+.\deE,\s]*\]")


class ResultSet(FrozenModel):
    """Results from one machine: a sequence of `Result`, which can be selected from and compared.

    Attributes
    ----------
    schema_version
        Of this file format. Files of version 1 are still read.
    environment
        The machine, and when the first of the results was measured.
    results
        No two of them have the same `Result.key`.
    """

    schema_version: Literal[2] = SCHEMA_VERSION
    environment: Environment
    results: tuple[Result, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _no_duplicates(self) -> Self:
        seen = set()
        for result in self.results:
            if result.key in seen:
                raise ValueError(
                    f"there are two results for experiment {result.experiment!r}, variant "
                    f"{result.variant!r} and parameters {result.parameters}: keep one, or give them "
                    "different names"
                )
            seen.add(result.key)
        return self

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:  # type: ignore[override]
        """Go through the results, not through the fields as Pydantic's own models do."""
        return iter(self.results)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> ResultSet: ...
    def __getitem__(self, index: int | slice) -> Result | ResultSet:
        chosen = self.results[index]
        return self.subset(chosen) if isinstance(chosen, tuple) else chosen

    def __add__(self, other: ResultSet) -> ResultSet:
        """Join results of one machine.

        Raises
        ------
        ValueError
            If the environments differ in more than the moment, or a result is in both.
        """
        self.environment.require_same_machine(other.environment)
        return ResultSet(environment=self.environment, results=self.results + other.results)

    def subset(self, results: Iterable[Result]) -> ResultSet:
        """Return a copy that holds only these results.

        Raises
        ------
        ResultsError
            If there are none.
        """
        chosen = tuple(results)
        if not chosen:
            raise ResultsError("a set of results can't be empty")
        return self.model_copy(update={"results": chosen})

    def select(self, **criteria: Any) -> ResultSet:
        """Return the results that meet all criteria.

        Parameters
        ----------
        **criteria
            Values of parameters, or of ``experiment``, ``variant`` and ``allocator`` as in `Result`,
            and a ``device`` or its platform, such as ``"cpu"``. None stands for any value.

        Raises
        ------
        ResultsError
            If there are none.
        """
        wanted = {name: value for name, value in criteria.items() if value is not None}
        chosen = tuple(result for result in self.results if _meets(result, wanted))
        if not chosen:
            asked = ", ".join(f"{name} {value}" for name, value in wanted.items())
            choices = "; ".join(self._choices(name) for name in wanted)
            raise ResultsError(f"no result has {asked}; available: {choices}")
        return self.subset(chosen)

    def by_experiment(self) -> dict[str, ResultSet]:
        """Split the results by experiment."""
        names = dict.fromkeys(result.experiment for result in self.results)
        return {name: self.select(experiment=name) for name in names}

    def only(self, variant: str | None = None, **criteria: Any) -> Result:
        """Return the only result of a variant that meets the criteria of `select`.

        Raises
        ------
        ResultsError
            If there is none, or more than one.

        Examples
        --------
        >>> results.variants
        ('op by op', 'jit')
        >>> results.only("jit").time.short
        '1.000 ms'
        """
        chosen = self.select(variant=variant, **criteria)
        if len(chosen) > 1:
            others = ("variant", "experiment", "device", "allocator")
            names = chosen.varying()
            names += [name for name in others if len({getattr(r, name) for r in chosen}) > 1]
            raise ResultsError(
                f"{len(chosen)} results match: choose one by its "
                f"{' or '.join(dict.fromkeys(names))}"
            )
        return chosen[0]

    def speedup(self, variant: str | Result, *, over: str, **criteria: Any) -> Speedup:
        """How many times as fast ``variant`` is as ``over``.

        Parameters
        ----------
        variant
            One of these results, or the name of its variant.
        over
            The variant that took turns with it, on whichever device.
        **criteria
            What distinguishes the result from others of its variant, as in `select`.

        Raises
        ------
        ResultsError
            If the former is missing or ambiguous, or the two did not take turns.
        TypeError
            If there are criteria beside a result, which is chosen already.

        Examples
        --------
        >>> results.speedup("jit", over="op by op").short_with_range
        '2.000 (2.000 to 2.000)'
        """
        if isinstance(variant, Result) and criteria:
            raise TypeError(f"a result is chosen already: leave out {', '.join(criteria)}")
        result = variant if isinstance(variant, Result) else self.only(variant, **criteria)
        baseline = self.paired_result(result, over)
        if baseline is None:
            self.select(variant=over)  # raises if no result has this variant
            raise not_in_turns(result.variant, over)
        return result.speedup(baseline)

    def paired_result(self, result: Result, variant: str) -> Result | None:
        """Return the result of another variant from the same comparison, if this set has it."""
        for other in self.results:
            if other.comparison == result.comparison and other.variant == variant:
                return other
        return None

    def paired_speedups(self, over: str) -> list[tuple[Result, Speedup]]:
        """Compare each result with the variant ``over``, where they took turns.

        Results are left out for which the clock was too coarse.
        """
        pairs = []
        for result in self.results:
            if result.variant != over and (baseline := self.paired_result(result, over)):
                with suppress(ResultsError):
                    pairs.append((result, result.speedup(baseline)))
        return pairs

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants, in order of appearance."""
        return tuple(dict.fromkeys(result.variant for result in self.results))

    def varying(self) -> list[str]:
        """Names of the parameters that differ between these results, in order of appearance."""
        return varying(self.results)

    def speedups(self, *, over: str) -> ResultTable:
        """Tabulate how many times as fast as ``over`` the other variants are.

        Results are left out for which the clock was too coarse.

        Raises
        ------
        ResultsError
            If no other variant took turns with it.
        """
        pairs = self.paired_speedups(over)
        if not pairs:
            raise ResultsError(
                f"no result was measured in turns with {over!r} by a clock fine enough for it"
            )
        compared = [result for result, _ in pairs]
        parameters = self.varying()
        table = pivot(
            f"Compared with {over} on {devices_of(compared)}",
            RowKey.for_sets([compared], parameters),
            columns_of_speedups(pairs),
            notes=[
                *note_on_disagreement(pairs, parameters),
                *note_on_quotients(pairs, (self.paired_result(r, over) for r in compared)),
            ],
        )
        return ResultTable(**vars(table), results=self, over=over)

    def fits_cache(self, result: Result) -> bool | None:
        """Whether repeated calls may have found their data in the CPU's last-level cache.

        None on other devices, and where the size of the cache is not known.
        """
        cache_bytes = self.environment.cache_bytes
        if result.device.platform != "cpu" or cache_bytes is None:
            return None
        return result.working_set_bytes <= cache_bytes

    def table(self) -> ResultTable:
        """Tabulate times."""
        return ResultTable(**vars(table_of_times(self.results)), results=self)

    def __repr__(self) -> str:
        return repr(self.table())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a JSON file, completely or not at all; its folder is created if necessary.

        Raises
        ------
        OSError
            If the folder cannot be written to or is full. An existing file is left as it was.
        """
        text = self.model_dump_json(indent=1)
        # A line for each list of numbers: a file that was measured again differs where numbers do.
        write_atomically(path, _LIST_OF_NUMBERS.sub(_on_one_line, text) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ResultSet:
        """Read a file that `save` wrote, now or with schema version 1.

        Raises
        ------
        OSError
            If the file cannot be read.
        ResultsError
            If it is not JSON, of an unknown schema version, or not a file of results.
        """
        return load_results(path, cls)

    def _choices(self, name: str) -> str:
        values = dict.fromkeys(
            str(fact) for result in self.results for fact in _facts(result, name)
        )
        shown = ", ".join(list(values)[:_MAX_CHOICES]) or "none"
        return f"{name} {shown}{', ...' if len(values) > _MAX_CHOICES else ''}"


@dataclass(frozen=True, repr=False, kw_only=True)
class ResultTable(Table):
    """A table of results, with the results that it shows.

    Attributes
    ----------
    results
        All that the table is about.
    over
        The variant with which the others are compared, which has no rows; None in a table of times.
    """

    results: ResultSet
    over: str | None = None


def json_schema() -> dict[str, Any]:
    """Describe a file of results by JSON Schema, draft 2020-12, for programs that read or write it."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return schema | ResultSet.model_json_schema() | {"title": "jaxcap results"}


def _meets(result: Result, criteria: Mapping[str, Hashable]) -> bool:
    """Tell whether a result meets all criteria of `ResultSet.select`."""
    return all(
        identity(value) in map(identity, _facts(result, name)) for name, value in criteria.items()
    )


def _facts(result: Result, name: str) -> tuple[Hashable, ...]:
    """Return what `ResultSet.select` compares a name with: nothing where the result lacks it."""
    if name == "device":
        return result.device, result.device.platform
    if name in ("experiment", "variant", "allocator"):
        return (getattr(result, name),)
    return (result.parameters[name],) if name in result.parameters else ()


def _on_one_line(numbers: re.Match[str]) -> str:
    return re.sub(r"\s+", "", numbers[0]).replace(",", ", ")
