"""The keys experiment: all four ways give as many keys, none of them twice."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import pytest

from jaxcap.experiments.keys import (
    KEYS,
    NEXT_EACH,
    SPLIT_BATCH,
    SPLIT_EACH,
    STREAM_BATCH,
    prepare,
)

N = 7


@pytest.mark.parametrize("variant", [SPLIT_EACH, NEXT_EACH, SPLIT_BATCH, STREAM_BATCH])
def test_each_variant_gives_different_keys(variant: str) -> None:
    keys = jnp.stack(list(prepare(keys=N)[variant]()))
    assert jnp.issubdtype(keys.dtype, jax.dtypes.prng_key)
    assert keys.shape == (N,)
    assert len(set(map(tuple, jax.random.key_data(keys).tolist()))) == N


@pytest.mark.parametrize("variant", [NEXT_EACH, STREAM_BATCH])
def test_a_stream_goes_on_between_calls(variant: str) -> None:
    call = prepare(keys=N)[variant]
    keys = jnp.stack([*call(), *call()])
    assert len(set(map(tuple, jax.random.key_data(keys).tolist()))) == 2 * N


def test_points_fit_and_can_be_imported_by_a_fresh_process() -> None:
    for point in (*KEYS.quick, *KEYS.full):
        inspect.signature(prepare).bind(**point)
    # The page's figure and takeaway are about this one.
    assert {"keys": 100} in KEYS.quick
    assert {"keys": 100} in KEYS.full
    assert KEYS.reference == "jaxcap.experiments.keys:prepare"
