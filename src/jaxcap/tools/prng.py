"""Streams of random keys, each of which is returned only once.

JAX needs a fresh key for each use. In code that splits keys by hand, each key needs a name, and it
is easy to use one twice. A `KeyStream` returns the next key instead, and refuses to do so in a
function that JAX compiles, where the stream would be hidden state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property, reduce
from hashlib import blake2b
from operator import index
from typing import Any, Self

import jax
import numpy as np
from jax import Array
from jax.extend.core import get_opaque_trace_state

# `jax.random.key` keeps 32 bits of a seed, and `jax.random.fold_in` of a number; both drop the rest
# silently.
_MAX_SEEDS = _MAX_KEYS = 2**32

# Compiled, because op by op it takes several times as long as a split.
_key_at = jax.jit(jax.random.fold_in)
_keys_at = jax.jit(jax.vmap(jax.random.fold_in, in_axes=(None, 0)))


class TracedDrawError(RuntimeError):
    """A key was drawn while JAX traced a function; the message says what to do instead."""


class KeyStream(Iterator[Array]):
    """An endless sequence of independent random keys, determined by a seed.

    ``next(stream)`` returns the next key, ``stream(n)`` the next ``n`` keys in one array, and
    ``stream.fork(name)`` another stream. All are typed keys (`jax.random.key`).

    Parameters
    ----------
    seed
        An integer from 0 to 2**32 - 1.

    Raises
    ------
    TypeError
        If the seed is not an integer. Booleans don't count as integers.
    ValueError
        If it is out of range: JAX would drop bits and give two seeds the same keys.

    Notes
    -----
    The key number ``i`` is ``jax.random.fold_in(root, i)``, where the root of a new stream is
    ``jax.random.key(seed)``. So the state is a counter, and a draw is one compiled operation, where
    a chain of splits takes one to split and another to take the result apart. For the same reason
    ``stream(n)`` returns the same keys as ``n`` calls of ``next`` (except with JAX's ``unsafe_rbg``),
    and no key depends on ``jax_threefry_partitionable``.

    Drawing is refused while JAX traces (in `jax.jit`, `jax.vmap`, `jax.lax.scan` and others): a key
    would be drawn once, during tracing, and not in each call, row or step. It is refused in
    `jax.grad` as well, where it would go wrong once the gradient is compiled. Creating, forking and
    describing a stream computes nothing, and is allowed anywhere.

    A stream is pickled as its `state`. A copy, in this process or another, continues from the same
    key and so gives the *same* keys. Give each thread or process that should differ its own fork.

    In ``zip``, put the stream last: ``zip`` draws a key before it finds a later argument exhausted.

    Examples
    --------
    >>> stream = KeyStream(0)
    >>> noise = jax.random.normal(next(stream), (3,))
    >>> stream(5).shape
    (5,)
    >>> stream
    KeyStream(seed=0, path=(), drawn=6)
    """

    def __init__(self, seed: int) -> None:
        self._seed = _integer(seed, "seed", end=_MAX_SEEDS)
        self._path: tuple[str, ...] = ()
        self._drawn = 0
        self._fork_names: set[str] = set()
        self._impl: str = jax.config.jax_default_prng_impl  # type: ignore[attr-defined]

    def __next__(self) -> Array:
        number = self._advance(1)
        key: Array = _key_at(self._root, np.uint32(number))
        return key

    def __call__(self, n: int) -> Array:
        """Return the next ``n`` keys, an array of typed keys of shape ``(n,)``.

        Each new ``n`` compiles once.

        Raises
        ------
        TracedDrawError
            If JAX traces, as for ``next``.
        TypeError
            If ``n`` is not an integer.
        ValueError
            If ``n`` is negative, or more keys than the stream has.
        """
        n = _integer(n, "number of keys", end=_MAX_KEYS + 1)
        first = self._advance(n)
        keys: Array = _keys_at(self._root, np.arange(first, first + n, dtype=np.uint32))
        return keys

    def fork(self, name: str) -> Self:
        """Return an independent stream, determined by this one's seed and path and by ``name``.

        It doesn't depend on how many keys were drawn, and uses none of them, so a part of a program
        keeps its numbers when another part draws more. A copy of this stream, or one from its
        `state`, gives the same fork under the same name.

        Raises
        ------
        TypeError
            If the name is not a string.
        ValueError
            If this stream was forked under this name before: both forks would give the same keys.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a fork must be a string, got {name!r}")
        if name in self._fork_names:
            raise ValueError(
                f"this stream was forked as {name!r} before, and a second fork of that name would "
                "give the same keys: choose another name, or keep the first fork and use it again"
            )
        self._fork_names.add(name)
        return self.from_state(self.state | {"path": [*self._path, name], "drawn": 0})

    @property
    def state(self) -> dict[str, Any]:
        """Everything that determines the stream, as numbers and strings for JSON or a checkpoint."""
        return {
            "seed": self._seed,
            "path": list(self._path),
            "drawn": self._drawn,
            "impl": self._impl,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return a stream that continues where one with this `state` was.

        Raises
        ------
        KeyError
            If the state lacks an entry.
        TypeError, ValueError
            If its seed or its number of keys drawn is not an integer, or out of range.
        """
        stream = cls(state["seed"])
        stream._path = tuple(state["path"])
        stream._drawn = _integer(state["drawn"], "number of keys drawn", end=_MAX_KEYS + 1)
        stream._impl = state["impl"]
        return stream

    def __reduce__(self) -> tuple[Any, ...]:
        return self.from_state, (self.state,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seed={self._seed}, path={self._path}, drawn={self._drawn})"

    @cached_property
    def _root(self) -> Array:
        """The key from which all others derive. Read it after `_advance`, or it may be traced."""
        words = [word for name in self._path for word in _hash_words(name)]
        return reduce(_key_at, words, jax.random.key(self._seed, impl=self._impl))

    def _advance(self, n: int) -> int:
        """Advance the counter by ``n``, and return its former value."""
        if get_opaque_trace_state() != _not_tracing():  # type: ignore[no-untyped-call]
            raise TracedDrawError(
                "a KeyStream was advanced inside a function that JAX traces (jit, grad, vmap, scan "
                "and others do): the key would be drawn once, while tracing, and used in every "
                "call. Draw keys outside and pass them in as arguments, f(next(stream), x); "
                "inside, split them with jax.random.split"
            )
        first = self._drawn
        if first + n > _MAX_KEYS:
            raise ValueError(
                f"{n} more keys were asked for after {first}, and a stream has {_MAX_KEYS}: continue "
                "with a fork of it"
            )
        self._drawn = first + n
        return first


@cache
def _not_tracing() -> object:
    """JAX's trace state outside all transformations, which is the same in all threads."""
    with jax.core.eval_context():
        state: object = get_opaque_trace_state()  # type: ignore[no-untyped-call]
        return state


def _hash_words(name: str) -> list[np.uint32]:
    """Hash a name to 128 bits, the same in each process (unlike ``hash``).

    With so many bits, no name collides with another, nor with the counters of draws and splits.
    """
    return list(np.frombuffer(blake2b(name.encode(), digest_size=16).digest(), dtype="<u4"))


def _integer(value: Any, label: str, *, end: int) -> int:
    """Convert an integer of any type to ``int``, if it is at least 0 and below ``end``."""
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"the {label} must be an integer, got {value!r}")
    if not 0 <= number < end:
        raise ValueError(f"the {label} must be from 0 to {end - 1}, got {number}")
    return number
