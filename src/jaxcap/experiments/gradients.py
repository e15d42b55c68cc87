"""The slope of a function at many points, by JAX and by PyTorch, in a loop and without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from jaxcap.kernels.elementwise import wave
from jaxcap.measure.experiment import Experiment, grid

OP_BY_OP, INNER_JIT, JIT = "vmap(grad)", "vmap(jit(grad))", "jit(vmap(grad))"
LOOP, BACKWARD, FUNC = "PyTorch loop", "PyTorch backward", "torch.func"

# The loop is left out where there are more points than this: it would take seconds a call.
MOST_LOOPED = 1000

Variants = Mapping[str, Callable[[], Any]]


def prepare(points: int, device: str) -> Variants:
    """Prepare all variants on as many float32 numbers from 0 to ten pi.

    PyTorch's are left out where it isn't installed, and on a GPU that it can't use.
    """
    return {**prepare_jax(points, device), **prepare_torch(points, device)}


def prepare_jax(points: int, device: str) -> Variants:
    """Prepare the variants by JAX."""
    on_device = jax.device_put(_inputs(points), jax.devices(device)[0])
    slope = jax.grad(wave)
    return {
        OP_BY_OP: partial(jax.vmap(slope), on_device),
        INNER_JIT: partial(jax.vmap(jax.jit(slope)), on_device),
        JIT: partial(jax.jit(jax.vmap(slope)), on_device),
    }


def prepare_torch(points: int, device: str) -> Variants:
    """Prepare the variants by PyTorch: none without it, or on a GPU that it can't use."""
    if find_spec("torch") is None:
        return {}
    import torch

    from jaxcap.kernels import autodiff_torch

    if device == "gpu" and not torch.cuda.is_available():
        return {}
    on_device = torch.tensor(_inputs(points), device="cuda" if device == "gpu" else "cpu")
    theirs: dict[str, Callable[[], Any]] = {
        BACKWARD: partial(autodiff_torch.slopes_by_backward, on_device),
        FUNC: partial(autodiff_torch.slopes_by_func, on_device),
    }
    if points <= MOST_LOOPED:
        theirs[LOOP] = partial(autodiff_torch.slopes_by_loop, on_device)
    return theirs


def _inputs(points: int) -> npt.NDArray[np.float32]:
    return np.linspace(0, 10 * np.pi, points, dtype=np.float32)


#: A thousand points; with a GPU also ten million, on the GPU and on the CPU beside it.
GRADIENTS = Experiment(
    name="gradients",
    title="A slope at many points",
    prepare=prepare,
    quick=grid(points=(1000,), device=("cpu",)),
    full=grid(points=(1000, 10_000_000), device=("gpu", "cpu")),
)
