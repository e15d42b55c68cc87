"""The arrays that a call returned: where they are, how large, and how to wait for them.

The one place that knows NumPy, JAX and PyTorch arrays apart. PyTorch is never imported here: if
nobody else has imported it, then no array is one of its tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import jax

from jaxcap.measure.machine import cpu, device_of
from jaxcap.results.environment import Device

Wait = Callable[[Any], object]


def leaves(tree: Any) -> list[Any]:
    """Leaves of a pytree that hold data."""
    return [leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "nbytes")]


def size_bytes(tree: Any) -> int:
    """Bytes that the arrays of a pytree occupy."""
    return sum(int(leaf.nbytes) for leaf in leaves(tree))


def device_of_result(result: Any) -> Device:
    """Where the arrays of a result lie, and so where the call that returned them ran.

    Parameters
    ----------
    result
        A pytree of JAX, PyTorch or NumPy arrays. Anything else counts as computed by the CPU.
    """
    for leaf in leaves(result):
        if isinstance(leaf, jax.Array):
            return device_of(next(iter(leaf.devices())))
        if getattr(leaf, "is_cuda", False):
            name = sys.modules["torch"].cuda.get_device_name(leaf.device)
            return Device(platform="gpu", name=name)
    return cpu()


def waiter(result: Any) -> Wait | None:
    """Return a function that returns once a result like this one is computed.

    ``None`` stands for a result that is ready when its call returns, as NumPy's are. A single
    array is waited for by its own method, which costs a tenth of what walking a pytree does.
    """
    found = jax.tree.leaves(result)
    late = any(hasattr(leaf, "block_until_ready") for leaf in found)
    if any(getattr(leaf, "is_cuda", False) for leaf in found):
        synchronize = sys.modules["torch"].cuda.synchronize
        if late:
            return lambda tree: (synchronize(), jax.block_until_ready(tree))  # type: ignore[no-untyped-call]
        return lambda _: synchronize()
    if not late:
        return None
    return methodcaller("block_until_ready") if found[0] is result else jax.block_until_ready
