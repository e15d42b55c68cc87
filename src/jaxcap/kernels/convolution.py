"""Convolution and pooling in terms of what XLA does fast on a CPU: products of matrices.

XLA's own convolutions are at their best on a GPU. On a CPU their gradients are slow, and very slow
inside a compiled loop.
"""

from __future__ import annotations

from functools import reduce
from math import gcd
from operator import add

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


@jax.custom_vjp
def by_columns(images: Array, kernel: Array) -> Array:
    """Do the same with fewer copies, a few images at a time, and with gradients to match.

    Patches as high as a pixel are multiplied by all rows of the kernel at once, and the products are
    shifted and added. What few images need stays in the cache. The images of a part lie apart, so
    that each part is spread over all devices if the images are.
    """
    parts = lax.map(lambda part: _convolve(part, kernel), _in_parts(images))
    return _together(parts)


def by_products(images: Array, kernel: Array) -> Array:
    """Do the same in the faster way: by patches if they are small, else by columns."""
    return (by_patches if kernel.shape[2] == 1 else by_columns)(images, kernel)


def _convolve(images: Array, kernel: Array) -> Array:
    height, _, _, features = kernel.shape
    rows = images.shape[1] - height + 1
    products = _columns(images, kernel) @ _matrix(kernel)
    return reduce(
        add,
        (products[:, i : i + rows, :, i * features : (i + 1) * features] for i in range(height)),
    )


def _columns(images: Array, kernel: Array) -> Array:
    """Lay each pixel's neighbours to the right, as far as the kernel reaches, beside it."""
    width = kernel.shape[1]
    columns = images.shape[2] - width + 1
    return jnp.concatenate([images[:, :, j : j + columns] for j in range(width)], axis=-1)


def _matrix(kernel: Array) -> Array:
    """Write the kernel as a matrix: a column for each of its rows and features."""
    height, width, channels, features = kernel.shape
    return kernel.transpose(1, 2, 0, 3).reshape(width * channels, height * features)


def _gradients(images: Array, kernel: Array, slopes: Array) -> tuple[Array, Array]:
    """Differentiate by a part's images and by the kernel: the transpose of `_convolve`."""
    height, width, channels, features = kernel.shape
    rows = [jnp.pad(slopes, ((0, 0), (i, height - 1 - i), (0, 0), (0, 0))) for i in range(height)]
    products = jnp.concatenate(rows, axis=-1)
    columns = products @ _matrix(kernel).T
    by_images = reduce(
        add,
        (
            jnp.pad(
                columns[..., j * channels : (j + 1) * channels],
                ((0, 0), (0, 0), (j, width - 1 - j), (0, 0)),
            )
            for j in range(width)
        ),
    )
    # In two halves, since XLA doesn't divide such a product among a CPU's cores.
    halves = gcd(len(images), 2)
    left, right = (x.reshape(halves, -1, x.shape[-1]) for x in (_columns(images, kernel), products))
    by_matrix = jnp.einsum("hpi,hpj->hij", left, right).sum(axis=0)
    by_kernel = by_matrix.reshape(width, channels, height, features).transpose(2, 0, 1, 3)
    return by_images, by_kernel


def _forward(images: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return by_columns(images, kernel), (images, kernel)


def _backward(saved: tuple[Array, Array], slopes: Array) -> tuple[Array, Array]:
    images, kernel = saved

    def gather(total: Array, part: tuple[Array, Array]) -> tuple[Array, Array]:
        by_images, by_kernel = _gradients(part[0], kernel, part[1])
        return total + by_kernel, by_images

    parts = _in_parts(images), _in_parts(slopes)
    by_kernel, by_images = lax.scan(gather, jnp.zeros_like(kernel), parts)
    return _together(by_images), by_kernel


by_columns.defvjp(_forward, _backward)


def _in_parts(images: Array) -> Array:
    some = gcd(len(images), _IMAGES_AT_A_TIME)
    return images.reshape(some, -1, *images.shape[1:]).swapaxes(0, 1)


def _together(parts: Array) -> Array:
    return parts.swapaxes(0, 1).reshape(-1, *parts.shape[2:])


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
