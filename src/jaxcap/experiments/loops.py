"""What a loop costs: to compile and to run, by its length, and under ``jax.vmap`` by its longest run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxcap.kernels import pendulum
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

PYTHON, FORI, SCAN, WHILE = "Python loop", "fori_loop", "scan", "while_loop"
# So few that a hundred unrolled steps still are a small computation, which a CPU runs inside the call.
# A scan always is, because XLA counts its body once.
PENDULUMS = 2
UNROLL = 10
SCAN_UNROLLED = f"scan, unroll={UNROLL}"
GRADIENT = "gradient"
GRADIENT_PYTHON, GRADIENT_SCAN = f"{GRADIENT}, {PYTHON}", f"{GRADIENT}, {SCAN}"
# Most steps of a gradient through Python's loop. XLA may need minutes to compile a few hundred.
DIFFERENTIATED = 100
VMAP, MAP = "vmap", "lax.map"
BATCH = 10
MAP_OF_BATCHES = f"lax.map, batch_size={BATCH}"
ALIKE, ONE_UPRIGHT = "alike", "one upright"
SIDEWAYS = 100  # pendulums that are mapped over


def start(count: int) -> pendulum.State:
    """Let go of ``count`` pendulums, from almost down to almost up."""
    return jnp.linspace(0.1, 3.0, count), jnp.zeros(count)


WAYS: dict[str, Callable[..., pendulum.State]] = {
    PYTHON: pendulum.in_python,
    FORI: pendulum.in_fori_loop,
    SCAN: pendulum.in_scan,
    SCAN_UNROLLED: partial(pendulum.in_scan, unroll=UNROLL),
    WHILE: pendulum.in_while_loop,
}
SLOPES: dict[str, Callable[..., Array]] = {
    f"{GRADIENT}, {name}": partial(pendulum.slopes, WAYS[name]) for name in (PYTHON, FORI, SCAN)
}


def prepare(steps: int) -> Variants:
    """Prepare ``steps`` steps of two pendulums, in float32, with the number of steps compiled in.

    A hundred steps have gradients as well, and more steps have those of a scan.
    """
    slopes: dict[str, Callable[..., Array]] = {}
    if steps == DIFFERENTIATED:
        slopes = SLOPES
    elif steps > DIFFERENTIATED:
        slopes = {GRADIENT_SCAN: SLOPES[GRADIENT_SCAN]}
    return {**compiled(WAYS, steps), **compiled(slopes, steps)}


def compiled(ways: Mapping[str, Callable[..., Any]], steps: int) -> Variants:
    """Compile ways to take ``steps`` steps of two pendulums."""
    state = start(PENDULUMS)
    return {
        name: partial(jax.jit(way, static_argnames="steps"), state, steps=steps)
        for name, way in ways.items()
    }


def angles(starts: str) -> Array:
    """Return the angles at which a hundred pendulums are let go: alike, or one of them upright."""
    alike = jnp.linspace(0.5, 1.5, SIDEWAYS)
    return alike.at[-1].set(3.1415) if starts == ONE_UPRIGHT else alike


def prepare_mapped(starts: str) -> Variants:
    """Prepare the steps that a hundred pendulums take to the bottom, each in a loop of its own."""
    way, angle = pendulum.steps_to_bottom, angles(starts)
    return {
        VMAP: partial(jax.jit(jax.vmap(way)), angle),
        MAP: partial(jax.jit(partial(jax.lax.map, way)), angle),
        MAP_OF_BATCHES: partial(jax.jit(partial(jax.lax.map, way, batch_size=BATCH)), angle),
    }


#: A loop in Python leaves a copy of its step in the program for each time round.
LOOPS = Experiment(
    name="loops",
    title="The same steps in five loops",
    prepare=prepare,
    quick=grid(steps=(10, DIFFERENTIATED, 300)),
    full=grid(steps=(10, DIFFERENTIATED, 1000)),
)
#: A mapped loop goes on until all of its batch are done. A GPU takes the same hundred, because
#: ``jax.lax.map`` starts the kernels of each by themselves.
MAPPED = Experiment(
    name="mapped_loops",
    title="Loops of different lengths, mapped",
    prepare=prepare_mapped,
    quick=grid(starts=(ALIKE, ONE_UPRIGHT)),
)
