"""Formats that are too short stop counting and training, by the arithmetic of their digits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.kernels import bits


@pytest.mark.parametrize(
    ("dtype", "fraction"), [("bfloat16", 7), ("float16", 10), ("float8_e4m3fn", 3)]
)
def test_a_count_stops_where_the_gaps_become_two(dtype: str, fraction: int) -> None:
    """With the leading bit, which isn't stored, a format has one binary digit more."""
    assert jnp.finfo(dtype).nmant == fraction  # type: ignore[no-untyped-call]
    last = 2 ** (fraction + 1)
    assert float(bits.count(last - 1, dtype)) == last - 1
    assert float(bits.count(2 * last, dtype)) == last


def test_a_long_format_counts_on() -> None:
    assert float(bits.count(10_000, "float32")) == 10_000


def test_a_problem_has_a_solution_and_other_weights_to_start_with() -> None:
    weights, x, y = bits.problem(8)
    assert [array.shape for array in (*weights, x, y)] == [(2, 8), (8,), (16, 2), (16,)]
    by_hand = np.mean((np.tanh(x @ weights[0]) @ weights[1] - y) ** 2)
    with jax.enable_x64(True):
        assert float(bits.loss(*jax.device_put((weights, x, y)))) == pytest.approx(by_hand)
    assert by_hand > 0.01
    small_weights, same_x, small_y = bits.problem(8, unit=1e-3)
    np.testing.assert_array_equal(same_x, x)
    np.testing.assert_allclose(small_y, 1e-3 * y)
    np.testing.assert_allclose(small_weights[1], 1e-3 * weights[1])


def test_a_step_goes_along_the_gradient_by_differences() -> None:
    weights, x, y = bits.problem(8)
    small = 1e-6
    with jax.enable_x64(True):
        stepped = bits.step(*jax.device_put((weights, x, y)))

        def loss(change: float) -> float:
            into = weights[0].copy()
            into[1, 2] += change
            return float(np.mean((np.tanh(x @ into) @ weights[1] - y) ** 2))

        slope = (loss(small) - loss(-small)) / (2 * small)
        assert float(stepped[0][1, 2]) == pytest.approx(weights[0][1, 2] - bits.RATE * slope)


@pytest.mark.parametrize("kept", ["float32", "bfloat16"])
def test_weights_keep_their_format(kept: str) -> None:
    weights, x, y = bits.problem(8)
    stepped = bits.step(bits.cast(weights, kept), *bits.cast((x, y), "bfloat16"))
    assert {array.dtype for array in stepped} == {jnp.dtype(kept)}


def test_short_weights_stop_and_master_weights_go_on() -> None:
    """What the page's figure shows."""
    weights, x, y = bits.problem(64)
    batch = bits.cast((x, y), "bfloat16")
    train = jax.jit(bits.losses, static_argnames="steps")
    short, master, long = (
        np.asarray(train(bits.cast(weights, kept), *inputs, steps=2000))
        for kept, inputs in (
            ("bfloat16", batch),
            ("float32", batch),
            ("float32", bits.cast((x, y), "float32")),
        )
    )
    assert short[0] == pytest.approx(long[0], rel=0.01)
    assert short[-1] == pytest.approx(short[-500], rel=0.01)
    assert short[-1] > 100 * master[-1]
    assert master[-1] < 2 * long[-1]


def test_a_scale_brings_gradients_back_into_the_range_of_float16() -> None:
    weights, x, y = bits.cast(bits.problem(64, unit=1e-3), "float16")

    def slopes(scale: float) -> np.ndarray:
        gradient = jax.grad(lambda weights: scale * bits.loss(weights, x, y))(weights)
        return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in gradient])

    assert (slopes(1) == 0).mean() > 0.5
    assert (slopes(2.0**12) == 0).mean() < 0.01
    assert not np.isfinite(slopes(2.0**18)).all()
    exact = bits.cast((weights, x, y), "float32")
    reference = jax.grad(bits.loss)(*exact)
    expected = np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in reference])
    difference = slopes(2.0**12) / 2**12 - expected
    assert np.linalg.norm(difference) < 0.01 * np.linalg.norm(expected)
