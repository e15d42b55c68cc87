"""The network in Flax: two convolutions, a pool and two dense layers, with dropout between.

Written with NNX, which Flax recommends today over its older Linen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array, lax

from jaxcap.results import Cost

Convolve = Callable[[Array, Array], Array]
Pool = Callable[[Array], Array]
Layers = Callable[[Array], Array]
Apply = Callable[[Layers, Array], Array]

PARAMETERS = 2_380_938

# Multiplications for one image in each layer: outputs, times the terms that each of them sums.
_CONV1 = 26 * 26 * 32 * (3 * 3)
_OTHERS = 24 * 24 * 64 * (3 * 3 * 32) + 256 * (12 * 12 * 64) + 10 * 256


def work_of_step(batch: int) -> Cost:
    """Return what a training step on a batch costs, if its layers are computed by definition.

    Each layer multiplies three times: for its output, and for the gradients with respect to its weights
    and to its input, which the first layer doesn't need. Each multiplication comes with an addition.
    Images are read once, and weights, gradients and momentum, in float32, are read and written.
    """
    multiplications = batch * (2 * _CONV1 + 3 * _OTHERS)
    return Cost(2.0 * multiplications, 784.0 * batch + 6 * 4 * PARAMETERS)


def xla_max_pool(images: Array) -> Array:
    """Take the largest pixel of each 2 × 2 block, by XLA's own operation."""
    pooled: Array = nnx.max_pool(images, (2, 2), strides=(2, 2))  # type: ignore[no-untyped-call]
    return pooled


def at_once(layers: Layers, images: Array) -> Array:
    """Apply layers to all images at once."""
    return layers(images)


class Dropout(nnx.Module):
    """Drop activations at random, with fewer random numbers: one of 32 bits decides on four of them.

    Parameters
    ----------
    rate
        Share that is dropped, rounded to a multiple of 1/256.
    """

    def __init__(self, rate: float) -> None:
        self.threshold = round(256 * rate)

    def __call__(
        self, x: Array, *, deterministic: bool = False, rngs: nnx.Rngs | None = None
    ) -> Array:
        """Return the activations that are kept, scaled so that their sum stays the same on average."""
        if deterministic or rngs is None:
            return x
        *others, channels = x.shape
        words = jax.random.bits(rngs.dropout(), (*others, -(-channels // 4)), jnp.uint32)
        draws = lax.bitcast_convert_type(words, jnp.uint8).reshape(*others, -1)[..., :channels]
        return jnp.where(draws >= self.threshold, x * (256 / (256 - self.threshold)), 0)


class CNN(nnx.Module):
    """Maps images to logits, one for each digit.

    Parameters
    ----------
    rngs
        Draws the initial weights.
    convolve
        Convolves images with a kernel without padding; by default XLA's own operation does.
    pool
        Takes the largest pixel of each 2 × 2 block.
    apply
        Applies the second convolution and the pool to all images; by default at once.
    dropout
        Makes a layer that drops a share of its activations while training; by default Flax's own.
    dtype
        Number type that the layers compute in. The weights are float32 in any case.
    """

    def __init__(
        self,
        rngs: nnx.Rngs,
        *,
        convolve: Convolve | None = None,
        pool: Pool = xla_max_pool,
        apply: Apply = at_once,
        dropout: Callable[[float], Any] = nnx.Dropout,
        dtype: Any = jnp.float32,
    ) -> None:
        common: Any = {"rngs": rngs, "dtype": dtype}
        conv: Any = {"padding": "VALID"}
        if convolve:
            conv["conv_general_dilated"] = _in_layer(convolve)
        self.conv1 = nnx.Conv(1, 32, (3, 3), **conv, **common)
        self.conv2 = nnx.Conv(32, 64, (3, 3), **conv, **common)
        self.dropout1 = dropout(0.25)
        self.dense1 = nnx.Linear(64 * 12 * 12, 256, **common)
        self.dropout2 = dropout(0.5)
        self.dense2 = nnx.Linear(256, 10, **common)
        self.pool = pool
        self.apply = apply

    def __call__(self, images: Array, key: Array | None = None) -> Array:
        """Return logits of shape (n, 10), float32.

        Parameters
        ----------
        images
            Shape (n, 28, 28, 1), normalised.
        key
            Turns dropout on, and determines what is dropped.
        """
        dropout: Any = {"deterministic": key is None}
        if key is not None:
            dropout["rngs"] = nnx.Rngs(dropout=key)
        x = nnx.relu(self.conv1(images))
        x = self.apply(lambda some: self.pool(nnx.relu(self.conv2(some))), x)
        x = self.dropout1(x, **dropout)
        x = nnx.relu(self.dense1(x.reshape(len(x), -1)))
        x = self.dense2(self.dropout2(x, **dropout))
        return x.astype(jnp.float32)


@cache  # networks are equal, and share a compiled program, only if their functions are identical
def _in_layer(convolve: Convolve) -> Callable[..., Array]:
    """Return a function with the signature of XLA's, which ignores strides and other options."""
    return lambda images, kernel, *_, **__: convolve(images, kernel)
