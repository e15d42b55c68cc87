"""Convolution and pooling against XLA and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.signal
from jax import Array, lax

from jaxcap.kernels.convolution import (
    by_patches,
    by_shifts,
    by_winograd,
    by_xla,
    convolve,
    in_parts,
    kernel_gradient,
    kernel_gradients,
    max_pool,
)

RNG = np.random.default_rng(0)
IMAGES = jnp.asarray(RNG.standard_normal((20, 7, 6, 3), np.float32))
KERNEL = jnp.asarray(RNG.standard_normal((3, 2, 3, 5), np.float32))


@pytest.mark.parametrize("number", [1, 20])
@pytest.mark.parametrize("rows", [3, 6, 7, 9])
@pytest.mark.parametrize("fn", [by_patches, by_winograd, convolve])
def test_result_is_the_convolution(fn: Callable[..., Any], rows: int, number: int) -> None:
    images = _images(number, rows)
    np.testing.assert_allclose(fn(images, KERNEL), by_xla(images, KERNEL), atol=1e-4)


@pytest.mark.parametrize("rows", [3, 6, 7, 9])
@pytest.mark.parametrize("fn", [by_patches, by_winograd])
def test_gradients_are_those_of_xla(fn: Callable[..., Any], rows: int) -> None:
    _assert_same_gradients(fn, _images(2, rows), KERNEL)


def test_shifts_are_the_convolution_of_one_channel() -> None:
    images, kernel = IMAGES[..., :1], KERNEL[:, :, :1]
    expected = by_xla(images, kernel)
    np.testing.assert_allclose(by_shifts(images, kernel), expected, atol=1e-5)
    np.testing.assert_allclose(convolve(images, kernel), expected, atol=1e-5)
    _assert_same_gradients(by_shifts, images, kernel)


def test_winograd_names_the_height_that_it_takes() -> None:
    with pytest.raises(ValueError, match="3 rows, not of 2"):
        by_winograd(IMAGES, KERNEL[:2])


def test_winograd_rounds_little() -> None:
    # As large as the second convolution of the network, against 64 bits.
    images = RNG.standard_normal((2, 26, 26, 32))
    kernel = RNG.standard_normal((3, 3, 32, 64))
    exact = scipy.signal.convolve(
        images[0].transpose(2, 0, 1), kernel[::-1, ::-1, ::-1, 0].transpose(2, 0, 1), mode="valid"
    )[0]
    ours = by_winograd(jnp.asarray(images, jnp.float32), jnp.asarray(kernel, jnp.float32))
    assert np.abs(ours[0, :, :, 0] - exact).max() < 1e-5 * np.abs(exact).max()


def _images(number: int, rows: int) -> Array:
    return jnp.asarray(RNG.standard_normal((number, rows, 6, 3), np.float32))


def _assert_same_gradients(fn: Callable[..., Any], images: Array, kernel: Array) -> None:
    with jax.enable_x64(True):
        args = tuple(jnp.asarray(np.asarray(x), jnp.float64) for x in (images, kernel))
        expected, back_of_xla = jax.vjp(by_xla, *args)
        cotangent = jnp.asarray(RNG.standard_normal(expected.shape))
        _, back = jax.vjp(fn, *args)
        for ours, theirs in zip(back(cotangent), back_of_xla(cotangent), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_gradient_of_all_images_is_the_sum_over_parts() -> None:
    whole = kernel_gradient(by_xla, IMAGES, KERNEL)
    parts = kernel_gradients(by_xla, IMAGES.reshape(4, 5, *IMAGES.shape[1:]), KERNEL)
    assert parts.shape == (4, *KERNEL.shape)
    np.testing.assert_allclose(parts.sum(axis=0), whole, rtol=1e-4)


def test_gradient_of_the_kernel_is_that_of_a_sum_of_squares() -> None:
    # The central difference of a quadratic function is exact for any step.
    step = 0.1 * jnp.ones_like(KERNEL)
    gain = [float((by_xla(IMAGES, kernel) ** 2).sum()) for kernel in (KERNEL + step, KERNEL - step)]
    expected = float((kernel_gradient(by_xla, IMAGES, KERNEL) * 2 * step).sum())
    assert gain[0] - gain[1] == pytest.approx(expected, rel=1e-3)


def test_pool_takes_the_largest() -> None:
    images = IMAGES[:, :6]
    squares = np.asarray(images).reshape(20, 3, 2, 3, 2, 3)
    np.testing.assert_array_equal(max_pool(images), squares.max(axis=(2, 4)))


def test_gradient_of_a_pool_goes_to_the_largest() -> None:
    images = IMAGES[:, :6]
    largest, back = jax.vjp(max_pool, images)
    cotangent = jnp.asarray(RNG.standard_normal(largest.shape, np.float32))
    (gradient,) = back(cotangent)
    blocks = np.asarray(gradient).reshape(20, 3, 2, 3, 2, 3)
    np.testing.assert_array_equal(blocks.sum(axis=(2, 4)), cotangent)
    assert (np.asarray(gradient)[np.asarray(images) < _spread(largest)] == 0).all()


def xla_max_pool(images: Array) -> Array:
    pooled: Array = lax.reduce_window(
        images, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
    )
    return pooled


def test_the_first_of_equal_pixels_gets_the_gradient_of_a_pool_as_in_xla() -> None:
    images = jnp.asarray(RNG.integers(0, 3, (4, 6, 8, 5)).astype(np.float32))
    weights = jnp.asarray(RNG.standard_normal((4, 3, 4, 5), np.float32))
    ours, xlas = (
        jax.grad(lambda images, pool=pool: (weights * pool(images)).sum())(images)
        for pool in (max_pool, xla_max_pool)
    )
    np.testing.assert_array_equal(ours, xlas)


@pytest.mark.parametrize(("number", "devices"), [(1, 1), (5, 1), (16, 1), (24, 3), (20, 2)])
def test_parts_give_what_the_whole_gives(number: int, devices: int) -> None:
    images = jnp.arange(number * 4.0).reshape(number, 2, 2)
    sums = in_parts(lambda part: part.sum(axis=2), images, devices)
    np.testing.assert_array_equal(sums, images.sum(axis=2))


def _spread(pixels: Array) -> np.ndarray:
    return np.asarray(pixels).repeat(2, axis=1).repeat(2, axis=2)
