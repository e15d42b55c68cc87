"""Work that others published and that no tutorial repeats, at the published sizes on all devices.

What they did by JAX and PyTorch on large matrices was done on a GPU, as the experiments on linear
algebra do. What is left is NumPy's part, which tells their CPU from ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from jaxcap.experiments import dispatch, linear_algebra
from jaxcap.experiments.linear_algebra import GENERATE, INVERSE, MEAN_AND_SUM, NUMPY, PRODUCT
from jaxcap.kernels import linalg
from jaxcap.measure.experiment import Experiment, grid

SIZE = 5000
WITH_TRANSPOSE = "product with the transpose"

Variants = Mapping[str, Callable[[], Any]]


def prepare_matrices(task: str, size: int) -> Variants:
    """Prepare a task on a ``(size, size)`` matrix by NumPy.

    In float64, and random numbers by the generator that NumPy had at first; the product with the
    transpose in float32.
    """
    if task == GENERATE:
        return {NUMPY: partial(np.random.RandomState(0).random_sample, (size, size))}
    if task == WITH_TRANSPOSE:
        x = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
        return {NUMPY: partial(linalg.product_numpy, x, x.T)}
    return linear_algebra.prepare(task, size, by=[linear_algebra.library(NUMPY)])


def prepare_small_arrays(operation: str, size: int) -> Variants:
    """Prepare an operation on NumPy arrays in float64, which JAX casts to float32 in each call."""
    return dispatch.prepare(operation, dispatch.NUMPY_ARRAYS, size, dtype="float64")


_TASKS = (GENERATE, MEAN_AND_SUM, PRODUCT, INVERSE, WITH_TRANSPOSE)
_MATRICES = grid(task=_TASKS, size=(SIZE,))
_SMALL_ARRAYS = [
    *grid(operation=("dot",), size=dispatch.SIZES),
    *grid(operation=("einsum", "eig"), size=dispatch.SMALL_SIZES),
]

#: NumPy on large matrices.
MATRICES = Experiment(
    name="published matrices",
    title="Large matrices by NumPy, as others did",
    prepare=prepare_matrices,
    quick=_MATRICES,
    full=_MATRICES,
)
#: All libraries on small NumPy arrays, in NumPy's own type.
SMALL_ARRAYS = Experiment(
    name="published small arrays",
    title="Small arrays in 64 bits, as others did",
    prepare=prepare_small_arrays,
    quick=_SMALL_ARRAYS,
    full=_SMALL_ARRAYS,
)
