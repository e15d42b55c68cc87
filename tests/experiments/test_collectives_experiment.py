"""Eight devices of one CPU take the step that one takes, and get what NumPy finds in their vectors."""

from __future__ import annotations

import json
from typing import Any

import jax
import numpy as np
import pytest

from jaxcap.experiments.collectives import (
    COLLECTIVES,
    COPY,
    GATHER,
    IN_TWO,
    ONE,
    PERMUTE,
    PSUM,
    SCATTER,
    SHARED_STEPS,
    prepare_messages,
    prepare_steps,
    several_devices,
)
from jaxcap.kernels.sharded_step import BATCH, BY_HAND, UNITS
from jaxcap.measure.compilation import compiled_call
from jaxcap.report.virtual_devices import run_python

PROGRAM = """
import json
import jax
from jaxcap.experiments import collectives

variants = collectives.{}
results = {{name: jax.device_get(variant()) for name, variant in variants.items()}}
print(json.dumps({{name: [a.tolist() for a in jax.tree.leaves(r)] for name, r in results.items()}}))
"""


def results_on_eight(preparation: str) -> dict[str, list[np.ndarray]]:
    printed = run_python("-c", PROGRAM.format(preparation), devices=8)
    results: dict[str, list[Any]] = json.loads(printed)
    return {name: [np.array(array) for array in arrays] for name, arrays in results.items()}


def test_devices_share_the_step_of_one() -> None:
    results = results_on_eight("prepare_steps(batch=16, width=8)")
    assert list(results) == [ONE, BATCH, UNITS, BY_HAND]
    for arrays in results.values():
        for array, expected in zip(arrays, results[ONE], strict=True):
            np.testing.assert_allclose(array, expected, rtol=0, atol=1e-6)


def test_devices_get_what_was_sent() -> None:
    results = {name: array for name, (array,) in results_on_eight("prepare_messages(1)").items()}
    vectors = np.arange(8 * 256).reshape(8, 256)
    total = vectors.sum(axis=0)
    expected = {
        COPY: vectors,
        PSUM: np.tile(total, 8),
        SCATTER: total,
        GATHER: np.tile(np.arange(256), 8),
        IN_TWO: np.tile(total, 8),
        PERMUTE: np.roll(vectors, 1, axis=0),
    }
    assert list(results) == list(expected)
    for name, array in results.items():
        np.testing.assert_array_equal(array, expected[name].reshape(-1))


def test_the_cost_on_one_of_several_devices_is_not_taken_for_that_of_all() -> None:
    jax.devices()  # this process keeps the devices that it has
    together = [call for name, call in prepare_steps(16, 8).items() if name != ONE]
    together += [call for name, call in prepare_messages(1).items() if name != COPY]
    assert not any(map(compiled_call, together))


def test_points_lie_on_either_side_of_where_both_ways_send_the_same() -> None:
    for points in (SHARED_STEPS.quick, SHARED_STEPS.full):
        ratios = [point["batch"] / (8 * point["width"]) for point in points]  # type: ignore[operator]
        assert min(ratios) == 1 / max(ratios) < 1


@pytest.mark.parametrize(("present", "used"), [(2, 2), (6, 4), (8, 8)])
def test_devices_are_as_many_as_a_power_of_two(
    present: int, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    jax.devices()  # this process keeps the devices that it has
    monkeypatch.setattr(jax, "devices", lambda: list(range(present)))
    assert several_devices() == list(range(used))


def test_vectors_can_be_split_among_eight_devices() -> None:
    for point in (*COLLECTIVES.quick, *COLLECTIVES.full):
        assert 256 * int(point["kilobytes"]) % 8 == 0
