"""Updates that copy an array or write into it, groups, and many elements at once by three libraries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import updates
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

IN_PLACE, UNCOMPILED, COMPILED, DONATED = "NumPy", "not compiled", "compiled", "donated"
IN_TURN, AT_ONCE, SWAPS_IN_PLACE = "two updates", "one update", "NumPy's loop"
ELEMENT, SWAPS = "element", "swaps"
SCATTER, PRODUCT, ADD_AT, BINCOUNT = ".at[].add", "product", "np.add.at", "np.bincount"
SUM, READ, INDEXING = "sum", "read", "indexing"
NUMPY, PYTORCH, JAX = "NumPy", "PyTorch", "JAX"
GATHER, SET, ADD = "gather", "set", "add"
SORT, ARGSORT, CUMSUM = "sort", "argsort", "cumsum"
#: What each library does with many elements: three by index, and three of all elements in turn.
FUNCTIONS = (GATHER, SET, ADD, SORT, ARGSORT, CUMSUM)

STEPS = 100  # swaps in a loop
VALUES = 10_000  # numbers that are summed by group


def prepare(size: int, of: str = ELEMENT) -> Variants:
    """Prepare the change of an element, or a loop of swaps, in an array of float32 numbers.

    The loops swap the same pairs of random places.
    """
    x = np.arange(size, dtype=np.float32)
    on_device, to_donate = (jnp.array(x, copy=True) for _ in range(2))  # not NumPy's memory
    if of == SWAPS:
        pairs = np.random.default_rng(0).integers(size, size=(STEPS, 2), dtype=np.int32)
        inputs = on_device, jax.device_put(pairs)
        return {
            IN_TURN: partial(jax.jit(partial(updates.swaps, updates.swap_in_turn)), *inputs),
            AT_ONCE: partial(jax.jit(partial(updates.swaps, updates.swap_at_once)), *inputs),
            SWAPS_IN_PLACE: partial(updates.swaps_in_place, x, pairs.tolist()),
        }
    donating = jax.jit(updates.change, donate_argnums=0)
    return {
        IN_PLACE: partial(updates.change_in_place, x, 1, 7.0),
        UNCOMPILED: partial(updates.change, on_device, 1, 7.0),
        COMPILED: partial(jax.jit(updates.change), on_device, 1, 7.0),
        DONATED: updates.keeping(partial(donating, i=1, value=7.0), to_donate),
    }


def prepare_groups(groups: int, of: str = SUM) -> Variants:
    """Prepare sums by group of ten thousand float32 numbers, or looking up each number's group."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(VALUES, dtype=np.float32)
    places = rng.integers(groups, size=VALUES, dtype=np.int32)
    if of == READ:
        table = values[:groups]
        inputs = jax.device_put((table, places))
        return {
            INDEXING: partial(jax.jit(updates.read), *inputs),
            PRODUCT: partial(jax.jit(updates.read_by_product), *inputs),
            NUMPY: partial(updates.read, table, places),
        }
    inputs = jax.device_put((values, places))
    by_scatter = jax.jit(updates.sums_by_scatter, static_argnames="count")
    by_product = jax.jit(updates.sums_by_product, static_argnames="count")
    return {
        SCATTER: partial(by_scatter, *inputs, count=groups),
        PRODUCT: partial(by_product, *inputs, count=groups),
        ADD_AT: partial(updates.sums_by_add_at, values, places, groups),
        BINCOUNT: partial(np.bincount, places, values, groups),
    }


def prepare_many(function: str, size: int) -> Variants:
    """Prepare a function of many random float32 numbers, by NumPy, PyTorch and JAX.

    Indices are all places of an array, in random order. Sorted indices keep equal numbers in their
    order. PyTorch takes part where it is installed, and on a GPU if it and JAX can use that.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal(size, dtype=np.float32)
    places = rng.permutation(size)
    variants = {NUMPY: _by_numpy(x, places)[function], JAX: _by_jax(x, places)[function]}
    if find_spec("torch"):
        variants[PYTORCH] = _by_pytorch(x, places)[function]
    return variants


_SIZES = (1000, 100_000, 1_000_000)
_LARGE_SIZES = (1000, 100_000, 10_000_000)
_READ_FROM = (10, 1000)
#: One element of an array that is copied or not, and a loop of swaps.
UPDATES = Experiment(
    name="updates",
    title="Changing elements of an array",
    prepare=prepare,
    quick=[*grid(size=_SIZES), *grid(size=_SIZES, of=(SWAPS,))],
    full=[*grid(size=_LARGE_SIZES), *grid(size=_LARGE_SIZES, of=(SWAPS,))],
    empty_caches=False,  # the variants share no compiled function
)
#: The same ten thousand numbers, in more and more groups.
GROUPS = Experiment(
    name="sums_by_group",
    title="Sums by group",
    prepare=prepare_groups,
    quick=[*grid(groups=(10, 100, 1000)), *grid(groups=_READ_FROM, of=(READ,))],
    full=[*grid(groups=(10, 1000, 10_000)), *grid(groups=_READ_FROM, of=(READ,))],
    empty_caches=False,  # the variants share no compiled function
)
#: Some of these treat each element alone. In the others, what becomes of it depends on all of them.
MANY = Experiment(
    name="ordering",
    title="Indices, sorting and running sums",
    prepare=prepare_many,
    quick=grid(function=FUNCTIONS, size=(100_000,)),
    full=grid(function=FUNCTIONS, size=(100_000, 10_000_000)),
    empty_caches=False,  # the variants share no compiled function
)


def _by_numpy(x: updates.Vector, places: updates.Indices) -> dict[str, Callable[[], Any]]:
    return {
        GATHER: partial(updates.read, x, places),
        SET: partial(updates.change_in_place, x.copy(), places, x),
        ADD: partial(updates.sums_by_add_at, x, places, x.size),
        SORT: partial(np.sort, x),
        ARGSORT: partial(np.argsort, x, kind="stable"),
        CUMSUM: partial(np.cumsum, x),
    }


def _by_jax(x: updates.Vector, places: updates.Indices) -> dict[str, Callable[[], Any]]:
    # The array to change is donated, so it must not be NumPy's memory.
    inputs, kept = jax.device_put((x, places.astype(np.int32))), jnp.array(x, copy=True)
    donating = jax.jit(updates.change, donate_argnums=0)
    by_scatter = jax.jit(updates.sums_by_scatter, static_argnames="count")
    return {
        GATHER: partial(jax.jit(updates.read), *inputs),
        SET: updates.keeping(partial(donating, i=inputs[1], value=inputs[0]), kept),
        ADD: partial(by_scatter, *inputs, count=x.size),
        SORT: partial(jnp.sort, inputs[0]),
        ARGSORT: partial(jnp.argsort, inputs[0]),
        CUMSUM: partial(jnp.cumsum, inputs[0]),
    }


def _by_pytorch(x: updates.Vector, places: updates.Indices) -> dict[str, Callable[[], Any]]:
    import torch

    from jaxcap.kernels import updates_torch

    on_gpu = jax.default_backend() == "gpu" and torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    numbers, at = torch.tensor(x, device=device), torch.tensor(places, device=device)
    return {
        GATHER: partial(torch.index_select, numbers, 0, at),
        SET: partial(updates_torch.change_in_place, numbers.clone(), at, numbers),
        ADD: partial(updates_torch.sums_by_index_add, numbers, at, x.size),
        SORT: partial(torch.sort, numbers),
        ARGSORT: partial(torch.argsort, numbers, stable=True),
        CUMSUM: partial(torch.cumsum, numbers, 0),
    }
