"""A training step of one stack of layers: as an NNX module, split from it, and as a dict.

Arrays have one floating-point dtype, which is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxcap.kernels.pytrees import descend

Model = Callable[[Array], Array]


class Stack(nnx.Module):
    """Layers of the same width, each followed by ``tanh``."""

    def __init__(self, layers: int, width: int) -> None:
        rngs = nnx.Rngs(0)
        linear = partial(nnx.Linear, width, width, rngs=rngs)
        self.layers = nnx.List([linear() for _ in range(layers)])

    def __call__(self, x: Array) -> Array:
        """Pass a batch of shape ``(batch, width)`` through all layers."""
        for layer in self.layers:
            x = jnp.tanh(layer(x))
        return x


def loss(model: Model, x: Array, y: Array) -> Array:
    """Return the mean squared error of a model."""
    return jnp.mean((model(x) - y) ** 2)


def step_module(model: Stack, x: Array, y: Array) -> Any:
    """Take a step, which changes the model, and return the loss before it."""
    value, slopes = nnx.value_and_grad(loss)(model, x, y)
    nnx.update(model, descend(nnx.state(model), slopes))
    return value


def step_split(graph: Any, params: Any, x: Array, y: Array) -> tuple[Array, Any]:
    """Take the same step from parameters to parameters."""

    def split_loss(params: Any) -> Array:
        return loss(nnx.merge(graph, params), x, y)

    value, slopes = jax.value_and_grad(split_loss)(params)
    return value, descend(params, slopes)


def step_dict(params: Any, x: Array, y: Array) -> tuple[Array, Any]:
    """Take the same step without NNX."""

    def model(params: Any, x: Array) -> Array:
        for layer in params["layers"].values():
            x = jnp.tanh(x @ layer["kernel"] + layer["bias"])
        return x

    def dict_loss(params: Any) -> Array:
        return loss(partial(model, params), x, y)

    value, slopes = jax.value_and_grad(dict_loss)(params)
    return value, descend(params, slopes)
