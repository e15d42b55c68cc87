"""
Why isn't the best fit the truth?
=================================

Give an optimiser ten thousand readings of a sensor, and it finds the parameters with the least
error. Those aren't the sensor's true parameters, and ten million readings wouldn't bring them
closer. The optimiser
and the data are fine, but we asked for something other than the truth. This page shows where the
fit ends up and why, and what an estimator has to know to do better. It needs no JAX, so skip it if
you came for JAX alone: an optimiser of any library answers the question that you ask.
"""

# %%
# An optimum beside the truth
# ---------------------------
# :doc:`Two pages ago </tutorials/applications/calibration>` we calibrated a cheap sensor by a good
# one, and compared what the optimisers found with the closed form of least squares. The data were
# simulated, so we also know the law behind them. Which has the larger error on these data, the
# optimum or the truth?
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.kernels import calibration
from jaxcap.kernels.calibration import rmse
from jaxcap.report import figures
from jaxcap.report.source import Source

TRUE = np.array([calibration.SLOPE, calibration.OFFSET])
reference, reading = calibration.sensors(seed=0)
exact = calibration.least_squares(reference, reading)
for label, parameters in ("optimum", exact), ("truth", TRUE):
    print(f"{label}: {rmse(parameters, reference, reading):.5f}", parameters)

# %%
# The truth has the larger error, as it must, because no slope and offset have a smaller one than the
# optimum.
# So neither a better optimiser nor a longer search would have found the truth. To see how the two
# differ, subtract the true law from the readings, and from the fit:
line = np.array([calibration.LOWEST, calibration.HIGHEST])
above_law = reading - TRUE[0] * reference - TRUE[1]
fitted = (exact[0] - TRUE[0]) * line + exact[1] - TRUE[1]
tilt = f"The fitted slope is off by {exact[0] / TRUE[0] - 1:+.1%}"

# %%
plt.plot(reference[::5], above_law[::5], ".", ms=2, label="readings")
plt.plot(line, fitted, label="fit")
plt.xlabel("reference")
plt.ylabel("reading minus the true law")
figures.headline(plt.gcf(), tilt, "The fit beside the true law")
_ = plt.legend(markerscale=5)

# %%
# A fit that recovered the law would lie along zero; this one is tilted. (The readings scatter more
# where the quantity is large, because there the noise of the slope is multiplied by more.)
#
# Noise makes the fit too steep
# -----------------------------
# We asked for the line that best predicts the reference *from* the noisy readings, and not the
# other way round. Think of the largest reading. It is the largest partly because its noise happened
# to be positive, so the best guess of the truth behind it is lower than it says. Likewise, the
# truth behind the smallest reading is probably higher. A good guess therefore moves readings
# towards the middle, and the fit learns to do that by multiplying them by a smaller factor than the
# law would. Our correction divides by the slope, so a smaller factor means a steeper slope.
# Statisticians say that noise *attenuates*, or weakens, the factor.
#
# More data won't help. Even with infinitely many readings, the slope would come out as
#
# .. math::
#
#     s + \frac{\text{variance of the noise in the readings}}{s \cdot \text{variance of the truth}}
#
# with the true slope :math:`s`. So the noisier the readings are, compared with the spread of the
# truth, the steeper the fit:
print("limit of slope and offset:", calibration.least_squares_limit())

# %%
# An estimator that knows about the noise
# ----------------------------------------
# Many laws are compatible with the same means, variances and covariance. So an estimator that uses
# only these needs one more fact. Deming's asks for the ratio of the two sensors' noise variances.
# It then looks for the line that is nearest to the points, with distances measured in units of each
# sensor's noise. You can work out this ratio from the sensors' data sheets. Or measure it: expose
# both sensors many times to each of several quantities across the range, and average their
# variances. Here, the simulation knows it:
Source(calibration.noise_ratio, calibration.deming)

# %%
ratio = calibration.noise_ratio(reference)
print(f"noise variance, readings over reference: {ratio:.0f}")
for factor in (1, 10, 0.1, 1 / ratio):
    fit = calibration.deming(reference, reading, factor * ratio)
    print(f"Deming with {factor * ratio:6.0f}:", fit)

# %%
# Compare the first of these slopes and offsets with the truth above. The others show what happens
# if the ratio is wrong. A ratio that is ten times too large or too small does little harm here, but
# a ratio of 1, which knows nothing about the sensors, leaves much of the bias.
#
# With a large ratio, nearly all of the noise is in the readings. That allows a shortcut: fit a line
# that predicts the readings from the reference, and run it backwards. The result is almost the same
# as Deming's, but only the ratio tells you that the shortcut is safe.
#
# For a single sensor, a good result may be luck, so let both estimators loose on a hundred sensors
# that follow the same law:
SENSORS = 100
pairs = [calibration.sensors(seed) for seed in range(SENSORS)]
by_squares = np.array([calibration.least_squares(*pair) for pair in pairs])
by_deming = []
for pair in pairs:
    ratio_of_pair = calibration.noise_ratio(pair[0])
    by_deming.append(calibration.deming(*pair, ratio_of_pair))
by_deming = np.array(by_deming)

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
# Each estimator has a cloud of a hundred points. The width of a cloud is due to chance, and more
# readings would narrow it. By least squares, the slopes miss the truth by :measured:`bias` on
# average, and scatter by only :measured:`deviation`: least squares is biased. Deming's slope is
# nearer to the truth for :measured:`nearer_of` sensors.
#
# Which of the two is right?
# --------------------------
# Each answers a different question. Let them correct new readings of this sensor, first of
# quantities in the range where it was calibrated, and then of quantities above that range:
rng = np.random.default_rng(1)
low, high = calibration.LOWEST, calibration.HIGHEST
fits = {
    "least squares": exact,
    "Deming": calibration.deming(reference, reading, ratio),
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
# Inside the range, least squares has the smaller error, because that is what it minimises. It pulls
# every reading towards the middle of the calibration range. Readings from above that range come out
# too low, as their mean error shows. Deming's fit corrects them without that bias. For one reading,
# the bias drowns in noise. Average many, and the bias is what remains.
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
# If the inputs of a prediction are noisy, the line that predicts best isn't the law behind the
# data. Here, its slope was off by :measured:`bias` on average, and scattered by
# :measured:`deviation` from sensor to sensor. More readings would reduce the scatter, and leave the
# bias as it is. What helps is knowledge: Deming's estimator, which knows how the noise is divided
# between the two sensors, came nearer to the true slope for :measured:`nearer_of` sensors. If you
# only want to correct readings from the calibrated range, least squares is still the better choice.
#
# Next: a model with millions of parameters instead of two, :doc:`trained in JAX and in PyTorch
# </tutorials/applications/mnist>`.
