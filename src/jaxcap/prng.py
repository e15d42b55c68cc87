"""Random keys one after another, without naming each, and without hidden state in compiled code.

JAX wants a fresh key for each use. Splitting by hand invents a name for each and invites reuse of
an old one. `KeyStream` hands them out.
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

# `jax.random.key` keeps 32 bits of a seed and `jax.random.fold_in` of a number, without a word
# about the rest.
SEEDS = KEYS = 2**32

# Compiled, because op by op it takes several times as long as a split.
_key_at = jax.jit(jax.random.fold_in)
_keys_at = jax.jit(jax.vmap(jax.random.fold_in, in_axes=(None, 0)))


class TracedDrawError(RuntimeError):
    """A key was drawn while JAX traced a function; the message says what to do instead."""


class KeyStream(Iterator[Array]):
    """An endless sequence of independent random keys, determined by a seed.

    ``next(stream)`` is the next key, ``stream(n)`` are the next ``n`` of them in one array, and
    ``stream.fork(name)`` is another stream. All are typed keys (`jax.random.key`).

    Parameters
    ----------
    seed
        An integer from 0 to 2**32 - 1.

    Raises
    ------
    TypeError
        If the seed is not an integer. Booleans aren't taken for any.
    ValueError
        If it is out of range: JAX would drop bits, and give two seeds the same keys.

    Notes
    -----
    The key number ``i`` is ``jax.random.fold_in(root, i)``, where the root of a new stream is
    ``jax.random.key(seed)``. So the state is a counter, and a draw is one compiled operation, where
    a chain of splits takes one to split and two more to take the result apart. It also makes
    ``stream(n)`` the very keys that ``n`` calls of ``next`` would give (but not with JAX's
    ``unsafe_rbg``), and none of them depends on ``jax_threefry_partitionable``.

    Drawing is refused while JAX traces (in `jax.jit`, `jax.vmap`, `jax.lax.scan` and others): the
    draw would happen once, at tracing, and not in each call, row or step. It is refused in
    `jax.grad` as well, where it would go wrong once the gradient is compiled. Creating, forking and
    describing a stream computes nothing, and is allowed anywhere.

    A stream is pickled as its `state`. A copy, in this process or another, goes on from the same
    place and so gives the *same* keys. Threads and processes that should differ get a fork each.

    In ``zip``, put the stream last: ``zip`` draws from the first before it finds the second empty.

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
        self._seed = _integer(seed, "seed", end=SEEDS)
        self._path: tuple[str, ...] = ()
        self._drawn = 0
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
            As ``next``, while JAX traces.
        TypeError
            If ``n`` is not an integer.
        ValueError
            If ``n`` is negative, or more keys than the stream has.
        """
        n = _integer(n, "number of keys", end=KEYS + 1)
        first = self._advance(n)
        keys: Array = _keys_at(self._root, np.arange(first, first + n, dtype=np.uint32))
        return keys

    def fork(self, name: str) -> Self:
        """Return an independent stream, determined by this one's seed, its own path and ``name``.

        How many keys were drawn plays no part, and no key is used up: a part of a program keeps
        its numbers when another part draws more. The same name again gives the same stream again.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a fork must be a string, got {name!r}")
        return self.from_state(self.state | {"path": [*self._path, name], "drawn": 0})

    @property
    def state(self) -> dict[str, Any]:
        """All there is to know, as plain numbers and strings that JSON or a checkpoint can hold."""
        return {
            "seed": self._seed,
            "path": list(self._path),
            "drawn": self._drawn,
            "impl": self._impl,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Continue where a stream with this `state` was.

        Raises
        ------
        KeyError
            If the state lacks an entry.
        TypeError, ValueError
            If its seed or its number of keys drawn is no integer, or out of range.
        """
        stream = cls(state["seed"])
        stream._path = tuple(state["path"])
        stream._drawn = _integer(state["drawn"], "number of keys drawn", end=KEYS + 1)
        stream._impl = state["impl"]
        return stream

    def __reduce__(self) -> tuple[Any, ...]:
        return self.from_state, (self.state,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seed={self._seed}, path={self._path}, drawn={self._drawn})"

    @cached_property
    def _root(self) -> Array:
        """The key that all others come from. To be read after `_advance`: it may not be traced."""
        words = [word for name in self._path for word in _words(name)]
        return reduce(_key_at, words, jax.random.key(self._seed, impl=self._impl))

    def _advance(self, n: int) -> int:
        """Use up the next ``n`` numbers, and return the first of them."""
        if get_opaque_trace_state() != _not_tracing():  # type: ignore[no-untyped-call]
            raise TracedDrawError(
                "a KeyStream was advanced inside a function that JAX traces (jit, grad, vmap, scan "
                "and others do): the key would be drawn once, while tracing, and used in every "
                "call. Draw keys outside and pass them in as arguments, f(next(stream), x); "
                "inside, split them with jax.random.split"
            )
        first = self._drawn
        if first + n > KEYS:
            raise ValueError(
                f"{n} more keys were asked for after {first}, and a stream has {KEYS}: go on with "
                "a fork of it"
            )
        self._drawn = first + n
        return first


@cache
def _not_tracing() -> object:
    """JAX's trace state outside all transformations, which is the same in all threads."""
    with jax.core.eval_context():
        state: object = get_opaque_trace_state()  # type: ignore[no-untyped-call]
        return state


def _words(name: str) -> list[np.uint32]:
    """Hash a name to 128 bits, the same in each process (unlike ``hash``).

    So many that no two names meet, nor a name and the numbers that draws and splits count with.
    """
    return list(np.frombuffer(blake2b(name.encode(), digest_size=16).digest(), dtype="<u4"))


def _integer(value: Any, what: str, *, end: int) -> int:
    """Return an integer of any type as Python's, if it is from 0 to below ``end``."""
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"the {what} must be an integer, got {value!r}")
    if not 0 <= number < end:
        raise ValueError(f"the {what} must be from 0 to {end - 1}, got {number}")
    return number
