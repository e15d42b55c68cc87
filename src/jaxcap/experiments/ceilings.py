"""What a device can do at most, the ceilings of its roofline."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from jaxcap.kernels.ceilings import DTYPES, prepare
from jaxcap.measure.experiment import Experiment, Points, grid
from jaxcap.measure.timing import sweep
from jaxcap.results.ceilings import CALL, COPY, PRODUCT, SUM, TRANSFER, Ceilings

REDUCED = "bfloat16"


def measure_ceilings(
    platform: str | None = None,
    *,
    dtypes: Sequence[str] = DTYPES,
    rows: int | None = None,
    copied_bytes: int | None = None,
    budget_s: float = 0.2,
) -> Ceilings:
    """Measure what a device can do at most, in this process.

    Parameters
    ----------
    platform
        ``"cpu"`` or ``"gpu"``; JAX's default device if not given.
    dtypes
        Dtypes of the products: see `~jaxcap.kernels.ceilings.prepare`.
    rows
        Rows of the square matrices; by default 1500 on a CPU and 5120 elsewhere.
    copied_bytes
        Size of the array that is copied and summed; by default 128 MiB on a CPU and 1 GiB elsewhere.
    budget_s
        Seconds of sampling for each library and each rate.
    """
    device = jax.devices(platform)[0].platform
    results = sweep(
        prepare,
        points(device, dtypes, rows, copied_bytes),
        experiment="ceilings",
        budget_s=budget_s,
    )
    return Ceilings.from_results(
        results, next(r.device for r in results.results if r.variant == "JAX")
    )


def points(
    device: str, dtypes: Sequence[str], rows: int | None = None, copied_bytes: int | None = None
) -> Points:
    """List the points at which `measure_ceilings` measures: bandwidth, and products in some dtypes."""
    # Large enough to dwarf dispatch and any cache, small enough for a laptop and for measuring on an
    # accelerator within a second.
    usual_rows, usual_bytes = (1500, 2**27) if device == "cpu" else (5120, 2**30)
    sizes = (copied_bytes or usual_bytes,)
    return [
        *grid(limit=(COPY, SUM), dtype=("float32",), size=sizes, device=(device,)),
        *grid(limit=(PRODUCT,), dtype=dtypes, size=(rows or usual_rows,), device=(device,)),
    ]


def _all_limits(device: str, *others: str) -> Points:
    """List points for bandwidth, products in three or more dtypes, and the shortest call."""
    return [
        *points(device, (*DTYPES, REDUCED, *others)),
        *grid(limit=(CALL,), dtype=("float32",), size=(1,), device=(device,)),
    ]


#: On the CPU; with a GPU, also there, including TF32 and the transfer of 64 MiB to it.
CEILINGS = Experiment(
    name="ceilings",
    title="What the device can do at most",
    prepare=prepare,
    quick=_all_limits("cpu"),
    full=[
        *_all_limits("gpu", "tf32"),
        *grid(limit=(TRANSFER,), dtype=("float32",), size=(2**26,), device=("gpu",)),
        *_all_limits("cpu"),
    ],
)
