"""What the page on jax.numpy says of memory that JAX and NumPy share."""

from __future__ import annotations

import jax
import numpy as np
import numpy.typing as npt

ALIGNMENT = 64  # in bytes: what XLA asks of memory on a CPU


def aligned(size: int) -> npt.NDArray[np.float32]:
    """Return zeros whose address XLA accepts."""
    buffer = np.zeros(4 * size + ALIGNMENT, np.uint8)
    start = -buffer.ctypes.data % ALIGNMENT
    return buffer[start : start + 4 * size].view(np.float32)


def test_on_a_cpu_jax_may_use_the_memory_of_a_numpy_array() -> None:
    source = aligned(10_000)
    array = jax.device_put(source, jax.devices("cpu")[0])
    source[0] = 1
    assert array[0] == 1, "JAX copies now: the page need not warn of it any more"


def test_an_array_that_got_a_copy_stays_as_it_is() -> None:
    source = aligned(10_000)
    array = jax.device_put(source.copy(), jax.devices("cpu")[0])
    source[0] = 1
    assert array[0] == 0
