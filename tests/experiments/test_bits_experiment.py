"""The experiment on bits does the same work in each format, to within its rounding."""

from __future__ import annotations

from math import fsum

import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.experiments.bits import (
    BITS,
    FORMATS,
    MIXED,
    PRODUCT,
    SUM,
    TRAINING,
    error,
    inputs,
    prepare,
)
from jaxcap.kernels import bits

JAX = (*FORMATS, MIXED)


def half_a_gap(dtype: str) -> float:
    return float(jnp.finfo(dtype).eps) / 2  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("task", [SUM, PRODUCT])
def test_formats_differ_by_their_rounding_alone(task: str) -> None:
    size = {SUM: 1000, PRODUCT: 40}[task]
    arrays = inputs(task, size)
    exact = fsum(arrays[0]) if task == SUM else arrays[0] @ arrays[1]
    variants = prepare(task, size)
    for name in JAX:
        result = variants[name]()
        dtype = "float32" if name == MIXED else name
        assert result.dtype == dtype
        # The inputs are rounded, and so is the result.
        short = "bfloat16" if name == MIXED else name
        inputs_rounded = (1 if task == SUM else 2) * half_a_gap(short)
        assert error(result, exact) < 1.1 * inputs_rounded + 40 * half_a_gap(dtype)


def test_mixed_products_round_the_inputs_and_nothing_else() -> None:
    a, b = (np.asarray(bits.cast(x, "bfloat16"), np.float64) for x in inputs(PRODUCT, 40))
    np.testing.assert_allclose(prepare(PRODUCT, 40)[MIXED](), a @ b, rtol=1e-6)


def test_mixed_training_keeps_weights_in_float32() -> None:
    variants = prepare(TRAINING, 8)
    assert list(variants) == [*JAX]
    formats = {name: {array.dtype.name for array in call()} for name, call in variants.items()}
    assert formats == {name: {name} for name in FORMATS} | {MIXED: {"float32"}}
    for name in JAX:
        for array, expected in zip(variants[name](), variants["float64"](), strict=True):
            np.testing.assert_allclose(
                np.asarray(array, np.float64), expected, rtol=0, atol=0.03, err_msg=name
            )


def test_error_is_relative_to_the_largest_number() -> None:
    assert error([1.0, 10.5], [1.0, 10.0]) == 0.05
    assert error(jnp.inf, 2.0) == np.inf


def test_points_are_those_that_the_claims_need() -> None:
    for points in (BITS.quick, BITS.full):
        assert {point["task"] for point in points} == {SUM, PRODUCT, TRAINING}
        assert len(points) == 3
