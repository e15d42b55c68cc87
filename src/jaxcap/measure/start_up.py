"""What a process does before its first result, and how long each part of that takes.

Nothing is imported here that the process would not import anyway.
"""

from __future__ import annotations

import pickle
import time
from itertools import pairwise
from pathlib import Path

STAGES = ("Python", "import", "backend", "trace", "lower", "compile", "run")
LAYERS = 8


def first_result(started: float, saved: str | None = None) -> dict[str, float]:
    """Compute a gradient for the first time, and return how long each stage took.

    The clock started in another process, in seconds since 1970. A saved program
    is loaded from its file, instead of being traced, lowered and compiled.
    """
    times = [started, time.time()]
    import jax
    from jax.experimental.serialize_executable import deserialize_and_load

    from jaxcap.kernels import network

    times.append(time.time())  # imported
    devices = jax.devices()[:1]
    times.append(time.time())  # the backend is there
    example = network.example(LAYERS)
    if saved:
        times += [time.time()] * 2
        program, inputs, results = pickle.loads(Path(saved).read_bytes())
        gradient = deserialize_and_load(program, inputs, results, execution_devices=devices)
    else:
        traced = jax.jit(jax.grad(network.loss)).trace(*example)
        times.append(time.time())
        lowered = traced.lower()
        times.append(time.time())
        gradient = lowered.compile()
    times.append(time.time())  # compiled or loaded
    jax.block_until_ready(gradient(*example))
    times.append(time.time())
    seconds = (after - before for before, after in pairwise(times))
    return dict(zip(STAGES, seconds, strict=True))
