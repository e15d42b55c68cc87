"""Dense kernels against NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.compilation import work
from jaxcap.kernels.linalg import product, product_flops, product_numpy

M, K, N = 17, 33, 5  # no multiple of anything that hardware likes


def matrices() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return (rng.standard_normal(shape, dtype=np.float32) for shape in ((M, K), (K, N)))  # type: ignore[return-value]


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["NumPy", "JAX"])
@pytest.mark.parametrize(
    "fn", [product, product_numpy, jax.jit(product)], ids=["product", "product_numpy", "jit"]
)
def test_agrees_with_sums_in_64_bits(fn: Any, convert: Any) -> None:
    a, b = matrices()
    found = np.asarray(fn(convert(a), convert(b)))
    expected = np.einsum("ij,jk->ik", a.astype(np.float64), b.astype(np.float64))
    # The classical bound for sums of K products, in any order.
    bound = K * np.finfo(np.float32).eps * (abs(a) @ abs(b))
    assert found.dtype == np.float32
    assert (abs(found - expected) <= bound).all()


@pytest.mark.parametrize(("fn", "kind"), [(product, jax.Array), (product_numpy, np.ndarray)])
def test_result_is_an_array_of_the_library(fn: Any, kind: type) -> None:
    assert isinstance(fn(*matrices()), kind)


def test_flops_are_those_that_xla_counts() -> None:
    counted = work(jax.jit(product), *matrices())
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
