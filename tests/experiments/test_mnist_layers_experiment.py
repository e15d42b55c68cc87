"""Each layer of the MNIST network has the same output and gradients in all ways to train."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

torch = pytest.importorskip("torch", reason="needs PyTorch")

from jaxcap.experiments import mnist_layers as experiment
from jaxcap.experiments.mnist import DEVICE
from jaxcap.experiments.mnist_layers import (
    ALL,
    BACKWARD,
    CONVOLUTIONS,
    FORWARD,
    LAYERS,
    UPDATE,
    in_flax,
    in_torch,
    inputs,
    prepare,
)
from jaxcap.mnist import layers, layers_torch, model_torch
from jaxcap.mnist.model import CNN
from jaxcap.mnist.train_flax import Convolution, initial_weights

BATCH = 3
WAYS = list(CONVOLUTIONS.values())


def channels_last(tensor: Any) -> np.ndarray:
    """Return pixels as Flax has them; logits stay as they are."""
    return np.moveaxis(tensor.detach().numpy(), 1, -1)


def by_definition(layer: str, x: np.ndarray) -> np.ndarray:
    """Compute a layer's output in 64 bits, without dropout."""
    weights = jax.tree.map(np.float64, initial_weights(0))
    if layer.startswith("conv"):
        patches = np.lib.stride_tricks.sliding_window_view(np.float64(x), (3, 3), axis=(1, 2))
        kernel, bias = weights[layer]["kernel"], weights[layer]["bias"]
        output = np.einsum("nrcfij,ijfo->nrco", patches, kernel) + bias
        return np.asarray(np.maximum(output, 0))
    if layer.startswith("pool"):
        return np.asarray(x.reshape(len(x), 12, 2, 12, 2, 64).max(axis=(2, 4)))
    first, second = weights["dense1"], weights["dense2"]
    hidden = np.maximum(x.reshape(len(x), -1) @ first["kernel"] + first["bias"], 0)
    result: np.ndarray = hidden @ second["kernel"] + second["bias"]
    return result


@pytest.mark.parametrize("layer", layers.LAYERS)
def test_outputs_are_those_of_the_definition(layer: str) -> None:
    x, gradient = inputs(layer, BATCH)
    expected = by_definition(layer, x)
    for convolution in WAYS:
        output, _ = in_flax(convolution, layer, FORWARD, x, gradient, dropout=False)()
        np.testing.assert_allclose(output, expected, atol=3e-5, err_msg=convolution)
    output = in_torch(layer, FORWARD, x, gradient, dropout=False)()
    np.testing.assert_allclose(channels_last(output), expected, atol=3e-5)


@pytest.mark.parametrize("convolution", WAYS)
@pytest.mark.parametrize("layer", layers.LAYERS)
def test_gradients_are_those_of_pytorch(layer: str, convolution: Convolution) -> None:
    x, gradient = inputs(layer, BATCH)
    of_weights, *of_input = in_flax(convolution, layer, BACKWARD, x, gradient, dropout=False)()
    ours = model_torch.from_flax(nnx.to_pure_dict(of_weights))
    theirs = in_torch(layer, BACKWARD, x, gradient, dropout=False)()
    modules = layers.LAYERS[layer].modules
    assert len(theirs) == 2 * len(modules) + len(of_input)
    assert len(of_input) == (layer != layers.FIRST)
    names = [f"{module}.{kind}" for module in modules for kind in ("weight", "bias")]
    named = dict(zip(names, theirs, strict=False))  # the input's gradient comes last
    assert ours.keys() == named.keys()
    for name, tensor in ours.items():
        size = float(abs(named[name]).max())
        np.testing.assert_allclose(tensor, named[name], atol=2e-5 * size, err_msg=name)
    for mine in of_input:
        size = float(abs(theirs[-1]).max())
        np.testing.assert_allclose(mine, channels_last(theirs[-1]), atol=2e-5 * size)


def test_layers_make_up_the_network() -> None:
    images, _ = inputs(layers.FIRST, BATCH)
    network = CNN(nnx.Rngs(0))
    x = jnp.asarray(images)
    for name in layers.LAYERS:
        x, _ = layers.forward(name, network, x, None)()
    np.testing.assert_allclose(x, network(jnp.asarray(images)), atol=1e-6)

    in_torch = model_torch.CNN().eval()
    pixels = start = torch.tensor(np.moveaxis(images, -1, 1).copy())
    for layer in layers_torch.LAYERS.values():
        pixels = layer(in_torch, pixels)
    torch.testing.assert_close(pixels, in_torch(start))


def test_dropout_drops_a_quarter_after_the_pool() -> None:
    x, gradient = inputs("pool, dropout", 16)
    outputs = [in_flax(way, "pool, dropout", FORWARD, x, gradient)()[0] for way in WAYS]
    outputs.append(in_torch("pool, dropout", FORWARD, x, gradient)().detach())
    for output in outputs:
        assert float((np.asarray(output) == 0).mean()) == pytest.approx(0.25, abs=0.01)


def test_dropout_is_on_between_the_dense_layers() -> None:
    x, gradient = inputs("dense layers", BATCH)
    without, _ = in_flax("xla", "dense layers", FORWARD, x, gradient, dropout=False)()
    flax, _ = in_flax("xla", "dense layers", FORWARD, x, gradient)()
    pytorch = in_torch("dense layers", FORWARD, x, gradient)().detach()
    for output in flax, pytorch:
        assert not np.allclose(output, without, atol=0.01)


def test_updates_go_on_from_the_last_in_all_ways() -> None:
    weights = initial_weights(0)
    rate, momentum = 0.01, 0.9
    after_two = 1 - rate * (1 + (1 + momentum))  # the gradient is the initial weights, twice
    for name, update in prepare(ALL, UPDATE, BATCH).items():
        update()
        result = update()
        if name == DEVICE:
            found = [weight.detach() for weight in result]
            initial = [*model_torch.from_flax(weights).values()]
        else:
            found, initial = map(jax.tree.leaves, (result.params, weights))
        for mine, first in zip(found, initial, strict=True):
            np.testing.assert_allclose(mine, after_two * first, rtol=1e-4, atol=1e-7)


def test_points_are_all_layers_both_ways_and_the_update() -> None:
    for points, batch in (LAYERS.quick, 32), (LAYERS.full, 128):
        tasks = [(point["layer"], point["task"]) for point in points]
        assert tasks == [
            *((layer, task) for layer in layers.LAYERS for task in (FORWARD, BACKWARD)),
            (ALL, UPDATE),
        ]
        assert {point["batch"] for point in points} == {batch}
    assert layers_torch.LAYERS.keys() == layers.LAYERS.keys() == experiment._SHAPES.keys()
