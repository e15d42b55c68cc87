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
COSINES, MEANS = "cosines", "means"


def prepare(steps: int, of: str = COSINES) -> Variants:
    """Prepare loops of ``steps`` steps: cosines of a thousand numbers, or means of arrays.

    All numbers are float32. The arrays have different lengths, from 1 to 999.
    """
    if of == MEANS:
        arrays = loops.measurements(steps)
        return {
            EXACT: partial(loops.means, jax.jit(jnp.mean), arrays),
            PADDED: partial(loops.means_padded, jax.jit(loops.mean_of_first), arrays),
        }
    x = jnp.linspace(0.0, 1.0, 1000)
    unrolled = jax.jit(loops.cosines_unrolled, static_argnames="steps")
    return {
        UNROLLED: partial(unrolled, x, steps=steps),
        ROLLED: partial(jax.jit(loops.cosines), x, steps=steps),
    }


_MEANS = grid(steps=(20,), of=(MEANS,))
#: The unrolled program grows with the number of steps, and each new length is another program.
LOOPS = Experiment(
    name="static_loops",
    title="Loops of static and of traced length",
    prepare=prepare,
    quick=[*grid(steps=(1, 10, 50, 200)), *_MEANS],
    full=[*grid(steps=(1, 10, 100, 1000)), *_MEANS],
)
