"""Derivatives against formulas worked out by hand, by JAX and by PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.test_util import check_grads

from jaxcap.kernels import autodiff_torch
from jaxcap.kernels.autodiff import central_difference, cubic, forward_difference, wave_derivative
from jaxcap.kernels.elementwise import wave

Slopes = Callable[[torch.Tensor], torch.Tensor]
TORCH: list[Slopes] = [
    autodiff_torch.derivatives_by_backward,
    autodiff_torch.derivatives_by_loop,
    autodiff_torch.derivatives_by_func,
]
# The slopes at 20 points from 0 to 4 pi that the seed document shows.
SEED_SLOPES = [
    *(1.2, -0.9496601, -0.50640905, 1.2697529, 0.9948586, -1.435761, -2.4704502, -0.2117664),
    *(2.578496, 2.3742416, -0.08260958, -1.0845982, 0.44661242, 1.5158873, -0.1369658),
    *(-2.3538072, -1.6731402, 1.3973863, 2.9279408, 1.1999986),
]
# Libraries may round a point differently, by 9.5e-7, and the slope changes up to five times as fast.
SEED_TOLERANCE = 1e-5


def test_cubic_and_its_derivatives_at_17() -> None:
    assert cubic(17) == 69_003
    derivative: Callable[..., Any] = cubic
    for expected in (12151.0, 1428.0, 84.0, 0.0):
        derivative = jax.grad(derivative)
        assert float(derivative(17.0)) == expected


def test_an_integer_has_no_gradient() -> None:
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs"):
        jax.grad(cubic)(17)


def test_value_and_slope_of_wave_at_3() -> None:
    value, slope = jax.value_and_grad(wave)(3.0)
    # The unit in the last place is 1.2e-7 and 1.5e-8 here, and sin and cos are right to two.
    assert float(value) == pytest.approx(1.7012904, abs=3e-7)
    assert float(slope) == pytest.approx(-0.2311615, abs=3e-7)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: jax.vmap(jax.grad(f)),
        lambda f: jax.vmap(jax.jit(jax.grad(f))),
        lambda f: jax.jit(jax.vmap(jax.grad(f))),
    ],
    ids=["op by op", "jit inside", "jit outside"],
)
def test_slopes_at_the_points_of_the_seed_by_jax(transform: Any) -> None:
    slopes = transform(wave)(jnp.linspace(0.0, 4 * jnp.pi, 20))
    np.testing.assert_allclose(slopes, SEED_SLOPES, rtol=0, atol=SEED_TOLERANCE)


@pytest.mark.parametrize("slopes_of", TORCH)
def test_slopes_at_the_points_of_the_seed_by_pytorch(slopes_of: Slopes) -> None:
    slopes = slopes_of(torch.linspace(0, 4 * torch.pi, 20))
    np.testing.assert_allclose(slopes.numpy(), SEED_SLOPES, rtol=0, atol=SEED_TOLERANCE)


@pytest.mark.parametrize("slopes_of", TORCH)
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


def test_numpy_evaluates_wave_and_its_derivative_in_64_bits() -> None:
    x = np.linspace(-4, 4, 100)
    value, derivative = wave(x, np), wave_derivative(x, np)
    assert value.dtype == derivative.dtype == np.float64
    np.testing.assert_allclose(value, 0.2 * x + np.sin(x) + np.cos(2 * x), rtol=0, atol=1e-14)
    stepped = (wave(x + 1e-6, np) - wave(x - 1e-6, np)) / 2e-6
    np.testing.assert_allclose(derivative, stepped, rtol=0, atol=1e-8)


@pytest.mark.parametrize("slopes_of", TORCH)
def test_pytorch_leaves_its_input_alone(slopes_of: Slopes) -> None:
    x = torch.linspace(0, 1, 3)
    first = slopes_of(x)
    assert x.grad is None
    assert not x.requires_grad
    torch.testing.assert_close(slopes_of(x), first, rtol=0, atol=0)  # nothing accumulated


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.float32])
def test_slope_worked_out_by_hand_is_what_grad_computes(dtype: Any) -> None:
    x = jnp.linspace(-4.0, 4.0, 101).astype(dtype)
    result, expected = wave_derivative(x), jax.vmap(jax.grad(wave))(x)
    assert result.dtype == expected.dtype == dtype
    tolerance = 16 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance)


def test_gradients_pass_the_check_by_differences() -> None:
    with jax.enable_x64(True):
        x = jnp.linspace(0.0, 4 * jnp.pi, 20)
        check_grads(jax.jit(wave), (x,), order=2)  # type: ignore[no-untyped-call]
        slopes = jax.jit(jax.vmap(jax.grad(wave)))(x)
        stepped = central_difference(wave, x, 2.0**-17)
        np.testing.assert_allclose(slopes, stepped, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("difference", "order"), [(forward_difference, 1), (central_difference, 2)]
)
def test_halving_the_step_divides_the_error_by_the_power_of_the_order(
    difference: Any, order: int
) -> None:
    with jax.enable_x64(True):
        x = jnp.asarray(3.0)
        errors = [
            abs(float(difference(wave, x, step) - wave_derivative(x))) for step in (2**-6, 2**-7)
        ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)
