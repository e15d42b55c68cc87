"""What a static argument costs: a loop unrolled in Python, compared with one on the device."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from jaxcap.kernels.loops import cosines, cosines_unrolled
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

UNROLLED, ROLLED = "Python loop, static", "fori_loop, traced"


def prepare(steps: int) -> Variants:
    """Prepare both loops of ``steps`` cosines of a thousand float32 numbers from 0 to 1."""
    x = jnp.linspace(0.0, 1.0, 1000)
    unrolled = jax.jit(cosines_unrolled, static_argnames="steps")
    return {
        UNROLLED: partial(unrolled, x, steps=steps),
        ROLLED: partial(jax.jit(cosines), x, steps=steps),
    }


#: The unrolled program grows with the number of steps.
LOOPS = Experiment(
    name="static_loops",
    title="Loops of static and of traced length",
    prepare=prepare,
    quick=grid(steps=(1, 10, 50, 200)),
    full=grid(steps=(1, 10, 100, 1000)),
)
