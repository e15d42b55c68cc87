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
    # A product with its own transpose is symmetric, and its diagonal holds sums of squares, which
    # bound all elements, and so their rounding errors.
    tolerance = size * np.finfo(np.float32).eps * np.diag(numpy).max()
    for other in (numpy.T, jax_arrays, jax_on_numpy):
        np.testing.assert_allclose(other, numpy, rtol=0, atol=tolerance)


def test_each_variant_gets_the_arrays_that_it_names() -> None:
    kinds = {
        name: {isinstance(array, jax.Array) for array in call.args}  # type: ignore[attr-defined]
        for name, call in prepare(size=3).items()
    }
    assert kinds == {JAX_ARRAYS: {True}, NUMPY: {False}, JAX_ON_NUMPY: {False}}
