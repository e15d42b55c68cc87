"""The same function, compiled with other options of XLA."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import network
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

DEFAULT, FAST_MATHS = "default", "fast maths"
UNOPTIMISED, ONE_THREAD = "no optimisation", "one thread"
#: What `jax.jit` takes as ``compiler_options``, by variant.
OPTIONS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    FAST_MATHS: {"xla_cpu_enable_fast_math": True},
    UNOPTIMISED: {"xla_backend_optimization_level": 0},
    ONE_THREAD: {"xla_cpu_multi_thread_eigen": False},
}
GELU, GRADIENT, PRODUCT = "gelu", "gradient", "product"


def prepare(work: str) -> Variants:
    """Prepare a function of many numbers, a gradient or a product of matrices, on the CPU."""
    random = np.random.default_rng(0).standard_normal
    square = random((600, 600), dtype=np.float32)
    functions: dict[str, tuple[Callable[..., Any], Any]] = {
        GELU: (jax.nn.gelu, (square,)),
        GRADIENT: (jax.grad(network.loss), network.example(layers=4)),
        PRODUCT: (jnp.matmul, (square, square)),
    }
    function, args = functions[work]
    args = jax.device_put(args, jax.devices("cpu")[0])
    return {
        name: partial(jax.jit(function, compiler_options=options), *args)
        for name, options in OPTIONS.items()
    }


#: Options of the compiler are of use where they change what it makes, or how long that takes. These are
#: options for CPUs, so there are no points for a GPU.
COMPILER_OPTIONS = Experiment(
    name="compiler options",
    title="One function, compiled with other options",
    prepare=prepare,
    quick=grid(work=(GELU, GRADIENT, PRODUCT)),
)
