"""Derivatives by JAX against formulas worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from seed_slopes import SEED_SLOPES, SEED_TOLERANCE

from jaxcap.kernels.autodiff import central_difference, cubic, forward_difference, wave_derivative
from jaxcap.kernels.elementwise import wave


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


def test_numpy_evaluates_wave_and_its_derivative_in_64_bits() -> None:
    x = np.linspace(-4, 4, 100)
    value, derivative = wave(x, np), wave_derivative(x, np)
    assert value.dtype == derivative.dtype == np.float64
    np.testing.assert_allclose(value, 0.2 * x + np.sin(x) + np.cos(2 * x), rtol=0, atol=1e-14)
    stepped = (wave(x + 1e-6, np) - wave(x - 1e-6, np)) / 2e-6
    np.testing.assert_allclose(derivative, stepped, rtol=0, atol=1e-8)


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
