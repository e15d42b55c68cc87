"""What is compared of a benchmark, and which variants there are. Needs no JAX, unlike the benchmarks."""

from __future__ import annotations

from typing import Literal

from jaxcap.results import Result
from jaxcap.results.statistics import Estimate

# The time of a call, that of the first one, which compiles, or XLA's temporary memory.
Quantity = Literal["time", "first call", "temporary memory"]
QUANTITIES: tuple[Quantity, ...] = ("time", "first call", "temporary memory")

JAX, NUMPY = "JAX", "NumPy"

#: By unit, what stands for nothing, of which there is no logarithm: no clock sees a shorter time, and a
#: program that needs no temporary memory counts as one that needs a byte.
LEAST = {"s": 1e-9, "bytes": 1.0}


def estimate_of(result: Result, quantity: Quantity) -> Estimate | None:
    """Return a quantity of a result, which may be zero; None if it isn't known."""
    if quantity == "temporary memory":
        if result.temporary_bytes is None:
            return None
        return Estimate(*3 * (float(result.temporary_bytes),), 1.0, "bytes", "counted")
    return result.time if quantity == "time" else result.first_call
