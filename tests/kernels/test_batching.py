"""Mapping a function of one example gives what batching by hand gives, and NumPy in 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

from jaxcap.kernels import batching

N, D = 13, 5
PER_EXAMPLE = (None, 0, 0)


def inputs() -> tuple[npt.NDArray[np.float64], ...]:
    rng = np.random.default_rng(0)
    labels = (np.arange(N) % 2).astype(float)
    return rng.standard_normal(D), rng.standard_normal((N, D)), labels


def sigmoid(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    s: npt.NDArray[np.float64] = 1 / (1 + np.exp(-x))
    return s


@pytest.mark.parametrize(
    "losses",
    [jax.vmap(batching.logistic_loss, PER_EXAMPLE), batching.logistic_losses],
    ids=["vmap", "by hand"],
)
def test_losses(losses: Callable[..., jax.Array]) -> None:
    weights, features, labels = inputs()
    probability = sigmoid(features @ weights)
    expected = -np.log(np.where(labels == 1, probability, 1 - probability))
    result = losses(*(jnp.asarray(a, jnp.float32) for a in inputs()))
    assert result.shape == (N,)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "gradients",
    [jax.vmap(jax.grad(batching.logistic_loss), PER_EXAMPLE), batching.logistic_gradients],
    ids=["vmap", "by hand"],
)
def test_gradients(gradients: Callable[..., jax.Array]) -> None:
    weights, features, labels = inputs()
    expected = (sigmoid(features @ weights) - labels)[:, None] * features
    result = gradients(*(jnp.asarray(a, jnp.float32) for a in inputs()))
    assert result.shape == (N, D)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_loss_stays_finite_for_large_scores() -> None:
    weights, features = jnp.asarray([1000.0]), jnp.asarray([1.0])
    assert float(batching.logistic_loss(weights, features, jnp.float32(0))) == 1000
    assert float(batching.logistic_loss(weights, features, jnp.float32(1))) == 0


@pytest.mark.parametrize(
    ("gradient", "expected"),
    [([3.0, 4.0], [0.6, 0.8]), ([0.3, 0.4], [0.3, 0.4]), ([0.0, 0.0], [0.0, 0.0])],
)
def test_clip_shortens_what_is_too_long_only(gradient: list[float], expected: list[float]) -> None:
    result = batching.clip(jnp.asarray(gradient), 1.0)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "distances",
    [
        jax.vmap(jax.vmap(batching.distance, (None, 0)), (0, None)),
        batching.distances,
    ],
    ids=["vmap", "by hand"],
)
def test_distances_of_all_pairs(distances: Any) -> None:
    a, b = jnp.asarray([[0.0, 0.0], [3.0, 4.0]]), jnp.asarray([[0.0, 0.0], [0.0, 4.0], [6.0, 8.0]])
    np.testing.assert_allclose(distances(a, b), [[0, 4, 10], [5, 3, 5]])


def test_a_mapped_axis_must_have_one_length() -> None:
    arguments = [jnp.asarray(a, jnp.float32) for a in inputs()]
    with pytest.raises(ValueError, match=r"axis 0 of argument weights of type float32\[5\]"):
        jax.vmap(batching.logistic_loss)(*arguments)
