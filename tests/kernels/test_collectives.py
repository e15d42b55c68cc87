"""Messages give each device what NumPy finds in the vectors of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from jaxcap.kernels import collectives
from jaxcap.kernels.sharded_step import AXIS, explicit_mesh

VECTORS = np.arange(12, dtype=np.float32).reshape(3, 4)[:, :3] ** 2


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (collectives.add_up, np.tile(VECTORS.sum(axis=0), (3, 1))),
        (collectives.add_up_in_two, np.tile(VECTORS.sum(axis=0), (3, 1))),
        (collectives.add_up_parts, VECTORS.sum(axis=0)[:, None]),
        (collectives.collect_parts, np.tile(VECTORS.reshape(-1), (3, 1))),
        (collectives.pass_on, VECTORS[[2, 0, 1]]),
    ],
)
def test_messages_between_three_devices(
    message: Callable[[Any], Any], expected: np.ndarray
) -> None:
    np.testing.assert_array_equal(jax.vmap(message, axis_name=AXIS)(VECTORS), expected)


def test_a_device_alone_keeps_its_vector() -> None:
    mesh = explicit_mesh(jax.devices()[:1])
    for message in (collectives.add_up, collectives.collect_parts, collectives.pass_on):
        np.testing.assert_array_equal(collectives.on_mesh(message, mesh, 4)(), [0, 1, 2, 3])
