"""The compiler's options leave the values as they are, and XLA knows all of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

from jaxcap.experiments.compiler_options import (
    COMPILER_OPTIONS,
    DEFAULT,
    GELU,
    GRADIENT,
    OPTIONS,
    PRODUCT,
    prepare,
)


def arguments(call: Any) -> tuple[Any, ...]:
    assert isinstance(call, partial)
    return call.args


@pytest.mark.parametrize("work", [GELU, GRADIENT, PRODUCT])
def test_options_change_nothing_but_rounding(work: str) -> None:
    calls = prepare(work)
    assert list(calls) == list(OPTIONS)
    expected = calls[DEFAULT]()
    for name, call in calls.items():
        for ours, other in zip(jax.tree.leaves(call()), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(ours, other, rtol=1e-3, atol=1e-5, err_msg=name)


def test_values_are_those_of_numpy() -> None:
    left, right = map(np.asarray, arguments(prepare(PRODUCT)[DEFAULT]))
    np.testing.assert_allclose(prepare(PRODUCT)[DEFAULT](), left @ right, rtol=1e-3, atol=1e-3)
    (x,) = map(np.asarray, arguments(prepare(GELU)[DEFAULT]))
    tanh = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    np.testing.assert_allclose(prepare(GELU)[DEFAULT](), x * (1 + tanh) / 2, atol=1e-5)


def test_everything_is_computed_on_the_cpu() -> None:
    for point in COMPILER_OPTIONS.points:
        leaves = jax.tree.leaves(COMPILER_OPTIONS.prepare(**point)[DEFAULT]())
        assert {device.platform for leaf in leaves for device in leaf.devices()} == {"cpu"}
