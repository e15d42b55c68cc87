"""The jit experiment prepares what it says, at all of its points."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from jaxcap.experiments.jit import COMPILED, JIT, OP_BY_OP, prepare
from jaxcap.kernels.elementwise import FUNCTIONS


@pytest.mark.parametrize("function", FUNCTIONS)
def test_both_variants_agree(function: str) -> None:
    variants = prepare(function=function, size=1001, device="cpu")
    eager, compiled = (np.asarray(variants[name]()) for name in (OP_BY_OP, COMPILED))
    assert eager.shape == compiled.shape == (1001,)
    assert eager.dtype == compiled.dtype == np.float32
    # Fusing saves roundings of intermediate results, each half a unit of the largest number.
    tolerance = 8 * np.finfo(np.float32).eps * abs(eager).max()
    np.testing.assert_allclose(compiled, eager, rtol=0, atol=tolerance)


def test_inputs_are_on_the_device_before_the_clock_starts() -> None:
    call = prepare(function="wave", size=10, device="cpu")[COMPILED]
    (x,) = call.args  # type: ignore[attr-defined]
    assert isinstance(x, jax.Array)
    assert (float(x[0]), float(x[-1])) == (-10, 10)


def test_points_are_all_functions_at_all_sizes() -> None:
    for points in (JIT.quick, JIT.full):
        assert {point["function"] for point in points} == set(FUNCTIONS)
    assert {point["device"] for point in JIT.quick} == {"cpu"}
    assert {point["device"] for point in JIT.full} == {"gpu", "cpu"}
