"""Loops and padding against NumPy, and how often each of them compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.kernels.loops import (
    cosines,
    cosines_unrolled,
    mean_of_first,
    means,
    means_padded,
    measurements,
    padded,
)


def traces(fn: Callable[..., Any], calls: Iterable[tuple[Any, ...]], **options: Any) -> int:
    """How often these calls make JAX trace ``fn``, and so compile it."""
    count = 0

    def counted(*args: Any) -> Any:
        nonlocal count
        count += 1
        return fn(*args)

    compiled = jax.jit(counted, **options)
    for args in calls:
        compiled(*args)
    return count


@pytest.mark.parametrize("fn", [cosines_unrolled, cosines])
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_cosines_agree_with_numpy(fn: Callable[..., jax.Array], steps: int) -> None:
    x = np.linspace(-3, 3, 101)
    expected = x
    for _ in range(steps):
        expected = np.cos(expected)
    result = fn(jnp.asarray(x, jnp.float32), steps)
    assert result.dtype == jnp.float32
    # Each step rounds once, and the slope of the cosine is at most 1.
    tolerance = (steps + 1) * 2 * 3 * float(np.finfo(np.float32).eps)
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("fn", [cosines_unrolled, cosines])
def test_cosines_end_at_the_number_that_is_its_own_cosine(fn: Callable[..., jax.Array]) -> None:
    assert float(fn(jnp.float32(0.5), 100)) == pytest.approx(0.7390851, abs=2e-7)


def test_an_unrolled_loop_has_all_its_steps_and_a_rolled_one_is_a_single_operation() -> None:
    unrolled = jax.make_jaxpr(cosines_unrolled, static_argnums=1)
    x = jnp.float32(0.5)
    assert [len(unrolled(x, steps).eqns) for steps in (4, 40)] == [4, 40]
    assert len(jax.make_jaxpr(cosines)(x, 40).eqns) == 1


def test_only_a_static_bound_compiles_again() -> None:
    calls = [(0.5, steps) for steps in (1, 10, 10, 100)]
    assert traces(cosines_unrolled, calls, static_argnums=1) == 3
    assert traces(cosines, calls) == 1


def test_a_traced_bound_stops_the_unrolled_loop() -> None:
    with pytest.raises(jax.errors.TracerIntegerConversionError):
        jax.jit(cosines_unrolled)(0.5, 3)


def test_a_static_bound_makes_the_rolled_loop_differentiable() -> None:
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        jax.grad(jax.jit(cosines))(0.5, 3)
    result = jax.grad(jax.jit(cosines, static_argnums=1))(0.5, 3)
    assert float(result) == pytest.approx(float(jax.grad(cosines_unrolled)(0.5, 3)), rel=1e-6)


@pytest.mark.parametrize(
    ("n", "expected"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1023, 1024), (1025, 2048)]
)
def test_padding_reaches_the_next_power_of_two(n: int, expected: int) -> None:
    assert len(padded(np.ones(n))) == expected


@pytest.mark.parametrize("n", [1, 2, 5, 8, 100])
def test_padding_keeps_the_mean(n: int) -> None:
    x = np.random.default_rng(n).normal(1, 1, n).astype(np.float32)
    longer = padded(x)
    assert longer.dtype == np.float32
    np.testing.assert_array_equal(longer[:n], x)
    assert not longer[n:].any()
    tolerance = n * np.finfo(np.float32).eps * abs(x).mean()
    assert abs(float(mean_of_first(longer, n)) - x.mean(dtype=np.float64)) <= tolerance


def test_what_follows_the_first_elements_does_not_count() -> None:
    x = jnp.array([1.0, 3.0, jnp.nan, jnp.inf])
    assert float(mean_of_first(x, 2)) == 2


def test_measurements_are_the_same_each_time_and_of_many_lengths() -> None:
    arrays, again = measurements(20), measurements(20)
    assert len({len(x) for x in arrays}) > 10
    assert {x.dtype for x in arrays} == {np.dtype(np.float32)}
    for x, y in zip(arrays, again, strict=True):
        np.testing.assert_array_equal(x, y)


def test_means_of_one_array_after_another() -> None:
    arrays = measurements(5)
    expected = [x.mean() for x in arrays]
    np.testing.assert_allclose(means(jnp.mean, arrays), expected, atol=1e-5)
    np.testing.assert_allclose(means_padded(mean_of_first, arrays), expected, atol=1e-5)


def test_padding_compiles_once_for_each_power_of_two() -> None:
    arrays = [np.ones(n, np.float32) for n in range(1, 33)]
    assert traces(jnp.mean, ((a,) for a in arrays)) == 32
    assert traces(mean_of_first, ((padded(a), len(a)) for a in arrays)) == 6


def empty_loop(x: float, num_loops: int) -> float:
    for _ in range(num_loops):
        pass
    return x


def fives(columns: int) -> jax.Array:
    return jnp.full((2, columns), 5)


@pytest.mark.parametrize(
    ("fn", "calls", "static"),
    [
        (empty_loop, [(14, 1_000_000), (14, 1_000_000), (14, 999_999)], 1),
        (fives, [(5,), (5,), (6,)], 0),
    ],
)
def test_each_new_static_value_compiles(
    fn: Callable[..., Any], calls: list[tuple[int, ...]], static: int
) -> None:
    assert [traces(fn, calls[:n], static_argnums=static) for n in (1, 2, 3)] == [1, 1, 2]


def test_traced_numbers_are_no_bounds_and_no_shapes() -> None:
    with pytest.raises(jax.errors.TracerIntegerConversionError):
        jax.jit(empty_loop)(14, 1_000_000)
    with pytest.raises(TypeError, match="Shapes must be 1D sequences of concrete values"):
        jax.jit(fives)(5)


def test_static_values_must_be_hashable() -> None:
    total = jax.jit(jnp.sum, static_argnames="axis")
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        total(jnp.ones((2, 3)), axis=[0, 1])
    assert float(total(jnp.ones((2, 3)), axis=(0, 1))) == 6
