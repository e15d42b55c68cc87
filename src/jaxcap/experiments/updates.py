"""Updates that copy an array or write into it, sums by group, and sorting."""

from __future__ import annotations

from functools import partial

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
#: Functions that JAX and NumPy have by the same name.
FUNCTIONS = ("sort", "argsort", "cumsum")

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


def prepare_sums(groups: int) -> Variants:
    """Prepare the sums of ten thousand float32 numbers in random groups, by JAX and by NumPy."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(VALUES, dtype=np.float32)
    places = rng.integers(groups, size=VALUES, dtype=np.int32)
    inputs = jax.device_put((values, places))
    by_scatter = jax.jit(updates.sums_by_scatter, static_argnames="count")
    by_product = jax.jit(updates.sums_by_product, static_argnames="count")
    return {
        SCATTER: partial(by_scatter, *inputs, count=groups),
        PRODUCT: partial(by_product, *inputs, count=groups),
        ADD_AT: partial(updates.sums_by_add_at, values, places, groups),
        BINCOUNT: partial(np.bincount, places, values, groups),
    }


def prepare_ordering(size: int) -> Variants:
    """Prepare sorting, sorted indices and running sums of random float32 numbers, by JAX and NumPy.

    JAX's sorting keeps equal numbers in their order. That matters for indices, so NumPy's are asked
    for a stable order too.
    """
    x = np.random.default_rng(0).standard_normal(size, dtype=np.float32)
    on_device = jax.device_put(x)
    by_jax = {f"jnp.{name}": partial(getattr(jnp, name), on_device) for name in FUNCTIONS}
    by_numpy = {f"np.{name}": partial(getattr(np, name), x) for name in FUNCTIONS}
    return by_jax | by_numpy | {"np.argsort": partial(np.argsort, x, kind="stable")}


_SIZES = (1000, 10_000, 100_000, 1_000_000)
_LARGE_SIZES = (1000, 100_000, 10_000_000)
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
SUMS = Experiment(
    name="sums_by_group",
    title="Sums by group",
    prepare=prepare_sums,
    quick=grid(groups=(10, 100, 1000)),
    empty_caches=False,  # the variants share no compiled function
)
#: Functions of all elements in turn, which don't map onto parallel hardware easily.
ORDERING = Experiment(
    name="ordering",
    title="Sorting and running sums",
    prepare=prepare_ordering,
    quick=grid(size=(100_000,)),
    empty_caches=False,  # the variants share no compiled function
)
