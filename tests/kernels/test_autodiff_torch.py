"""Derivatives by PyTorch: those that the seed document shows, and those by JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from seed_slopes import SEED_SLOPES, SEED_TOLERANCE

pytest.importorskip("torch", reason="needs PyTorch")

import torch

from jaxcap.kernels import autodiff_torch
from jaxcap.kernels.elementwise import wave

Slopes = Callable[[torch.Tensor], torch.Tensor]
each_way = pytest.mark.parametrize(
    "slopes_of",
    [
        autodiff_torch.derivatives_by_backward,
        autodiff_torch.derivatives_by_loop,
        autodiff_torch.derivatives_by_func,
    ],
)


@each_way
def test_slopes_at_the_points_of_the_seed_by_pytorch(slopes_of: Slopes) -> None:
    slopes = slopes_of(torch.linspace(0, 4 * torch.pi, 20))
    np.testing.assert_allclose(slopes.numpy(), SEED_SLOPES, rtol=0, atol=SEED_TOLERANCE)


@each_way
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pytorch_agrees_with_jax(slopes_of: Slopes, dtype: Any) -> None:
    x = np.linspace(0, 10 * np.pi, 100, dtype=dtype)
    result = slopes_of(torch.tensor(x))
    with jax.enable_x64(True):
        expected = jax.vmap(jax.grad(wave))(jnp.asarray(x))
    assert result.numpy().dtype == expected.dtype == dtype
    np.testing.assert_allclose(result.numpy(), expected, rtol=0, atol=16 * np.finfo(dtype).eps)


def test_wave_is_the_same_function_in_both_libraries() -> None:
    x = np.linspace(-4, 4, 100, dtype=np.float32)
    result = autodiff_torch.wave_torch(torch.tensor(x))
    np.testing.assert_allclose(result.numpy(), wave(jnp.asarray(x)), rtol=0, atol=1e-6)


@each_way
def test_pytorch_leaves_its_input_alone(slopes_of: Slopes) -> None:
    x = torch.linspace(0, 1, 3)
    first = slopes_of(x)
    assert x.grad is None
    assert not x.requires_grad
    torch.testing.assert_close(slopes_of(x), first, rtol=0, atol=0)  # nothing accumulated
