"""What a device can do at most, as measured, and what share of that a result reaches.

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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxcap.kernels.ceilings import CALL, COPY, PRODUCT, SUM, TRANSFER, amount
from jaxcap.results import Cost, Result, ResultSet
from jaxcap.results.environment import Device
from jaxcap.results.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A result from this share of the roofline on is explained by the roofline.
LIMITED_SHARE = 0.5
# A call shorter than this many calls that compute next to nothing is explained by launching.
LAUNCH_BOUND = 3.0
# A transfer that takes at least this share of the time explains it.
TRANSFER_SHARE = 0.5

# Rates that differ by less than this factor share a label.
MIN_LABEL_RATIO = 1.6

_BESIDE: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}


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
    """

    device: Device
    bytes_per_s: float
    flops_per_s: Mapping[str, float]
    call_s: float | None = None
    transfer_bytes_per_s: float | None = None

    @classmethod
    def of(cls, results: ResultSet, device: Device) -> Ceilings:
        """Take the best rates on a device in any sample of the experiment ``"ceilings"``.

        Raises
        ------
        ValueError
            If neither copies nor sums were measured there, or if a rate is not positive.
        """
        rates: dict[str, list[float]] = {}
        for result in results.results:
            if result.device != device:
                continue
            limit, size = str(result.parameters["limit"]), int(result.parameters["size"])
            kind = str(result.parameters["dtype"]) if limit == PRODUCT else limit
            if limit == CALL:
                time_s = result.time.value  # a cost, for which the usual time counts
            else:
                time_s = min(sample for run in result.runs for sample in run.samples_s)
            if time_s <= 0:
                raise ValueError(f"a call on {device} took no time: measure its ceilings again")
            rates.setdefault(kind, []).append(amount(limit, size) / time_s)
        best = {kind: max(values) for kind, values in rates.items()}
        if not {COPY, SUM} & set(best):
            raise ValueError(f"no bandwidth of {device} was measured: measure its ceilings first")
        if min(best.values()) <= 0:
            raise ValueError(f"a ceiling of {device} is not positive: measure its ceilings again")
        call = best.pop(CALL, None)
        return cls(
            device=device,
            bytes_per_s=max(best.pop(COPY, 0.0), best.pop(SUM, 0.0)),
            transfer_bytes_per_s=best.pop(TRANSFER, None),
            call_s=call and 1 / call,
            flops_per_s=best,
        )

    def least_time_s(self, cost: Cost, dtype: str) -> float:
        """Least seconds for a cost in a dtype: see the formula above."""
        return max(cost.flops / self.flops_per_s[dtype], cost.bytes_moved / self.bytes_per_s)

    def attainable_flops_per_s(self, intensity: float, dtype: str) -> float:
        """Most operations per second at ``intensity`` operations for each byte moved: the roofline."""
        return min(self.flops_per_s[dtype], intensity * self.bytes_per_s)


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
            f"{result.variant!r} ran on {result.device}, and the ceilings are those of "
            f"{ceilings.device}: measure the ceilings of the former"
        )
    if cost is None:
        if result.flops is None or result.bytes_moved is None:
            raise ValueError(f"the cost of {result.variant!r} is not known: pass cost")
        cost = Cost(result.flops, result.bytes_moved)
    return result.time.rate(ceilings.least_time_s(cost, dtype))


def bottleneck(
    result: Result, ceilings: Ceilings, *, dtype: str = "float32", cost: Cost | None = None
) -> str:
    """Name what limits a result, as far as the ceilings show.

    Parameters
    ----------
    result, ceilings, dtype, cost
        See `roofline_fraction`.

    Returns
    -------
    str
        ``"memory"`` or ``"arithmetic"`` if that limit explains at least half of the time; otherwise
        ``"launch"`` if the call takes less than three times one that computes next to nothing,
        ``"transfer"`` if its arrays are in NumPy's memory and copying them to the device would take
        at least half of the time, and else ``"neither"``.
    """
    reached = roofline_fraction(result, ceilings, dtype=dtype, cost=cost)
    if reached.value >= LIMITED_SHARE:
        cost = cost or Cost(result.flops or 0, result.bytes_moved or 0)
        memory_s = cost.bytes_moved / ceilings.bytes_per_s
        return "memory" if memory_s > cost.flops / ceilings.flops_per_s[dtype] else "arithmetic"
    if ceilings.call_s and result.time.value < LAUNCH_BOUND * ceilings.call_s:
        return "launch"
    in_numpy = "NumPy" in {result.parameters.get("arrays"), *result.variant.split()}
    if ceilings.transfer_bytes_per_s and in_numpy:
        transfer_s = result.working_set_bytes / ceilings.transfer_bytes_per_s
        if transfer_s >= TRANSFER_SHARE * result.time.value:
            return "transfer"
    return "neither"


def figure(
    ceilings: Ceilings,
    results_and_costs: Iterable[tuple[Result, Cost]],
    *,
    title: str | None = None,
    label: Callable[[Result], str] = attrgetter("variant"),
) -> Figure:
    """Draw the roofline, and what results reach of it.

    Parameters
    ----------
    ceilings
        A line is drawn for each dtype.
    results_and_costs
        Results, each with the cost of a call. Those of other devices and those without
        floating-point operations have no place in the figure and are left out.
    title
        Title of the figure; by default, the device.
    label
        Returns the name of a result in the legend. Each name has a colour.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import EngFormatter

    from jaxcap.report import figures

    points: dict[str, list[tuple[float, float]]] = {}  # by label: intensity and rate
    for result, cost in results_and_costs:
        if result.device == ceilings.device and cost.flops > 0:
            point = cost.flops / cost.bytes_moved, cost.flops / result.time.value
            points.setdefault(label(result), []).append(point)
    intensities = [intensity for series in points.values() for intensity, _ in series]
    with plt.rc_context(figures.STYLE):
        drawing, axes = plt.subplots()
        xs = np.geomspace(min(intensities, default=1) / 4, max(intensities, default=1) * 8)
        for dtypes in _close_together(ceilings.flops_per_s):
            for dtype in dtypes:
                ys = [ceilings.attainable_flops_per_s(float(x), dtype) for x in xs]
                axes.loglog(xs, ys, color=figures.GRID, linewidth=1.2)
            axes.annotate(figures.plain("\n".join(dtypes)), (xs[-1], ys[-1]), **_BESIDE)
        # A colour that is used again comes with another marker.
        markers = cycle(marker for marker in figures.MARKERS for _ in figures.COLOURS)
        for (name, colour), marker in zip(figures.palette(points).items(), markers, strict=False):
            axes.plot(
                *zip(*points[name], strict=True), marker, color=colour, label=figures.plain(name)
            )
        axes.yaxis.set_major_formatter(EngFormatter(unit="FLOP/s"))
        axes.set_xlabel("operations for each byte moved")
        axes.set_title(figures.plain(title or str(ceilings.device)))
        if points:
            drawing.legend(loc="outside lower center", ncols=3, fontsize=9.5)
    return drawing


def _close_together(rates: Mapping[str, float]) -> list[list[str]]:
    """Group dtypes whose lines would be too close for separate labels, the fastest first."""
    groups: list[list[str]] = []
    for dtype in sorted(rates, key=rates.__getitem__, reverse=True):
        if groups and rates[groups[-1][-1]] < MIN_LABEL_RATIO * rates[dtype]:
            groups[-1].append(dtype)
        else:
            groups.append([dtype])
    return groups
