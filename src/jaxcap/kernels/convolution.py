"""Convolution and pooling in terms of what XLA does fast on a CPU: products of matrices.

XLA's own convolutions are at their best on a GPU. On a CPU their gradients are slow, and inside a
compiled loop the convolutions themselves are.
"""

from __future__ import annotations

from math import gcd

import jax
import jax.numpy as jnp
from jax import Array, lax

# The patches of so many images fit a CPU's cache.
_IMAGES_AT_A_TIME = 8


def by_patches(images: Array, kernel: Array) -> Array:
    """Convolve without padding: multiply the matrix of all patches by that of the kernel.

    Parameters
    ----------
    images
        Shape (n, rows, columns, channels).
    kernel
        Shape (height, width, channels, features).

    Returns
    -------
    Array
        Shape (n, rows - height + 1, columns - width + 1, features).
    """
    height, width, channels, features = kernel.shape
    rows, columns = images.shape[1] - height + 1, images.shape[2] - width + 1
    shifted = [
        images[:, i : i + rows, j : j + columns] for i in range(height) for j in range(width)
    ]
    patches = jnp.concatenate(shifted, axis=-1)
    return patches @ kernel.reshape(height * width * channels, features)


def by_patches_in_parts(images: Array, kernel: Array) -> Array:
    """Do the same for a few images at a time, so that their patches stay in the cache.

    The gradient makes the patches anew, which is faster than to fetch them from memory. The images
    of a part lie apart, so that each part is spread over all devices if the images are.
    """
    some = gcd(len(images), _IMAGES_AT_A_TIME)
    parts = images.reshape(some, -1, *images.shape[1:]).swapaxes(0, 1)
    convolved: Array = lax.map(jax.checkpoint(lambda part: by_patches(part, kernel)), parts)
    return convolved.swapaxes(0, 1).reshape(len(images), *convolved.shape[2:])


def max_pool(images: Array) -> Array:
    """Take the largest of each 2 × 2 pixels, without XLA's general operation for windows.

    Parameters
    ----------
    images
        Shape (n, rows, columns, channels), rows and columns even.

    Returns
    -------
    Array
        Shape (n, rows / 2, columns / 2, channels).
    """
    in_rows = jnp.maximum(images[:, ::2], images[:, 1::2])
    return jnp.maximum(in_rows[:, :, ::2], in_rows[:, :, 1::2])
