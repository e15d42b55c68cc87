"""What a device can do at most, measured, and what share of it a result reaches.

Arithmetic and memory traffic overlap, so a call takes at least as long as the slower of the two:

    least time = max(operations / rate of arithmetic, bytes moved / bandwidth)

Both ceilings are measured, because a data sheet describes another clock, another cooling and no
library. They are the best that a library reached here, so a share may exceed 1: the data lay in a
cache, another library is better, or the time is wrong.

References
----------
S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", Communications of the ACM 52 (2009), no. 4, 65-76.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, cycle, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxcap.kernels.ceilings import CALL, COPY, PRODUCT, SUM, TRANSFER, amount
from jaxcap.results import Cost, Result, ResultSet
from jaxcap.results.environment import Device
from jaxcap.results.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A call that takes fewer times one that computes next to nothing than this mostly starts things.
LAUNCH_BOUND = 3.0
# A share of the limit from which on the limit explains the time, and one of the time that explains it.
NEAR, MOST = 0.5, 0.5

# Rates that differ by less have one label.
SAME_LINE = 1.6

_BESIDE: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}


@dataclass(frozen=True)
class Ceilings:
    """The best rates that were measured on a device.

    Attributes
    ----------
    device
        Which device.
    bytes_per_s
        Bandwidth of its memory.
    flops_per_s
        Floating-point operations by name of the dtype.
    call_s
        Seconds that a compiled call takes that computes next to nothing, if measured: usually, not
        at least.
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
        """Take the best rates that results of ``prepare`` reached on a device, in any sample.

        Raises
        ------
        ValueError
            If neither copies nor sums were measured there, or what was has no positive size.
        """
        rates: dict[str, list[float]] = {}
        for result in results.results:
            if result.device == device:
                limit, dtype, size = (result.parameters[k] for k in ("limit", "dtype", "size"))
                kind = str(dtype) if limit == PRODUCT else str(limit)
                fastest_s = min(sample for run in result.runs for sample in run.samples_s)
                if limit == CALL:  # a cost, of which the usual counts
                    fastest_s = result.time.value
                rates.setdefault(kind, []).append(amount(str(limit), int(size)) / fastest_s)
        best = {kind: max(some) for kind, some in rates.items()}
        if not {COPY, SUM} & set(best):
            raise ValueError(f"no bandwidth of {device} was measured: measure its ceilings")
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

    def least_time_s(self, work: Cost, dtype: str) -> float:
        """Seconds that work in a dtype takes at least: see the formula above."""
        return max(work.flops / self.flops_per_s[dtype], work.bytes_moved / self.bytes_per_s)

    def attainable_flops_per_s(self, intensity: float, dtype: str) -> float:
        """Most operations a second at so many operations for each byte moved: the roofline."""
        return min(self.flops_per_s[dtype], intensity * self.bytes_per_s)


def roofline_fraction(
    result: Result, ceilings: Ceilings, *, dtype: str = "float32", work: Cost | None = None
) -> Estimate:
    """Share of the roofline that a result reaches: the least time possible over the time taken.

    Parameters
    ----------
    result
        Measured on the device of the ceilings.
    ceilings
        From `~jaxcap.experiments.ceilings.measure_ceilings`.
    dtype
        That the work was done in.
    work
        That a call needs to do. By default, what XLA says of the compiled program.

    Raises
    ------
    ValueError
        If the devices differ, or nobody knows the work.
    """
    if result.device != ceilings.device:
        raise ValueError(
            f"{result.variant!r} ran on {result.device}, and the ceilings are those of "
            f"{ceilings.device}: measure the ceilings of the former"
        )
    if work is None:
        if result.flops is None or result.bytes_moved is None:
            raise ValueError(f"the work of {result.variant!r} is not known: pass work")
        work = Cost(result.flops, result.bytes_moved)
    return result.time.rate(ceilings.least_time_s(work, dtype))


def bottleneck(
    result: Result, ceilings: Ceilings, *, dtype: str = "float32", work: Cost | None = None
) -> str:
    """Say what the time of a result goes to, as far as the ceilings tell.

    Parameters
    ----------
    result, ceilings, dtype, work
        As of `roofline_fraction`.

    Returns
    -------
    str
        ``"memory"`` or ``"arithmetic"`` if that limit explains half of the time; otherwise
        ``"launch"`` if it takes less than three times a call that computes next to nothing,
        ``"transfer"`` if bringing its arrays from NumPy's memory would take half of its time and
        they lie there, and else ``"neither"``.
    """
    reached = roofline_fraction(result, ceilings, dtype=dtype, work=work)
    if reached.value >= NEAR:
        work = work or Cost(result.flops or 0, result.bytes_moved or 0)
        by_memory = work.bytes_moved / ceilings.bytes_per_s
        return "memory" if by_memory > work.flops / ceilings.flops_per_s[dtype] else "arithmetic"
    if ceilings.call_s and result.time.value < LAUNCH_BOUND * ceilings.call_s:
        return "launch"
    in_numpy = "NumPy" in {result.parameters.get("arrays"), *result.variant.split()}
    if ceilings.transfer_bytes_per_s and in_numpy:
        transfer_s = result.working_set_bytes / ceilings.transfer_bytes_per_s
        if transfer_s >= MOST * result.time.value:
            return "transfer"
    return "neither"


def figure(
    ceilings: Ceilings,
    done: Iterable[tuple[Result, Cost]],
    *,
    title: str | None = None,
    named: Callable[[Result], str] = attrgetter("variant"),
) -> Figure:
    """Draw the roofline, and what results reach of it.

    Parameters
    ----------
    ceilings
        A line is drawn for each dtype.
    done
        Results and the work of a call of each. Those of other devices and those without
        floating-point operations have no place in the figure and are left out.
    title
        The device, if not given.
    named
        What a result is called in the legend: a colour for each name.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import EngFormatter

    from jaxcap.report import figures

    done = [(r, work) for r, work in done if r.device == ceilings.device and work.flops > 0]
    intensities = [work.flops / work.bytes_moved for _, work in done]
    with plt.rc_context(figures.STYLE):
        drawn, axes = plt.subplots()
        xs = np.geomspace(min(intensities, default=1) / 4, max(intensities, default=1) * 8)
        for dtypes in _close_together(ceilings.flops_per_s):
            for dtype in dtypes:
                ys = [ceilings.attainable_flops_per_s(float(x), dtype) for x in xs]
                axes.loglog(xs, ys, color=figures.GRID, linewidth=1.2)
            axes.annotate(figures.plain("\n".join(dtypes)), (xs[-1], ys[-1]), **_BESIDE)
        colours = figures.palette(named(result) for result, _ in done)
        # A colour that comes back has another marker.
        again = chain.from_iterable(
            repeat(marker, len(figures.COLOURS)) for marker in figures.MARKERS
        )
        markers = dict(zip(colours, cycle(again), strict=False))
        for name, colour in colours.items():
            placed = [
                (intensity, work.flops / result.time.value)
                for intensity, (result, work) in zip(intensities, done, strict=True)
                if named(result) == name
            ]
            axes.plot(
                *zip(*placed, strict=True), markers[name], color=colour, label=figures.plain(name)
            )
        axes.yaxis.set_major_formatter(EngFormatter(unit="FLOP/s"))
        axes.set_xlabel("operations for each byte moved")
        axes.set_title(figures.plain(title or str(ceilings.device)))
        if done:
            drawn.legend(loc="outside lower center", ncols=3, fontsize=9.5)
    return drawn


def _close_together(rates: Mapping[str, float]) -> list[list[str]]:
    """Group dtypes whose lines would be too close for a label each, the fastest first."""
    groups: list[list[str]] = []
    for dtype in sorted(rates, key=rates.__getitem__, reverse=True):
        if groups and rates[groups[-1][-1]] < SAME_LINE * rates[dtype]:
            groups[-1].append(dtype)
        else:
            groups.append([dtype])
    return groups
