"""The measured ceilings of a device, and the share of them that a result reaches.

Arithmetic and memory traffic overlap, so a call takes at least as long as the slower of the two:

    least time = max(operations / rate of arithmetic, bytes moved / bandwidth)

Both ceilings are measured, because a data sheet describes another clock, other cooling and no
library. They are the best that a library reached here, so a share may exceed 1: the data were in a
cache, another library is better, or the time is wrong.

References
----------
S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", Communications of the ACM 52 (2009), no. 4, 65-76.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxcap.results import Cost, Result
from jaxcap.results.ceilings import Ceilings
from jaxcap.results.statistics import Estimate

# A result that reaches at least this share of the roofline is limited by memory or arithmetic.
LIMITED_SHARE = 0.5
# A call is limited by launching if it takes less than this many times the shortest call.
LAUNCH_BOUND = 3.0
# A call is limited by a transfer that would take at least this share of its time.
TRANSFER_SHARE = 0.5
# A call is limited by its sines if they would take at least this share of its time.
SINES_SHARE = 0.5
# A call is limited by what doesn't grow with its work if that takes at least this share of its time.
FIXED_SHARE = 0.5
# A call is limited by its way of computing if another way takes at most this share of its time.
RIVAL_SHARE = 0.5
# Memory, arithmetic and start limit a call together if one after another they would take at least this
# share of its time.
TOGETHER_SHARE = 0.5


def roofline_fraction(
    result: Result, ceilings: Ceilings, *, dtype: str = "float32", cost: Cost | None = None
) -> Estimate:
    """Share of the roofline that a result reaches: the least possible time over the time taken.

    Parameters
    ----------
    result
        A result from the device of the ceilings.
    ceilings
        What `~jaxcap.experiments.ceilings.measure_ceilings` returns.
    dtype
        The dtype of the computation, one of those of ``ceilings.flops_per_s``.
    cost
        Least operations and bytes of a call; by default, XLA's estimate for the compiled program.

    Raises
    ------
    ValueError
        If the devices differ, or if the cost is neither given nor estimated.
    """
    if result.device != ceilings.device:
        raise ValueError(
            f"{result.variant!r} ran on {result.device}, but the ceilings are those of "
            f"{ceilings.device}: measure the ceilings of {result.device}"
        )
    return result.time.ratio_of(ceilings.least_time_s(cost or _estimated_cost(result), dtype))


def bottleneck(
    result: Result,
    ceilings: Ceilings,
    *,
    dtype: str = "float32",
    cost: Cost | None = None,
    smaller: Iterable[tuple[Result, Cost]] = (),
    rivals: Sequence[Result] = (),
    sines: float = 0.0,
) -> str:
    """Name what limits a result, as far as the ceilings and other results show.

    Parameters
    ----------
    result, ceilings, dtype, cost
        See `roofline_fraction`.
    smaller
        The same call with less to do, and what it costs at least.
    rivals
        Other ways to do the same work.
    sines
        How many sines and cosines a call takes, which XLA counts apart from other operations.

    Returns
    -------
    str
        ``"memory"`` or ``"arithmetic"`` if that limit explains at least half of the time. Otherwise
        ``"launch"`` if the call takes less than three times one that computes next to nothing (in
        another thread, if XLA would hand this one over). ``"sines"`` if its sines alone would take at
        least half of its time, as fast as JAX computes them.
        ``"transfer"`` if it was given NumPy's arrays and copying the working set to the device would
        take at least half of the time. The working set includes the outputs, which stay on the device,
        so this overstates the transfer. ``"fixed"`` if, by a line through the times for less work and
        for this, at least half of the time would be left without any. ``"way"`` if a rival takes at
        most half of the time. ``"together"`` if memory, arithmetic and the start explain at least half
        of the time when they don't overlap. In all other cases ``"neither"``.
    """
    cost = cost or _estimated_cost(result)
    reached = roofline_fraction(result, ceilings, dtype=dtype, cost=cost)
    time_s, least_s = result.time.value, ceilings.least_time_s(cost, dtype)
    if reached.value >= LIMITED_SHARE:
        memory_s = cost.bytes_moved / ceilings.bytes_per_s
        return "memory" if memory_s > cost.flops / ceilings.flops_per_s[dtype] else "arithmetic"
    if time_s < LAUNCH_BOUND * ceilings.start_s(cost):
        return "launch"
    if ceilings.sines_per_s and sines / ceilings.sines_per_s >= SINES_SHARE * time_s:
        return "sines"
    in_numpy = "NumPy" in {result.parameters.get("arrays"), *result.variant.split()}
    if ceilings.transfer_bytes_per_s and in_numpy:
        transfer_s = result.working_set_bytes / ceilings.transfer_bytes_per_s
        if transfer_s >= TRANSFER_SHARE * time_s:
            return "transfer"
    for other, other_cost in smaller:
        less_s = ceilings.least_time_s(other_cost, dtype)
        if less_s <= least_s / 2:  # closer together, noise would tilt the line
            slope = (time_s - other.time.value) / (least_s - less_s)
            if time_s - slope * least_s >= FIXED_SHARE * time_s:
                return "fixed"
    if any(rival.time.value <= RIVAL_SHARE * time_s for rival in rivals):
        return "way"
    parts_s = cost.bytes_moved / ceilings.bytes_per_s, cost.flops / ceilings.flops_per_s[dtype]
    if sum(parts_s, ceilings.start_s(cost)) >= TOGETHER_SHARE * time_s:
        return "together"
    return "neither"


def _estimated_cost(result: Result) -> Cost:
    if result.flops is None or result.bytes_moved is None:
        raise ValueError(f"the cost of {result.variant!r} is not known: pass it as cost")
    return Cost(result.flops, result.bytes_moved)
