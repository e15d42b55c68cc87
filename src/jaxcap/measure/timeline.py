"""Asynchronous dispatch, recorded: when calls returned, and when their results were computed."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from jax import Array

from jaxcap.measure.sampling import Clock


@dataclass(frozen=True, slots=True)
class Call:
    """One call. All times are seconds since the first call of its timeline.

    Attributes
    ----------
    called_s
        When Python called the function.
    returned_s
        When the function returned, and Python went on.
    ready_s
        When the result was computed.
    """

    called_s: float
    returned_s: float
    ready_s: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """Calls in a chain, in order: each takes the result of the previous one."""

    calls: tuple[Call, ...]

    @property
    def executions(self) -> tuple[tuple[float, float], ...]:
        """The longest time that each execution can have taken, as start and end in seconds.

        It cannot have started before its call, nor before its input was computed.
        """
        ready_s = [call.ready_s for call in self.calls]
        inputs_s = (0.0, *ready_s[:-1])
        return tuple(
            (max(call.called_s, input_s), call.ready_s)
            for call, input_s in zip(self.calls, inputs_s, strict=True)
        )


def record_timeline(
    fn: Callable[[Array], Array],
    x: Array,
    *,
    calls: int,
    awaited: bool = False,
    clock: Clock = time.perf_counter,
) -> Timeline:
    """Call ``fn`` on ``x``, then on its own result, and so on, and record the times.

    A second thread waits for the results in order, so that waiting delays no call. It takes a
    moment to wake up, which blurs results that take no longer than that. Before the recording,
    ``fn`` is called once and awaited, so that everything is compiled.

    Parameters
    ----------
    fn
        Takes and returns one array.
    x
        The first input.
    calls
        How many calls to record.
    awaited
        Whether each call waits until the result of the previous one is computed.
    clock
        Returns seconds; for tests.

    Raises
    ------
    ValueError
        If ``calls`` is less than 1.
    """
    if calls < 1:
        raise ValueError(f"calls must be at least 1, got {calls}")
    fn(x).block_until_ready()
    recorded: list[tuple[float, float, Future[float]]] = []
    with ThreadPoolExecutor(max_workers=1) as watcher:
        watcher.submit(clock).result()  # starts the thread
        start = clock()
        for _ in range(calls):
            called = clock()
            x = fn(x)
            returned = clock()
            ready = watcher.submit(_ready_at, x, clock)
            if awaited:
                ready.result()
            recorded.append((called, returned, ready))
    return Timeline(
        tuple(
            Call(called - start, returned - start, ready.result() - start)
            for called, returned, ready in recorded
        )
    )


def _ready_at(x: Array, clock: Clock) -> float:
    x.block_until_ready()
    return clock()
