"""The error of a calibration, and its minimum, by NumPy and SciPy and by compiled JAX."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np

from jaxcap.kernels import calibration
from jaxcap.kernels.precision import with_x64
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

SIZES = (1_000, 10_000, 1_000_000)
MAX_LOOPED = 10_000  # a longer loop takes long and teaches nothing new

LOOP, NUMPY, COMPILED = "Python loop", "NumPy", "jit"
DIFFERENCES, GRADIENT, INSIDE = "SciPy, differences", "SciPy, JAX gradient", "JAX"


def prepare(size: int) -> Variants:
    """Prepare the error of a calibration on ``size`` pairs of float32 readings, by NumPy and by JAX.

    The loop is left out for more than 10,000 pairs.
    """
    parameters = np.array([calibration.SLOPE, calibration.OFFSET])
    arrays = [a.astype(np.float32) for a in (parameters, *calibration.sensors(size=size))]
    variants = {
        NUMPY: partial(calibration.rmse, *arrays),
        COMPILED: partial(jax.jit(calibration.rmse), *jax.device_put(arrays)),
    }
    if size <= MAX_LOOPED:
        variants = {LOOP: partial(calibration.rmse_by_loop, *arrays), **variants}
    return variants


def prepare_errors(library: str, size: int) -> Variants:
    """Prepare the error in one library; JAX compiles one program each for two to four parameters."""
    parameters = np.array([calibration.SLOPE, calibration.OFFSET, 0.0, 0.0], np.float32)
    data = [a.astype(np.float32) for a in calibration.sensors(size=size)]
    if library == NUMPY:
        return {"NumPy, 2 parameters": partial(calibration.rmse, parameters[:2], *data)}
    on_device = jax.device_put(data)
    return {
        f"JAX, {count} parameters": partial(
            jax.jit(calibration.rmse), jax.device_put(parameters[:count]), *on_device
        )
        for count in (2, 3, 4)
    }


def prepare_fit(library: str, size: int) -> Variants:
    """Prepare the minimisation of the error by BFGS, in float64, starting from no correction.

    NumPy's error is minimised by SciPy, with finite differences.
    """
    data = calibration.sensors(size=size)
    if library == NUMPY:
        return {"SciPy, BFGS": partial(calibration.fit_by_scipy, *data)}
    fit = with_x64(jax.jit(calibration.fit_by_jax))
    return {"JAX, BFGS": lambda: jax.device_get(fit(*data))}


def prepare_optimisers(size: int) -> Variants:
    """Prepare the whole minimisation of the error of ``size`` pairs in float64, in three ways."""
    data = calibration.sensors(size=size)
    on_device = with_x64(jax.device_put)(data)
    return {
        DIFFERENCES: partial(calibration.fit_by_scipy, *data),
        GRADIENT: partial(with_x64(calibration.fit_by_gradient), *on_device),
        INSIDE: partial(with_x64(jax.jit(calibration.fit_by_jax)), *on_device),
    }


#: All sizes; on a GPU also ten million readings.
CALIBRATION = Experiment(
    name="calibration",
    title="The error of a calibration",
    prepare=prepare,
    quick=grid(size=SIZES),
    full=grid(size=(*SIZES, 10_000_000)),
    empty_caches=False,  # the variants share no compiled function
)
#: One calibration of as many readings as in the tutorial.
OPTIMISERS = Experiment(
    name="optimisers",
    title="A whole calibration",
    prepare=prepare_optimisers,
    quick=grid(size=(10_000,)),
    empty_caches=False,  # the variants share no compiled function
)
