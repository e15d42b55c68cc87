"""The random model against its distribution, and its loops against one another."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
import pytest
from scipy.stats import norm

from jaxcap.kernels.random_model import batched, chained, looped, looped_steps, my_model, step

LOOPS = 5
KEY = jax.random.key(0)


def test_is_the_formula_of_two_independent_numbers() -> None:
    first, second = jax.random.split(KEY)
    a, b = (float(jax.random.normal(key)) for key in (first, second))
    assert a != b
    assert float(my_model([first, second])) == pytest.approx(14 * a**2 + 13 * b, rel=1e-6)


@pytest.mark.parametrize("awaited", [False, True])
def test_a_loop_awaits_its_values_only_when_asked(awaited: bool) -> None:
    class Value:
        awaited = False

        def block_until_ready(self) -> None:
            self.awaited = True

    values = looped(lambda _: Value(), KEY, 3, awaited=awaited)  # type: ignore[arg-type, return-value]
    assert [value.awaited for value in values] == [awaited] * 3  # type: ignore[attr-defined]


def test_both_loops_use_the_same_keys() -> None:
    values = np.array(looped_steps(step, KEY, LOOPS))
    assert len(set(values)) == LOOPS
    np.testing.assert_allclose(looped(my_model, KEY, LOOPS), values, rtol=1e-5)


def test_chain_is_the_loop_of_steps() -> None:
    expected = looped_steps(step, KEY, LOOPS)
    # Two float32 products and a sum, as XLA fuses them or not.
    np.testing.assert_allclose(chained(KEY, LOOPS), expected, rtol=1e-5)


def test_a_step_uses_no_key_twice() -> None:
    following, _ = step(KEY)
    keys = [KEY, following, *jax.random.split(KEY, 3)[1:]]
    assert len({jax.random.key_data(key).tobytes() for key in keys}) == 4


@pytest.mark.parametrize("draw", [chained, batched])
def test_moments_are_those_of_the_distribution(
    draw: Callable[[jax.Array, int], jax.Array],
) -> None:
    n = 100_000
    values = np.asarray(jax.jit(draw, static_argnums=1)(KEY, n), np.float64)
    assert values.shape == (n,)
    # A seeded sample; a fair one would leave these bounds once in a million.
    reach = norm.isf(0.5e-6)
    assert abs(values.mean() - 14) < reach * (561 / n) ** 0.5
    # The fourth central moment: 14^4 * 60 + 6 * 14^2 * 2 * 13^2 + 3 * 13^4.
    fourth = 14**4 * 60 + 6 * (14**2 * 2) * 13**2 + 3 * 13**4
    assert abs(values.var() - 561) < reach * ((fourth - 561**2) / n) ** 0.5


@pytest.mark.parametrize("draw", [chained, batched])
def test_compiles_once_for_each_number_of_loops(
    draw: Callable[[jax.Array, int], jax.Array],
) -> None:
    traced: list[int] = []

    def counted(key: jax.Array, loops: int) -> jax.Array:
        traced.append(loops)
        return draw(key, loops)

    compiled = jax.jit(counted, static_argnums=1)
    for seed, loops in enumerate((3, 3, 4)):
        compiled(jax.random.key(seed), loops)
    assert traced == [3, 4]
