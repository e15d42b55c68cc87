"""How far timings can be trusted: kernels that are compared with themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.experiments import jit
from jaxcap.kernels import dispatch, elementwise, linalg
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

A, B = "A", "B"
#: A comparison with a difference to be found: the wave of a million numbers, op by op and compiled.
WAVE = "wave, op by op and jit"


def _numbers(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _numpy(fn: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
    return partial(fn, *inputs)


def _jit(fn: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
    return partial(jax.jit(fn), *jax.device_put(inputs))


#: What each kernel's call is made by. Together they take from a microsecond to some milliseconds,
#: with dispatch, memory or arithmetic as the limit, on one core or on several.
KERNELS: Mapping[str, Callable[[], Callable[[], Any]]] = MappingProxyType(
    {
        "scalar product, NumPy": lambda: _numpy(np.dot, *_numbers(2, 10)),
        "scalar product, jit": lambda: _jit(jnp.dot, *_numbers(2, 10)),
        "chain of sines, jnp": lambda: partial(dispatch.chain, jnp, jnp.ones(10), 10),
        "wave, NumPy": lambda: _numpy(elementwise.wave, _numbers(100_000), np),
        "selu, jit": lambda: _jit(elementwise.selu, _numbers(1_000_000)),
        "polynomial, jit": lambda: _jit(dispatch.polynomial, _numbers(100_000)),
        "mean and sum, jit": lambda: _jit(linalg.mean_and_sum, _numbers(1_000_000)),
        "matrix product, NumPy": lambda: _numpy(np.matmul, *_numbers(2, 300, 300)),
        "matrix product, jit": lambda: _jit(jnp.matmul, *_numbers(2, 300, 300)),
        "system of equations, NumPy": lambda: _numpy(
            dispatch.solve_and_reduce, np, *dispatch.complex_system(100, 10)
        ),
    }
)


def prepare(kernel: str) -> Variants:
    """Prepare the same call twice, or a wave of a million numbers, op by op and compiled."""
    if kernel == WAVE:
        return jit.prepare(function="wave", size=1_000_000, device=jax.default_backend())
    call = KERNELS[kernel]()
    return {A: call, B: call}


#: Each kernel is compared with itself, so a verdict other than undecided is a false alarm.
PRECISION = Experiment(
    name="precision",
    title="The same call twice",
    prepare=prepare,
    quick=grid(kernel=KERNELS),
    empty_caches=False,  # the variants share what they compile, and first calls don't matter here
)
