"""How many threads of a process compute, and how many cores they keep busy."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def cpu_time_by_thread() -> dict[str, float]:
    """Read for how long each thread of this process has computed, in seconds, if this is Linux."""
    files = Path("/proc/self/task").glob("*/schedstat")
    return {file.parent.name: int(file.read_text().split()[0]) / 1e9 for file in files}


def at_work(
    function: Callable[..., Any],
    *args: Any,
    seconds: float = 0.25,
) -> tuple[int, float]:
    """Repeat a call, and count the threads that do at least a twentieth of its work.

    The second number is the CPU time of all threads for each second that went by.
    """
    function(*args).block_until_ready()
    before, start, now = cpu_time_by_thread(), time.perf_counter(), 0.0
    while now < start + seconds:
        function(*args).block_until_ready()
        now = time.perf_counter()
    after = cpu_time_by_thread()
    work = [total - before.get(thread, 0.0) for thread, total in after.items()]
    return sum(share > sum(work) / 20 for share in work), sum(work) / (now - start)


def usage_on_one_core() -> dict[str, Any]:
    """Limit this process to one core before it imports JAX."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    return usage()


def usage() -> dict[str, Any]:
    """Return the number of threads of this process, and how many of them are `at_work` in two calls."""
    import jax
    import jax.numpy as jnp

    x = jnp.ones((1000, 1000)) / 1000
    product, tanh = at_work(jax.jit(jnp.matmul), x, x), at_work(jax.jit(jnp.tanh), x)
    return {"threads": len(cpu_time_by_thread()), "product": product, "tanh": tanh}
