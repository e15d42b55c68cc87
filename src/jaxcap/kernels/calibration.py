"""Two sensors of one quantity, and ways to calibrate one with the readings of the other.

The true quantity is drawn uniformly from 1 to 11. A *reference* sensor shows it with a little noise.
The sensor to be calibrated gives *readings*: slope times truth plus offset, with noise of its own,
and with a slope that varies from reading to reading. Nothing has a unit; all noise is normal.

The levels of noise are chosen, not known: they make the optimum and the error there come close to
those of a published fit whose data are lost (slope 1.533, offset 2.801, error 0.445).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.optimize
import numpy as np
import numpy.typing as npt
import scipy.optimize
from jax import Array

NumPyVector = npt.NDArray[np.floating[Any]]
Vector = Array | NumPyVector
Point = NumPyVector | Sequence[float]

SLOPE, OFFSET = 1.5, 3.0
LOWEST, HIGHEST = 1.0, 11.0
NO_CORRECTION = (1.0, 0.0)  # slope and offset
SLOPE_NOISE, READING_NOISE, REFERENCE_NOISE = 0.1, 0.05, 0.05  # standard deviations


def sensors(seed: int = 0, size: int = 10_000) -> tuple[NumPyVector, NumPyVector]:
    """Simulate both sensors on ``size`` values of the truth.

    Returns
    -------
    tuple
        The reference, and the readings of the sensor that is to be calibrated: float64 arrays of
        shape ``(size,)``, the same for the same seed.
    """
    rng = np.random.default_rng(seed)
    truth = rng.uniform(LOWEST, HIGHEST, size)
    slope = rng.normal(SLOPE, SLOPE_NOISE, size)
    reference = truth + rng.normal(0, REFERENCE_NOISE, size)
    reading = slope * truth + OFFSET + rng.normal(0, READING_NOISE, size)
    return reference, reading


def corrected(parameters: Vector, reading: Vector) -> Vector:
    """Invert the sensor's law: ``z = (reading - offset) / slope``, plus a polynomial in ``z``.

    Works for NumPy and JAX arrays alike, and keeps their dtype.

    Parameters
    ----------
    parameters
        Slope and offset, followed by any number of coefficients of ``z**2``, ``z**3`` and so on:
        shape ``(2,)`` or longer.
    reading
        Readings, of any shape, which the result has too.
    """
    slope, offset, *further = parameters
    linear: Vector = (reading - offset) / slope
    curved = linear
    for power, coefficient in enumerate(further, start=2):
        curved = curved + coefficient * linear**power
    return curved


def rmse(parameters: Vector, reference: Vector, reading: Vector) -> Any:
    """Root of the mean squared difference between corrected readings and the reference.

    Parameters
    ----------
    parameters
        As in `corrected`.
    reference, reading
        Arrays of the same library, shape and dtype.

    Returns
    -------
    Array or numpy.floating
        A scalar of that library and dtype.
    """
    return ((reference - corrected(parameters, reading)) ** 2).mean() ** 0.5


def rmse_by_loop(parameters: NumPyVector, reference: NumPyVector, reading: NumPyVector) -> Any:
    """Compute the same as `rmse` in a loop over the elements of NumPy arrays."""
    pairs = zip(reference, reading, strict=True)
    squares = [(truth - corrected(parameters, measured)) ** 2 for truth, measured in pairs]
    return (sum(squares) / len(squares)) ** 0.5


def fit_by_scipy(
    reference: NumPyVector,
    reading: NumPyVector,
    start: Point = NO_CORRECTION,
    *,
    step: float | None = None,
    callback: Any = None,
) -> Any:
    """Minimise `rmse` by SciPy's BFGS with finite differences, in the dtype of the data.

    SciPy's result has slope and offset as ``x``, and the error as ``fun``.

    Parameters
    ----------
    reference, reading
        NumPy arrays of shape ``(size,)``.
    start
        Slope and offset to start from, by default those that correct nothing.
    step
        Distance of the differences, by default one that suits the dtype.
    callback
        Called after each step with slope and offset.
    """
    dtype = reference.dtype
    options: Any = {"eps": np.sqrt(np.finfo(dtype).eps) if step is None else step}
    return scipy.optimize.minimize(
        lambda parameters: rmse(parameters.astype(dtype), reference, reading),
        start,
        method="BFGS",
        callback=callback,
        options=options,
    )


_error_and_gradient: Any = jax.jit(jax.value_and_grad(rmse))


def fit_by_gradient(
    reference: Vector,
    reading: Vector,
    start: Point = NO_CORRECTION,
    *,
    callback: Any = None,
) -> Any:
    """Minimise `rmse` as `fit_by_scipy` does, but with gradients from JAX."""
    return scipy.optimize.minimize(
        _error_and_gradient,
        start,
        (reference, reading),
        jac=True,
        method="BFGS",
        callback=callback,
    )


def fit_by_jax(
    reference: Vector, reading: Vector, start: Point = NO_CORRECTION, steps: int = 100
) -> Any:
    """Minimise `rmse` by JAX's BFGS with gradients, in at most ``steps`` steps; can be compiled."""
    return jax.scipy.optimize.minimize(
        rmse,
        jnp.asarray(start),
        (reference, reading),
        method="BFGS",
        options={"maxiter": steps},
    )


def least_squares(reference: NumPyVector, reading: NumPyVector) -> NumPyVector:
    """Find the slope and offset that minimise `rmse`, without iterating.

    With ``u = 1 / slope`` and ``v = -offset / slope`` the corrected reading is ``u reading + v``,
    for which linear least squares has a closed form.

    Returns
    -------
    numpy.ndarray
        Slope and offset, of shape ``(2,)``.
    """
    columns = np.stack([reading, np.ones_like(reading)], axis=1)
    (u, v), *_ = np.linalg.lstsq(columns, reference)
    return np.array([1 / u, -v / u])


def least_squares_limit() -> NumPyVector:
    """Limit of `least_squares`, slope and offset, as the data of `sensors` grow without bound.

    It predicts the truth from noisy readings. The best prediction stays closer to the mean than the
    readings do, by the share of noise in their variance (attenuation), so the slope comes out
    steeper than the true one. Noise in the reference plays no part in this.

    References
    ----------
    W. A. Fuller, "Measurement Error Models", Wiley 1987, section 1.1.
    """
    variance = (HIGHEST - LOWEST) ** 2 / 12
    mean_square = (LOWEST**2 + LOWEST * HIGHEST + HIGHEST**2) / 3
    slope = SLOPE + _reading_variance(mean_square) / (SLOPE * variance)
    centre = (LOWEST + HIGHEST) / 2
    return np.array([slope, OFFSET + (SLOPE - slope) * centre])


def noise_ratio(reference: NumPyVector) -> float:
    """Ratio of the noise variance of readings to that of the reference, averaged over the data.

    The varying slope counts towards the readings, where its noise is proportional to the truth.
    In practice one measures this ratio by exposing both sensors many times to each of several truths
    across the range.
    """
    mean_square = float((reference**2).mean()) - REFERENCE_NOISE**2
    return _reading_variance(mean_square) / REFERENCE_NOISE**2


def deming(reference: NumPyVector, reading: NumPyVector, ratio: float) -> NumPyVector:
    """Fit a line to points whose coordinates are both noisy (Deming regression).

    With ratio 1 this is orthogonal distance regression. As the data grow, slope and offset converge
    to the true ones if the ratio is right. The sensors must be correlated.

    Parameters
    ----------
    reference, reading
        Arrays of shape ``(size,)``.
    ratio
        Noise variance of ``reading`` over that of ``reference``, positive.

    Returns
    -------
    numpy.ndarray
        Slope and offset, of shape ``(2,)``.

    References
    ----------
    W. A. Fuller, "Measurement Error Models", Wiley 1987, section 1.3.
    """
    (xx, xy), (_, yy) = np.cov(reference, reading)
    excess = yy - ratio * xx
    slope = (excess + np.sqrt(excess**2 + 4 * ratio * xy**2)) / (2 * xy)
    return np.array([slope, reading.mean() - slope * reference.mean()])


def _reading_variance(mean_square: float) -> float:
    """Variance of readings about the sensor's law, given the mean square of the truth."""
    return SLOPE_NOISE**2 * mean_square + READING_NOISE**2
