"""One network, in two frameworks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from libraries import needs_torch

from jaxcap.kernels.convolution import convolve, in_parts, max_pool
from jaxcap.measure import compilation
from jaxcap.mnist import model
from jaxcap.mnist.model import CNN, Dropout
from jaxcap.mnist.train_flax import initial_weights

RNG = np.random.default_rng(0)
IMAGES = jnp.asarray(RNG.standard_normal((6, 28, 28, 1), np.float32))
FAST: dict[str, Any] = {"convolve": convolve, "pool": max_pool, "apply": in_parts}


@pytest.fixture(scope="module")
def weights() -> Any:
    return initial_weights(seed=3)


@needs_torch
def test_both_have_as_many_parameters(weights: Any) -> None:
    from jaxcap.mnist import model_torch

    in_flax = sum(array.size for array in jax.tree.leaves(weights))
    in_torch = sum(p.numel() for p in model_torch.CNN().parameters())
    assert in_flax == in_torch == model.PARAMETERS == 2_380_938


@needs_torch
@pytest.mark.parametrize("layers", [{}, FAST], ids=["XLA", "Winograd"])
def test_logits_agree(weights: Any, layers: dict[str, Any]) -> None:
    import torch

    from jaxcap.mnist import model_torch

    flax_cnn = CNN(nnx.Rngs(3), **layers)
    torch_cnn = model_torch.CNN().eval()
    torch_cnn.load_state_dict(model_torch.from_flax(weights))
    with torch.no_grad():
        expected = torch_cnn(torch.tensor(np.asarray(IMAGES).transpose(0, 3, 1, 2)))
    np.testing.assert_allclose(flax_cnn(IMAGES), expected, atol=1e-5)


def test_dropout_needs_a_key_and_depends_on_it() -> None:
    cnn = CNN(nnx.Rngs(0))
    np.testing.assert_array_equal(cnn(IMAGES), cnn(IMAGES))
    one, other = (cnn(IMAGES, jax.random.key(seed)) for seed in (1, 2))
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, cnn(IMAGES))


@pytest.mark.parametrize("rate", [0.25, 0.5])
@pytest.mark.parametrize("channels", [64, 10])
def test_dropout_by_bytes_drops_its_share_of_each_byte_and_keeps_the_mean(
    rate: float, channels: int
) -> None:
    x = jnp.ones((100, 40, channels))
    dropped = np.asarray(Dropout(rate)(x, rngs=nnx.Rngs(dropout=1)))
    assert set(np.unique(dropped)) == {0, np.float32(1 / (1 - rate))}
    # Each of a word's four bytes, and each image: five standard deviations of what chance allows.
    for part in (dropped[..., byte::4] for byte in range(4)):
        reach = 5 * (rate * (1 - rate) / part.size) ** 0.5
        assert (part == 0).mean() == pytest.approx(rate, abs=reach)
    kept = (dropped > 0).reshape(-1, channels).astype(float)
    correlations = np.corrcoef(kept.T) - np.eye(channels)
    assert abs(correlations).max() < 6 / len(kept) ** 0.5


def test_dropout_by_bytes_is_off_without_random_numbers_or_if_deterministic() -> None:
    x = jnp.ones((2, 8))
    assert Dropout(0.5)(x) is x
    assert Dropout(0.5)(x, deterministic=True, rngs=nnx.Rngs(0)) is x
    one, other = (Dropout(0.5)(x, rngs=nnx.Rngs(dropout=seed)) for seed in (1, 2))
    assert not np.array_equal(one, other)


def test_reduced_precision_keeps_weights_and_logits_in_float32() -> None:
    exact, reduced = (CNN(nnx.Rngs(0), dtype=dtype) for dtype in (jnp.float32, jnp.bfloat16))
    assert {leaf.dtype for leaf in jax.tree.leaves(nnx.state(reduced))} == {np.dtype("float32")}
    assert reduced(IMAGES).dtype == jnp.float32
    np.testing.assert_allclose(reduced(IMAGES), exact(IMAGES), atol=0.05)
    assert not np.array_equal(reduced(IMAGES), exact(IMAGES))


def test_work_of_a_step_is_what_the_gradient_costs_at_least() -> None:
    graph, params = nnx.split(CNN(nnx.Rngs(0)))

    def loss(params: Any) -> jax.Array:
        return nnx.merge(graph, params)(IMAGES).sum()

    counted = compilation.cost_analysis(jax.jit(jax.grad(loss)).lower(params).compile())
    assert counted is not None
    ours = model.work_of_step(len(IMAGES)).flops
    assert ours < counted.flops < 1.2 * ours
