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

from collections.abc import Callable, Iterable, Mapping
from itertools import cycle
from operator import attrgetter

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from jaxcap.report import figures
from jaxcap.results import Cost, Result
from jaxcap.results.ceilings import Ceilings
from jaxcap.results.statistics import Estimate

# A result that reaches at least this share of the roofline is limited by memory or arithmetic.
LIMITED_SHARE = 0.5
# A call is limited by launching if it takes less than this many times the shortest call.
LAUNCH_BOUND = 3.0
# A call is limited by a transfer that would take at least this share of its time.
TRANSFER_SHARE = 0.5

# Rates that differ by less than this factor share a label.
MIN_LABEL_RATIO = 1.6


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
        ``"memory"`` or ``"arithmetic"`` if that limit explains at least half of the time. Otherwise
        ``"launch"`` if the call takes less than three times one that computes next to nothing.
        ``"transfer"`` if it was given NumPy's arrays and copying the working set to the device would
        take at least half of the time. In all other cases ``"neither"``. The working set includes the outputs,
        which stay on the device, so this overstates the transfer.
    """
    cost = cost or _estimated_cost(result)
    reached = roofline_fraction(result, ceilings, dtype=dtype, cost=cost)
    if reached.value >= LIMITED_SHARE:
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


def _estimated_cost(result: Result) -> Cost:
    if result.flops is None or result.bytes_moved is None:
        raise ValueError(f"the cost of {result.variant!r} is not known: pass it as cost")
    return Cost(result.flops, result.bytes_moved)


def figure(
    ceilings: Ceilings,
    results_and_costs: Iterable[tuple[Result, Cost]],
    *,
    title: str | None = None,
    label: Callable[[Result], str] = attrgetter("variant"),
) -> Figure:
    """Draw the roofline of a device, and results below it.

    Parameters
    ----------
    ceilings
        A line is drawn for each dtype.
    results_and_costs
        Results, each with the cost of a call. Results of other devices and those
        without floating-point operations are left out.
    title
        Title of the figure; by default, the device.
    label
        Returns the name of a result in the legend. Each name has a colour.
    """
    points: dict[str, list[tuple[float, float]]] = {}  # by label: intensity and rate
    for result, cost in results_and_costs:
        if result.device == ceilings.device and cost.flops > 0:
            point = cost.flops / cost.bytes_moved, cost.flops / result.time.value
            points.setdefault(label(result), []).append(point)
    intensities = [intensity for series in points.values() for intensity, _ in series]
    with plt.rc_context(figures.STYLE):
        drawing, axes = plt.subplots()
        _draw_roof(axes, ceilings, min(intensities, default=1) / 4, max(intensities, default=1) * 8)
        # A colour that is used again comes with another marker.
        markers = cycle(marker for marker in figures.MARKERS for _ in figures.COLOURS)
        for (name, colour), marker in zip(figures.palette(points).items(), markers, strict=False):
            xs, ys = zip(*points[name], strict=True)
            axes.plot(xs, ys, marker, color=colour, label=figures.escape_math(name))
        axes.yaxis.set_major_formatter(EngFormatter(unit="FLOP/s"))
        axes.set_xlabel("operations for each byte moved")
        axes.set_title(figures.escape_math(title or str(ceilings.device)))
        if points:
            drawing.legend(loc="outside lower center", ncols=3, fontsize=9.5)
    return drawing


def _draw_roof(axes: Axes, ceilings: Ceilings, left: float, right: float) -> None:
    xs = np.geomspace(left, right)
    for dtypes in _close_together(ceilings.flops_per_s):
        for dtype in dtypes:
            ys = np.minimum(ceilings.flops_per_s[dtype], xs * ceilings.bytes_per_s)
            axes.loglog(xs, ys, color=figures.GRID, linewidth=1.2)
        axes.annotate(
            figures.escape_math("\n".join(dtypes)),
            (xs[-1], ys[-1]),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )


def _close_together(rates: Mapping[str, float]) -> list[list[str]]:
    """Group dtypes whose lines would be too close for separate labels, the fastest first."""
    groups: list[list[str]] = []
    for dtype in sorted(rates, key=rates.__getitem__, reverse=True):
        if groups and rates[groups[-1][-1]] < MIN_LABEL_RATIO * rates[dtype]:
            groups[-1].append(dtype)
        else:
            groups.append([dtype])
    return groups
