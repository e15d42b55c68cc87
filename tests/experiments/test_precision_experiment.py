"""The precision experiment compares calls with themselves, and one pair that differs."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from jaxcap.experiments.jit import COMPILED, OP_BY_OP
from jaxcap.experiments.precision import KERNELS, PRECISION, WAVE, A, B, prepare


@pytest.mark.parametrize("kernel", KERNELS)
def test_both_variants_are_the_same_call(kernel: str) -> None:
    variants = prepare(kernel=kernel)
    assert list(variants) == [A, B]
    assert variants[A] is variants[B]
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(variants[A]()))


def test_the_wave_has_a_difference_to_be_found() -> None:
    assert set(prepare(kernel=WAVE)) == {OP_BY_OP, COMPILED}


def test_only_calls_that_are_equal_are_recorded() -> None:
    assert [point["kernel"] for point in PRECISION.quick] == list(KERNELS)
