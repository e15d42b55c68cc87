"""Convolution and pooling for CPUs, by operations that XLA does fast there: mainly matrix products.

XLA's own convolutions are best on a GPU. On a CPU their gradients are slow, and slower still
inside a compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import gcd
from operator import add

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

Convolve = Callable[[Array, Array], Array]

# What a convolution makes of this many images fits into a CPU's cache.
_IMAGES_PER_PART = 8
# The numbers of the four pixels in a block.
_PLACES = np.arange(4, dtype=np.uint8)

#: Winograd's matrices for four rows of output: the kernel's three rows and six rows of the image are
#: each multiplied by one, and so are their six products.
OF_KERNEL = np.array(
    [
        [1 / 4, 0, 0],
        [-1 / 6, -1 / 6, -1 / 6],
        [-1 / 6, 1 / 6, -1 / 6],
        [1 / 24, 1 / 12, 1 / 6],
        [1 / 24, -1 / 12, 1 / 6],
        [0, 0, 1],
    ]
)
OF_IMAGE = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]
)
OF_PRODUCT = np.array(
    [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]
)
_ROWS = len(OF_PRODUCT)


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
def by_shifts(images: Array, kernel: Array) -> Array:
    """Compute the same as `by_patches` for images of one channel, by shifting, multiplying and adding.

    XLA fuses all of it into one loop. With so few terms in each sum, that can beat a product.
    """
    return _sum_of_shifts(images, kernel)


def _sum_of_shifts(images: Array, kernel: Array) -> Array:
    height, width, _, _ = kernel.shape
    shifted = _shifts(images, height, width)
    return reduce(add, (pixels * kernel[i, j, 0] for (i, j), pixels in shifted.items()))


def _shifts(images: Array, height: int, width: int) -> dict[tuple[int, int], Array]:
    """Return what each pixel of a kernel sees of the images."""
    rows, columns = images.shape[1] - height + 1, images.shape[2] - width + 1
    return {
        (i, j): images[:, i : i + rows, j : j + columns]
        for i in range(height)
        for j in range(width)
    }


def _shifts_backward(residuals: tuple[Array, Array], cotangent: Array) -> tuple[Array, Array]:
    images, kernel = residuals
    height, width, _, features = kernel.shape
    (by_images,) = jax.linear_transpose(partial(_sum_of_shifts, kernel=kernel), images)(cotangent)
    planes = jnp.stack(list(_shifts(images, height, width).values())).reshape(height * width, -1)
    by_kernel = planes @ cotangent.reshape(-1, features)
    return by_images, by_kernel.reshape(kernel.shape)


by_shifts.defvjp(lambda *args: (_sum_of_shifts(*args), args), _shifts_backward)


def by_winograd(images: Array, kernel: Array) -> Array:
    """Compute the same as `by_patches` for kernels of three rows, with half as many multiplications.

    Winograd's algorithm gets four rows of output from six products of rows, where a direct sum takes
    twelve. It only pays along one axis here: along both, its additions take longer than the
    multiplications that they save. Along the other axis, patches one pixel high are multiplied.

    Raises
    ------
    ValueError
        If the kernel hasn't three rows.
    """
    if len(kernel) != 3:
        raise ValueError(
            f"by_winograd takes kernels of 3 rows, not of {len(kernel)}: use by_patches"
        )
    rows = images.shape[1] - 2
    tiles = -(-rows // _ROWS)
    padded = jnp.pad(images, ((0, 0), (0, tiles * _ROWS - rows), (0, 0), (0, 0)))
    return _winograd(padded, kernel)[:, :rows]


@jax.custom_vjp
def _winograd(images: Array, kernel: Array) -> Array:
    """Convolve images whose rows make up whole tiles."""
    _, width, channels, features = kernel.shape
    columns = images.shape[2] - width + 1
    products = [
        _join([rows[:, :, j : j + columns] for j in range(width)])
        @ weights.reshape(width * channels, features)
        for rows, weights in zip(
            _transform_images(images), _transform(OF_KERNEL, kernel), strict=True
        )
    ]
    output = jnp.stack(_transform(OF_PRODUCT, products), axis=2)
    return output.reshape(len(images), -1, columns, features)


def _winograd_backward(residuals: tuple[Array, Array], cotangent: Array) -> tuple[Array, Array]:
    images, kernel = residuals
    number, height, columns, channels = images.shape
    _, width, _, features = kernel.shape
    # Both gradients are products with the same matrices, one for each of the six transformed rows.
    padded = jnp.pad(cotangent, ((0, 0), (0, 0), (width - 1, width - 1), (0, 0)))
    tiles = padded.reshape(number, -1, _ROWS, *padded.shape[2:])
    matrices = [
        _join([rows[:, :, j : j + columns] for j in reversed(range(width))])
        for rows in _transform(OF_PRODUCT.T, [tiles[:, :, i] for i in range(_ROWS)])
    ]
    by_rows = [
        matrix @ weights.swapaxes(1, 2).reshape(width * features, channels)
        for matrix, weights in zip(matrices, _transform(OF_KERNEL, kernel), strict=True)
    ]
    by_weights = [
        jnp.einsum("ntwc,ntwf->cf", rows, matrix).reshape(channels, width, features).swapaxes(0, 1)
        for rows, matrix in zip(_transform_images(images), matrices, strict=True)
    ]
    by_tile = _transform(OF_IMAGE.T, by_rows)
    # A tile's last rows are the first ones of the next.
    by_image = [jnp.pad(rows, ((0, 0), (0, 1), (0, 0), (0, 0))) for rows in by_tile[:_ROWS]]
    for i, rows in enumerate(by_tile[_ROWS:]):
        by_image[i] += jnp.pad(rows, ((0, 0), (1, 0), (0, 0), (0, 0)))
    by_images = jnp.stack(by_image, axis=2).reshape(number, -1, columns, channels)[:, :height]
    return by_images, jnp.stack(_transform(OF_KERNEL.T, by_weights))


_winograd.defvjp(lambda *args: (_winograd(*args), args), _winograd_backward)


def _transform_images(images: Array) -> list[Array]:
    """Transform all tiles of six rows, which overlap by two."""
    tiles = images.shape[1] // _ROWS
    rows = [images[:, i::_ROWS][:, :tiles] for i in range(len(OF_IMAGE))]
    return _transform(OF_IMAGE, rows)


def _transform(matrix: np.ndarray, rows: Sequence[Array] | Array) -> list[Array]:
    """Multiply a small matrix by rows, as sums that XLA can fuse."""
    return [
        reduce(add, (float(x) * row for x, row in zip(factors, rows, strict=True) if x))
        for factors in matrix
    ]


def _join(neighbours: list[Array]) -> Array:
    """Join the channels of neighbouring pixels."""
    joined = jnp.stack(neighbours, axis=-2)
    return joined.reshape(*joined.shape[:-2], -1)


def convolve(images: Array, kernel: Array) -> Array:
    """Convolve with a kernel of three rows in the faster way for its number of channels."""
    return (by_shifts if kernel.shape[2] == 1 else by_winograd)(images, kernel)


@jax.custom_vjp
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
    largest: Array = reduce(jnp.maximum, _quarters(images))
    return largest


def _quarters(images: Array) -> list[Array]:
    return [images[:, i::2, j::2] for i in range(2) for j in range(2)]


def _pool_forward(images: Array) -> tuple[Array, Array]:
    largest = max_pool(images)
    # A byte for each block is far less to keep and to read again than the pixels. Of equally large
    # ones, as in a blank background, the first is taken, as XLA and PyTorch do.
    place = jnp.select([quarter == largest for quarter in _quarters(images)], list(_PLACES))
    return largest, place


def _pool_backward(place: Array, cotangent: Array) -> tuple[Array]:
    n, rows, columns, channels = place.shape
    blocks = jnp.where(
        place[:, :, None, :, None] == _PLACES.reshape(2, 1, 2, 1),
        cotangent[:, :, None, :, None],
        0,
    )
    return (blocks.reshape(n, 2 * rows, 2 * columns, channels),)


max_pool.defvjp(_pool_forward, _pool_backward)


def in_parts(function: Callable[[Array], Array], images: Array, devices: int = 1) -> Array:
    """Apply a function to a few images at a time, so that what it makes of them stays in the cache.

    Parameters
    ----------
    function
        Maps images to arrays, each image by itself.
    images
        Shape (n, ...).
    devices
        Number of devices that the images are spread over. Each has its share of every part.

    Returns
    -------
    Array
        The function's value for all images, its first axis of length n.
    """
    size = gcd(len(images) // devices, _IMAGES_PER_PART)
    split = images.reshape(devices, -1, size, *images.shape[1:]).swapaxes(0, 1)
    parts = lax.map(function, split.reshape(-1, devices * size, *images.shape[1:]))
    by_device = parts.reshape(-1, devices, size, *parts.shape[2:]).swapaxes(0, 1)
    merged: Array = by_device.reshape(-1, *parts.shape[2:])
    return merged
