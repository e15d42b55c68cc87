"""
Why isn't the best fit the truth?
=================================

Give an optimiser ten thousand readings of a sensor, and it finds the parameters with the least
error. They are not those of the sensor, and with ten million readings they still won't be. Is the
optimiser to blame, or the data, or the question? This page shows where the fit ends up and why, and
what an estimator has to know to do better. There is little JAX in it: what you ask an optimiser to
do matters in any library.
"""

# %%
# An optimum beside the truth
# ---------------------------
# :doc:`Two pages ago </tutorials/applications/calibration>` we calibrated a cheap sensor by a good
# one, and in 64 bits, all three optimisers agreed with the closed form of least squares. The data
# were simulated, so we also know the law behind them. Which has the larger error on these data, the
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
# The truth, and it couldn't be otherwise, since the optimum is where the error is least. Nobody
# made a mistake in looking for the optimum. It just isn't where the truth is.
#
# Noise makes the fit too steep
# -----------------------------
# We asked for the correction that brings noisy readings as close to the reference as possible. Now
# think of an extreme reading. It is extreme partly by bad luck, so the best guess of the truth
# behind it is less extreme than it looks. The fit learns this, and moves its corrections towards
# the middle: it multiplies by too small a factor, which is to divide by too steep a slope.
# Statisticians say that noise *attenuates*, or weakens, the factor. More data won't help. With
# infinitely many readings, the fit would end up here:
calibration.least_squares_limit()

# %%
# An estimator that knows about the noise
# ----------------------------------------
# To get at the law itself, an estimator has to know that both sensors err, and in which proportion.
# Deming's estimator does. It looks for the line that is nearest to the points, with distances
# measured in units of each sensor's noise. (With equal noise this is orthogonal distance
# regression.) Where does it get the proportion? Not from these data. You need data sheets, or an
# afternoon of showing both sensors the same truth many times.
Source(calibration.deming)

# %%
ratio = calibration.noise_ratio(reference)
print(f"noise variance, readings over reference: {ratio:.0f}")
print("Deming:", calibration.deming(reference, reading, ratio))

# %%
# Compare that with the truth above. With one set of data, it might be luck. So let both estimators
# loose on a hundred sensors of the same law:
SENSORS = 100
pairs = [calibration.sensors(seed) for seed in range(SENSORS)]
many_exact = np.array([calibration.least_squares(*pair) for pair in pairs])
across = []
for pair in pairs:
    ratio_of_pair = calibration.noise_ratio(pair[0])
    across.append(calibration.deming(*pair, ratio_of_pair))
across = np.array(across)

# %%
of_squares, of_deming = (
    f"{clouds[:, 0].mean() / TRUE[0] - 1:+.1%}"
    for clouds in (many_exact, across)
)
finding = f"Slopes, on average: {of_squares} by least squares, {of_deming} by Deming"

# %%
plt.plot(*many_exact.T, "o", label="least squares", alpha=0.6)
plt.plot(*across.T, "s", label="Deming", alpha=0.6)
plt.plot(*TRUE, "X", color=figures.INK, markersize=12, label="truth")
plt.xlabel("slope")
plt.ylabel("offset")
figures.headline(plt.gcf(), finding, "A hundred sensors of the same law")
_ = plt.legend()

# %%
# Each estimator has its cloud of a hundred points. The width of a cloud is chance, and more
# readings would narrow it. The distance from its middle to the cross is bias, and no amount of data
# removes that. Here are the clouds in numbers:
by_least_squares = abs(many_exact - TRUE)[:, 0]
by_deming = abs(across - TRUE)[:, 0]
nearer = int((by_deming < by_least_squares).sum())
print(
    f"Deming's slope is nearer to the truth for {nearer} of {SENSORS} sensors"
)
print("mean of Deming's slopes and offsets:", across.mean(axis=0))

# %%
# Which of the two is right?
# --------------------------
# Both, for different questions. If you want to correct readings of this sensor with the least
# error, take least squares, because that is what it minimises. If you want to know the law, or to
# correct readings that are spread differently, take the estimator without the bias.
#
# (There is a shortcut. The ratio above says that nearly all of the noise is in the readings. So you
# could have predicted the readings from the reference, and solved for the truth afterwards, with
# almost the same result. But you need the ratio to know that you may.)
#
# Takeaway
# --------
slopes = many_exact[:, 0]
bias = f"{abs(slopes.mean() - TRUE[0]):.2g}"
deviation = f"{slopes.std():.2g}"
nearer_of = f"{nearer} of {SENSORS}"

# %%
# An optimiser finds the minimum of what you wrote down. Whether that is what you wanted to know is
# a question about noise, and no optimiser will ask it for you. Here, the slope by least squares was
# off by :measured:`bias` on average, and scattered by :measured:`deviation` from sensor to sensor.
# More readings would reduce the scatter, and leave the bias as it is. What helps is knowledge:
# Deming's estimator, which is told how noisy both sensors are, came nearer to the true slope for
# :measured:`nearer_of` sensors.
#
# Next: a model with millions of parameters instead of two, :doc:`trained in JAX and in PyTorch
# </tutorials/applications/mnist>`.
