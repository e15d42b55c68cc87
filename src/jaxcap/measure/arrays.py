"""The arrays that a call returns: their device, their size, and how to wait for them.

Only this module distinguishes NumPy, JAX and PyTorch arrays. It never imports PyTorch: if no other
module has, no array is a PyTorch tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import jax

from jaxcap.measure.machine.description import cpu, device_of
from jaxcap.results import Device

Wait = Callable[[Any], object]


def array_leaves(tree: Any) -> list[Any]:
    """Return the leaves of a pytree that hold data."""
    leaves = jax.tree_util.tree_leaves(tree)
    # Modules and types may have an attribute of that name, too.
    return [leaf for leaf in leaves if isinstance(getattr(leaf, "nbytes", None), int)]


def size_bytes(tree: Any) -> int:
    """Return the number of bytes that the arrays of a pytree occupy."""
    return sum(int(leaf.nbytes) for leaf in array_leaves(tree))


def device_of_result(result: Any) -> Device:
    """Return the device that holds a result, which is where the call ran.

    Parameters
    ----------
    result
        A pytree of JAX, PyTorch or NumPy arrays. Anything else counts as a result of the CPU.
    """
    for leaf in array_leaves(result):
        if isinstance(leaf, jax.Array):
            return device_of(next(iter(leaf.devices())))
        if getattr(leaf, "is_cuda", False):
            name = sys.modules["torch"].cuda.get_device_name(leaf.device)
            return Device(platform="gpu", name=name)
    return cpu()


def waiter(result: Any) -> Wait | None:
    """Return a function that waits until a result like this one is computed.

    ``None`` means that such a result is ready when its call returns, as with NumPy. For a single
    array the function is the array's own method, which costs a tenth of walking a pytree.
    """
    parts = jax.tree_util.tree_leaves(result)
    is_asynchronous = any(hasattr(leaf, "block_until_ready") for leaf in parts)
    if any(getattr(leaf, "is_cuda", False) for leaf in parts):
        synchronize = sys.modules["torch"].cuda.synchronize
        if is_asynchronous:
            return lambda tree: (synchronize(), jax.block_until_ready(tree))  # type: ignore[no-untyped-call]
        return lambda _: synchronize()
    if not is_asynchronous:
        return None
    return methodcaller("block_until_ready") if parts[0] is result else jax.block_until_ready
