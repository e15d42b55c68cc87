"""Elementwise functions, reductions, sorting and indexing. All arrays are float32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.releases.benchmarks.benchmark import JAX, NUMPY, Benchmark, Variants

Function = Callable[..., Any]


def _normal(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _compiled(fn: Function, *arrays: Any, numpy: Function | None = None) -> Variants:
    """Compile a function of arrays, with NumPy's as a control if there is one."""
    variants: dict[str, Callable[[], Any]] = {JAX: partial(jax.jit(fn), *map(jnp.asarray, arrays))}
    if numpy:
        variants[NUMPY] = partial(numpy, *arrays)
    return variants


def _wave(np_or_jnp: Any, x: Any) -> Any:
    return np_or_jnp.sin(x) * np_or_jnp.cos(x) + x * x


def _wave_op_by_op() -> Variants:
    x = _normal(100_000)
    return {JAX: partial(_wave, jnp, jnp.asarray(x)), NUMPY: partial(_wave, np, x)}


def _wave_fused() -> Variants:
    return _compiled(partial(_wave, jnp), _normal(100_000))


def _tanh() -> Variants:
    return _compiled(jnp.tanh, _normal(100_000), numpy=np.tanh)


def _power() -> Variants:
    return _compiled(lambda x: jnp.abs(x) ** 1.5, _normal(100_000))


def _sum() -> Variants:
    return _compiled(jnp.sum, _normal(1_000_000), numpy=np.sum)


def _sum_of_columns() -> Variants:
    return _compiled(partial(jnp.sum, axis=0), _normal(1000, 1000), numpy=partial(np.sum, axis=0))


def _softmax() -> Variants:
    return _compiled(partial(jax.nn.softmax, axis=-1), _normal(1000, 1000))


def _cumsum() -> Variants:
    return _compiled(jnp.cumsum, _normal(100_000), numpy=np.cumsum)


def _transpose() -> Variants:
    return _compiled(lambda x: x.T + 1.0, _normal(1000, 1000))


def _sort() -> Variants:
    return _compiled(jnp.sort, _normal(10_000), numpy=np.sort)


def _argsort() -> Variants:
    return _compiled(jnp.argsort, _normal(10_000), numpy=partial(np.argsort, kind="stable"))


def _top_k() -> Variants:
    return _compiled(lambda x: jax.lax.top_k(x, 10), _normal(100_000))


def _indices(count: int, below: int) -> Any:
    return np.random.default_rng(1).integers(0, below, size=count).astype(np.int32)


def _gather() -> Variants:
    x, indices = _normal(1_000_000), _indices(100_000, 1_000_000)
    return _compiled(lambda x, indices: x[indices], x, indices, numpy=lambda x, i: x[i])


def _scatter() -> Variants:
    x, indices, values = _normal(100_000), _indices(100_000, 100_000), _normal(100_000)
    return _compiled(lambda x, indices, values: x.at[indices].add(values), x, indices, values)


def _segment_sum() -> Variants:
    values, segments = _normal(100_000), np.sort(_indices(100_000, 1000))
    return _compiled(partial(jax.ops.segment_sum, num_segments=1000), values, segments)


def _update_slice() -> Variants:
    return _compiled(lambda x: x.at[10:20, :].set(0.0), _normal(1000, 1000))


def _concatenate() -> Variants:
    halves = _normal(500_000), _normal(500_000)
    return _compiled(lambda a, b: jnp.concatenate([a, b, a]), *halves)


_ELEMENTWISE = (
    ("four operations on 100,000 numbers, not compiled", _wave_op_by_op),
    ("four operations on 100,000 numbers, fused", _wave_fused),
    ("tanh of 100,000 numbers", _tanh),
    ("power of 100,000 numbers", _power),
    ("transpose of 1000 × 1000", _transpose),
    ("concatenation to 1.5 million numbers", _concatenate),
)
_REDUCTIONS = (
    ("sum of a million numbers", _sum),
    ("sums of 1000 columns", _sum_of_columns),
    ("softmax of 1000 rows", _softmax),
    ("cumulative sum of 100,000 numbers", _cumsum),
)
_SORTING = (
    ("sort of 10,000 numbers", _sort),
    ("argsort of 10,000 numbers", _argsort),
    ("ten largest of 100,000 numbers", _top_k),
)
_INDEXING = (
    ("gather of 100,000 elements", _gather),
    ("scatter of 100,000 sums", _scatter),
    ("segment sum of 100,000 numbers", _segment_sum),
    ("update of ten rows of 1000", _update_slice),
)
BENCHMARKS = tuple(
    Benchmark(name=name, topic=topic, prepare=prepare)
    for topic, group in (
        ("elementwise", _ELEMENTWISE),
        ("reductions", _REDUCTIONS),
        ("sorting", _SORTING),
        ("indexing", _INDEXING),
    )
    for name, prepare in group
)
