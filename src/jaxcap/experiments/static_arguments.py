"""What costs a compilation: the length of a loop that Python unrolls, or that of an array."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from jaxcap.kernels import loops
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

UNROLLED, ROLLED = "Python loop, static", "fori_loop, traced"
EXACT, PADDED = "exact lengths", "padded"


def prepare(steps: int) -> Variants:
    """Prepare both loops of ``steps`` cosines of a thousand float32 numbers from 0 to 1."""
    x = jnp.linspace(0.0, 1.0, 1000)
    unrolled = jax.jit(loops.cosines_unrolled, static_argnames="steps")
    return {
        UNROLLED: partial(unrolled, x, steps=steps),
        ROLLED: partial(jax.jit(loops.cosines), x, steps=steps),
    }


def prepare_lengths(arrays: int) -> Variants:
    """Prepare the means of so many float32 arrays, all of different lengths."""
    inputs = loops.measurements(arrays)
    return {
        EXACT: partial(loops.means, jax.jit(jnp.mean), inputs),
        PADDED: partial(loops.means_padded, jax.jit(loops.mean_of_first), inputs),
    }


#: The unrolled program grows with the number of steps.
LOOPS = Experiment(
    name="static_loops",
    title="Loops of static and of traced length",
    prepare=prepare,
    quick=grid(steps=(1, 10, 50, 200)),
    full=grid(steps=(1, 10, 100, 1000)),
)
#: The first call compiles a program for each length, or for each power of two.
LENGTHS = Experiment(
    name="static lengths",
    title="Arrays of many lengths, as they are and padded",
    prepare=prepare_lengths,
    quick=grid(arrays=(20,)),
)
