"""A gradient that several devices share is that of one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.kernels import sharding
from jaxcap.report import virtual_devices
from jaxcap.report.virtual_devices import run_python

EPSILON = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("way", [sharding.by_compiler, sharding.by_shard_map, sharding.by_pmap])
def test_each_way_gives_the_gradient_of_the_mean_square(way: sharding.Way) -> None:
    mesh = jax.make_mesh((1,), ("data",), (jax.sharding.AxisType.Auto,), devices=jax.devices()[:1])
    weights, batch = jnp.array([1.0, -2.0]), jnp.array([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    scores = np.array(batch) @ np.array(weights)
    expected = 2 * np.array(batch).T @ scores / len(batch)
    np.testing.assert_allclose(way(mesh)(weights, batch), expected, rtol=4 * EPSILON)


def test_four_devices_share_a_batch_and_agree() -> None:
    *ways, lies, message = run_python("-m", virtual_devices.__name__, devices=4).splitlines()
    assert lies == "of a batch of (8, 3), each device has (2, 3)"
    assert message == "XLA's program has an all-reduce: True"
    off = dict(line.split(" off by ") for line in ways)
    assert {way.strip() for way in off} == {"by_compiler", "by_shard_map", "by_pmap"}
    assert max(map(float, off.values())) < 10 * EPSILON
