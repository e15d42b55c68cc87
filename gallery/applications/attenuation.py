"""
Why isn't the best fit the truth?
=================================

Give an optimiser ten thousand readings of a sensor, and it finds the parameters with the least
error. They aren't the sensor's true parameters, and ten million readings wouldn't bring them closer.
This page shows what draws the best fit away from the truth, and what an estimator has to know to
find the law behind the data. It needs no JAX, because an optimiser of any library answers the
question that you ask.
"""

# %%
# An optimum beside the truth
# ---------------------------
# :doc:`Two pages ago </tutorials/applications/calibration>` we calibrated a cheap sensor against a good
# one. The readings were simulated, so we know the slope and the offset behind them. Which has the
# larger error on these readings, the optimum or the truth?
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.kernels import calibration
from jaxcap.kernels.calibration import rmse
from jaxcap.report import figures

TRUE = np.array([calibration.SLOPE, calibration.OFFSET])
reference, reading = calibration.sensors(seed=0)
best = calibration.least_squares(reference, reading)
for label, parameters in ("optimum", best), ("truth", TRUE):
    print(f"{label}: {rmse(parameters, reference, reading):.5f}", parameters)

# %%
# The truth has the larger error, as it must, because no slope and offset have a smaller one than
# the optimum. So the optimiser did its job, and a better one wouldn't find the truth either. To see
# how the two differ, subtract the true law from the fit, and from the means of neighbouring readings:
line = np.array([calibration.LOWEST, calibration.HIGHEST])
order = np.argsort(reference)
above_law = reading - TRUE[0] * reference - TRUE[1]
means = [
    values[order].reshape(20, -1).mean(axis=1)
    for values in (reference, above_law)
]
fitted = (best[0] - TRUE[0]) * line + best[1] - TRUE[1]
tilt = f"The fitted slope is off by {best[0] / TRUE[0] - 1:+.1%}"

# %%
plt.axhline(0, color=figures.INK, lw=1, ls=":", label="true law")
plt.plot(*means, "o", ms=4, label=f"means of {len(order) // 20} readings")
plt.plot(line, fitted, label="fit")
plt.xlabel("reference")
plt.ylabel("difference from the true law")
figures.headline(plt.gcf(), tilt, "The fit beside the true law")
_ = plt.legend()

# %%
# A fit that recovered the law would lie along zero, as the means do, but this one is tilted. Is that bad
# luck? Then more readings would help:
for size in (100, 10_000, 1_000_000):
    print(
        f"{size:9,}", calibration.least_squares(*calibration.sensors(0, size))
    )
print(" infinite", calibration.least_squares_limit())

# %%
# The slope settles, but not at the true one. The last line is :func:`the value in theory
# <jaxcap.kernels.calibration.least_squares_limit>` for infinitely many readings.
#
# Noise makes the fit too steep
# -----------------------------
# The reason is in the question. We asked for the line that best predicts the reference from the noisy
# readings, and it multiplies each reading by one over the slope. Think of the largest reading. Its noise
# probably happened to be positive, so the best guess of the truth behind it is lower than the law says.
# Likewise, the truth behind the smallest reading is probably higher. Guesses that lie closer to the middle
# need a smaller factor, and one over a smaller factor is a steeper slope. Statisticians say that noise
# *attenuates* the factor.
#
# Estimators that know where the noise is
# ---------------------------------------
# If you know that the reference is the good sensor, turn the question round: a line that predicts the
# reading from the reference is the law, as far as the reference is exact. NumPy fits it with ``polyfit``.
#
# If both sensors are noisy, Deming's estimator looks for the line that is nearest to the points, with
# distances measured in units of each sensor's noise. For this, you have to tell it how the noise is
# divided: the variance of the readings' noise, over that of the reference's. The rest is a formula:


def deming(reference, reading, ratio):
    (xx, xy), (_, yy) = np.cov(reference, reading)
    excess = yy - ratio * xx
    slope = (excess + np.sqrt(excess**2 + 4 * ratio * xy**2)) / (2 * xy)
    return np.array([slope, reading.mean() - slope * reference.mean()])


# %%
# In a laboratory, you would expose both sensors many times to the same quantities to measure this ratio.
# Here, the simulation knows it. What if you are wrong by a factor of ten, or assume equal noise?
ratio = calibration.noise_ratio(reference)
for assumed in (10 * ratio, ratio, ratio / 10, 1):
    print(f"ratio {assumed:4.0f}:", deming(reference, reading, assumed))

print("turned round:", np.polyfit(reference, reading, 1))

# %%
# Here, a rough guess of the ratio is good enough. But to assume equal noise, for sensors as different as
# these, leaves much of the bias. The question turned round needs no ratio, and comes close as well, because
# the reference's noise is small beside the range of the quantities.
#
# For a single sensor, a good result may be luck, so try all three on a hundred sensors that follow the
# same law:
SENSORS = 100
pairs = [calibration.sensors(seed) for seed in range(SENSORS)]
by_squares = np.array([calibration.least_squares(*pair) for pair in pairs])
by_deming = np.array(
    [deming(*pair, calibration.noise_ratio(pair[0])) for pair in pairs]
)
turned_round = np.array([np.polyfit(*pair, 1) for pair in pairs])

# %%
of_squares, of_deming = (
    f"{clouds[:, 0].mean() / TRUE[0] - 1:+.1%}"
    for clouds in (by_squares, by_deming)
)
finding = f"Slopes, on average: {of_squares} by least squares, {of_deming} by Deming"

# %%
plt.plot(*by_squares.T, "o", label="least squares", ms=4)
plt.plot(*by_deming.T, "s", label="Deming", ms=4)
plt.plot(*turned_round.T, "x", label="turned round", ms=5)
plt.plot(*TRUE, "X", color=figures.INK, markersize=12, label="truth")
plt.xlabel("slope")
plt.ylabel("offset")
figures.headline(plt.gcf(), finding, "A hundred sensors of the same law")
_ = plt.legend()

# sphinx_gallery_thumbnail_number = 2

# %%
# More readings would make each cloud smaller, but not move it. By least squares, the slopes miss the
# truth by :measured:`bias` on average, and scatter by only :measured:`deviation`.
#
# The right estimator depends on the question
# -------------------------------------------
# If you know the law, do you also correct readings better? Let both fits correct new readings of
# this sensor: first of quantities in the range where it was calibrated, then of larger ones.
rng = np.random.default_rng(1)
low, high = calibration.LOWEST, calibration.HIGHEST
fits = {
    "least squares": best,
    "Deming": deming(reference, reading, ratio),
}

# %%
for place, ends in {"inside": (low, high), "above": (high, 2 * high)}.items():
    truth = rng.uniform(*ends, 10_000)
    factor = rng.normal(calibration.SLOPE, calibration.SLOPE_NOISE, 10_000)
    noise = rng.normal(calibration.OFFSET, calibration.READING_NOISE, 10_000)
    new = factor * truth + noise
    for name, (slope, offset) in fits.items():
        errors = (new - offset) / slope - truth
        size, mean = np.sqrt(np.mean(errors**2)), errors.mean()
        print(f"{place:6} {name:13} rmse {size:.4f}, mean {mean:+.4f}")

# %%
# For quantities spread as in the calibration, least squares has the smaller error, because that is
# what it minimises. But it pulls every reading towards the middle of the range, so larger
# quantities come out too low, as their mean error shows.
#
# Takeaway
# --------
off_by_squares, off_by_deming, off_turned_round = (
    abs(clouds - TRUE)[:, 0]
    for clouds in (by_squares, by_deming, turned_round)
)
nearer_of, turned_nearer_of = (
    f"{(off < off_by_squares).sum()} of {SENSORS}"
    for off in (off_by_deming, off_turned_round)
)
slopes = by_squares[:, 0]
bias = f"{abs(slopes.mean() - TRUE[0]):.2g}"
deviation = f"{slopes.std():.2g}"

# %%
# An optimiser minimises what you wrote down. If you predict from noisy numbers, the line that predicts
# best isn't the law behind them: here, its slope was off by :measured:`bias` on average, and more readings
# don't reduce this bias. To find the law, use what you know about the noise. Least squares turned round,
# which takes the reference for exact, came nearer to the true slope for :measured:`turned_nearer_of`
# sensors, and Deming's estimator, told how the noise is divided, for :measured:`nearer_of`.
#
# If you only want to correct readings of quantities that are spread as they were in the calibration, stay
# with least squares.
#
# Next: a model with millions of parameters instead of two, :doc:`trained in JAX and in PyTorch
# </tutorials/applications/mnist>`.
