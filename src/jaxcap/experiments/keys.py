"""What random keys cost: split by hand or drawn from a stream, one by one or all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
from jax import Array

from jaxcap.measure.experiment import Experiment, grid
from jaxcap.prng import KeyStream

SPLIT_EACH, NEXT_EACH = "split one by one", "next(stream)"
SPLIT_BATCH, STREAM_BATCH = "split into all", "stream(n)"


def split_each(key: Array, n: int) -> list[Array]:
    """Split ``n`` keys from a scalar key by hand, one after another."""
    keys = []
    for _ in range(n):
        key, subkey = jax.random.split(key)
        keys.append(subkey)
    return keys


def next_each(stream: KeyStream, n: int) -> list[Array]:
    """Draw ``n`` keys from a stream, one after another."""
    return [next(stream) for _ in range(n)]


def prepare(keys: int) -> Mapping[str, Callable[[], Any]]:
    """Prepare four ways to make ``keys`` fresh keys: two return a list, two an array of keys."""
    key, stream = jax.random.key(0), KeyStream(0)
    return {
        SPLIT_EACH: partial(split_each, key, keys),
        NEXT_EACH: partial(next_each, stream, keys),
        SPLIT_BATCH: partial(jax.random.split, key, keys),
        STREAM_BATCH: partial(stream, keys),
    }


KEYS = Experiment(
    name="keys",
    title="Random keys, one by one and at once",
    prepare=prepare,
    quick=grid(keys=(1, 100)),
    full=grid(keys=(1, 10, 100, 1000)),
)
