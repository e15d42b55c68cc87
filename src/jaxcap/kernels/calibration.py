"""Two sensors of one quantity, and how to find the law of one from the readings of the other.

The true quantity is drawn evenly from 1 to 11. A *reference* sensor shows it, with a little noise.
The sensor to be calibrated gives *readings*: slope times truth plus offset, with noise of its own,
and with a slope that trembles from reading to reading. Nothing has a unit; all noise is normal.

The levels of noise are chosen, not known: with them the optimum and the error at it come out near
those of a published fit whose data are lost (slope 1.533, offset 2.801, error 0.445).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from jax import Array

NumPyVector = npt.NDArray[np.floating[Any]]
Vector = Array | NumPyVector

SLOPE, OFFSET = 1.5, 3.0
LOWEST, HIGHEST = 1.0, 11.0
# Standard deviations.
SLOPE_NOISE, READING_NOISE, REFERENCE_NOISE = 0.1, 0.05, 0.05


def sensors(seed: int = 0, size: int = 10_000) -> tuple[NumPyVector, NumPyVector]:
    """Let both sensors look at ``size`` values of the truth.

    Returns
    -------
    tuple
        What the reference shows, and the readings of the sensor that is to be calibrated: float64
        arrays of shape ``(size,)``, the same for the same seed.
    """
    rng = np.random.default_rng(seed)
    truth = rng.uniform(LOWEST, HIGHEST, size)
    slope = rng.normal(SLOPE, SLOPE_NOISE, size)
    reference = truth + rng.normal(0, REFERENCE_NOISE, size)
    reading = slope * truth + OFFSET + rng.normal(0, READING_NOISE, size)
    return reference, reading


def corrected(parameters: Vector, reading: Vector) -> Vector:
    """Undo the sensor's law: ``z = (reading - offset) / slope``, plus a polynomial.

    Works for arrays of NumPy and of JAX alike, and keeps their dtype.

    Parameters
    ----------
    parameters
        Slope and offset, and as many further numbers as you like, which multiply the square of
        ``z``, its cube and so on: of shape ``(2,)`` or longer.
    reading
        Of any shape, which the result has too.
    """
    slope, offset, *further = parameters
    linear = (reading - offset) / slope
    curved: Vector = linear + sum(c * linear**power for power, c in enumerate(further, start=2))
    return curved


def rmse(parameters: Vector, reference: Vector, reading: Vector) -> Any:
    """Root of the mean squared difference of corrected readings from the reference.

    Parameters
    ----------
    parameters
        As in `corrected`.
    reference, reading
        Of one shape and dtype, and arrays of one library.

    Returns
    -------
    Array or numpy.floating
        A scalar of that library and dtype.
    """
    return ((reference - corrected(parameters, reading)) ** 2).mean() ** 0.5


def rmse_by_loop(parameters: NumPyVector, reference: NumPyVector, reading: NumPyVector) -> Any:
    """Compute what `rmse` does with a loop over the elements of NumPy arrays."""
    pairs = zip(reference, reading, strict=True)
    squares = [(shown - corrected(parameters, read)) ** 2 for shown, read in pairs]
    return (sum(squares) / len(squares)) ** 0.5


def least_squares(reference: NumPyVector, reading: NumPyVector) -> NumPyVector:
    """Find the slope and offset at which `rmse` is least, without an iteration.

    With ``u = 1 / slope`` and ``v = -offset / slope`` the corrected reading is ``u reading + v``,
    for which linear least squares has a closed form.

    Returns
    -------
    numpy.ndarray
        Of shape ``(2,)``.
    """
    columns = np.stack([reading, np.ones_like(reading)], axis=1)
    (u, v), *_ = np.linalg.lstsq(columns, reference)
    return np.array([1 / u, -v / u])


def least_squares_limit() -> NumPyVector:
    """Slope and offset that `least_squares` tends to as the data of `sensors` grow without end.

    It predicts the truth from readings that carry noise. The best prediction stays closer to the
    mean than the readings do, by the share that noise has in their variance (attenuation), so the
    slope comes out steeper than the true one. Noise in the reference has no part in this.

    References
    ----------
    W. A. Fuller, "Measurement Error Models", Wiley 1987, section 1.1.
    """
    variance = (HIGHEST - LOWEST) ** 2 / 12
    slope = SLOPE + _reading_variance(_mean_square()) / (SLOPE * variance)
    centre = (LOWEST + HIGHEST) / 2
    return np.array([slope, OFFSET + (SLOPE - slope) * centre])


def noise_ratio(reference: NumPyVector) -> float:
    """Variance of the noise in a reading over that in the reference, on average over the data.

    The trembling slope counts for the readings, where it makes noise in proportion to the truth.
    In practice one learns this ratio by showing both sensors the same truth many times.
    """
    mean_square = float((reference**2).mean()) - REFERENCE_NOISE**2
    return _reading_variance(mean_square) / REFERENCE_NOISE**2


def deming(reference: NumPyVector, reading: NumPyVector, ratio: float) -> NumPyVector:
    """Fit a line by least squares across, where both coordinates carry noise (Deming regression).

    With ratio 1 this is orthogonal distance regression. As the data grow, slope and offset tend
    to the true ones, if the ratio is right. The sensors must be correlated.

    Parameters
    ----------
    reference, reading
        Of shape ``(size,)``.
    ratio
        Variance of the noise in ``reading`` over that in ``reference``, positive.

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


def _mean_square() -> float:
    """Mean of the squared truth."""
    return (LOWEST**2 + LOWEST * HIGHEST + HIGHEST**2) / 3


def _reading_variance(mean_square: float) -> float:
    """Variance of a reading about its law, for a truth with this mean of squares."""
    return SLOPE_NOISE**2 * mean_square + READING_NOISE**2
