"""A matrix product in three ways: what the transfer of NumPy arrays to JAX costs."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np

from jaxcap.kernels import linalg
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

JAX_ARRAYS, NUMPY, JAX_ON_NUMPY = "jnp on JAX arrays", "NumPy", "jnp on NumPy arrays"


def prepare(size: int) -> Variants:
    """Prepare the product of two ``(size, size)`` float32 matrices.

    Of ``a @ a.T``, NumPy computes one half and copies it to the other, so libraries would do different work.
    """
    a, b = np.random.default_rng(0).standard_normal((2, size, size), dtype=np.float32)
    on_device = jax.device_put((a, b))
    return {
        JAX_ARRAYS: partial(linalg.product, *on_device),
        NUMPY: partial(np.matmul, a, b),
        JAX_ON_NUMPY: partial(linalg.product, a, b),
    }


PRODUCT = Experiment(
    name="product",
    title="A product, and the transfer of its matrices",
    prepare=prepare,
    quick=grid(size=(250, 500, 1000)),
    full=grid(size=(500, 1000, 2000, 5000)),
)
