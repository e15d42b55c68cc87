"""What it costs to look into a compiled step: by a print, by checks for NaN, and in a trace."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

import jax
from jax import Array
from jax.experimental import checkify

from jaxcap.kernels import placement
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

PLAIN, PRINTED = "plain", "jax.debug.print"
NANS, CHECKED = "jax.debug_nans", "checkify"
TRACED = "in a trace of its own"
EACH_STEP, ONCE = "in each step", "for one step"
MOST_CHECKED = 10  # points: the step with checks takes long to compile

Moved = tuple[Array, Array]


def step_that_prints(positions: Array, table: Array) -> Moved:
    """Move points as `placement.step` does, and print the stress."""
    moved, value = placement.step(positions, table)
    jax.debug.print("stress: {}", value)
    return moved, value


def call_and_swallow(step: Callable[..., Any], *args: Array) -> Any:
    """Call a step, and wait until it has printed, to nowhere."""
    with redirect_stdout(StringIO()):
        moved = step(*args)
        jax.effects_barrier()  # type: ignore[no-untyped-call]
    return moved


def call_with_debug_nans(step: Callable[..., Any], *args: Array) -> Any:
    """Call a step while JAX looks for NaN in what compiled functions return."""
    with jax.debug_nans(True):
        return step(*args)


def call_and_throw(step: Callable[..., Any], *args: Array) -> Any:
    """Call a step that returns an error as well, and raise that if there is one."""
    error, moved = step(*args)
    error.throw()
    return moved


def call_in_trace(step: Callable[..., Any], *args: Array) -> Any:
    """Call a step in a trace that is written, and removed."""
    with TemporaryDirectory() as folder, jax.profiler.trace(folder):
        return jax.block_until_ready(step(*args))  # type: ignore[no-untyped-call]


def prepare(points: int, tools: str) -> Variants:
    """Prepare a step of `jaxcap.kernels.placement`, alone and with tools that look into it."""
    args = placement.random_table(points)
    step = jax.jit(placement.step)
    if tools == ONCE:
        return {TRACED: partial(call_in_trace, step, *args)}
    variants = {
        PLAIN: partial(step, *args),
        PRINTED: partial(call_and_swallow, jax.jit(step_that_prints), *args),
        NANS: partial(call_with_debug_nans, step, *args),
    }
    if points <= MOST_CHECKED:
        checked = jax.jit(checkify.checkify(placement.step, errors=checkify.nan_checks))
        variants[CHECKED] = partial(call_and_throw, checked, *args)
    return variants


_TEN_ONCE = grid(points=(10,), tools=(ONCE,))
#: What a tool costs may be the same for each call, or grow with the work: two sizes tell. A trace comes
#: last, so that nothing is measured after it.
TOOLS = Experiment(
    name="faults",
    title="A step, and tools that look into it",
    prepare=prepare,
    quick=[*grid(points=(10, 200), tools=(EACH_STEP,)), *_TEN_ONCE],
    full=[*grid(points=(10, 2000), tools=(EACH_STEP,)), *_TEN_ONCE],
)
