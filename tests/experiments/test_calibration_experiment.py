"""The calibration experiment prepares what it says, at all of its points."""

from __future__ import annotations

import inspect

import jax
import numpy as np

from jaxcap.experiments.calibration import CALIBRATION, COMPILED, LOOP, NUMPY, prepare

EPS = float(np.finfo(np.float32).eps)


def test_all_variants_agree() -> None:
    variants = prepare(size=1000)
    assert set(variants) == {LOOP, NUMPY, COMPILED}
    found = {name: np.asarray(call()) for name, call in variants.items()}
    assert {error.dtype for error in found.values()} == {np.dtype(np.float32)}
    # The loop adds one number after another, and rounds as often.
    np.testing.assert_allclose(found[LOOP], found[NUMPY], rtol=1000 * EPS)
    np.testing.assert_allclose(found[COMPILED], found[NUMPY], rtol=20 * EPS)


def test_only_the_compiled_variant_gets_jax_arrays() -> None:
    kinds = {
        name: {isinstance(array, jax.Array) for array in call.args}  # type: ignore[attr-defined]
        for name, call in prepare(size=10).items()
    }
    assert kinds == {LOOP: {False}, NUMPY: {False}, COMPILED: {True}}


def test_loop_is_left_out_where_it_takes_long() -> None:
    assert set(prepare(size=10_001)) == {NUMPY, COMPILED}


def test_points_fit_and_can_be_imported_by_a_fresh_process() -> None:
    for point in (*CALIBRATION.quick, *CALIBRATION.full):
        inspect.signature(prepare).bind(**point)
    assert CALIBRATION.reference == "jaxcap.experiments.calibration:prepare"
