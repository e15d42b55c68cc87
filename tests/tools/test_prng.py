"""Streams of keys: which keys, how they survive copying, and where they refuse."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.tools import prng
from jaxcap.tools.prng import KeyStream, TracedDrawError


def data(keys: Any) -> list[Any]:
    """Key data of an array of keys, or of an iterable of them, as lists that compare."""
    if not isinstance(keys, jax.Array):
        keys = jnp.stack(list(keys))
    lists: list[Any] = jax.random.key_data(keys).tolist()
    return lists


def test_keys_are_those_that_fold_in_makes_of_the_seed() -> None:
    root = jax.random.key(3)
    assert data(islice(KeyStream(3), 4)) == data(jax.random.fold_in(root, i) for i in range(4))


def test_keys_are_typed_scalars() -> None:
    key = next(KeyStream(0))
    assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    assert key.shape == ()


def test_a_stream_is_its_own_iterator() -> None:
    stream = KeyStream(0)
    assert iter(stream) is stream
    pairs = list(zip("abc", stream, strict=False))
    assert [name for name, _ in pairs] == ["a", "b", "c"]
    assert data(key for _, key in pairs) == data(KeyStream(0)(3))
    assert stream.state["drawn"] == 3


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_a_batch_is_what_single_draws_would_give(impl: str) -> None:
    with jax.default_prng_impl(impl):
        one_by_one, in_batches = KeyStream(5), KeyStream(5)
        batches = jnp.concatenate([in_batches(2), in_batches(0), in_batches(4)])
    assert batches.shape == (6,)
    assert str(jax.random.key_impl(batches)) == impl
    assert data(batches) == data(islice(one_by_one, 6))
    assert data(next(in_batches)) == data(next(one_by_one))


def test_no_key_comes_twice() -> None:
    stream = KeyStream(0)
    a = stream.fork("a")
    forks = [a, stream.fork("b"), a.fork("b"), stream.fork("ab")]
    keys = data(jnp.concatenate([s(100) for s in (stream, *forks, KeyStream(1))]))
    assert len({tuple(key) for key in keys}) == 600


def test_settings_of_jax_change_no_key() -> None:
    expected = data(KeyStream(2**32 - 1).fork("x")(3))
    for setting in (jax.threefry_partitionable(False), jax.enable_x64(True)):
        with setting:
            assert data(KeyStream(2**32 - 1).fork("x")(3)) == expected


def test_a_fork_depends_on_path_and_name_only() -> None:
    stream = KeyStream(0)
    before = data(KeyStream(0).fork("data")(3))
    stream(10)
    other = stream.fork("other")
    other(10)
    assert data(stream.fork("data")(3)) == before
    assert stream.state["drawn"] == 10
    assert data(KeyStream(1).fork("data")(3)) != before
    assert data(other.fork("data")(3)) != before


def test_a_second_fork_of_the_same_name_is_refused() -> None:
    stream = KeyStream(0)
    first = stream.fork("data")
    with pytest.raises(ValueError, match=r"forked as 'data' before.*choose another name"):
        stream.fork("data")
    first.fork("data")  # another path
    by_state(stream).fork("data")  # a program that resumes forks again


def test_a_fork_is_the_same_in_another_process() -> None:
    # The expected values are those of this process, whose string hashes are salted differently.
    code = """if True:
        import jax, jaxcap.tools.prng
        fork = jaxcap.tools.prng.KeyStream(7).fork("dröpout")
        print(jax.random.key_data(next(fork)).tolist())
    """
    command = [sys.executable, "-X", "utf8", "-c", code]
    said = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
    assert json.loads(said) == data(next(KeyStream(7).fork("dröpout")))


def test_the_keys_of_a_fork_are_those_of_all_versions() -> None:
    # Written down when this was written: another value would change everybody's results.
    assert data(next(KeyStream(0).fork("a"))) == [2339595678, 52178466]


def by_state(stream: KeyStream) -> KeyStream:
    return KeyStream.from_state(json.loads(json.dumps(stream.state)))


def by_pickle(stream: KeyStream) -> KeyStream:
    restored: KeyStream = pickle.loads(pickle.dumps(stream))
    return restored


@pytest.mark.parametrize("duplicate", [by_state, by_pickle, copy.copy, copy.deepcopy])
def test_a_duplicate_goes_on_with_the_same_keys(
    duplicate: Callable[[KeyStream], KeyStream],
) -> None:
    with jax.default_prng_impl("rbg"):
        stream = KeyStream(9).fork("train")
    stream(3)
    restored = duplicate(stream)
    assert restored is not stream
    assert repr(restored) == repr(stream) == "KeyStream(seed=9, path=('train',), drawn=3)"
    expected = next(stream)
    found = next(restored)
    assert found.dtype == expected.dtype
    assert data(found) == data(expected)
    next(stream)  # which leaves the other where it is
    assert restored.state["drawn"] == 4


def test_a_pickle_holds_no_array() -> None:
    stream = KeyStream(0)
    next(stream)
    assert b"jax." not in pickle.dumps(stream)


Trace = Callable[[Callable[[Any], Any]], Any]
TRACES: dict[str, Trace] = {
    "jit": lambda f: jax.jit(f)(1.0),
    "grad": lambda f: jax.grad(f)(1.0),
    "vmap": lambda f: jax.vmap(f)(jnp.ones(3)),
    "scan": lambda f: jax.lax.scan(lambda c, x: (f(c), x), 1.0, jnp.ones(3)),
    "cond": lambda f: jax.lax.cond(True, f, f, 1.0),
    "checkpoint": lambda f: jax.checkpoint(f)(1.0),
    "make_jaxpr": lambda f: jax.make_jaxpr(f)(1.0),
    "jit of grad": lambda f: jax.jit(jax.grad(f))(1.0),
}
DRAWS: dict[str, Callable[[KeyStream], Any]] = {
    "next": next,
    "call": lambda stream: stream(2),
    "call for none": lambda stream: stream(0),
    "of a fork": lambda stream: next(stream.fork("inner")),
}


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_refuses_to_draw_while_jax_traces(trace: Trace, draw: Callable[[KeyStream], Any]) -> None:
    stream = KeyStream(0)

    def noisy(x: Any) -> Any:
        draw(stream)
        return x * 2.0

    with pytest.raises(TracedDrawError, match=r"pass them in as arguments, f\(next\(stream\), x\)"):
        trace(noisy)
    # Neither the counter moved, nor is anything that JAX traced left in the stream.
    assert stream.state["drawn"] == 0
    assert data(stream(2)) == data(KeyStream(0)(2))


def test_ensure_compile_time_eval_is_no_way_round() -> None:
    stream = KeyStream(0)

    @jax.jit
    def noisy(x: jax.Array) -> jax.Array:
        with jax.ensure_compile_time_eval():
            next(stream)
        return x

    with pytest.raises(TracedDrawError):
        noisy(1.0)


def test_first_use_while_tracing_decides_nothing() -> None:
    # What "not tracing" means is found out once, and that may happen inside a traced function.
    prng._not_tracing.cache_clear()
    test_refuses_to_draw_while_jax_traces(TRACES["jit"], DRAWS["next"])


def test_making_and_forking_a_stream_is_allowed_while_jax_traces() -> None:
    made: list[KeyStream] = []

    @jax.jit
    def make(x: jax.Array) -> jax.Array:
        made.append(KeyStream(4).fork("a"))
        return x

    make(1.0)
    assert data(next(made[0])) == data(next(KeyStream(4).fork("a")))


def test_draws_where_nothing_is_traced() -> None:
    stream = KeyStream(0)
    with jax.disable_jit():
        jax.jit(lambda x: (next(stream), x))(1.0)
    jax.make_jaxpr(lambda x: x)(1.0)
    next(stream)
    assert stream.state["drawn"] == 2


def test_passes_jax_check_for_reuse() -> None:
    with jax.debug_key_reuse(True):
        stream = KeyStream(0)
        for key in (next(stream), next(stream), *stream(2), next(stream.fork("a"))):
            jax.random.normal(key)
        with pytest.raises(jax.errors.KeyReuseError):
            jax.random.normal(key)


@pytest.mark.parametrize("seed", [1.0, True, np.True_, "1", None, jnp.ones(2, int)], ids=repr)
def test_a_seed_that_is_not_an_integer_is_refused(seed: Any) -> None:
    with pytest.raises(TypeError, match="the seed must be an integer, got "):
        KeyStream(seed)


def test_a_traced_seed_is_refused() -> None:
    with pytest.raises(TypeError, match=r"the seed must be an integer, got .*Tracer"):
        jax.jit(lambda seed: next(KeyStream(seed)))(1)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match=rf"the seed must be from 0 to 4294967295, got {seed}"):
        KeyStream(seed)


def test_jax_would_take_two_of_those_for_one() -> None:
    assert data(jax.random.key(2**32)) == data(jax.random.key(0))


@pytest.mark.parametrize("seed", [np.int64(3), np.uint8(3), jnp.int32(3)], ids=["i8", "u1", "jax"])
def test_integers_of_any_type_are_taken(seed: Any) -> None:
    stream = KeyStream(seed)
    assert type(stream.state["seed"]) is int
    assert data(next(stream)) == data(next(KeyStream(3)))


@pytest.mark.parametrize(
    ("n", "error"), [(1.0, TypeError), (True, TypeError), (-1, ValueError), (2**33, ValueError)]
)
def test_a_bad_number_of_keys_is_refused(n: Any, error: type[Exception]) -> None:
    stream = KeyStream(0)
    with pytest.raises(error, match="the number of keys must be "):
        stream(n)
    assert stream.state["drawn"] == 0


@pytest.mark.parametrize("name", [1, None, b"data"])
def test_a_bad_name_of_a_fork_is_refused(name: Any) -> None:
    with pytest.raises(TypeError, match="name of a fork must be a string"):
        KeyStream(0).fork(name)


def test_the_last_key_is_the_last() -> None:
    # JAX would start over with the first.
    stream = KeyStream.from_state(KeyStream(0).state | {"drawn": 2**32 - 2})
    with pytest.raises(ValueError, match="3 more keys were asked for after 4294967294"):
        stream(3)
    assert len(set(map(tuple, data(stream(2))))) == 2
    with pytest.raises(ValueError, match="continue with a fork"):
        next(stream)


@pytest.mark.parametrize(
    ("change", "error"),
    [({"seed": -1}, ValueError), ({"drawn": 1.5}, TypeError), ({"drawn": -1}, ValueError)],
)
def test_a_bad_state_is_refused(change: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(change))):
        KeyStream.from_state(KeyStream(0).state | change)
