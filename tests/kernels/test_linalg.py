"""Dense kernels against NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.kernels.linalg import (
    inverse_flops,
    mean_and_sum,
    offsets_from_identity,
    product,
    product_flops,
    uniform,
    uniform_moments,
)
from jaxcap.measure.compilation import cost_analysis

M, K, N = 17, 33, 5  # no multiple of anything that hardware likes


def matrices() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return (rng.standard_normal(shape, dtype=np.float32) for shape in ((M, K), (K, N)))  # type: ignore[return-value]


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["NumPy", "JAX"])
@pytest.mark.parametrize("fn", [product, jax.jit(product)], ids=["product", "jit"])
def test_agrees_with_sums_in_64_bits(fn: Any, convert: Any) -> None:
    a, b = matrices()
    result = np.asarray(fn(convert(a), convert(b)))
    expected = np.einsum("ij,jk->ik", a.astype(np.float64), b.astype(np.float64))
    # The classical bound for sums of K products, in any order.
    bound = K * np.finfo(np.float32).eps * (abs(a) @ abs(b))
    assert result.dtype == np.float32
    assert (abs(result - expected) <= bound).all()


def test_flops_are_those_that_xla_counts() -> None:
    counted = cost_analysis(jax.jit(product).lower(*matrices()).compile())
    assert counted is not None
    assert counted.flops == product_flops(M, K, N) == 5610


def test_compiles_once_for_each_shape() -> None:
    traced: list[tuple[int, ...]] = []

    @jax.jit
    def counted(a: jax.Array, b: jax.Array) -> jax.Array:
        traced.append(a.shape)
        return product(a, b)

    a, b = map(jnp.asarray, matrices())
    for _ in range(3):
        counted(a, b)
    counted(a[:2], b)
    assert traced == [(M, K), (2, K)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_has_the_expected_moments(dtype: str) -> None:
    with jax.enable_x64(True):
        matrix = uniform(jax.random.key(1), 300, dtype)
        assert matrix.shape == (300, 300)
        assert matrix.dtype == dtype
        assert 0 <= float(matrix.min()) < 0.001
        assert 0.999 < float(matrix.max()) < 1
        result = mean_and_sum(matrix)
    for value, (expected, std) in zip(result, uniform_moments(300).values(), strict=True):
        assert abs(float(value) - expected) < 4 * std


def test_moments_are_those_of_many_matrices() -> None:
    sums = np.random.default_rng(0).random((20_000, 3, 3)).sum((1, 2))
    moments = uniform_moments(3)
    assert moments["sum"] == pytest.approx((4.5, sums.std()), rel=0.02)
    assert moments["mean"] == pytest.approx((0.5, sums.std() / 9), rel=0.02)
    assert (moments["sum"][0], moments["mean"][0]) == (4.5, 0.5)


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["NumPy", "JAX"])
def test_mean_and_sum_of_each_library(convert: Any) -> None:
    result = mean_and_sum(convert(np.arange(12.0, dtype=np.float32).reshape(3, 4)))
    assert tuple(map(float, result)) == (5.5, 66.0)


def test_inverse_times_matrix_is_the_identity() -> None:
    n = 33
    matrix = np.random.default_rng(0).random((n, n))
    condition = np.linalg.cond(matrix)
    with jax.enable_x64(True):
        x = jnp.asarray(matrix)
        identity = product(x, jnp.linalg.inv(x))
        assert identity.dtype == np.float64
        # The largest offset. A mean would hide one wrong element among a thousand right ones.
        bound = n * np.finfo(np.float64).eps * condition
        assert offsets_from_identity(np.asarray(identity)).max() <= bound


def test_offset_from_identity_is_absolute() -> None:
    offsets = offsets_from_identity(np.array([[1.0, -0.25], [0.5, 0.0]]))
    np.testing.assert_array_equal(offsets, [[0, 0.25], [0.5, 1]])


def test_inverse_flops_are_those_of_lapack_to_leading_order() -> None:
    n = 1000
    factorise = 2 / 3 * n**3 - n**2 / 2 + 5 / 6 * n
    invert = 4 / 3 * n**3 - n**2 + 5 / 3 * n
    assert inverse_flops(n) == pytest.approx(factorise + invert, rel=2 / n)
