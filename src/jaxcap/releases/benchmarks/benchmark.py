"""What a benchmark is. The benchmarks run under releases of JAX from 0.4.18 on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxcap.releases.quantities import JAX, NUMPY, Quantity

__all__ = ["JAX", "NUMPY", "Benchmark", "Variants"]

Variants = Mapping[str, Callable[[], Any]]


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A computation that is measured under many releases of JAX.

    Attributes
    ----------
    name
        What it computes, with its size, such as ``"sort of 100,000 numbers"``.
    topic
        What it belongs to, such as ``"loops"``.
    prepare
        Makes the inputs and returns the variants: callables without arguments, by name, ``JAX`` first.
        A variant ``NUMPY`` does the same without JAX, so a change that it shows too isn't due to JAX.
    quantity
        What the benchmark is about. All quantities are recorded.
    """

    name: str
    topic: str
    prepare: Callable[[], Variants]
    quantity: Quantity = "time"
