"""All trees hold the same numbers, in as many arrays as a point says."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest

from jaxcap.experiments.pytrees import ARRAY, DICT, LIST, PYTREES, prepare


@pytest.mark.parametrize("leaves", [1, 10, 100])
def test_all_trees_hold_the_same_numbers(leaves: int) -> None:
    calls = prepare(leaves=leaves, numbers=300)
    trees = {name: call() for name, call in calls.items()}
    counts = {name: len(jax.tree.leaves(tree)) for name, tree in trees.items()}
    assert counts == {LIST: leaves, DICT: leaves, ARRAY: 1}
    array_call = calls[ARRAY]
    assert isinstance(array_call, partial)
    params, slopes = (np.asarray(argument, np.float64) for argument in array_call.args)
    for name, tree in trees.items():
        numbers = np.concatenate(jax.tree.leaves(tree))
        np.testing.assert_allclose(numbers, params - 0.1 * slopes, rtol=0, atol=1e-6, err_msg=name)


def test_quick_and_full_points_share_those_of_the_claims() -> None:
    for points in (PYTREES.quick, PYTREES.full):
        assert [point["leaves"] for point in points][-1] == 1000
        assert all(int(point["numbers"]) % int(point["leaves"]) == 0 for point in points)
