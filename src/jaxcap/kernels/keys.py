"""Many random keys, made one by one. Keys are arrays of the dtype of `jax.random.key`."""

from collections.abc import Iterator

import jax
from jax import Array


def split_each(key: Array, n: int) -> list[Array]:
    """Split ``n`` keys from a scalar key by hand, one after another."""
    keys = []
    for _ in range(n):
        key, subkey = jax.random.split(key)
        keys.append(subkey)
    return keys


def next_each(stream: Iterator[Array], n: int) -> list[Array]:
    """Draw ``n`` keys from a stream, one after another."""
    return [next(stream) for _ in range(n)]
