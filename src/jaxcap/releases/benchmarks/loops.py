"""Loops that run on the device, their gradients, and what `jax.vmap` makes of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxcap.releases.benchmarks.benchmark import JAX, Benchmark, Variants

Function = Callable[..., Any]

_TEN = np.linspace(0.0, 1.0, 10, dtype=np.float32)


def _decay(x: Any, step: Any) -> tuple[Any, Any]:
    x = 0.9 * x + 0.1 * jnp.sin(x + step)
    return x, x


def _last(x: Any) -> Any:
    """Return the sum of the state after 1,000 small steps of a scan."""
    last, _ = lax.scan(_decay, x, jnp.arange(1000, dtype=jnp.float32))
    return jnp.sum(last)


def _on_ten(fn: Function) -> Variants:
    return {JAX: partial(jax.jit(fn), jnp.asarray(_TEN))}


def _random_walk() -> Variants:
    def step(state: Any, _: Any) -> Any:
        x, key = state
        key = jax.random.fold_in(key, 1)
        return (x + jax.random.normal(key, (10,)), key), None

    def walk(x: Any, key: Any) -> Any:
        return lax.scan(step, (x, key), None, length=1000)[0][0]

    return {JAX: partial(jax.jit(walk), jnp.asarray(_TEN), jax.random.PRNGKey(0))}


def _sines(x: Any) -> Any:
    return lax.fori_loop(0, 10_000, lambda _, x: jnp.sin(x), x)


def _newton(a: Any) -> Any:
    """Find a square root by Newton's method, until the step is small, or 100 steps have been taken."""

    def is_moving(state: Any) -> Any:
        _, change, count = state
        return (change > 1e-6 * a) & (count < 100)

    def step(state: Any) -> Any:
        x, _, count = state
        better = 0.5 * (x + a / x)
        return better, jnp.abs(better - x), count + 1

    return lax.while_loop(is_moving, step, (a, a, 0))[0]


def _collatz(number: Any) -> Any:
    """Count the steps after which Collatz's sequence of a number reaches one."""

    def step(state: Any) -> Any:
        number, count = state
        return jnp.where(number % 2 == 0, number // 2, 3 * number + 1), count + 1

    return lax.while_loop(lambda state: state[0] > 1, step, (number, 0))[1]


def _branches(x: Any) -> Any:
    return lax.cond(x > 0.5, jnp.sin, lambda x: x * x, x)


def _scan_of_branches(x: Any) -> Any:
    return lax.scan(lambda x, _: (_branches(x) + 0.01, None), x, None, length=1000)[0]


def _recurrent(matrix: Any, state: Any) -> Any:
    return lax.scan(lambda h, _: (jnp.tanh(matrix @ h), None), state, None, length=100)[0]


def _recurrent_network() -> Variants:
    matrix = np.random.default_rng(0).standard_normal((100, 100), dtype=np.float32) / 10
    return {JAX: partial(jax.jit(_recurrent), jnp.asarray(matrix), jnp.ones(100))}


def _updates(x: Any) -> Any:
    return lax.fori_loop(0, 1000, lambda i, x: x.at[i].set(2.0 * x[i - 1] - x[i]), x)


def _updates_in_loop() -> Variants:
    return {JAX: partial(jax.jit(_updates), jnp.ones(10_000))}


def _associative_scan() -> Variants:
    fn = jax.jit(partial(lax.associative_scan, jnp.maximum))
    return {JAX: partial(fn, jnp.asarray(np.random.default_rng(0).random(100_000, np.float32)))}


def _map() -> Variants:
    fn = jax.jit(partial(lax.map, lambda row: jnp.sort(row)))
    return {JAX: partial(fn, jnp.asarray(np.random.default_rng(0).random((100, 100), np.float32)))}


BENCHMARKS = tuple(
    Benchmark(name=name, topic="loops", prepare=prepare)
    for name, prepare in (
        ("scan of 1,000 small steps", lambda: _on_ten(_last)),
        ("gradient of a scan of 1,000 small steps", lambda: _on_ten(jax.grad(_last))),
        ("scan of 100 products with a matrix", _recurrent_network),
        ("scan of 1,000 steps of a random walk", _random_walk),
        ("scan of 1,000 conditions", lambda: {JAX: partial(jax.jit(_scan_of_branches), 0.1)}),
        ("fori_loop of 10,000 sines", lambda: {JAX: partial(jax.jit(_sines), 0.5)}),
        ("fori_loop of 1,000 updates of an element", _updates_in_loop),
        ("while_loop of Newton's method", lambda: {JAX: partial(jax.jit(_newton), 2.0)}),
        (
            "vmap of while_loop over 100 numbers",
            lambda: {JAX: partial(jax.jit(jax.vmap(_collatz)), jnp.arange(1, 101))},
        ),
        ("vmap of cond over 10 numbers", lambda: _on_ten(jax.vmap(_branches))),
        ("associative scan of 100,000 numbers", _associative_scan),
        ("lax.map of sorts over 100 rows", _map),
    )
)
