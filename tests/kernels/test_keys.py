"""Many keys: split by hand, or drawn from a stream."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxcap.kernels.keys import next_each, split_each


def test_splitting_carries_the_first_of_two_keys_on() -> None:
    rest, first = jax.random.split(jax.random.key(3))
    _, second = jax.random.split(rest)
    keys = split_each(jax.random.key(3), 2)
    assert (jnp.stack(keys) == jnp.stack([first, second])).all()


def test_drawing_takes_as_many_as_wanted() -> None:
    stream = iter(jax.random.split(jax.random.key(0), 5))
    assert len(next_each(stream, 3)) == 3
    assert len(list(stream)) == 2
