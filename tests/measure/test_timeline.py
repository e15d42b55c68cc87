"""Timelines tell when calls returned from when their results were there."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxcap.measure.timeline import Call, Timeline, record_timeline


def ticks() -> Callable[[], float]:
    """A clock that only counts its readings, so that their order is all there is to it."""
    counter = itertools.count()
    return lambda: float(next(counter))


class Promise:
    """A result that is there once an event has happened."""

    def __init__(self, kept: threading.Event) -> None:
        self.kept = kept

    def block_until_ready(self) -> Promise:
        assert self.kept.wait(timeout=10)
        return self


def test_late_results_delay_no_call() -> None:
    kept = threading.Event()
    kept.set()
    made: list[Promise] = []

    def fn(_: Any) -> Any:
        if made:  # the first call is the one that compiles
            kept.clear()
        made.append(Promise(kept))
        if len(made) == 5:
            kept.set()
        return made[-1]

    calls = record_timeline(fn, Promise(kept), calls=4, clock=ticks()).calls  # type: ignore[arg-type]
    assert len(made) == 5
    assert calls[0].ready_s > calls[-1].called_s
    assert sorted(call.ready_s for call in calls) == [call.ready_s for call in calls]


def test_awaited_calls_begin_when_the_result_before_is_there() -> None:
    timeline = record_timeline(jax.jit(jnp.cos), jnp.ones(3), calls=4, awaited=True, clock=ticks())
    for call, following in itertools.pairwise(timeline.calls):
        assert call.called_s < call.returned_s < call.ready_s < following.called_s


def test_each_call_takes_the_result_of_the_one_before() -> None:
    seen = []

    def double(x: jax.Array) -> jax.Array:
        seen.append(float(x))
        return 2 * x

    timeline = record_timeline(double, jnp.float32(1), calls=3)
    assert seen == [1, 1, 2, 4]  # the first to compile
    assert len(timeline.calls) == 3
    for call in timeline.calls:
        assert 0 <= call.called_s <= call.returned_s <= call.ready_s


def test_time_begins_with_the_first_call() -> None:
    (call,) = record_timeline(jnp.cos, jnp.ones(3), calls=1, clock=ticks()).calls
    assert call == Call(called_s=1, returned_s=2, ready_s=3)


def test_an_execution_begins_with_its_call_and_its_input() -> None:
    timeline = Timeline(
        (
            Call(called_s=0, returned_s=1, ready_s=5),
            Call(called_s=2, returned_s=3, ready_s=7),  # called before its input was there
            Call(called_s=8, returned_s=9, ready_s=12),  # and after
        )
    )
    assert timeline.executions == ((0, 5), (5, 7), (8, 12))


def test_an_error_of_the_function_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        record_timeline(lambda _: 1 / 0, jnp.ones(3), calls=1)  # type: ignore[arg-type, return-value]


def test_no_calls_make_no_timeline() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        record_timeline(jnp.cos, jnp.ones(3), calls=0)
