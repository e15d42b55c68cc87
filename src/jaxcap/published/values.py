"""The published figures, as their documents give them, and what each is to be compared with."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from pydantic import PositiveInt, field_validator

from jaxcap.results import Parameter
from jaxcap.results.environment import Record

#: What each document is. Two are versions of one: the first prints results, the second refers to logs.
DOCUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "analysis": "An analysis of JAX's capabilities: results in its README",
        "analysis logs": "The same analysis: results in its logs",
        "tutorial": "A blog's tutorial: a quick peek at JAX",
        "notebook": "A notebook on dispatch: from Autograd to JAX in Geomstats",
        "exercises": "An exercise sheet: random numbers",
    }
)

NOT_AWAITED = "does not wait"
FIRST_COUNTED = "counts the first call"
REWRAPPED = "wraps jit anew"
LOOPED = "loops over scalars"
OTHER_NETWORK = "trains another network"

#: Mistakes that a document shows, and what to say of a figure that has one.
MISTAKES: Mapping[str, str] = MappingProxyType(
    {
        NOT_AWAITED: "The clock stopped before the result was there",
        FIRST_COUNTED: "The first call was counted, which compiles, loads code or gets its memory",
        REWRAPPED: "Each call wrapped the function in jax.jit anew",
        LOOPED: "A loop in Python went over scalars, where one call could take them all",
        OTHER_NETWORK: "Another network was trained",
    }
)

_SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


class Published(Record):
    """A figure that a document published.

    Attributes
    ----------
    number
        Names this figure among all.
    document
        A key of `~jaxcap.published.DOCUMENTS`.
    task
        What was done.
    way
        By which library or variant.
    device
        Where, in the document's words; empty for what doesn't depend on it.
    value
        As it was printed, in ``unit``: a time, a share in per cent, or a plain number.
    calls
        How many calls of ours do what took so long.
    mistakes
        Keys of `~jaxcap.published.MISTAKES`: those that the document or its program shows.
    incomparable
        Why nobody could do the same today, if so.
    experiment
        That repeats it.
    variant
        That does it in the same way, mistakes and all.
    parameters
        That it was done with.
    instead
        The variant without the mistake, where that is another.
    statistic
        ``"first call"`` where it was that which was timed.
    control
        Number of a figure from the same machine whose code has hardly changed since: NumPy's.
    computed
        Name of what to compute where the figure is no time.
    """

    number: str
    document: str
    task: str
    way: str
    device: str
    value: float
    unit: Literal["s", "ms", "µs", "%", ""]
    calls: PositiveInt
    mistakes: tuple[str, ...]
    incomparable: str
    experiment: str
    variant: str
    instead: str
    statistic: Literal["", "first call"]
    parameters: dict[str, Parameter]
    control: str
    computed: str

    @field_validator("mistakes", mode="before")
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
        """The figure as its document has it."""
        number = f"{self.value!r} {self.unit}".replace(".0 ", " ").strip()
        return f"{number} for {self.calls:,} calls" if self.calls > 1 else number

    @property
    def time_s(self) -> float | None:
        """Seconds for a call, if the figure is a time."""
        return self.value * _SECONDS[self.unit] / self.calls if self.unit in _SECONDS else None

    @property
    def platform(self) -> str:
        """The kind of device."""
        return "cpu" if self.device == "CPU" else "gpu"


@cache
def load() -> Mapping[str, Published]:
    """All published figures, by number."""
    text = (files(__package__) / "values.csv").read_text(encoding="utf-8")
    figures = map(Published.model_validate, csv.DictReader(text.splitlines()))
    return MappingProxyType({figure.number: figure for figure in figures})
