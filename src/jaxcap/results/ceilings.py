"""The most that a device can do, as measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jaxcap.results.environment import Device
from jaxcap.results.models import Cost, Result
from jaxcap.results.sets import ResultSet

# The limits that the experiment "ceilings" measures: values of its parameter "limit".
_LIMITS = COPY, SUM, PRODUCT, CALL, HANDED_OVER, SINES, TRANSFER = (
    "copy",
    "sum",
    "product",
    "call",
    "call in another thread",
    "sines",
    "transfer",
)
_CALLS = {CALL, HANDED_OVER}
# From this many operations on, XLA's programs for a CPU run in another thread than their call. It was
# read in XLA's source, and may change.
HANDED_OVER_FLOPS = 1000


@dataclass(frozen=True)
class Ceilings:
    """The best rates that were measured on a device.

    Attributes
    ----------
    device
        The device.
    bytes_per_s
        Bandwidth of its memory.
    flops_per_s
        Floating-point operations per second, by name of the dtype.
    call_s
        Median seconds of a compiled call that computes next to nothing, if measured.
    transfer_bytes_per_s
        Bandwidth from NumPy's memory to the device's, if measured.
    handed_over_s
        Median seconds of a call that computes little in another thread, as XLA runs programs of a
        thousand operations or more on a CPU, if measured.
    sines_per_s
        Sines of float32 numbers per second, if measured: those of JAX, because the code for sines comes
        with the library, and what it takes is no limit of the device.
    """

    device: Device
    bytes_per_s: float
    flops_per_s: Mapping[str, float]
    call_s: float | None = None
    transfer_bytes_per_s: float | None = None
    handed_over_s: float | None = None
    sines_per_s: float | None = None

    @classmethod
    def from_results(cls, results: ResultSet, device: Device) -> Ceilings:
        """Take the best rates on a device in any sample of the experiment ``"ceilings"``.

        Unknown limits, as a newer version may have recorded, are ignored.

        Raises
        ------
        ValueError
            If neither copies nor sums were measured there, or no products, or if a rate is not
            positive and finite.
        """
        best: dict[str, float] = {}
        for result in results:
            limit = str(result.parameters["limit"])
            by_other = limit == SINES and result.variant != "JAX"  # see `Ceilings`
            if result.device == device and limit in _LIMITS and not by_other:
                name = str(result.parameters["dtype"]) if limit == PRODUCT else limit
                best[name] = max(_rate(limit, result), best.get(name, 0.0))
        if not {COPY, SUM} & set(best):
            raise ValueError(
                f"the bandwidth of {device} was not measured: measure its ceilings first"
            )
        call, handed_over = best.pop(CALL, None), best.pop(HANDED_OVER, None)
        sines = best.pop(SINES, None)
        bandwidth, transfer = max(best.pop(COPY, 0.0), best.pop(SUM, 0.0)), best.pop(TRANSFER, None)
        if not best:  # what is left are the products, by dtype
            raise ValueError(
                f"the rate of arithmetic of {device} was not measured: measure its ceilings first"
            )
        return cls(
            device=device,
            bytes_per_s=bandwidth,
            transfer_bytes_per_s=transfer,
            call_s=None if call is None else 1 / call,
            handed_over_s=None if handed_over is None else 1 / handed_over,
            sines_per_s=sines,
            flops_per_s=best,
        )

    def least_time_s(self, cost: Cost, dtype: str) -> float:
        """Least seconds for a cost in a dtype: see the formula in `jaxcap.report.roofline`."""
        return max(cost.flops / self.flops_per_s[dtype], cost.bytes_moved / self.bytes_per_s)

    def start_s(self, cost: Cost) -> float:
        """Seconds that a call takes before it computes, as far as they were measured."""
        if self.handed_over_s and cost.flops >= HANDED_OVER_FLOPS:
            return self.handed_over_s
        return self.call_s or 0.0


def _rate(limit: str, result: Result) -> float:
    """Bytes moved, operations or sines done, or calls made per second."""
    size = int(result.parameters["size"])
    # A copy reads and writes its size. What a CPU reads of the target before it writes there is not
    # counted.
    amounts = {COPY: 2 * size, PRODUCT: 2 * size**3, **dict.fromkeys(_CALLS, 1)}
    amount = float(amounts.get(limit, size))
    if limit in _CALLS:
        time_s = result.time.value  # a cost, for which the usual time counts
    else:
        time_s = min(sample for run in result.runs for sample in run.samples_s)
    if min(amount, time_s) <= 0:
        raise ValueError(
            f"a ceiling of {result.device} is not positive and finite: measure its ceilings again"
        )
    return amount / time_s
