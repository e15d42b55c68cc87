"""What a process does before its first result, and how long each part of that takes.

Nothing is imported here that the process would not import anyway.
"""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

STAGES = ("Python", "import", "backend", "trace", "lower", "compile", "run")
LAYERS = 8


def first_result(started: float, exported: str | None = None) -> dict[str, float]:
    """Compute a gradient for the first time, and return how long each stage took.

    The clock started in another process. A gradient that was exported is read from its file.
    """
    times = [started, time.time()]
    import jax
    from jax import export

    from jaxcap.kernels import network

    times.append(time.time())  # imported
    jax.devices()
    times.append(time.time())  # the backend is there
    if exported:
        saved = export.deserialize(bytearray(Path(exported).read_bytes()))
        gradient: Any = jax.jit(saved.call)
    else:
        gradient = jax.jit(jax.grad(network.loss))
    example = network.example(LAYERS)
    traced = gradient.trace(*example)
    times.append(time.time())
    lowered = traced.lower()
    times.append(time.time())
    compiled = lowered.compile()
    times.append(time.time())
    jax.block_until_ready(compiled(*example))
    times.append(time.time())
    seconds = (after - before for before, after in pairwise(times))
    return dict(zip(STAGES, seconds, strict=True))
