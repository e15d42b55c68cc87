"""A step descends along the gradient that NumPy finds, and leaves each array split as it was."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType

from jaxcap.kernels.sharded_step import (
    AXIS,
    BATCH,
    BY_HAND,
    RATE,
    SPLITS,
    UNITS,
    WEIGHTS,
    explicit_mesh,
    loss_on_mesh,
    random_arrays,
    step,
    step_on_mesh,
)


@pytest.mark.parametrize("way", SPLITS)
def test_a_step_on_one_device_is_that_of_numpy(way: str) -> None:
    (into, out), x, y = random_arrays(batch=5, width=3)
    hidden = np.tanh(x @ into)
    slope = 2 * (hidden @ out - y) / y.size
    slope_out = hidden.T @ slope
    slope_into = x.T @ ((slope @ out.T) * (1 - hidden**2))
    new_into, new_out = step_on_mesh(way, explicit_mesh(jax.devices()[:1]), batch=5, width=3)()
    np.testing.assert_allclose(new_into, into - RATE * slope_into, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(new_out, out - RATE * slope_out, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("way", "shapes"),
    [
        (BATCH, ["float32[8,32]", "float32[32,8]"]),
        (UNITS, [f"float32[8,32@{AXIS}]", f"float32[32@{AXIS},8]"]),
        (WEIGHTS, [f"float32[8@{AXIS},32]", f"float32[32@{AXIS},8]"]),
        (BY_HAND, [f"float32[8@{AXIS},32]", f"float32[32@{AXIS},8]"]),
    ],
)
def test_new_weights_are_split_as_the_old_ones_were(way: str, shapes: list[str]) -> None:
    mesh = AbstractMesh((4,), (AXIS,), (AxisType.Explicit,))
    split = SPLITS[way]
    specs = (split.into, split.out), split.batch, split.batch
    arguments = jax.tree.map(
        lambda array, spec: jax.ShapeDtypeStruct(  # type: ignore[no-untyped-call]
            array.shape, array.dtype, sharding=jax.NamedSharding(mesh, spec)
        ),
        random_arrays(batch=16, width=8),
        specs,
    )
    new = jax.eval_shape(partial(step, loss_on_mesh(way, mesh)), *arguments)
    assert [str(jax.typeof(weights)) for weights in new] == shapes
