"""The overhead of a call, and the size from which it no longer matters.

All arrays of these experiments are float32 (complex64 for systems of equations) in every library,
JAX's default.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from math import isqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import dispatch
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants
from jaxcap.results import ResultSet
from jaxcap.results.tables import Table

NUMPY, AUTOGRAD, JNP, JIT, REWRAPPED = "NumPy", "autograd", "jnp", "jit", "jit in each call"
BY_JAX = (JNP, JIT, REWRAPPED)
NUMPY_ARRAYS, JAX_ARRAYS, OWN_ARRAYS = "NumPy", "JAX", "its own"

SMALL_SIZES = (5, 10, 50)
SIZES = (*SMALL_SIZES, 100, 1000, 10_000)


def prepare(operation: str, arrays: str, size: int, *, dtype: str = "float32") -> Variants:
    """Prepare a small operation by each library, on NumPy's arrays, on JAX's or on its own.

    Autograd's variant is left out where that library is not installed.
    """
    in_numpy: Any = [array.astype(dtype) for array in dispatch.inputs(operation, size)]
    in_jax = jax.device_put(in_numpy)
    function_of = dispatch.OPERATIONS[operation]
    fn = function_of(jnp)
    functions = {NUMPY: function_of(np)}
    if find_spec("autograd"):
        functions[AUTOGRAD] = function_of(import_module("autograd.numpy"))
    functions |= {JNP: fn, JIT: jax.jit(fn), REWRAPPED: lambda *args: jax.jit(fn)(*args)}
    on_jax_arrays = {NUMPY_ARRAYS: (), JAX_ARRAYS: functions, OWN_ARRAYS: BY_JAX}[arrays]
    return {
        name: partial(function, *(in_jax if name in on_jax_arrays else in_numpy))
        for name, function in functions.items()
    }


def prepare_chain(length: int) -> Variants:
    """Prepare a chain of sines of ten numbers."""
    x = np.linspace(-1.0, 1.0, 10, dtype=np.float32)
    on_device = jax.device_put(x)
    chain = partial(dispatch.chain, length=length)
    by_jax = partial(chain, jnp)
    return {
        NUMPY: partial(chain, np, x),
        JNP: partial(by_jax, on_device),
        JIT: partial(jax.jit(by_jax), on_device),
    }


def prepare_growth(computation: str, size: int) -> Variants:
    """Prepare a computation on arrays of ``size`` elements, which for a product are square matrices."""
    x = np.random.default_rng(0).standard_normal(size, dtype=np.float32)
    if computation == "matrix product":
        x = x.reshape(isqrt(size), -1)
    return _numpy_and_jax(dispatch.COMPUTATIONS[computation], x)


def prepare_solve(equations: int) -> Variants:
    """Prepare a complex system of equations with ten right-hand sides."""
    return _numpy_and_jax(dispatch.solve_and_reduce, *dispatch.complex_system(equations, 10))


def _numpy_and_jax(fn: Callable[..., Any], *arrays: Any) -> Variants:
    return {
        NUMPY: partial(fn, np, *arrays),
        JIT: partial(jax.jit(partial(fn, jnp)), *jax.device_put(arrays)),
    }


# Small sizes are the subject, so the points are the same on all devices.

#: Three operations on small arrays of JAX, at all sizes, as published. At the smallest and the largest
#: size they are also computed on each library's own arrays, and one is computed on NumPy's. A fourth,
#: of which only the outcome was published, is computed on each library's own arrays alone.
DISPATCH = Experiment(
    name="dispatch",
    title="A call on small arrays",
    prepare=prepare,
    quick=[
        *grid(operation=("dot",), arrays=(OWN_ARRAYS,), size=(5, 10_000)),
        *grid(operation=("dot",), arrays=(NUMPY_ARRAYS,), size=(5,)),
        *grid(operation=("dot",), arrays=(JAX_ARRAYS,), size=SIZES),
        *grid(operation=("einsum", "eig"), arrays=(OWN_ARRAYS,), size=(5, 50)),
        *grid(operation=("einsum", "eig"), arrays=(JAX_ARRAYS,), size=SMALL_SIZES),
        *grid(operation=("svd",), arrays=(OWN_ARRAYS,), size=(5, 50, 200)),
    ],
    empty_caches=False,  # only JIT and REWRAPPED share a program, which the latter is meant to find
)
#: One operation after another, on ten numbers.
CHAIN = Experiment(
    name="dispatch chain",
    title="A chain of small operations",
    prepare=prepare_chain,
    quick=grid(length=(1, 10, 100)),
)
#: The same computation on larger and larger arrays.
GROWTH = Experiment(
    name="dispatch growth",
    title="The size from which JAX overtakes NumPy",
    prepare=prepare_growth,
    quick=grid(computation=dispatch.COMPUTATIONS, size=[16**k for k in range(1, 6)]),
    empty_caches=False,  # the variants share no compiled function
)
#: Small complex systems of equations with ten right-hand sides.
SOLVE = Experiment(
    name="dispatch solve",
    title="Small systems of equations",
    prepare=prepare_solve,
    quick=grid(equations=(10, 30, 100)),
    empty_caches=False,  # the variants share no compiled function
)


def tabulate(results: ResultSet, operation: str) -> Table:
    """Tabulate an operation's times of `DISPATCH` by kind of array and by size, in columns by variant."""
    chosen = results.select(operation=operation)
    rows = []
    for result in chosen.select(variant=JIT):
        point = result.parameters
        times = [chosen.only(variant, **point).time.short for variant in chosen.variants]
        rows.append((str(point["arrays"]), f"{point['size']:,}", *times))
    return Table(f"Time of {operation}", ("arrays", "size", *chosen.variants), rows)


def crossover(results: ResultSet, variant: str, *, over: str, x: str) -> int | None:
    """Find the value of parameter ``x`` from which ``variant`` is faster, by the whole interval.

    Returns
    -------
    int or None
        The smallest measured value at which ``variant`` is faster than ``over``, as it is at all
        larger ones; None if it is not faster at the largest.
    """
    smallest = None
    candidates = results.select(variant=variant).results
    for result in sorted(candidates, key=lambda result: result.parameters[x], reverse=True):
        if results.speedup(result, over=over).verdict != "faster":
            break
        smallest = int(result.parameters[x])
    return smallest
