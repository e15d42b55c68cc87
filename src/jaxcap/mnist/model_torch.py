"""The network of `jaxcap.mnist.model` in PyTorch, and conversion of weights from Flax."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from jaxcap.mnist.training import Weights

_FLATTENED = "dense1"  # the layer whose input is flattened images
_POOLED = (12, 12, 64)  # rows, columns and channels of these images


class CNN(nn.Module):
    """Maps normalised images of shape (n, 1, 28, 28) to logits of shape (n, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dense1 = nn.Linear(math.prod(_POOLED), 256)
        self.dropout2 = nn.Dropout(0.5)
        self.dense2 = nn.Linear(256, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits; dropout is on in training mode."""
        x = functional.relu(self.conv1(images))
        x = functional.relu(self.conv2(x))
        x = self.dropout1(functional.max_pool2d(x, 2))
        x = functional.relu(self.dense1(x.flatten(1)))
        logits: Tensor = self.dense2(self.dropout2(x))
        return logits


def from_flax(weights: Weights) -> dict[str, Tensor]:
    """Convert Flax's weights to a state dictionary of PyTorch.

    Flax stores kernels as (height, width, inputs, outputs) and flattens images with the channels
    last; PyTorch stores (outputs, inputs, height, width) and flattens with the channels first.

    Parameters
    ----------
    weights
        ``kernel`` and ``bias`` of each layer, by the layer's name.
    """
    state = {}
    for layer, arrays in weights.items():
        kernel, bias = np.asarray(arrays["kernel"]), np.asarray(arrays["bias"])
        if layer == _FLATTENED:
            kernel = kernel.reshape(*_POOLED, -1).transpose(3, 2, 0, 1).reshape(len(bias), -1)
        else:
            kernel = kernel.transpose(3, 2, 0, 1) if kernel.ndim == 4 else kernel.T
        state[f"{layer}.weight"] = torch.from_numpy(kernel.copy())
        state[f"{layer}.bias"] = torch.from_numpy(bias.copy())
    return state
