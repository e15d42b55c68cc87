"""The layers of `jaxcap.mnist.layers` in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor
from torch.nn import functional

from jaxcap.mnist.model_torch import CNN

Layer = Callable[[CNN, Tensor], Tensor]


def _conv1(network: CNN, images: Tensor) -> Tensor:
    return functional.relu(network.conv1(images))


def _conv2(network: CNN, pixels: Tensor) -> Tensor:
    return functional.relu(network.conv2(pixels))


def _pool(network: CNN, pixels: Tensor) -> Tensor:
    dropped: Tensor = network.dropout1(functional.max_pool2d(pixels, 2))
    return dropped


def _dense(network: CNN, pixels: Tensor) -> Tensor:
    x = functional.relu(network.dense1(pixels.flatten(1)))
    logits: Tensor = network.dense2(network.dropout2(x))
    return logits


#: Dropout is on in training mode.
LAYERS: Mapping[str, Layer] = {
    "conv1": _conv1,
    "conv2": _conv2,
    "pool, dropout": _pool,
    "dense layers": _dense,
}
