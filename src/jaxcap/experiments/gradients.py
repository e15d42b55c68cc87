"""The derivative of a function at many points, by JAX and by PyTorch, with and without a loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from jaxcap.kernels.elementwise import wave
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

OP_BY_OP, INNER_JIT, JIT = "vmap(grad)", "vmap(jit(grad))", "jit(vmap(grad))"
LOOP, BACKWARD, FUNC = "PyTorch loop", "PyTorch backward", "torch.func"
MAX_LOOPED = 1000  # for more points, a call of the loop would take seconds


def prepare(points: int, device: str) -> Variants:
    """Prepare the slopes of ``wave`` at ``points`` float32 numbers, in three ways by JAX and by PyTorch.

    PyTorch's are left out on a GPU that it cannot use.
    """
    return {**prepare_jax(points, device), **prepare_torch(points, device)}


def prepare_jax(points: int, device: str) -> Variants:
    """Prepare the JAX variants."""
    on_device = jax.device_put(_inputs(points), jax.devices(device)[0])
    derivative = jax.grad(wave)
    return {
        OP_BY_OP: partial(jax.vmap(derivative), on_device),
        INNER_JIT: partial(jax.vmap(jax.jit(derivative)), on_device),
        JIT: partial(jax.jit(jax.vmap(derivative)), on_device),
    }


def prepare_torch(points: int, device: str) -> Variants:
    """Prepare the PyTorch variants: none on a GPU that it cannot use."""
    import torch

    from jaxcap.kernels import autodiff_torch

    if device == "gpu" and not torch.cuda.is_available():
        return {}
    on_device = torch.tensor(_inputs(points), device="cuda" if device == "gpu" else "cpu")
    variants: dict[str, Callable[[], Any]] = {
        BACKWARD: partial(autodiff_torch.derivatives_by_backward, on_device),
        FUNC: partial(autodiff_torch.derivatives_by_func, on_device),
    }
    if points <= MAX_LOOPED:
        variants[LOOP] = partial(autodiff_torch.derivatives_by_loop, on_device)
    return variants


def _inputs(points: int) -> npt.NDArray[np.float32]:
    return np.linspace(0, 10 * np.pi, points, dtype=np.float32)


#: A thousand points on the CPU; with a GPU, also ten million, on both devices.
GRADIENTS = Experiment(
    name="gradients",
    title="A slope at many points",
    prepare=prepare,
    quick=grid(points=(1000,), device=("cpu",)),
    full=grid(points=(1000, 10_000_000), device=("gpu", "cpu")),
    empty_caches=False,  # the variants share no compiled function
)
