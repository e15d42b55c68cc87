"""Calls that should reach a limit of a device: its bandwidth, its arithmetic, its cost of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels.precision import with_x64

DTYPES = ("float32", "float64")


def prepare(limit: str, dtype: str, size: int, device: str) -> Mapping[str, Callable[[], Any]]:
    """Prepare calls that should reach a limit of a device: by JAX, and on a CPU also by NumPy.

    Parameters
    ----------
    limit
        ``"copy"``, ``"sum"``, ``"transfer"``, ``"product"`` or ``"call"``: see ``size``.
    dtype
        Dtype of the elements. ``"tf32"`` stands for a product of float32 at JAX's default precision,
        and ``"float32"`` for one at the highest, which does not use TF32.
    size
        Bytes of the array that is copied, summed or transferred from NumPy; rows of the square
        matrices that are multiplied; or elements of the array to which a call adds 1.
    device
        ``"cpu"`` or ``"gpu"``.
    """
    target = jax.devices(device)[0]
    if limit == "product":
        return _products(dtype, size, target)
    x = np.ones(size if limit == "call" else size // 4, np.float32)
    on_device = jax.device_put(x, target)
    if limit == "call":
        return {"JAX": partial(jax.jit(lambda x: x + 1), on_device)}
    if limit == "transfer":
        return {"JAX": partial(jax.device_put, x, target)}
    variants: dict[str, Callable[[], Any]] = {}
    if target.platform == "cpu":
        by_numpy = {"copy": partial(np.copyto, np.empty_like(x), x), "sum": partial(np.sum, x)}
        variants["NumPy"] = by_numpy[limit]
    by_jax: dict[str, Callable[..., Any]] = {"copy": jnp.copy, "sum": jnp.sum}
    variants["JAX"] = partial(jax.jit(by_jax[limit]), on_device)
    return variants


def _products(dtype: str, n: int, target: jax.Device) -> Mapping[str, Callable[[], Any]]:
    precision = "default" if dtype == "tf32" else "highest"
    kind = jnp.dtype("float32" if dtype == "tf32" else dtype)
    x = np.random.default_rng(0).random((n, n)).astype(kind)
    in_64 = with_x64 if kind == np.float64 else lambda fn: fn
    on_device = in_64(jax.device_put)(x, target)
    matmul = in_64(jax.jit(partial(jnp.matmul, precision=precision)))
    variants: dict[str, Callable[[], Any]] = {}
    if target.platform == "cpu" and kind.name in DTYPES:
        variants["NumPy"] = partial(np.matmul, x, x)
    variants["JAX"] = partial(matmul, on_device, on_device)
    return variants
