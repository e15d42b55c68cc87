"""The error of a calibration, computed by a loop, by NumPy and by compiled JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxcap.experiment import Experiment, grid
from jaxcap.kernels import calibration

SIZES = (1_000, 10_000, 1_000_000)
LARGEST_FOR_LOOP = 10_000  # beyond it takes long and teaches nothing new

LOOP, NUMPY, COMPILED = "Python loop", "NumPy", "jit"


def prepare(size: int) -> Mapping[str, Callable[[], Any]]:
    """Prepare the error at the true parameters on ``size`` pairs of float32 readings.

    The loop is left out where there are more than 10,000.
    """
    parameters = np.array([calibration.SLOPE, calibration.OFFSET])
    arrays = [a.astype(np.float32) for a in (parameters, *calibration.sensors(size=size))]
    loop = {LOOP: partial(calibration.rmse_by_loop, *arrays)}
    return (loop if size <= LARGEST_FOR_LOOP else {}) | {
        NUMPY: partial(calibration.rmse, *arrays),
        COMPILED: partial(jax.jit(calibration.rmse), *jax.device_put(arrays)),
    }


#: The same at all sizes; on a GPU also for ten million readings.
CALIBRATION = Experiment(
    name="calibration",
    prepare=prepare,
    quick=grid(size=SIZES),
    full=grid(size=(*SIZES, 10_000_000)),
)
