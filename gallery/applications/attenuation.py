"""
Why isn't the best fit the truth?
=================================

Give an optimiser ten thousand readings of a sensor, and it finds the parameters with the least
error. They aren't the sensor's, and with ten million readings they still wouldn't be. Nothing is
wrong with the optimiser or with the data. We only asked for something other than the truth. This
page shows where the fit ends up and why, and what an estimator has to know to do better. There is
little JAX in it, because what you ask an optimiser to do matters in any library.
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
# The truth has the larger error, as it must: nothing has a smaller error than the optimum. So no
# better optimiser, and no longer search, would have found the truth.
#
# Noise makes the fit too steep
# -----------------------------
# We asked for the correction that brings noisy readings as close to the reference as possible.
# Think of the largest reading. It is the largest partly because its noise happened to be positive,
# so the best guess of the truth behind it is a little lower than it says. Likewise, the truth
# behind the smallest reading is probably a little higher. A good guess therefore moves readings
# towards the middle. The fit learns to do that: it multiplies readings by a smaller factor than the
# law would. Multiplying by less means dividing by more, so the fitted slope is too steep.
# Statisticians say that noise *attenuates*, or weakens, the factor. More data won't help. With
# infinitely many readings, the fit would end up here:
calibration.least_squares_limit()

# %%
# An estimator that knows about the noise
# ----------------------------------------
# To get at the law itself, an estimator needs something that these data don't say. Deming's
# estimator asks in which proportion the two sensors err. It then looks for the line that is nearest
# to the points, with distances measured in units of each sensor's noise. (With equal noise this is
# orthogonal distance regression.) You find the proportion in data sheets, or in an afternoon of
# showing both sensors the same thing many times. Here, the simulation knows the proportion, and we
# pass it as the last argument:
Source(calibration.deming)

# %%
ratio = calibration.noise_ratio(reference)
print(f"noise variance, readings over reference: {ratio:.0f}")
print("Deming:", calibration.deming(reference, reading, ratio))

# %%
# Compare Deming's slope and offset with the truth above. With one set of data, a good result may be
# luck. So let both estimators loose on a hundred sensors that follow the same law:
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
# Each estimator has a cloud of a hundred points. The width of a cloud is due to chance, and more
# readings would narrow it. The distance from its middle to the cross is bias, which no number of
# readings removes. Here is the difference in numbers:
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
# Both, for different questions. Suppose that you want to correct more readings of this sensor, as
# widely spread as these. Then take least squares, because no line has a smaller error. But "towards
# the middle" means the middle of *these* readings. If you want to know the law, or to correct
# readings with another spread, take the estimator without the bias.
#
# (There is a shortcut. The ratio above says that nearly all of the noise is in the readings. So you
# could have fitted a line that predicts the readings from the reference, and then run it backwards,
# with almost the same result. But without the ratio, you wouldn't know that this shortcut is safe.)
#
# Takeaway
# --------
slopes = many_exact[:, 0]
bias = f"{abs(slopes.mean() - TRUE[0]):.2g}"
deviation = f"{slopes.std():.2g}"
nearer_of = f"{nearer} of {SENSORS}"

# %%
# An optimiser finds the minimum of what you wrote down, and won't ask whether that is what you
# wanted to know. If the numbers that you predict *from* are noisy, the line of least error isn't
# the law. Here, its slope was off by :measured:`bias` on average, and scattered by
# :measured:`deviation` from sensor to sensor. More readings would reduce the scatter, and leave the
# bias as it is. What helps is knowledge: Deming's estimator, which is told how the noise is divided
# between the two sensors, came nearer to the true slope for :measured:`nearer_of` sensors.
#
# Next: a model with millions of parameters instead of two, :doc:`trained in JAX and in PyTorch
# </tutorials/applications/mnist>`.
