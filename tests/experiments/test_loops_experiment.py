"""Loops compute the same, and one pendulum of a hundred takes many more steps than the others."""

from __future__ import annotations

import numpy as np
import pytest

from jaxcap.experiments.loops import (
    ALIKE,
    DIFFERENTIATED,
    GRADIENT_PYTHON,
    GRADIENT_SCAN,
    LOOPS,
    MAPPED,
    ONE_UPRIGHT,
    PENDULUMS,
    PYTHON,
    SLOPES,
    VMAP,
    angles,
    compiled,
    prepare,
    prepare_mapped,
)
from jaxcap.measure.compilation import compiled_call


@pytest.mark.parametrize("steps", [1, 25])
def test_all_loops_agree(steps: int) -> None:
    ways = prepare(steps=steps)
    expected = np.array(ways[PYTHON]())
    assert expected.shape == (2, PENDULUMS)
    for way in ways.values():
        np.testing.assert_allclose(np.array(way()), expected, rtol=0, atol=(steps + 1) * 1e-6)


def test_all_gradients_agree() -> None:
    ways = compiled(SLOPES, steps=25)
    expected = np.array(ways[GRADIENT_PYTHON]())
    assert expected.shape == (PENDULUMS,)
    for way in ways.values():
        np.testing.assert_allclose(np.array(way()), expected, rtol=1e-5, atol=1e-6)


def test_more_than_a_hundred_steps_have_no_gradient_that_takes_minutes_to_compile() -> None:
    assert set(prepare(DIFFERENTIATED)) == set(prepare(25)) | set(SLOPES)
    assert set(prepare(DIFFERENTIATED + 1)) == set(prepare(25)) | {GRADIENT_SCAN}


def test_a_hundred_unrolled_steps_are_as_small_a_computation_for_xla_as_a_scan() -> None:
    """Fewer than a thousand operations, beyond which a CPU hands a call over to another thread."""
    operations = {}
    for steps in (100, 300):
        call = compiled_call(prepare(steps=steps)[PYTHON])
        assert call is not None
        operations[steps] = (call.cost_analysis() or {})["flops"]
    assert operations[100] < 1000 < operations[300]


@pytest.mark.parametrize("starts", [ALIKE, ONE_UPRIGHT])
def test_all_ways_to_map_agree(starts: str) -> None:
    ways = prepare_mapped(starts=starts)
    expected = np.asarray(ways[VMAP]())
    assert expected.shape == (100,)
    for way in ways.values():
        np.testing.assert_array_equal(way(), expected)


def test_one_takes_several_times_as_many_steps_as_the_others() -> None:
    assert (angles(ALIKE) != angles(ONE_UPRIGHT)).sum() == 1
    *others, upright = prepare_mapped(starts=ONE_UPRIGHT)[VMAP]()
    assert upright > 5 * max(others)


def test_quick_and_full_points_share_those_of_the_claims() -> None:
    assert {"steps": 100} in LOOPS.quick
    assert {"steps": 100} in LOOPS.full
    assert not MAPPED.full  # a GPU takes the same points
