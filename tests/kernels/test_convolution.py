"""Convolution and pooling against XLA and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxcap.kernels.convolution import by_columns, by_patches, convolve, max_pool

RNG = np.random.default_rng(0)
IMAGES = jnp.asarray(RNG.standard_normal((20, 7, 6, 3), np.float32))
KERNEL = jnp.asarray(RNG.standard_normal((3, 2, 3, 5), np.float32))


@pytest.mark.parametrize("number", [1, 20])
@pytest.mark.parametrize("fn", [by_patches, by_columns, convolve])
def test_result_is_the_convolution(fn: Callable[..., Any], number: int) -> None:
    images = IMAGES[:number]
    dimensions = ("NHWC", "HWIO", "NHWC")
    expected = jax.lax.conv_general_dilated(
        images, KERNEL, (1, 1), "VALID", dimension_numbers=dimensions
    )
    np.testing.assert_allclose(fn(images, KERNEL), expected, atol=1e-5)


@pytest.mark.parametrize("fn", [by_patches, by_columns])
def test_gradients_are_right(fn: Callable[..., Any]) -> None:
    with jax.enable_x64(True):
        images, kernel = (jnp.asarray(x, jnp.float64) for x in (IMAGES, KERNEL))
        check_grads(fn, (images, kernel), order=1, modes=["rev"])  # type: ignore[no-untyped-call]


def test_pool_takes_the_largest() -> None:
    images = IMAGES[:, :6]
    squares = np.asarray(images).reshape(20, 3, 2, 3, 2, 3)
    np.testing.assert_array_equal(max_pool(images), squares.max(axis=(2, 4)))
