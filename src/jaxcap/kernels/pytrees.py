"""Numbers in trees of any structure, and a step of gradient descent that takes all of them.

Arrays have one floating-point dtype, which is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from jax import Array

Vector = npt.NDArray[np.floating[Any]]


def descend(params: Any, slopes: Any, rate: float = 0.1) -> Any:
    """Take a step of gradient descent: two pytrees of one structure to a third."""
    return jax.tree.map(lambda p, slope: p - rate * slope, params, slopes)


def parts(numbers: Vector, count: int) -> list[Array]:
    """Put an array of shape ``(n,)`` on the device, in ``count`` equal parts.

    NumPy cuts it, because JAX would compile the cutting.
    """
    cut: list[Array] = jax.device_put(list(numbers.reshape(count, -1)))
    return cut


def nested(leaves: Sequence[Any], fan: int = 10) -> dict[str, Any]:
    """Nest leaves in dicts, each of which has at most ``fan`` entries, as the layers of a model are.

    Examples
    --------
    >>> nested([1, 2, 3], fan=2)
    {'0': {'0': 1, '1': 2}, '1': {'0': 3}}
    """
    while len(leaves) > fan:
        groups = [leaves[i : i + fan] for i in range(0, len(leaves), fan)]
        leaves = [_named(group) for group in groups]
    return _named(leaves)


def _named(leaves: Sequence[Any]) -> dict[str, Any]:
    return {str(i): leaf for i, leaf in enumerate(leaves)}
