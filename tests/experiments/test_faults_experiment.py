"""A step moves points alike under all tools, and the tools see what they are there to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

from jaxcap.experiments import faults
from jaxcap.kernels import placement

START, TABLE = placement.random_table(10)


@pytest.mark.parametrize(
    ("points", "tools", "names"),
    [
        (10, faults.EACH_STEP, [faults.PLAIN, faults.PRINTED, faults.NANS, faults.CHECKED]),
        (11, faults.EACH_STEP, [faults.PLAIN, faults.PRINTED, faults.NANS]),
        (10, faults.ONCE, [faults.TRACED]),
    ],
)
def test_points_move_alike_under_all_tools(
    points: int, tools: str, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    calls = faults.prepare(points=points, tools=tools)
    assert list(calls) == names
    expected, _ = placement.step(*placement.random_table(points))
    for call in calls.values():
        np.testing.assert_allclose(call()[0], expected, atol=1e-5)
    assert capsys.readouterr().out == ""


def test_the_printed_stress_is_that_of_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    _, value = jax.jit(faults.step_that_prints)(START, TABLE)
    jax.effects_barrier()  # type: ignore[no-untyped-call]
    label, printed = capsys.readouterr().out.split()
    assert label == "stress:"
    assert float(printed) == pytest.approx(float(value))


@pytest.mark.parametrize(
    ("call", "wrapped", "error"),
    [
        (faults.call_with_debug_nans, jax.jit, FloatingPointError),
        (
            faults.call_and_throw,
            lambda step: jax.jit(checkify.checkify(step, errors=checkify.nan_checks)),
            checkify.JaxRuntimeError,
        ),
    ],
)
def test_both_checks_find_a_nan(
    call: Callable[..., Any], wrapped: Callable[..., Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match="nan"):
        call(wrapped(placement.step), START, jnp.full_like(TABLE, jnp.nan))


def test_quick_and_full_points_share_those_of_the_claims() -> None:
    for tools in (faults.EACH_STEP, faults.ONCE):
        point = {"points": 10, "tools": tools}
        assert point in faults.TOOLS.quick
        assert point in faults.TOOLS.full
