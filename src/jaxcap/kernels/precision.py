"""JAX's 64-bit mode for one function, whatever the mode of its caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def with_x64(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls ``fn`` in JAX's 64-bit mode."""

    def call(*args: Any) -> Any:
        with jax.enable_x64(True):
            return fn(*args)

    return call
