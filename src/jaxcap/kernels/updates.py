"""Changed elements of arrays, sums by group, and reading by index: by JAX and by NumPy.

Arrays of numbers have one floating-point dtype, which is kept; indices are integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

Vector = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.integer[Any]]


def change(x: Array, i: int | Array, value: float | Array) -> Array:
    """Return ``x`` with ``value`` at index ``i``, or values at indices."""
    return x.at[i].set(value)


def change_in_place(x: Vector, i: int | Indices, value: float | Vector) -> Vector:
    """Put ``value`` at index ``i`` of NumPy's ``x``, or values at indices, and return ``x``."""
    x[i] = value
    return x


def keeping(update: Callable[[Array], Array], x: Array) -> Callable[[], Array]:
    """Make a function that replaces the array that it keeps."""

    def update_kept() -> Array:
        nonlocal x
        x = update(x)
        return x

    return update_kept


def swap_in_turn(x: Array, i: Array, j: Array) -> Array:
    """Swap the elements at two indices by one update after the other."""
    return x.at[i].set(x[j]).at[j].set(x[i])


def swap_at_once(x: Array, i: Array, j: Array) -> Array:
    """Swap the elements at two indices by a single update."""
    return x.at[jnp.stack([i, j])].set(x[jnp.stack([j, i])])


def swaps(swap: Callable[[Array, Array, Array], Array], x: Array, pairs: Array) -> Array:
    """Swap elements for each of ``pairs``, in a loop on the device."""
    result: Array = jax.lax.fori_loop(0, len(pairs), lambda k, x: swap(x, *pairs[k]), x)
    return result


def swaps_in_place(x: Vector, pairs: Iterable[tuple[int, int]]) -> Vector:
    """Swap elements of NumPy's ``x``, and return that."""
    for i, j in pairs:
        x[i], x[j] = x[j], x[i]
    return x


def sums_by_scatter(values: Array, groups: Array, count: int) -> Array:
    """Sum of the values in each group, each added at its group's index."""
    return jnp.zeros(count, values.dtype).at[groups].add(values)


def sums_by_product(values: Array, groups: Array, count: int) -> Array:
    """Compute the same as a product with a matrix that has a one in each row.

    In full precision: a GPU may otherwise round the values before it multiplies them.
    """
    membership = jax.nn.one_hot(groups, count, dtype=values.dtype)
    return jnp.matmul(values, membership, precision="highest")


def sums_by_add_at(values: Vector, groups: Indices, count: int) -> Vector:
    """Compute the same as `sums_by_scatter` in NumPy, whose ``+=`` would add once to each group."""
    sums = np.zeros(count, values.dtype)
    np.add.at(sums, groups, values)
    return sums


def read(table: Any, groups: Any) -> Any:
    """Gather the number of each group from a table, in JAX or in NumPy."""
    return table[groups]


def read_by_product(table: Array, groups: Array) -> Array:
    """Compute the same as a product with the matrix of `sums_by_product`."""
    membership = jax.nn.one_hot(groups, len(table), dtype=table.dtype)
    return jnp.matmul(membership, table, precision="highest")
