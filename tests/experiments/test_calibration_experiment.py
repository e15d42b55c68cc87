"""The calibration experiment prepares what it says, at all of its points."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from jaxcap.experiments.calibration import (
    COMPILED,
    LOOP,
    NUMPY,
    OPTIMISERS,
    prepare,
    prepare_errors,
    prepare_fit,
    prepare_optimisers,
)
from jaxcap.kernels import calibration

EPS = float(np.finfo(np.float32).eps)


def test_all_variants_agree() -> None:
    variants = prepare(size=1000)
    assert set(variants) == {LOOP, NUMPY, COMPILED}
    results = {name: np.asarray(call()) for name, call in variants.items()}
    assert {error.dtype for error in results.values()} == {np.dtype(np.float32)}
    # The loop adds one number after another, and rounds as often.
    np.testing.assert_allclose(results[LOOP], results[NUMPY], rtol=1000 * EPS)
    np.testing.assert_allclose(results[COMPILED], results[NUMPY], rtol=20 * EPS)


def test_only_the_compiled_variant_gets_jax_arrays() -> None:
    kinds = {
        name: {isinstance(array, jax.Array) for array in call.args}  # type: ignore[attr-defined]
        for name, call in prepare(size=10).items()
    }
    assert kinds == {LOOP: {False}, NUMPY: {False}, COMPILED: {True}}


def test_loop_is_left_out_where_it_takes_long() -> None:
    assert set(prepare(size=10_001)) == {NUMPY, COMPILED}


@pytest.mark.parametrize(("library", "counts"), [("NumPy", [2]), ("JAX", [2, 3, 4])])
def test_errors_by_one_library_are_the_same_whatever_the_parameters(
    library: str, counts: list[int]
) -> None:
    variants = prepare_errors(library, 100)
    assert list(variants) == [f"{library}, {count} parameters" for count in counts]
    truth = np.array([calibration.SLOPE, calibration.OFFSET])
    expected = calibration.rmse(truth, *calibration.sensors(size=100))
    assert [float(call()) for call in variants.values()] == pytest.approx(
        [expected] * len(counts), rel=1e-5
    )


@pytest.mark.parametrize("library", ["NumPy", "JAX"])
def test_fits_find_the_least_squares(library: str) -> None:
    (fit,) = prepare_fit(library, 100).values()
    exact = calibration.least_squares(*calibration.sensors(size=100))
    np.testing.assert_allclose(fit().x, exact, rtol=1e-4)


def test_all_optimisers_find_the_least_squares_in_64_bits() -> None:
    exact = calibration.least_squares(*calibration.sensors(size=100))
    variants = prepare_optimisers(100)
    assert len(variants) == 3
    for name, fit in variants.items():
        found = np.asarray(fit().x)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, exact, rtol=1e-4, err_msg=name)


def test_optimisers_get_as_many_readings_as_the_tutorial() -> None:
    reference, _ = calibration.sensors()
    assert OPTIMISERS.quick == [{"size": len(reference)}]
