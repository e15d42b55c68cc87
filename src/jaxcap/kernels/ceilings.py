"""Calls that should reach a limit of a device: its bandwidth, its arithmetic, the cost of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels.precision import with_x64

DTYPES = ("float32", "float64")

COPY, SUM, PRODUCT, CALL, TRANSFER = "copy", "sum", "product", "call", "transfer"


def prepare(limit: str, dtype: str, size: int, device: str) -> Mapping[str, Callable[[], Any]]:
    """Prepare what should reach a limit of a device; on a CPU, NumPy takes part beside JAX.

    Parameters
    ----------
    limit
        ``"copy"`` and ``"sum"`` of an array of ``size`` bytes, or its ``"transfer"`` from NumPy;
        the ``"product"`` of square matrices of ``size`` rows; or a ``"call"`` that adds 1 to
        ``size`` numbers. A copy moves twice its size; what a CPU reads of the target before it
        writes there is not counted.
    dtype
        Of the elements. ``"tf32"`` stands for a product of float32 as JAX makes it by default,
        and ``"float32"`` for one without TF32.
    size
        As above.
    device
        ``"cpu"`` or ``"gpu"``.
    """
    place = jax.devices(device)[0]
    if limit == PRODUCT:
        return _products(dtype, size, place)
    x = np.ones(size if limit == CALL else size // 4, np.float32)
    on_device = jax.device_put(x, place)
    if limit == CALL:
        return {"JAX": partial(jax.jit(lambda x: x + 1), on_device)}
    if limit == TRANSFER:
        return {"JAX": partial(jax.device_put, x, place)}
    by_jax = partial(jax.jit(jnp.copy if limit == COPY else jnp.sum), on_device)
    by_numpy = {COPY: partial(np.copyto, np.empty_like(x), x), SUM: partial(np.sum, x)}[limit]
    return {**({"NumPy": by_numpy} if place.platform == "cpu" else {}), "JAX": by_jax}


def amount(limit: str, size: int) -> float:
    """Bytes moved, operations done, or calls made, of what `prepare` gives."""
    return {COPY: 2.0 * size, PRODUCT: 2.0 * size**3, CALL: 1.0}.get(limit, float(size))


def _products(dtype: str, n: int, place: jax.Device) -> Mapping[str, Callable[[], Any]]:
    precision = "default" if dtype == "tf32" else "highest"
    kind = jnp.dtype("float32" if dtype == "tf32" else dtype)
    x = np.random.default_rng(0).random((n, n)).astype(kind)
    in_64 = with_x64 if kind == np.float64 else lambda fn: fn
    on_device = in_64(jax.device_put)(x, place)
    matmul = in_64(jax.jit(partial(jnp.matmul, precision=precision)))
    by_numpy = place.platform == "cpu" and kind.name in DTYPES
    return {
        **({"NumPy": partial(np.matmul, x, x)} if by_numpy else {}),
        "JAX": partial(matmul, on_device, on_device),
    }
