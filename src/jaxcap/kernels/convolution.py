"""Convolution and pooling for CPUs, by operations that XLA does fast there: mainly matrix products.

XLA's own convolutions are best on a GPU. On a CPU their gradients are slow, and slower still
inside a compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import gcd
from operator import add

import jax
import jax.numpy as jnp
from jax import Array, lax

Convolve = Callable[[Array, Array], Array]

# The patches of this many images fit into a CPU's cache.
_IMAGES_PER_PART = 8


def by_patches(images: Array, kernel: Array) -> Array:
    """Convolve without padding: multiply the matrix of all patches by the matrix of the kernel.

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


def by_xla(images: Array, kernel: Array) -> Array:
    """Compute the same as `by_patches`, by XLA's own operation."""
    return lax.conv_general_dilated(
        images, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def kernel_gradient(convolve: Convolve, images: Array, kernel: Array) -> Array:
    """Gradient, with respect to the kernel, of the output's sum of squares."""

    def sum_of_squares(kernel: Array) -> Array:
        return (convolve(images, kernel) ** 2).sum()

    gradient: Array = jax.grad(sum_of_squares)(kernel)
    return gradient


def kernel_gradients(convolve: Convolve, parts: Array, kernel: Array) -> Array:
    """Compute the `kernel_gradient` of one part of the images after another, in a compiled loop.

    Takes shape (parts, n, rows, columns, channels).
    """
    gradients: Array = lax.map(lambda images: kernel_gradient(convolve, images, kernel), parts)
    return gradients


@jax.custom_vjp
def by_columns(images: Array, kernel: Array) -> Array:
    """Compute the same as `by_patches` with fewer copies, a few images at a time.

    Patches one pixel high are multiplied by all rows of the kernel at once, and the products are
    shifted and added. The data of a few images stay in the cache, for the gradients too. If a batch
    is spread over devices, so is each part, because its images come from all over the batch.
    """
    parts = lax.map(lambda part: _convolve_part(part, kernel), _split_into_parts(images))
    return _merge_parts(parts)


def convolve(images: Array, kernel: Array) -> Array:
    """Convolve in the faster way: by patches for images of one channel, otherwise by columns."""
    return (by_patches if kernel.shape[2] == 1 else by_columns)(images, kernel)


def _convolve_part(images: Array, kernel: Array) -> Array:
    height, _, _, features = kernel.shape
    rows = images.shape[1] - height + 1
    products = _columns(images, kernel) @ _matrix(kernel)
    return reduce(
        add,
        (products[:, i : i + rows, :, i * features : (i + 1) * features] for i in range(height)),
    )


def _columns(images: Array, kernel: Array) -> Array:
    """Join each pixel with its neighbours to the right, as far as the kernel reaches."""
    width = kernel.shape[1]
    columns = images.shape[2] - width + 1
    return jnp.concatenate([images[:, :, j : j + columns] for j in range(width)], axis=-1)


def _matrix(kernel: Array) -> Array:
    """Write the kernel as a matrix with a column for each of its rows and features."""
    height, width, channels, features = kernel.shape
    return kernel.transpose(1, 2, 0, 3).reshape(width * channels, height * features)


def _gradients(images: Array, kernel: Array, cotangent: Array) -> tuple[Array, Array]:
    """Gradients with respect to a part's images and the kernel: the transpose of `_convolve_part`."""
    height, width, channels, features = kernel.shape
    rows = [
        jnp.pad(cotangent, ((0, 0), (i, height - 1 - i), (0, 0), (0, 0))) for i in range(height)
    ]
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
    # In two halves, because XLA doesn't divide such a product among a CPU's cores.
    halves = gcd(len(images), 2)
    left, right = (x.reshape(halves, -1, x.shape[-1]) for x in (_columns(images, kernel), products))
    by_matrix = jnp.einsum("hpi,hpj->hij", left, right).sum(axis=0)
    by_kernel = by_matrix.reshape(width, channels, height, features).transpose(2, 0, 1, 3)
    return by_images, by_kernel


def _forward(images: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return by_columns(images, kernel), (images, kernel)


def _backward(residuals: tuple[Array, Array], cotangent: Array) -> tuple[Array, Array]:
    images, kernel = residuals

    def accumulate(total: Array, part: tuple[Array, Array]) -> tuple[Array, Array]:
        by_images, by_kernel = _gradients(part[0], kernel, part[1])
        return total + by_kernel, by_images

    parts = _split_into_parts(images), _split_into_parts(cotangent)
    by_kernel, by_images = lax.scan(accumulate, jnp.zeros_like(kernel), parts)
    return _merge_parts(by_images), by_kernel


by_columns.defvjp(_forward, _backward)


def _split_into_parts(images: Array) -> Array:
    size = gcd(len(images), _IMAGES_PER_PART)
    return images.reshape(size, -1, *images.shape[1:]).swapaxes(0, 1)


def _merge_parts(parts: Array) -> Array:
    return parts.swapaxes(0, 1).reshape(-1, *parts.shape[2:])


def max_pool(images: Array) -> Array:
    """Take the largest pixel of each 2 × 2 block, without XLA's general window operation.

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
