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
# :doc:`Two pages ago </tutorials/applications/calibration>` we calibrated a cheap sensor by a good
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
# how the two differ, subtract the true law from the readings and from the fit:
line = np.array([calibration.LOWEST, calibration.HIGHEST])
above_law = reading - TRUE[0] * reference - TRUE[1]
fitted = (best[0] - TRUE[0]) * line + best[1] - TRUE[1]
tilt = f"The fitted slope is off by {best[0] / TRUE[0] - 1:+.1%}"

# %%
plt.plot(reference[::5], above_law[::5], ".", ms=2, label="readings")
plt.plot(line, fitted, label="fit")
plt.xlabel("reference")
plt.ylabel("reading minus the true law")
figures.headline(plt.gcf(), tilt, "The fit beside the true law")
_ = plt.legend(markerscale=5)

# %%
# A fit that recovered the law would lie along zero, and this one is tilted. Is that bad luck? Then
# more readings would help:
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
# The reason is in the question. We asked which slope and offset best predict the reference from the
# noisy readings. Think of the largest reading. It is the largest partly because its noise happened
# to be positive, so the best guess of the truth behind it is lower than the reading says. Likewise,
# the truth behind the smallest reading is probably higher. Good guesses lie closer to the middle, so
# the fit learns to multiply readings by a smaller factor than the law would. Our correction divides
# by the slope, and a smaller factor means a steeper slope. Statisticians say that noise *attenuates*
# the factor.
#
# An estimator that knows about the noise
# ---------------------------------------
# Deming's estimator doesn't predict one sensor from the other. It looks for the line that is nearest
# to the points, with distances measured in units of each sensor's noise. For this, you have to tell
# it how the noise is divided: the variance of the readings' noise, over that of the reference's. The
# rest is a formula:


def deming(reference, reading, ratio):
    (xx, xy), (_, yy) = np.cov(reference, reading)
    excess = yy - ratio * xx
    slope = (excess + np.sqrt(excess**2 + 4 * ratio * xy**2)) / (2 * xy)
    return np.array([slope, reading.mean() - slope * reference.mean()])


# %%
# In a laboratory, you would measure this ratio by exposing both sensors many times to the same
# quantities. Here, the simulation knows it. What if you are wrong about it, by a factor of ten, or
# because you assume that both sensors are equally noisy?
ratio = calibration.noise_ratio(reference)
for assumed in (10 * ratio, ratio, ratio / 10, 1):
    print(f"ratio {assumed:4.0f}:", deming(reference, reading, assumed))

print("all in reading:", np.polyfit(reference, reading, 1))

# %%
# With the right ratio, the estimate is close to the law, and a rough guess of the ratio is still
# good enough. But to assume equal noise, for sensors as different as these, leaves much of the bias.
# The last line assumes that only the readings are noisy. Then the question can be turned round, and a
# line that predicts the reading from the reference is the law, as far as the reference is exact.
#
# For a single sensor, a good result may be luck, so try both estimators on a hundred sensors that
# follow the same law:
SENSORS = 100
pairs = [calibration.sensors(seed) for seed in range(SENSORS)]
by_squares = np.array([calibration.least_squares(*pair) for pair in pairs])
by_deming = np.array(
    [deming(*pair, calibration.noise_ratio(pair[0])) for pair in pairs]
)

# %%
of_squares, of_deming = (
    f"{clouds[:, 0].mean() / TRUE[0] - 1:+.1%}"
    for clouds in (by_squares, by_deming)
)
finding = f"Slopes, on average: {of_squares} by least squares, {of_deming} by Deming"

# %%
plt.plot(*by_squares.T, "o", label="least squares", ms=4)
plt.plot(*by_deming.T, "s", label="Deming", ms=4)
plt.plot(*TRUE, "X", color=figures.INK, markersize=12, label="truth")
plt.xlabel("slope")
plt.ylabel("offset")
figures.headline(plt.gcf(), finding, "A hundred sensors of the same law")
_ = plt.legend()

# sphinx_gallery_thumbnail_number = 2

# %%
# The width of a cloud is chance, and more readings would narrow it. Where a cloud lies isn't. By
# least squares, the slopes miss the truth by :measured:`bias` on average, and scatter by only
# :measured:`deviation`. Deming's slope is nearer to the truth for :measured:`nearer_of` sensors.
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
# Of quantities that are spread as in the calibration, least squares has the smaller error, because
# that is what it minimises. But it pulls every reading towards the middle of the range, so larger
# quantities come out too low, as their mean error shows. Deming's fit corrects these without such a
# bias.
#
# Takeaway
# --------
off_by_squares = abs(by_squares - TRUE)[:, 0]
off_by_deming = abs(by_deming - TRUE)[:, 0]
nearer = int((off_by_deming < off_by_squares).sum())
slopes = by_squares[:, 0]
bias = f"{abs(slopes.mean() - TRUE[0]):.2g}"
deviation = f"{slopes.std():.2g}"
nearer_of = f"{nearer} of {SENSORS}"

# %%
# An optimiser minimises what you wrote down, and won't ask whether that is what you wanted to know.
# If you predict from noisy numbers, the line that predicts best isn't the law behind them. Here, its
# slope was off by :measured:`bias` on average, and scattered by :measured:`deviation` from sensor to
# sensor. More readings reduce the scatter, and leave the bias as it is. What helps is knowledge:
# told how the noise is divided between the two sensors, Deming's estimator came nearer to the true
# slope for :measured:`nearer_of` sensors. If you only want to correct readings of quantities that are
# spread as they were in the calibration, stay with least squares.
#
# Next: a model with millions of parameters instead of two, :doc:`trained in JAX and in PyTorch
# </tutorials/applications/mnist>`.
