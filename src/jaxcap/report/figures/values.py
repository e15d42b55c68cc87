"""What figures draw of results: estimates with their processes, and how they are told in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from operator import attrgetter
from typing import Any

from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.statistics import Estimate, Speedup

TIME = "time of a call (lower is better)"
#: Values that differ by more than this factor are drawn on a logarithmic axis, and so not as bars.
MAX_BAR_RATIO = 20.0
#: How the dots of processes look.
PROCESS: Mapping[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 4}


def getter(value: str | Callable[[Result], Estimate]) -> Callable[[Result], Estimate]:
    """Return a function that reads a value from a result, given that function or an attribute's name."""
    return attrgetter(value) if isinstance(value, str) else value


def paired(results: ResultSet, over: str) -> list[tuple[Result, Speedup]]:
    """Compare results with a variant, or raise where none took turns with it."""
    pairs = results.paired_speedups(over)
    if not pairs:
        results.select(variant=over)  # if there is no such variant, this says which there are
        raise ResultsError(f"no other variant was measured in turns with {over!r} by a fine clock")
    return pairs


def limits_of(estimates: Iterable[Estimate]) -> tuple[float, float]:
    """Return the smallest and the largest positive number that processes saw, or that is drawn."""
    return positive_range(number for e in estimates for number in (e.value, *e.observed))


def positive_range(numbers: Iterable[float]) -> tuple[float, float]:
    """Return the smallest and the largest number that has a place on a logarithmic axis."""
    # A clock may have been too coarse to see any time, or any but for a rate.
    positive = [number for number in numbers if 0 < number < inf] or [1e-9]
    return min(positive), max(positive)


def describe(estimates: Iterable[tuple[str, Estimate]]) -> str:
    """List named values, the smallest first."""
    ordered = sorted(estimates, key=lambda pair: pair[1].value)
    return "; ".join(f"{name}: {estimate.short}" for name, estimate in ordered)
