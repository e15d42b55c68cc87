"""The experiments on updates, sums and sorting prepare the same work for all their variants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from libraries import needs_torch

from jaxcap.experiments.updates import (
    ADD,
    ARGSORT,
    CUMSUM,
    DONATED,
    FUNCTIONS,
    GATHER,
    GROUPS,
    INDEXING,
    JAX,
    MANY,
    NUMPY,
    PYTORCH,
    READ,
    SET,
    SORT,
    SWAPS,
    UPDATES,
    VALUES,
    prepare,
    prepare_groups,
    prepare_many,
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


@pytest.mark.parametrize("point", GROUPS.quick)
def test_all_ways_agree_about_groups(point: dict[str, Any]) -> None:
    results = [np.array(call()) for call in prepare_groups(**point).values()]
    shape = (VALUES,) if point.get("of") == READ else (point["groups"],)
    for result in results:
        assert result.shape == shape
        assert result.dtype in (np.float32, np.float64)  # np.bincount adds in float64
        np.testing.assert_allclose(result, results[-1], rtol=0, atol=VALUES * 4 * 6e-8)


def test_what_is_read_are_numbers_of_the_table() -> None:
    result = np.array(prepare_groups(groups=10, of=READ)[INDEXING]())
    assert len(set(result.tolist())) == 10


@pytest.mark.parametrize("function", FUNCTIONS)
def test_all_libraries_compute_the_same(function: str) -> None:
    size = 1000
    rng = np.random.default_rng(0)
    x, places = rng.standard_normal(size, dtype=np.float32), rng.permutation(size)
    back = np.empty(size, int)
    back[places] = np.arange(size)
    expected: Any = {
        GATHER: [x[i] for i in places],
        SET: x[back],
        ADD: x[back],
        SORT: sorted(x),
        ARGSORT: sorted(range(size), key=lambda i: x[i]),
        CUMSUM: [x[: i + 1].sum(dtype=float) for i in range(size)],
    }[function]
    for name, call in prepare_many(function=function, size=size).items():
        call()
        result = call()  # what is written in place stays the same
        values = result.values if function == SORT and name == PYTORCH else result
        np.testing.assert_allclose(
            np.asarray(values), expected, rtol=0, atol=size * 4 * 6e-8, err_msg=name
        )


@needs_torch
def test_pytorch_takes_part_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(prepare_many(function=SORT, size=10)) == {NUMPY, JAX, PYTORCH}
    monkeypatch.setattr("jaxcap.experiments.updates.find_spec", lambda _: None)
    assert set(prepare_many(function=SORT, size=10)) == {NUMPY, JAX}


def test_points_are_those_that_the_claims_need() -> None:
    for points in (UPDATES.quick, UPDATES.full):
        assert {point.get("of") for point in points} == {None, SWAPS}
    for points in (GROUPS.quick, GROUPS.full):
        for groups in (10, 1000):
            assert {"groups": groups} in points
            assert {"groups": groups, "of": READ} in points
    for points in (MANY.quick, MANY.full):
        assert {"function": SORT, "size": 100_000} in points
