"""Programs that are timed from their start to their end, in place of calls."""

from __future__ import annotations

#: Their code, by the name of the benchmark.
PROGRAMS = {
    "import of JAX": "import jax",
    "import of JAX, and a first result": "import jax; (jax.numpy.ones(3) + 1).block_until_ready()",
}
