"""The experiments on updates, sums and sorting prepare the same work for all their variants."""

from __future__ import annotations

import numpy as np
import pytest

from jaxcap.experiments.updates import (
    DONATED,
    FUNCTIONS,
    SUMS,
    SWAPS,
    UPDATES,
    VALUES,
    prepare,
    prepare_ordering,
    prepare_sums,
)


def test_all_ways_change_the_same_element() -> None:
    results = {name: np.array(call()) for name, call in prepare(size=100).items()}
    expected = np.arange(100, dtype=np.float32)
    expected[1] = 7
    for result in results.values():
        np.testing.assert_array_equal(result, expected)


def test_what_is_donated_can_be_called_again() -> None:
    call = prepare(size=100)[DONATED]
    first = call()
    call()
    assert first.is_deleted()


def test_all_loops_make_the_same_swaps() -> None:
    in_turn, at_once, by_numpy = (
        np.array(call()) for call in prepare(size=1000, of=SWAPS).values()
    )
    assert in_turn.dtype == by_numpy.dtype == np.float32
    np.testing.assert_array_equal(in_turn, by_numpy)
    np.testing.assert_array_equal(at_once, by_numpy)


@pytest.mark.parametrize("point", SUMS.points)
def test_all_sums_agree(point: dict[str, int]) -> None:
    results = [np.array(call()) for call in prepare_sums(**point).values()]
    for result in results:
        assert result.shape == (point["groups"],)
        np.testing.assert_allclose(result, results[-1], rtol=0, atol=VALUES * 4 * 6e-8)


def test_jax_and_numpy_order_the_same_numbers() -> None:
    calls = prepare_ordering(size=1000)
    for name in FUNCTIONS:
        by_jax, by_numpy = (np.array(calls[f"{xp}.{name}"]()) for xp in ("jnp", "np"))
        np.testing.assert_allclose(by_jax, by_numpy, rtol=0, atol=1000 * 4 * 6e-8)


def test_points_are_those_that_the_claims_need() -> None:
    for points in (UPDATES.quick, UPDATES.full):
        assert {point.get("of") for point in points} == {None, SWAPS}
    assert {"groups": 1000} in SUMS.points
