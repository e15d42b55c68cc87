"""The loss of the small network, and its gradient, against formulas in NumPy."""

from __future__ import annotations

import jax
import numpy as np
import numpy.typing as npt

from jaxcap.kernels import network

Float64 = npt.NDArray[np.float64]


def gelu(x: Float64) -> tuple[Float64, Float64]:
    """Return the activation and its derivative, in the form with a hyperbolic tangent."""
    factor = np.sqrt(2 / np.pi)
    tanh = np.tanh(factor * (x + 0.044715 * x**3))
    inner = factor * (1 + 3 * 0.044715 * x**2)
    return x * (1 + tanh) / 2, (1 + tanh) / 2 + x * (1 - tanh**2) * inner / 2


def test_loss_and_gradient_follow_the_chain_rule() -> None:
    weights, x = network.example(layers=3, batch=5)
    inputs, slopes, y = [], [], x.astype(np.float64)
    for weight in weights:
        inputs.append(y)
        y, slope = gelu(y @ weight)
        slopes.append(slope)
    np.testing.assert_allclose(network.loss(weights, x), (y**2).mean(), rtol=1e-5)
    gradient, backwards = [], 2 * y / y.size
    for weight, into, slope in zip(weights[::-1], inputs[::-1], slopes[::-1], strict=True):
        backwards = backwards * slope
        gradient.append(into.T @ backwards)
        backwards = backwards @ weight.T
    for ours, expected in zip(jax.grad(network.loss)(weights, x), gradient[::-1], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-6)


def test_no_two_layers_have_the_same_shape() -> None:
    weights, x = network.example(layers=8)
    assert x.shape == (128, 64)
    assert [weight.shape for weight in weights] == [(into, into + 8) for into in range(64, 128, 8)]
    assert {array.dtype for array in (*weights, x)} == {np.dtype(np.float32)}
