"""What a call costs before anything is computed."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.releases.benchmarks.benchmark import JAX, NUMPY, Benchmark, Variants

_TEN = np.linspace(0.0, 1.0, 10, dtype=np.float32)


def _jnp_call() -> Variants:
    x = jnp.asarray(_TEN)
    return {JAX: partial(jnp.add, x, x), NUMPY: partial(np.add, _TEN, _TEN)}


def _jit_call() -> Variants:
    return {JAX: partial(jax.jit(lambda x: x + 1.0), jnp.asarray(_TEN))}


def _jit_call_with_numpy() -> Variants:
    return {JAX: partial(jax.jit(lambda x: x + 1.0), _TEN)}


def _jit_call_with_many_arrays() -> Variants:
    leaves = {f"leaf {number}": jnp.asarray(_TEN) for number in range(100)}
    increment = jax.jit(lambda tree: jax.tree_util.tree_map(lambda x: x + 1.0, tree))
    return {JAX: partial(increment, leaves)}


def _op_by_op() -> Variants:
    def standardize(np_or_jnp: Any, x: Any) -> Any:
        return np_or_jnp.tanh((x - np_or_jnp.mean(x)) / (np_or_jnp.std(x) + 1.0))

    return {
        JAX: partial(standardize, jnp, jnp.asarray(_TEN)),
        NUMPY: partial(standardize, np, _TEN),
    }


def _element() -> Variants:
    x = jnp.asarray(_TEN)
    return {JAX: lambda: x[3], NUMPY: lambda: _TEN[3]}


def _creation() -> Variants:
    numbers = [0.5] * 10
    return {
        JAX: partial(jnp.array, numbers, dtype="float32"),
        NUMPY: partial(np.array, numbers, dtype="float32"),
    }


def _zeros() -> Variants:
    return {JAX: partial(jnp.zeros, (10, 10)), NUMPY: partial(np.zeros, (10, 10))}


def _device_put() -> Variants:
    x = np.ones(1_000_000, dtype=np.float32)
    return {JAX: partial(jax.device_put, x), NUMPY: partial(np.copy, x)}


BENCHMARKS = tuple(
    Benchmark(name=name, topic="calls", prepare=prepare)
    for name, prepare in (
        ("jnp.add of 10 numbers", _jnp_call),
        ("compiled call with one array", _jit_call),
        ("compiled call with a NumPy array", _jit_call_with_numpy),
        ("compiled call with a dict of 100 arrays", _jit_call_with_many_arrays),
        ("five operations on 10 numbers, not compiled", _op_by_op),
        ("one element, x[3]", _element),
        ("array from a list of 10 numbers", _creation),
        ("10 × 10 zeros", _zeros),
        ("transfer of a million numbers to the device", _device_put),
    )
)
