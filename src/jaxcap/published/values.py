"""The published values as their documents print them, and the measurement to compare each with."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import PositiveInt, field_validator

from jaxcap.results import Parameter
from jaxcap.results.base import FrozenModel

#: What each document is. Two are versions of one, of which the first prints results and the second
#: refers to logs.
DOCUMENTS: Mapping[str, str] = {
    "analysis": "An analysis of JAX's capabilities: results in its README",
    "analysis logs": "The same analysis: results in its logs",
    "tutorial": "A blog's tutorial: a quick peek at JAX",
    "notebook": "A notebook on dispatch: from Autograd to JAX in Geomstats",
    "exercises": "An exercise sheet: random numbers",
}

NOT_AWAITED = "does not wait"
FIRST_COUNTED = "counts the first call"

#: Mistakes that a document shows, and the words in which an assessment explains each.
MISTAKES: Mapping[str, str] = {
    NOT_AWAITED: "The clock stopped before the result was ready",
    FIRST_COUNTED: "The first call, which compiles, loads code or allocates memory, was counted",
    "wraps jit anew": "Each call wrapped the function in jax.jit anew",
    "loops over scalars": "A Python loop went over scalars, where one call could take them all",
    "trains another network": "Another network was trained",
}

#: What was published, by the benchmark of JAX's releases that comes nearest to it.
NEAREST_BENCHMARKS: Mapping[str, str] = {
    "wave and selu, op by op": "four operations on 100,000 numbers, not compiled",
    "wave and selu, jit": "four operations on 100,000 numbers, fused",
    "dot of JAX's arrays": "jnp.add of 10 numbers",
    "dot of JAX's arrays, jit": "compiled call with one array",
    "dot of NumPy's arrays, jit": "compiled call with a NumPy array",
    "slopes of wave, op by op": "gradient of sines, not compiled",
    "matrix product": "product of 500 × 500 matrices",
    "system of linear equations": "solution of 200 equations",
    "random matrices": "100,000 normal numbers",
    "training on MNIST": "training step with Adam",
}

_SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


class PublishedValue(FrozenModel):
    """A value that a document published.

    Attributes
    ----------
    number
        Identifies the value: ``"001"`` to ``"178"``.
    document
        A key of `~jaxcap.published.values.DOCUMENTS`.
    task
        What was computed.
    implementation
        The library or variant that computed it.
    device
        The device, in the document's words; empty if the value doesn't depend on it.
    value
        The number as it was printed, in ``unit``: a time, a percentage, or a plain number.
    calls
        Number of our calls that do the work whose time was printed.
    mistakes
        Keys of `~jaxcap.published.values.MISTAKES`: those that the document or its program shows.
    incomparable
        Why the same work can't be repeated today; empty if it can.
    experiment
        Name of the experiment that repeats the work.
    variant
        The variant of the experiment that does it in the same way, mistakes and all.
    parameters
        The parameters of the experiment that match the work.
    corrected_variant
        The variant without the mistake, where that is a different one.
    reference_numbers
        Numbers of times from the same computer by code that has hardly changed since: NumPy's.
    computation
        Name of the computation that repeats the value, if it is not a time.
    """

    number: str
    document: str
    task: str
    implementation: str
    device: str
    value: float
    unit: Literal["s", "ms", "µs", "%", ""]
    calls: PositiveInt
    mistakes: tuple[str, ...]
    incomparable: str
    experiment: str
    variant: str
    corrected_variant: str
    parameters: dict[str, Parameter]
    reference_numbers: tuple[str, ...]
    computation: str

    @field_validator("mistakes", "reference_numbers", mode="before")
    @classmethod
    def _split(cls, text: str) -> list[str]:
        return text.split(";") if text else []

    @field_validator("parameters", mode="before")
    @classmethod
    def _parse(cls, text: str) -> dict[str, Any]:
        pairs = (pair.split("=") for pair in text.split(";") if pair)
        return {name: int(value) if value.isdigit() else value for name, value in pairs}

    @property
    def printed(self) -> str:
        """The value as its document prints it."""
        number = f"{self.value!r} {self.unit}".replace(".0 ", " ").strip()
        return f"{number} for {self.calls:,} calls" if self.calls > 1 else number

    @property
    def time_s(self) -> float | None:
        """Seconds for one call, or None if the value is not a time."""
        return self.value * _SECONDS[self.unit] / self.calls if self.unit in _SECONDS else None

    @property
    def platform(self) -> str:
        """``"cpu"`` or ``"gpu"``."""
        return "cpu" if self.device == "CPU" else "gpu"


@cache
def load_wave() -> Mapping[str, tuple[float, ...]]:
    """Return ``x``, ``value`` and ``slope`` of wave at twenty points, as a document's JAX printed them."""
    text = (files(__package__) / "wave.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return {name: tuple(float(row[name]) for row in rows) for name in rows[0]}


@cache
def load() -> Mapping[str, PublishedValue]:
    """All published values, by number."""
    text = (files(__package__) / "values.csv").read_text(encoding="utf-8")
    values = map(PublishedValue.model_validate, csv.DictReader(text.splitlines()))
    return {value.number: value for value in values}
