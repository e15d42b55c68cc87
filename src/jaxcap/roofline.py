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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.compilation import Work
from jaxcap.environment import Device, device_of
from jaxcap.results import Result
from jaxcap.statistics import Estimate
from jaxcap.timing import compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DTYPES = ("float32", "float64")

# Large enough to leave dispatch behind and to fit no cache, small enough for a laptop and for an
# accelerator to measure in a second.
_ROWS = {"cpu": 1500}
_MANY_ROWS = 5120
_COPIED_BYTES = {"cpu": 2**27}
_MANY_COPIED_BYTES = 2**30

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
    """

    device: Device
    bytes_per_s: float
    flops_per_s: Mapping[str, float]

    def least_time_s(self, work: Work, dtype: str) -> float:
        """Seconds that work in a dtype takes at least: see the formula above."""
        return max(work.flops / self.flops_per_s[dtype], work.bytes_moved / self.bytes_per_s)

    def attainable_flops_per_s(self, intensity: float, dtype: str) -> float:
        """Most operations a second at so many operations for each byte moved: the roofline."""
        return min(self.flops_per_s[dtype], intensity * self.bytes_per_s)


def measure_ceilings(
    platform: str | None = None,
    *,
    dtypes: Sequence[str] = DTYPES,
    rows: int | None = None,
    copied_bytes: int | None = None,
    budget_s: float = 0.2,
) -> Ceilings:
    """Measure what a device can do at most.

    The bandwidth is that of copying or adding up an array, whichever is higher. A copy moves
    twice its size; what a CPU reads of the target before it writes there is not counted. The rate
    of arithmetic is that of a matrix product, ``2 n**3`` operations. On a CPU, NumPy takes part
    beside JAX. Of all samples the fastest counts.

    Parameters
    ----------
    platform
        ``"cpu"`` or ``"gpu"``; JAX's default device if not given.
    dtypes
        Of the products. A float32 product is one without TF32.
    rows
        Of the square matrices; by default 1500 on a CPU and 5120 elsewhere.
    copied_bytes
        Size of the array that is copied; by default 128 MiB on a CPU and 1 GiB elsewhere.
    budget_s
        Seconds of sampling for each library and each rate.
    """
    device = jax.devices(platform)[0]
    rows = rows or _ROWS.get(device.platform, _MANY_ROWS)
    copied_bytes = copied_bytes or _COPIED_BYTES.get(device.platform, _MANY_COPIED_BYTES)
    with jax.enable_x64(True):
        return Ceilings(
            device=device_of(device),
            bytes_per_s=_bandwidth(device, copied_bytes, budget_s),
            flops_per_s={dtype: _product_rate(device, rows, dtype, budget_s) for dtype in dtypes},
        )


def share(
    result: Result, ceilings: Ceilings, *, dtype: str = "float32", work: Work | None = None
) -> Estimate:
    """Share of the roofline that a result reaches: the least time possible over the time taken.

    Parameters
    ----------
    result
        Measured on the device of the ceilings.
    ceilings
        From `measure_ceilings`.
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
        work = Work(result.flops, result.bytes_moved)
    return result.time.rate(ceilings.least_time_s(work, dtype))


def figure(
    ceilings: Ceilings, done: Sequence[tuple[Result, Work]], *, title: str | None = None
) -> Figure:
    """Draw the roofline, and what results reach of it: a colour for each variant.

    Parameters
    ----------
    ceilings
        A line is drawn for each dtype.
    done
        Results and the work of a call of each. Those of other devices and those without
        floating-point operations have no place in the figure and are left out.
    title
        The device, if not given.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import EngFormatter

    from jaxcap import figures

    done = [(r, work) for r, work in done if r.device == ceilings.device and work.flops]
    intensities = [work.flops / work.bytes_moved for _, work in done]
    with plt.rc_context(figures.STYLE):
        drawn, axes = plt.subplots()
        xs = np.geomspace(min(intensities, default=1) / 4, max(intensities, default=1) * 8)
        for dtype in ceilings.flops_per_s:
            ys = [ceilings.attainable_flops_per_s(float(x), dtype) for x in xs]
            axes.loglog(xs, ys, color=figures.GRID, linewidth=1.2)
            axes.annotate(dtype, (xs[-1], ys[-1]), **_BESIDE)
        colours = figures.palette(result.variant for result, _ in done)
        markers = dict(zip(colours, cycle(figures.MARKERS), strict=False))
        for variant, colour in colours.items():
            points = [
                (intensity, work.flops / result.time.value)
                for intensity, (result, work) in zip(intensities, done, strict=True)
                if result.variant == variant
            ]
            axes.plot(*zip(*points, strict=True), markers[variant], color=colour, label=variant)
        axes.yaxis.set_major_formatter(EngFormatter(unit="FLOP/s"))
        axes.set_xlabel("operations for each byte moved")
        axes.set_title(title or str(ceilings.device))
        if done:
            axes.legend(loc="lower right")
    return drawn


def _bandwidth(device: jax.Device, size: int, budget_s: float) -> float:
    x = np.ones(size // 4, np.float32)
    copies: dict[str, Callable[[], Any]] = {}
    sums: dict[str, Callable[[], Any]] = {}
    if device.platform == "cpu":
        copies["NumPy"] = partial(np.copyto, np.empty_like(x), x)
        sums["NumPy"] = partial(np.sum, x)
    on_device = jax.device_put(x, device)
    copies["JAX"] = partial(jax.jit(jnp.copy), on_device)
    sums["JAX"] = partial(jax.jit(jnp.sum), on_device)
    return max(2 * size / _fastest_s(copies, budget_s), size / _fastest_s(sums, budget_s))


def _product_rate(device: jax.Device, n: int, dtype: str, budget_s: float) -> float:
    x = np.random.default_rng(0).random((n, n)).astype(dtype)
    variants: dict[str, Callable[[], Any]] = {}
    if device.platform == "cpu":
        variants["NumPy"] = partial(np.matmul, x, x)
    on_device = jax.device_put(x, device)
    matmul = jax.jit(partial(jnp.matmul, precision="highest"))
    variants["JAX"] = partial(matmul, on_device, on_device)
    return 2 * n**3 / _fastest_s(variants, budget_s)


def _fastest_s(variants: Mapping[str, Callable[[], Any]], budget_s: float) -> float:
    results = compare(variants, experiment="ceiling", budget_s=budget_s).results
    return min(sample for result in results for run in result.runs for sample in run.samples_s)
