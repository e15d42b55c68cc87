"""Updates and sums against NumPy, and which of them copy their array."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from jaxcap.kernels.updates import (
    change,
    change_in_place,
    keeping,
    read,
    read_by_product,
    sums_by_add_at,
    sums_by_product,
    sums_by_scatter,
    swap_at_once,
    swap_in_turn,
    swaps,
    swaps_in_place,
)

SIZE = 1000
Swap = Callable[[Array, Array, Array], Array]


def numbers() -> np.ndarray:
    return np.arange(SIZE, dtype=np.float32)


def test_a_change_leaves_the_old_array_and_numpys_does_not() -> None:
    x, expected = jnp.asarray(numbers()), numbers()
    assert change_in_place(expected, 3, -1.0) is expected
    np.testing.assert_array_equal(change(x, 3, -1.0), expected)
    assert float(x[3]) == 3
    assert float(expected[3]) == -1


def test_many_elements_change_at_once() -> None:
    places, values = np.array([5, 2]), np.array([-1, -2], np.float32)
    expected = numbers()
    expected[5], expected[2] = -1, -2
    np.testing.assert_array_equal(
        change(jnp.asarray(numbers()), jnp.asarray(places), jnp.asarray(values)), expected
    )
    np.testing.assert_array_equal(change_in_place(numbers(), places, values), expected)


def test_what_is_kept_is_updated_by_each_call_and_may_be_donated() -> None:
    x = jnp.zeros(3)
    call = keeping(jax.jit(lambda x: x + 1, donate_argnums=0), x)
    call()
    np.testing.assert_array_equal(call(), [2, 2, 2])
    assert x.is_deleted()


@pytest.mark.parametrize("swap", [swap_in_turn, swap_at_once])
def test_swaps_agree_with_numpy(swap: Swap) -> None:
    pairs = np.random.default_rng(1).integers(20, size=(200, 2))
    assert (pairs[:, 0] == pairs[:, 1]).any(), "an element may be swapped with itself"
    expected = swaps_in_place(numbers(), pairs.tolist())
    result = jax.jit(partial(swaps, swap))(jnp.asarray(numbers()), jnp.asarray(pairs))
    np.testing.assert_array_equal(result, expected)
    assert not np.array_equal(expected, numbers())
    assert sorted(expected) == sorted(numbers())


def copies(fn: Callable[..., Array], *args: object) -> int:
    """Count the copies of the whole array in a compiled call."""
    text = jax.jit(fn, donate_argnums=0).lower(*args).compile().as_text() or ""
    return len(re.findall(rf"f32\[{SIZE}\]\S* copy\(", text))


def test_on_a_cpu_two_updates_for_a_swap_copy_and_one_does_not() -> None:
    """What the page explains; a compiler that can do better makes its explanation wrong."""
    cpu = jax.devices("cpu")[0]
    args = jax.device_put((numbers(), np.zeros((5, 2), np.int32)), cpu)
    assert copies(partial(swaps, swap_in_turn), *args) > 0
    assert copies(partial(swaps, swap_at_once), *args) == 0
    assert copies(change, args[0], 1, 7.0) == 0


@pytest.mark.parametrize("sums", [sums_by_scatter, sums_by_product, sums_by_add_at])
def test_sums_by_group_agree_with_numpy(sums: Callable[..., Array]) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(500, dtype=np.float32)
    groups = rng.choice([0, 1, 3], size=500)  # none in group 2
    result = sums(values, groups, 4)
    assert result.dtype == np.float32
    expected = [values[groups == group].sum(dtype=float) for group in range(4)]
    np.testing.assert_allclose(result, expected, rtol=0, atol=500 * 4 * 6e-8)
    assert result[2] == 0


@pytest.mark.parametrize("way", [read, read_by_product])
def test_reading_by_group_agrees_with_a_loop(way: Callable[..., Array]) -> None:
    table = np.array([0.1, -2.5, 1e-8, 3e7], np.float32)
    groups = np.array([3, 0, 0, 2, 1, 3])
    result = way(jnp.asarray(table), jnp.asarray(groups))
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [table[group] for group in groups])


def test_segment_sum_is_the_same_operation() -> None:
    values, groups = jnp.ones(3), jnp.array([0, 0, 2])
    ways = (partial(sums_by_scatter, count=3), partial(jax.ops.segment_sum, num_segments=3))
    last = [jax.make_jaxpr(way)(values, groups).eqns[-1].primitive.name for way in ways]
    assert last == ["scatter-add", "scatter-add"]


def test_numpy_adds_once_where_an_index_is_repeated() -> None:
    once = np.zeros(3)
    once[np.array([0, 0, 2])] += 1
    np.testing.assert_array_equal(once, [1, 0, 1])
    np.testing.assert_array_equal(jnp.zeros(3).at[np.array([0, 0, 2])].add(1), [2, 0, 1])
