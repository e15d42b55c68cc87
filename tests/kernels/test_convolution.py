"""Convolution and pooling against XLA and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxcap.kernels.convolution import (
    by_columns,
    by_patches,
    by_xla,
    convolve,
    kernel_gradient,
    kernel_gradients,
    max_pool,
)

RNG = np.random.default_rng(0)
IMAGES = jnp.asarray(RNG.standard_normal((20, 7, 6, 3), np.float32))
KERNEL = jnp.asarray(RNG.standard_normal((3, 2, 3, 5), np.float32))


@pytest.mark.parametrize("number", [1, 20])
@pytest.mark.parametrize("fn", [by_patches, by_columns, convolve])
def test_result_is_the_convolution(fn: Callable[..., Any], number: int) -> None:
    images = IMAGES[:number]
    np.testing.assert_allclose(fn(images, KERNEL), by_xla(images, KERNEL), atol=1e-5)


@pytest.mark.parametrize("fn", [by_patches, by_columns])
def test_gradients_are_right(fn: Callable[..., Any]) -> None:
    with jax.enable_x64(True):
        images, kernel = (jnp.asarray(x, jnp.float64) for x in (IMAGES, KERNEL))
        check_grads(fn, (images, kernel), order=1, modes=["rev"])  # type: ignore[no-untyped-call]


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
