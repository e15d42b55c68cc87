"""Published measurements that no tutorial repeats, at the published sizes on all devices.

Large matrices in JAX and PyTorch were measured on a GPU, which the experiment on linear algebra
repeats. What remains are NumPy's times, which show how the published CPU differs from ours.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from jaxcap.experiments import dispatch, linear_algebra
from jaxcap.experiments.linear_algebra import GENERATE, INVERSE, MEAN_AND_SUM, NUMPY, PRODUCT
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

SIZE = 5000
WITH_TRANSPOSE = "product with the transpose"


def prepare_matrices(task: str, size: int) -> Variants:
    """Prepare a task on a ``(size, size)`` matrix by NumPy.

    All tasks are in float64, except for the product with the transpose, which is in float32. Random
    numbers come from NumPy's legacy generator.
    """
    if task == GENERATE:
        return {NUMPY: partial(np.random.RandomState(0).random_sample, (size, size))}
    if task == WITH_TRANSPOSE:
        x = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
        return {NUMPY: partial(np.matmul, x, x.T)}
    return linear_algebra.prepare(task, size, by=[linear_algebra.library(NUMPY)])


def prepare_small_arrays(operation: str, size: int) -> Variants:
    """Prepare an operation on NumPy arrays in float64, which JAX casts to float32 in each call."""
    return dispatch.prepare(operation, dispatch.NUMPY_ARRAYS, size, dtype="float64")


#: NumPy on large matrices.
MATRICES = Experiment(
    name="published matrices",
    title="Large matrices by NumPy, as published",
    prepare=prepare_matrices,
    quick=grid(task=(GENERATE, MEAN_AND_SUM, PRODUCT, INVERSE, WITH_TRANSPOSE), size=(SIZE,)),
)
#: All libraries on small NumPy arrays of float64, NumPy's default.
SMALL_ARRAYS = Experiment(
    name="published small arrays",
    title="Small arrays in 64 bits, as published",
    prepare=prepare_small_arrays,
    quick=[
        *grid(operation=("dot",), size=dispatch.SIZES),
        *grid(operation=("einsum", "eig"), size=dispatch.SMALL_SIZES),
    ],
)
