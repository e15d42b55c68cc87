"""What types cost in a call: ``typed_jit`` and ``jax.jit``, compared with ``jax.jit``."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from jaxcap.kernels.elementwise import wave
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants
from jaxcap.tools.transforms import typed_jit

PLAIN, TYPED, CONTROL = "jax.jit", "typed_jit", "jax.jit again"


def prepare(size: int) -> Variants:
    """Prepare calls of ``wave``, compiled three times, on ``size`` float32 numbers from 0 to 12."""
    x = jnp.linspace(0.0, 12.0, size)
    return {
        PLAIN: partial(jax.jit(wave), x),
        TYPED: partial(typed_jit(wave), x),
        CONTROL: partial(jax.jit(wave), x),
    }


#: Few numbers, so that a call is mostly overhead.
TYPED_JIT = Experiment(
    name="typed_jit",
    title="What types cost in a call",
    prepare=prepare,
    quick=grid(size=(100,)),
)
