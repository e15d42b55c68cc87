"""The layers of the Flax network, forward and backward, each a program of its own.

Inside a step, XLA can fuse what belongs to two layers. So the layers' times needn't add up to the
step's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
from flax import nnx
from jax import Array

from jaxcap.mnist.model import CNN

#: The gradient of a layer's output to the gradients of its weights and, but for the first, its input.
Backward = Callable[[Array], Any]


class Layer(NamedTuple):
    """A part of the network.

    Attributes
    ----------
    modules
        The modules that its weights belong to.
    apply
        Maps the network, an input and the arguments of dropout to an output.
    """

    modules: tuple[str, ...]
    apply: Callable[[CNN, Array, Any], Array]


def _conv1(network: CNN, images: Array, _: Any) -> Array:
    return nnx.relu(network.conv1(images))


def _conv2(network: CNN, pixels: Array, _: Any) -> Array:
    return network.apply(lambda some: nnx.relu(network.conv2(some)), pixels)


def _pool(network: CNN, pixels: Array, dropout: Any) -> Array:
    dropped: Array = network.dropout1(network.apply(network.pool, pixels), **dropout)
    return dropped


def _dense(network: CNN, pixels: Array, dropout: Any) -> Array:
    x = nnx.relu(network.dense1(pixels.reshape(len(pixels), -1)))
    logits: Array = network.dense2(network.dropout2(x, **dropout))
    return logits


FIRST = "conv1"
LAYERS: Mapping[str, Layer] = {
    FIRST: Layer((FIRST,), _conv1),
    "conv2": Layer(("conv2",), _conv2),
    "pool, dropout": Layer((), _pool),
    "dense layers": Layer(("dense1", "dense2"), _dense),
}


def forward(
    name: str, network: CNN, x: Array, key: Array | None
) -> Callable[[], tuple[Array, Backward]]:
    """Bind a program that returns the output of a layer, and the function for its gradients.

    Parameters
    ----------
    name
        One of the names in ``LAYERS``.
    network
        The network that the layer is a part of.
    x
        The layer's input.
    key
        Turns dropout on, and determines what is dropped.
    """
    own = nnx.Any(*map(nnx.PathContains, LAYERS[name].modules))
    return partial(_forward, name, *nnx.split(network, own, ...), x, key)


@partial(jax.jit, static_argnames=("name", "graph"))
def _forward(
    name: str, graph: Any, weights: Any, others: Any, x: Array, key: Array | None
) -> tuple[Array, Backward]:
    def output(weights: Any, x: Array) -> Array:
        dropout: Any = {"deterministic": key is None}
        if key is not None:
            dropout["rngs"] = nnx.Rngs(dropout=key)
        return LAYERS[name].apply(nnx.merge(graph, weights, others), x, dropout)

    if name == FIRST:  # nobody needs the gradient of the images
        return jax.vjp(lambda weights: output(weights, x), weights)
    return jax.vjp(output, weights, x)


@jax.jit
def backward(gradients: Backward, cotangent: Array) -> Any:
    """Return the gradients for that of the output."""
    return gradients(cotangent)
