"""A small network, whose gradient takes far longer to compile than to compute."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array
from jax.typing import ArrayLike

Float32 = npt.NDArray[np.float32]


def loss(weights: Sequence[Array | Float32], x: ArrayLike) -> Array:
    """Pass a batch through one layer after another, and take its mean square.

    ``x`` has the shape ``(batch, width)``, and each layer has a matrix of weights.
    """
    for weight in weights:
        x = jax.nn.gelu(x @ weight)
    return jnp.mean(jnp.square(x))


def example(layers: int, batch: int = 128) -> tuple[list[Float32], Float32]:
    """Draw normal float32 weights and inputs, with NumPy: JAX would have to compile that.

    The widths of the layers differ. XLA would compile a layer once for all of the same width.
    """
    widths = [64 + 8 * layer for layer in range(layers + 1)]
    normal = np.random.default_rng(0).standard_normal
    weights = [
        normal((into, out), dtype=np.float32) / np.float32(into**0.5)
        for into, out in pairwise(widths)
    ]
    return weights, normal((batch, widths[0]), dtype=np.float32)
