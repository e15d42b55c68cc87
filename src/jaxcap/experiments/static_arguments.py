"""What a static argument costs: a loop unrolled in Python, compared with one on the device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxcap.kernels.loops import cosines, cosines_unrolled
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.timing import Clock, Variants
from jaxcap.results.statistics import Estimate, median_interval

UNROLLED, ROLLED = "Python loop, static", "fori_loop, traced"


def prepare(steps: int) -> Variants:
    """Prepare both loops of ``steps`` cosines of a thousand float32 numbers from 0 to 1."""
    x = jnp.linspace(0.0, 1.0, 1000)
    unrolled = jax.jit(cosines_unrolled, static_argnames="steps")
    return {
        UNROLLED: partial(unrolled, x, steps=steps),
        ROLLED: partial(jax.jit(cosines), x, steps=steps),
    }


#: More and more steps, which make the unrolled program longer and longer.
LOOPS = Experiment(
    name="static_loops",
    title="Loops of static and of traced length",
    prepare=prepare,
    quick=grid(steps=(1, 10, 50, 200)),
    full=grid(steps=(1, 10, 100, 1000)),
)


def time_sequence(
    fn: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    *,
    repeats: int = 7,
    clock: Clock = time.perf_counter,
) -> list[Estimate]:
    """Time a sequence of calls whose order matters, because one compiles what the next one finds.

    Parameters
    ----------
    fn
        A function from `jax.jit`.
    arguments
        The arguments of each call.
    repeats
        How often to repeat the sequence, each time starting with empty compilation caches.
    clock
        A function that returns seconds; for tests.

    Returns
    -------
    list of Estimate
        The time of each call until its result is ready, over the repeats in this process.
    """
    samples: list[list[float]] = [[] for _ in arguments]
    for _ in range(repeats):
        jax.clear_caches()  # type: ignore[no-untyped-call]
        for times, args in zip(samples, arguments, strict=True):
            start = clock()
            jax.block_until_ready(fn(*args))  # type: ignore[no-untyped-call]
            times.append(clock() - start)
    return [median_interval(times, unit="s", basis="one process") for times in samples]
