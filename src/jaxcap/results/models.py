"""What was measured, in a form that can be kept, sent, selected from and compared.

Raw samples are stored and statistics derived from them, so that a better statistic can be applied
to old files. All times are seconds for one call.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationError,
    field_validator,
    model_validator,
)

from jaxcap.results.environment import Device, Environment, PrintableText, Record
from jaxcap.results.files import write_atomically
from jaxcap.results.statistics import Estimate, median_interval, modes, prediction_interval
from jaxcap.results.tables import Table

SCHEMA_VERSION: Literal[1] = 1

Parameter = StrictBool | StrictInt | StrictFloat | PrintableText
Allocator = Literal["steady", "default"]


class ResultsError(ValueError):
    """A result file or a selection that cannot be used, and what to do about it."""


def _six_digits(seconds: float) -> float:
    # No clock is better than that, and files become half as large.
    return float(f"{seconds:.6g}")


# A time that is longer than this was not given in seconds.
_LONGEST_S = 1e6
Seconds = Annotated[NonNegativeFloat, Field(le=_LONGEST_S), AfterValidator(_six_digits)]
# Larger files are no results of ours: the longest recording has a tenth of that.
_LARGEST_BYTES = 2**26
_LIST_OF_NUMBERS = re.compile(r"\[\s+[-+.\deE,\s]*\]")


class Cost(NamedTuple):
    """What one call of a compiled function does, as XLA counts it.

    Attributes
    ----------
    flops
        Floating-point operations.
    bytes_moved
        Memory traffic.
    """

    flops: float
    bytes_moved: float


class ProcessSamples(Record):
    """What one process measured of one variant. The tuples are of one length.

    Attributes
    ----------
    first_call_s
        Time of the very first call: tracing and compilation included.
    calls_per_sample
        How many calls each sample averages over.
    samples_s
        Time of a call until its result was there, by sample.
    dispatch_s
        Time of a call until it returned, by sample.
    minor_faults
        Memory pages that the kernel had to map during a sample, all calls together. Empty where
        nobody counted them.
    """

    first_call_s: Seconds
    calls_per_sample: PositiveInt
    samples_s: tuple[Seconds, ...] = Field(min_length=1)
    dispatch_s: tuple[Seconds, ...]
    minor_faults: tuple[NonNegativeInt, ...]

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        samples, faults = len(self.samples_s), len(self.minor_faults)
        if not samples == len(self.dispatch_s) == (faults or samples):
            raise ValueError("samples_s, dispatch_s and minor_faults differ in length")
        return self


class Result(Record):
    """One variant of an experiment, measured with one set of parameters.

    Attributes
    ----------
    experiment
        What was asked.
    variant
        Which of the competitors this is.
    parameters
        Settings that the variant ran with, such as ``{"size": 1000}``.
    device
        Where the results of the call lay.
    rounds_with
        All variants that took turns with this one, itself included. Sample ``i`` of each of them
        was taken in the same round.
    allocator
        ``"steady"`` if freed memory was kept by the process, ``"default"`` if malloc decided.
    working_set_bytes
        Size of the arrays that go in and come out.
    flops
        Floating-point operations of one call, where XLA's cost analysis knows them.
    bytes_moved
        Memory traffic of one call, likewise.
    runs
        One for each process.
    """

    experiment: PrintableText
    variant: PrintableText
    parameters: dict[PrintableText, Parameter]
    device: Device
    rounds_with: tuple[PrintableText, ...]
    allocator: Allocator
    working_set_bytes: NonNegativeInt
    flops: NonNegativeFloat | None = None
    bytes_moved: NonNegativeFloat | None = None
    runs: tuple[ProcessSamples, ...] = Field(min_length=1)

    @field_validator("experiment")
    @classmethod
    def _is_no_path(cls, name: str) -> str:
        if "/" in name or "\\" in name:
            raise ValueError("a name that files are called by holds no slash")
        return name

    @property
    def basis(self) -> str:
        """What intervals are over, the repeats of one process or several processes."""
        return f"{len(self.runs)} processes" if len(self.runs) > 1 else "one process"

    @property
    def time(self) -> Estimate:
        """Time of a call until its result is there."""
        return self._over_runs(lambda run: run.samples_s)

    @property
    def dispatch(self) -> Estimate:
        """Time until the call returns, which may be before its result is there."""
        return self._over_runs(lambda run: run.dispatch_s)

    @property
    def first_call(self) -> Estimate:
        """Time of the first call, compilation included."""
        return prediction_interval(
            [run.first_call_s for run in self.runs], unit="s", basis=self.basis
        )

    @property
    def faults_per_call(self) -> float | None:
        """Minor page faults of a typical call, if they were counted."""
        counted = [run for run in self.runs if run.minor_faults]
        faults = [median(run.minor_faults) / run.calls_per_sample for run in counted]
        return median(faults) if faults else None

    @property
    def modes(self) -> tuple[float, ...]:
        """Times in seconds around which the samples cluster. Where they are several, a median misleads."""
        return modes([sample for run in self.runs for sample in run.samples_s])

    def fits_cache(self, environment: Environment) -> bool | None:
        """Whether repeated calls may have found their data in the CPU's last-level cache."""
        if self.device.platform != "cpu" or environment.cache_bytes is None:
            return None
        return self.working_set_bytes <= environment.cache_bytes

    def speedup(self, over: Result) -> Estimate:
        """How many times faster than ``over`` this variant is, from rounds that both took part in.

        Raises
        ------
        ResultsError
            If the two did not take turns: a ratio of separate measurements has no honest
            interval on a machine that drifts.
        """
        if over._rounds != self._rounds:
            raise ResultsError(
                f"{self.variant!r} and {over.variant!r} were not measured in the same rounds: "
                "pass both to one call of jaxcap.measure.timing.compare"
            )
        ratios = [
            [slow / fast for slow, fast in zip(a.samples_s, b.samples_s, strict=True)]
            for a, b in zip(over.runs, self.runs, strict=True)
        ]
        return _estimate_runs(ratios, unit="", basis=self.basis)

    def pays_off_after(self, over: Result) -> Estimate | None:
        """After how many calls this variant, compilation included, is ahead of a warm ``over``.

        The ``n`` at which ``first + (n - 1) later = n other``, where ``first`` and ``later`` are
        this variant's times and ``other`` is that of later calls of ``over``.

        Returns
        -------
        Estimate or None
            None if this variant is not surely faster, and so never ahead for sure.

        Raises
        ------
        ResultsError
            As `speedup`.
        """
        if self.speedup(over).verdict != "faster":
            return None
        calls = []
        for ours, theirs in zip(self.runs, over.runs, strict=True):
            later = median(ours.samples_s)
            saving = median(theirs.samples_s) - later
            if saving <= 0:
                return None
            calls.append(max((ours.first_call_s - later) / saving, 1.0))
        return prediction_interval(calls, unit="", basis=self.basis)

    def __repr__(self) -> str:
        return repr(_table_of_times((self,)))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return _table_of_times((self,))._repr_html_()

    def _over_runs(self, samples: Callable[[ProcessSamples], Sequence[float]]) -> Estimate:
        return _estimate_runs([samples(run) for run in self.runs], unit="s", basis=self.basis)

    @property
    def _rounds(self) -> tuple[object, ...]:
        """What results of the same rounds have in common."""
        samples = [len(run.samples_s) for run in self.runs]
        return self.experiment, self.parameters, self.rounds_with, self.allocator, samples

    @property
    def _key(self) -> tuple[object, ...]:
        parameters = tuple(sorted(self.parameters.items()))
        return self.experiment, self.variant, parameters, self.device, self.allocator


class ResultSet(Record):
    """Results from one machine.

    Attributes
    ----------
    schema_version
        Of this file format; a file of another version is refused.
    environment
        The machine, and when the first of the results was measured.
    results
        No two of the same experiment, variant, parameters, device and allocator.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    environment: Environment
    results: tuple[Result, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _no_duplicates(self) -> Self:
        seen = set()
        for result in self.results:
            if result._key in seen:
                raise ValueError(
                    f"two results for {result.experiment!r}, variant {result.variant!r}, "
                    f"parameters {result.parameters}: keep one, or give them different names"
                )
            seen.add(result._key)
        return self

    def __len__(self) -> int:
        return len(self.results)

    def __add__(self, other: ResultSet) -> ResultSet:
        """Join results of one machine.

        Raises
        ------
        ValueError
            If the environments differ in more than the moment, or a result is in both.
        """
        self.environment.require_same_machine(other.environment)
        return ResultSet(environment=self.environment, results=self.results + other.results)

    def select(
        self, *, experiment: str | None = None, variant: str | None = None, **parameters: Parameter
    ) -> ResultSet:
        """Return the results that have these names and parameters.

        Raises
        ------
        ResultsError
            If there is none.
        """
        wanted = {"experiment": experiment, "variant": variant}
        named = {key: value for key, value in wanted.items() if value is not None}
        chosen = tuple(
            result
            for result in self.results
            if all(getattr(result, key) == value for key, value in named.items())
            and all(
                key in result.parameters and result.parameters[key] == value
                for key, value in parameters.items()
            )
        )
        if not chosen:
            raise ResultsError(
                f"no result has {named | parameters}: there are variants "
                f"{_listed(r.variant for r in self.results)} with parameters "
                f"{_listed(str(r.parameters) for r in self.results)}"
            )
        return self.model_copy(update={"results": chosen})

    def by_experiment(self) -> dict[str, ResultSet]:
        """Split the results by what was asked."""
        groups: dict[str, tuple[Result, ...]] = {}
        for result in self.results:
            groups[result.experiment] = (*groups.get(result.experiment, ()), result)
        return {name: self.model_copy(update={"results": some}) for name, some in groups.items()}

    def one(self, variant: str | None = None, **parameters: Parameter) -> Result:
        """Return the only result that has this name and these parameters.

        Raises
        ------
        ResultsError
            If there is none, or more than one.
        """
        chosen = self.select(experiment=None, variant=variant, **parameters).results
        if len(chosen) > 1:
            raise ResultsError(
                f"{len(chosen)} results match {variant!r} with {parameters}: name more parameters"
            )
        return chosen[0]

    def speedup(self, variant: str, *, over: str, **parameters: Parameter) -> Estimate:
        """How many times faster ``variant`` is than ``over``, with these parameters.

        Raises
        ------
        ResultsError
            If either is missing or ambiguous, or they did not take turns.
        """
        return self.one(variant, **parameters).speedup(self.one(over, **parameters))

    def varying(self) -> list[str]:
        """Names of the parameters that differ between these results, in order of appearance."""
        return _varying(self.results)

    def speedups(self, *, over: str) -> ResultTable:
        """Tabulate how many times faster than ``over`` the other variants are."""
        columns = self.varying()
        rows = []
        for result in self.results:
            if result.variant == over:
                continue
            speedup = self.speedup(result.variant, over=over, **result.parameters)
            rows.append(
                (
                    *_cells(result, columns),
                    result.variant,
                    speedup.short,
                    speedup.range,
                    speedup.verdict,
                )
            )
        headers = (*columns, "variant", "speed-up", _interval_header(self.results), "verdict")
        caption = f"Speed-up over {over} on {_where(self.results)}"
        return ResultTable(caption, headers, rows, results=self, over=over)

    def table(self) -> ResultTable:
        """Tabulate times."""
        table = _table_of_times(self.results)
        return ResultTable(table.caption, table.headers, table.rows, table.notes, results=self)

    def __repr__(self) -> str:
        return repr(self.table())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a JSON file, completely or not at all; its folder is made if need be.

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
        """Read a file that `save` wrote.

        Raises
        ------
        OSError
            If the file cannot be read.
        ResultsError
            If it is not JSON, of another schema version, or not a result file.
        """
        size = Path(path).stat().st_size
        if size > _LARGEST_BYTES:
            raise ResultsError(
                f"{path} has {size:,} bytes, and files of results have at most "
                f"{_LARGEST_BYTES:,}: record fewer experiments in it"
            )
        data = Path(path).read_bytes()
        try:
            content = json.loads(data, object_pairs_hook=_without_duplicates)
        except (ValueError, RecursionError) as error:
            raise ResultsError(
                f"{path} is not valid JSON, it may have been cut short: measure again or fetch "
                f"the file again ({error})"
            ) from None
        version = content.get("schema_version") if isinstance(content, dict) else None
        if version != SCHEMA_VERSION:
            raise ResultsError(
                f"{path} has schema version {ascii(version)[:50]}, this jaxcap reads version "
                f"{SCHEMA_VERSION}: measure again, or use the version of jaxcap that wrote it"
            )
        try:
            return cls.model_validate_json(data, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            # A place may be a name from the file, which shouldn't reach a terminal as it is.
            place = ".".join(ascii(part).strip("'")[:50] for part in first["loc"]) or "the file"
            raise ResultsError(
                f"{path} is not a valid result file: {place}: {first['msg']}: measure again"
            ) from None


@dataclass(frozen=True, repr=False, kw_only=True)
class ResultTable(Table):
    """A table that remembers what it shows.

    Attributes
    ----------
    results
        In the order of the rows.
    over
        The variant with which the others are compared, which has no rows; None in a table of times.
    """

    results: ResultSet
    over: str | None = None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON, but not of one that says two things of one name."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has two entries {twice[:50]!r}")
    return found


def _on_one_line(numbers: re.Match[str]) -> str:
    return re.sub(r"\s+", "", numbers[0]).replace(",", ", ")


def json_schema() -> dict[str, Any]:
    """Describe a file of results by JSON Schema, draft 2020-12, for programs that read or write it."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return schema | ResultSet.model_json_schema() | {"title": "jaxcap results"}


def _estimate_runs(
    runs: Sequence[Sequence[float]], *, unit: Literal["s", ""], basis: str
) -> Estimate:
    """Predict from the medians of the runs, or estimate from the samples of a single one."""
    if len(runs) == 1:
        return median_interval(runs[0], unit=unit, basis=basis)
    return prediction_interval([median(samples) for samples in runs], unit=unit, basis=basis)


def _table_of_times(results: Sequence[Result]) -> Table:
    columns = _varying(results)
    several_devices = len({result.device for result in results}) > 1
    headers = [*columns, "variant", *(["device"] if several_devices else [])]
    headers += ["time", _interval_header(results), "until it returns", "first call"]
    rows = [
        (
            *_cells(result, columns),
            result.variant,
            *([str(result.device)] if several_devices else []),
            result.time.short,
            result.time.range,
            result.dispatch.short,
            result.first_call.short,
        )
        for result in results
    ]
    several = [_modes_in_words(r, columns) for r in results if len(r.modes) > 1]
    notes = [f"Two modes, between which the median lies: {'; '.join(several)}."] if several else []
    return Table(f"Time of a call on {_where(results)}", headers, rows, notes)


def _varying(results: Sequence[Result]) -> list[str]:
    values: dict[str, set[object]] = {}
    for result in results:
        for key, value in result.parameters.items():
            values.setdefault(key, set()).add(value)
    shared = {key for key in values if all(key in result.parameters for result in results)}
    return [key for key, seen in values.items() if len(seen) > 1 or key not in shared]


def _where(results: Sequence[Result]) -> str:
    return _listed(str(result.device) for result in results)


def _interval_header(results: Sequence[Result]) -> str:
    confidence = min(result.time.confidence for result in results)
    return f"{confidence:.0%} interval ({_listed(result.basis for result in results)})"


def _cells(result: Result, columns: Sequence[str]) -> Iterator[str]:
    for column in columns:
        value = result.parameters.get(column, "")
        is_count = isinstance(value, int) and not isinstance(value, bool)
        yield f"{value:,}" if is_count else str(value)


def _modes_in_words(result: Result, columns: Sequence[str]) -> str:
    times = (median_interval([mode], unit="s", basis=result.basis).short for mode in result.modes)
    return f"{' '.join((*_cells(result, columns), result.variant))}, {' and '.join(times)}"


def _listed(texts: Iterator[str] | Any) -> str:
    return ", ".join(dict.fromkeys(texts))
