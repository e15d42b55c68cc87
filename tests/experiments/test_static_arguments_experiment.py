"""The loops experiment prepares what it says, and calls are timed in their order."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fakes import FakeClock, Late

from jaxcap.experiments.static_arguments import (
    EXACT,
    MEANS,
    PADDED,
    ROLLED,
    UNROLLED,
    prepare,
)
from jaxcap.measure.timing import time_sequence


@pytest.mark.parametrize("steps", [1, 10])
def test_both_loops_agree(steps: int) -> None:
    unrolled, rolled = (np.asarray(prepare(steps=steps)[name]()) for name in (UNROLLED, ROLLED))
    assert unrolled.shape == rolled.shape == (1000,)
    np.testing.assert_allclose(rolled, unrolled, rtol=0, atol=(steps + 1) * 2e-7)


def test_padding_keeps_the_means() -> None:
    exact, padded = (np.array(prepare(5, of=MEANS)[name]()) for name in (EXACT, PADDED))
    assert exact.shape == padded.shape == (5,)
    np.testing.assert_allclose(padded, exact, rtol=0, atol=1e-5)


def test_each_repeat_compiles_what_is_new() -> None:
    traced: list[int] = []

    def fives(columns: int) -> jax.Array:
        traced.append(columns)
        return jnp.full((2, columns), 5)

    time_sequence(jax.jit(fives, static_argnums=0), [(5,), (5,), (6,)], repeats=3)
    assert traced == [5, 6] * 3


def test_times_are_those_until_the_results_are_there() -> None:
    clock = FakeClock()

    def fn(called_s: float, late_s: float) -> Late:
        clock.advance(called_s)
        return Late(clock, late_s)

    first, second = time_sequence(fn, [(1.0, 4.0), (2.0, 0.0)], repeats=6, clock=clock)
    assert (first.value, first.low, first.high) == (5, 5, 5)
    assert (second.value, second.unit, second.basis) == (2, "s", "one process")
