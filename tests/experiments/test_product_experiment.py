"""The product experiment prepares what it says, at all of its points."""

from __future__ import annotations

import jax
import numpy as np

from jaxcap.experiments.product import JAX_ARRAYS, JAX_ON_NUMPY, NUMPY, prepare


def test_all_variants_agree() -> None:
    size = 33
    variants = prepare(size=size)
    assert set(variants) == {JAX_ARRAYS, NUMPY, JAX_ON_NUMPY}
    jax_arrays, numpy, jax_on_numpy = (
        np.asarray(variants[name]()) for name in (JAX_ARRAYS, NUMPY, JAX_ON_NUMPY)
    )
    assert numpy.shape == (size, size)
    assert numpy.dtype == np.float32
    a, b = (array.astype(np.float64) for array in variants[NUMPY].args)  # type: ignore[attr-defined]
    tolerance = size * np.finfo(np.float32).eps * (abs(a) @ abs(b)).max()
    for product in (numpy, jax_arrays, jax_on_numpy):
        np.testing.assert_allclose(product, a @ b, rtol=0, atol=tolerance)


def test_no_matrix_is_multiplied_by_its_own_transpose() -> None:
    """Of such a product, NumPy computes only one half."""
    a, b = prepare(size=3)[NUMPY].args  # type: ignore[attr-defined]
    assert not np.array_equal(a, b.T)


def test_each_variant_gets_the_arrays_that_it_names() -> None:
    kinds = {
        name: {isinstance(array, jax.Array) for array in call.args}  # type: ignore[attr-defined]
        for name, call in prepare(size=3).items()
    }
    assert kinds == {JAX_ARRAYS: {True}, NUMPY: {False}, JAX_ON_NUMPY: {False}}
