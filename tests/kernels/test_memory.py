"""The stack of layers and its gradient against NumPy in 64 bits."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

from jaxcap.kernels.memory import layer, loss, loss_unrolled, random_stack

LAYERS, WIDTH, BATCH = 3, 4, 5
Numbers = npt.NDArray[np.float64]
STACK = random_stack(LAYERS, WIDTH)
X = np.random.default_rng(0).standard_normal((BATCH, WIDTH))


def numpy_loss(stack: list[Numbers], x: Numbers) -> float:
    for into, out in zip(*stack, strict=True):
        x = x + np.tanh(x @ into) @ out
    return float(np.mean(x**2))


@pytest.mark.parametrize("function", [loss, loss_unrolled])
@pytest.mark.parametrize("apply", [layer, jax.checkpoint(layer)], ids=["plain", "checkpoint"])
def test_loss_and_its_gradient(function: Callable[..., jax.Array], apply: object) -> None:
    value, slopes = jax.value_and_grad(function)(STACK, jnp.asarray(X, jnp.float32), apply)
    weights = [np.asarray(w, np.float64) for w in STACK]
    assert value.dtype == np.float32
    assert float(value) == pytest.approx(numpy_loss(weights, X), rel=1e-5)
    for which, slope in enumerate(slopes):
        direction = np.random.default_rng(1).standard_normal(slope.shape)
        sides = []
        for step in (1e-6, -1e-6):
            moved = list(weights)
            moved[which] = weights[which] + step * direction
            sides.append(numpy_loss(moved, X))
        expected = (sides[0] - sides[1]) / 2e-6
        assert float(np.sum(slope * direction)) == pytest.approx(expected, rel=1e-4)


def test_numbers_neither_grow_nor_vanish_in_deep_stacks() -> None:
    x = jax.random.normal(jax.random.key(1), (64, 16))
    for layers in (1, 100):
        assert 1 < float(loss(random_stack(layers, 16), x)) < 5
