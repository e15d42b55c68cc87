"""Steps of gradient descent on trees, by arithmetic, and trees with the same numbers in other structures."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.kernels.pytrees import descend, nested, parts


@pytest.mark.parametrize("kind", [float, np.float32, jnp.float32], ids=str)
def test_descend_takes_a_tenth_of_the_slope_off_each_number(kind: Any) -> None:
    params = {"a": kind(1), "b": [kind(2), (kind(3),)]}
    slopes = {"a": kind(10), "b": [kind(-10), (kind(0),)]}
    stepped = descend(params, slopes)
    rounded = jax.tree.map(lambda leaf: round(float(leaf), 6), stepped)
    assert rounded == {"a": 0, "b": [3, (3,)]}


def test_descend_keeps_the_type_of_numbers() -> None:
    halves = jnp.ones(3, jnp.bfloat16)
    assert descend(halves, halves).dtype == jnp.bfloat16


@pytest.mark.parametrize("count", [1, 2, 6])
def test_parts_are_equal_and_in_order(count: int) -> None:
    cut = parts(np.arange(6, dtype=np.float32), count)
    assert all(isinstance(part, jax.Array) for part in cut)
    assert [part.shape for part in cut] == [(6 // count,)] * count
    np.testing.assert_array_equal(np.concatenate(cut), np.arange(6))


@pytest.mark.parametrize(("count", "depth"), [(1, 1), (10, 1), (11, 2), (100, 2), (1000, 3)])
def test_nested_dicts_are_small_and_keep_their_leaves(count: int, depth: int) -> None:
    tree = nested(range(count))
    assert jax.tree.leaves(tree) == list(range(count))
    assert {len(path) for path, _ in jax.tree.leaves_with_path(tree)} == {depth}
    seen = [tree]
    for node in seen:
        assert len(node) <= 10
        seen += [child for child in node.values() if isinstance(child, dict)]
