"""The ceilings of a device's roofline: its bandwidth, its arithmetic and its cost of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels.precision import with_x64
from jaxcap.measure.experiment import Experiment, Points, grid
from jaxcap.measure.sampling import Variants
from jaxcap.measure.timing import sweep
from jaxcap.results.ceilings import (
    CALL,
    COPY,
    HANDED_OVER,
    HANDED_OVER_FLOPS,
    PRODUCT,
    SINES,
    SUM,
    TRANSFER,
    Ceilings,
)

DTYPES = ("float32", "float64")
REDUCED, TF32 = "bfloat16", "tf32"
LONG_RESULT = "JAX, result in float32"


def prepare(limit: str, dtype: str, size: int, device: str) -> Variants:
    """Prepare calls that should reach a limit of a device: by JAX, and on a CPU also by NumPy.

    Parameters
    ----------
    limit
        ``"copy"``, ``"sum"``, ``"transfer"``, ``"product"``, ``"sines"``, ``"call"`` or ``"call in
        another thread"``.
    dtype
        Dtype of the elements. ``"tf32"`` is a product of float32 at JAX's default precision, and
        ``"float32"`` one at the highest, which does not use TF32.
    size
        Bytes of the array that is copied, summed or transferred from NumPy; rows of the square
        matrices that are multiplied; elements of which sines are taken; or elements of the array to
        which a call adds 1.
    device
        ``"cpu"`` or ``"gpu"``.
    """
    target = jax.devices(device)[0]
    if limit == PRODUCT:
        return _prepare_product(dtype, size, target)
    counted = {CALL, HANDED_OVER, SINES}
    x = np.ones(size if limit in counted else size // 4, np.float32)
    if limit == TRANSFER:
        return {"JAX": partial(jax.device_put, x, target)}
    on_device = jax.device_put(x, target)
    functions: dict[str, Callable[..., Any]] = {COPY: jnp.copy, SUM: jnp.sum, SINES: jnp.sin}
    by_jax = partial(jax.jit(functions.get(limit, lambda x: x + 1)), on_device)
    if target.platform != "cpu" or limit in {CALL, HANDED_OVER}:
        return {"JAX": by_jax}
    by_numpy = {
        COPY: partial(np.copyto, np.empty_like(x), x),
        SUM: partial(np.sum, x),
        SINES: partial(np.sin, x),
    }
    return {"NumPy": by_numpy[limit], "JAX": by_jax}


def _prepare_product(dtype: str, rows: int, target: jax.Device) -> Variants:
    precision = "default" if dtype == TF32 else "highest"
    element_type = jnp.dtype("float32" if dtype == TF32 else dtype)
    x = np.random.default_rng(0).random((rows, rows)).astype(element_type)
    # Mode and dtype agree, because JAX would convert float64 to float32 in its 32-bit mode.
    in_mode = with_x64 if element_type == np.float64 else lambda fn: fn
    on_device = in_mode(jax.device_put)(x, target)
    matmul = in_mode(jax.jit(partial(jnp.matmul, precision=precision)))
    by_jax = partial(matmul, on_device, on_device)
    if dtype == REDUCED:  # to round the result to so few bits may take longer than the product
        unrounded = jax.jit(partial(jnp.matmul, preferred_element_type=jnp.float32))
        return {"JAX": by_jax, LONG_RESULT: partial(unrounded, on_device, on_device)}
    if target.platform != "cpu" or dtype not in DTYPES:
        return {"JAX": by_jax}
    return {"NumPy": partial(np.matmul, x, x), "JAX": by_jax}


def measure_ceilings(
    platform: str | None = None,
    *,
    dtypes: Sequence[str] = DTYPES,
    rows: int | None = None,
    copied_bytes: int | None = None,
    budget_s: float = 0.2,
) -> Ceilings:
    """Measure the ceilings of a device, in this process.

    Parameters
    ----------
    platform
        ``"cpu"`` or ``"gpu"``; JAX's default device if not given.
    dtypes
        Dtypes of the products: see `prepare`.
    rows
        Rows of the square matrices; by default 1000 on a CPU and 5120 elsewhere.
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
    usual_rows, usual_bytes = (1000, 2**27) if device == "cpu" else (5120, 2**30)
    sizes = (copied_bytes or usual_bytes,)
    return [
        *grid(limit=(COPY, SUM), dtype=("float32",), size=sizes, device=(device,)),
        *grid(limit=(PRODUCT,), dtype=dtypes, size=(rows or usual_rows,), device=(device,)),
    ]


def _all_limits(device: str, *others: str) -> Points:
    return [
        *points(device, (*DTYPES, REDUCED, *others)),
        *grid(limit=(CALL,), dtype=("float32",), size=(1,), device=(device,)),
        # Enough to fill all cores, and little enough for their caches.
        *grid(limit=(SINES,), dtype=("float32",), size=(10**6,), device=(device,)),
    ]


_HANDED_OVER = grid(
    limit=(HANDED_OVER,), dtype=("float32",), size=(2 * HANDED_OVER_FLOPS,), device=("cpu",)
)

#: On the CPU; with a GPU, also there, including TF32 and the transfer of 64 MiB to it.
CEILINGS = Experiment(
    name="ceilings",
    title="What the device can do at most",
    prepare=prepare,
    quick=[*_all_limits("cpu"), *_HANDED_OVER],
    full=[
        *_all_limits("gpu", TF32),
        *grid(limit=(TRANSFER,), dtype=("float32",), size=(2**26,), device=("gpu",)),
        *_all_limits("cpu"),
        *_HANDED_OVER,
    ],
    empty_caches=False,  # the variants share no compiled function
)
