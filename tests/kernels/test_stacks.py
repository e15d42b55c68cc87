"""The step of a stack of layers against NumPy in 64 bits, with Flax NNX and without."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
import pytest
from flax import nnx

from jaxcap.kernels import stacks

LAYERS, WIDTH, BATCH = 3, 4, 5
Numbers = npt.NDArray[np.float64]
X, Y = np.random.default_rng(0).standard_normal((2, BATCH, WIDTH)).astype(np.float32)


def numpy_loss(layers: dict[int, dict[str, Numbers]]) -> float:
    x = X.astype(np.float64)
    for number in range(LAYERS):
        x = np.tanh(x @ layers[number]["kernel"] + layers[number]["bias"])
    return float(np.mean((x - Y) ** 2))


def numpy_step(layers: dict[int, dict[str, Numbers]]) -> dict[int, dict[str, Numbers]]:
    """Take a step down a slope that is found by differences."""
    stepped = {n: {k: v.copy() for k, v in layer.items()} for n, layer in layers.items()}
    for number, layer in layers.items():
        for name, values in layer.items():
            for index in np.ndindex(values.shape):
                kept, sides = values[index], []
                for change in (1e-6, -1e-6):
                    values[index] = kept + change
                    sides.append(numpy_loss(layers))
                values[index] = kept
                stepped[number][name][index] -= 0.1 * (sides[0] - sides[1]) / 2e-6
    return stepped


def pure(params: Any) -> dict[int, dict[str, Numbers]]:
    """Return the layers of a tree of parameters as arrays of NumPy in 64 bits."""
    layers: dict[int, dict[str, Numbers]] = jax.tree.map(
        partial(np.array, dtype=np.float64), params["layers"]
    )
    return layers


@pytest.fixture
def model() -> stacks.Stack:
    return stacks.Stack(LAYERS, WIDTH)


def test_all_ways_take_the_same_step(model: stacks.Stack) -> None:
    graph, params = nnx.split(model)
    start = nnx.to_pure_dict(params)
    losses, after = {}, {}
    losses["split"], new = stacks.step_split(graph, params, X, Y)
    after["split"] = pure(nnx.to_pure_dict(new))
    losses["dict"], new = stacks.step_dict(start, X, Y)
    after["dict"] = pure(new)
    losses["module"] = nnx.jit(stacks.step_module)(model, X, Y)
    after["module"] = pure(nnx.to_pure_dict(nnx.state(model)))
    expected = numpy_step(pure(start))
    for way, layers in after.items():
        assert float(losses[way]) == pytest.approx(numpy_loss(pure(start)), rel=1e-5), way
        for number, layer in layers.items():
            for name, values in layer.items():
                np.testing.assert_allclose(
                    values, expected[number][name], atol=1e-5, err_msg=f"{way} {number} {name}"
                )


def test_a_module_learns(model: stacks.Stack) -> None:
    step = nnx.jit(stacks.step_module)
    losses = [float(step(model, X, Y)) for _ in range(20)]
    assert all(later < earlier for earlier, later in pairwise(losses))
