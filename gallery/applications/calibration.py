"""
Calibrating a sensor
====================

SciPy's optimiser fits your model, and you would like it to be faster. JAX can help in two ways. It
can compute exact gradients, so that SciPy needs fewer evaluations of your model, or it can run the
whole search. This page calibrates a cheap sensor in both ways and by SciPy alone, checks that all
three find the same optimum, and asks which of the two ways saves time, and why.
"""

# %%
# One error for both libraries
# ----------------------------
# You have ten thousand readings of a cheap sensor, and a good sensor beside it, the *reference*,
# that shows what they should have been. The cheap sensor multiplies the true quantity by a slope
# and adds an offset, and both sensors are noisy. To calibrate it, look for the slope and the offset
# with which the corrected readings come closest to the reference. Our measure of closeness is the
# root of the mean squared error:
import jax
import numpy as np

from jaxcap.kernels import calibration

reference, reading = calibration.sensors(seed=0)


def rmse(parameters, reference, reading):
    slope, offset = parameters
    corrected = (reading - offset) / slope
    return ((reference - corrected) ** 2).mean() ** 0.5


# %%
# The function contains neither ``np`` nor ``jnp``, so NumPy and JAX can both compute it. A slope of
# 1 and an offset of 0 correct nothing. That is where our searches will start:
START = np.array([1.0, 0.0])
print("error in NumPy:", rmse(START, reference, reading))
print("error in JAX:  ", jax.jit(rmse)(START, reference, reading))

# %%
# The last digits differ because JAX computes in 32 bits by default. SciPy works in 64, so from here
# on we let JAX do so, too.
#
# Three ways to search
# --------------------
# All three searches use `BFGS
# <https://docs.scipy.org/doc/scipy/reference/optimize.minimize-bfgs.html>`__, which walks downhill
# step by step and needs the gradient of the error to know where down is. If you give SciPy nothing
# but the error, it estimates the gradient from differences: for each parameter, it takes a small
# step to the side and evaluates the error there.
import scipy.optimize

by_differences = scipy.optimize.minimize(
    rmse, START, (reference, reading), method="BFGS"
)
print(by_differences.x)

# %%
# :func:`jax.value_and_grad` computes the error and its gradient together, and the gradient is exact
# apart from rounding. With ``jac=True``, we tell SciPy that it gets both:
error_and_gradient = jax.jit(jax.value_and_grad(rmse))
with jax.enable_x64(True):
    by_gradient = scipy.optimize.minimize(
        error_and_gradient,
        START,
        (reference, reading),
        method="BFGS",
        jac=True,
    )
print(by_gradient.x)


# %%
# In both of these, SciPy's loop runs in Python, and calls our function again and again. The loop of
# :func:`jax.scipy.optimize.minimize` is written in JAX, so we can compile it together with the
# error, and the whole search becomes a single call:
@jax.jit
def fit(reference, reading):
    return jax.scipy.optimize.minimize(
        rmse, START, (reference, reading), method="BFGS"
    )


with jax.enable_x64(True):
    by_jax = jax.device_get(fit(reference, reading))
print(by_jax.x)

# %%
# One optimum, fewer evaluations
# ------------------------------
# Did all three arrive? This problem lets us check, because a corrected reading is a linear function
# of :math:`1/s` and :math:`-o/s`, with the slope :math:`s` and the offset :math:`o`. So :func:`linear
# least squares <jaxcap.kernels.calibration.least_squares>` finds the optimum without a search:
exact = calibration.least_squares(reference, reading)
print(exact)

# %%
# Each search took some steps, and evaluated the error in each of them at least once. How many
# evaluations would you expect the gradients to save?
fits = {
    "SciPy, differences": by_differences,
    "SciPy, JAX gradient": by_gradient,
    "JAX": by_jax,
}
rows = []
for name, found in fits.items():
    off = f"{abs(found.x - exact).max():.0e}"
    counts = f"{found.nit}", f"{found.nfev}"
    rows.append((name, *counts, f"{found.fun:.6f}", off))

# %%
from jaxcap.results.tables import Table

rows.append(
    ("closed form", "", "", f"{rmse(exact, reference, reading):.6f}", "")
)
headers = ("", "steps", "evaluations", "error", "distance")
note = "The distance from the closed form is the larger of the two, in slope and in offset."
Table("Three searches and the exact optimum", headers, rows, [note])

# %%
# The distances are far smaller than the scatter that noise gives to such a slope, which we measure
# :doc:`two pages on </tutorials/applications/attenuation>`, so all three found the optimum.
# Differences need more evaluations because, with two parameters, a gradient takes three of them: one
# at the point itself, and one beside it for each parameter. With a hundred parameters, it would take a
# hundred and one. In the other two rows, each evaluation brings its gradient along, :doc:`however many
# parameters there are </tutorials/transformations/grad>`.
#
# Do fewer evaluations save time?
# -------------------------------
# Make a prediction from the table: if the first search takes a second, how long do the other two
# take? We time all three in 64 bits, after JAX has compiled its functions:
from jaxcap.experiments import calibration as experiments

times = experiments.OPTIMISERS.run(budget_s=0.05)

# %%
from jaxcap.report import figures

_ = figures.bars(
    times,
    over=experiments.DIFFERENCES,
    about=experiments.INSIDE,
    title="Time of one calibration",
)

# sphinx_gallery_thumbnail_number = 1

# %%
from jaxcap.report.claims import claim, speedup_of

fit_pays = claim(
    "a whole fit inside JAX is faster than by SciPy with differences",
    times,
    speedup_of(experiments.INSIDE, over=experiments.DIFFERENCES),
)
fit_pays

# %%
# With JAX's gradient, SciPy needed :measured:`count_with` evaluations instead of
# :measured:`count_without`, and the fit was :measured:`with_gradient than the one with differences`.
# The search inside JAX makes about as many evaluations as SciPy with JAX's gradient. If their number
# settled what a fit costs, these two would take the same time.
#
# Where the time goes
# -------------------
# Consider a single evaluation first. How do NumPy and compiled JAX compare on the error alone, both
# in 32 bits?
from jaxcap.experiments.calibration import COMPILED, NUMPY

measured = experiments.CALIBRATION.run(budget_s=0.03)

# %%
evaluations = measured.subset(
    r for r in measured if r.variant != experiments.LOOP
)
evaluations.speedups(over=NUMPY)

# %%
jit_pays = claim(
    "the error of a million readings takes less time compiled than in NumPy",
    measured,
    speedup_of(COMPILED, over=NUMPY, size=1_000_000),
)
jit_pays

# %%
# NumPy passes over the readings several times, to subtract, to divide, to square and so on, and JAX
# can :doc:`merge these passes </tutorials/transformations/jit>`. With many readings, that saves memory
# traffic. With few, what counts is the overhead: of each pass in NumPy, and of :doc:`the one call in
# JAX </tutorials/performance/dispatch_overhead>`. With ten thousand, a compiled evaluation was
# :measured:`evaluation than one in NumPy`.
#
# But a search needs the gradient, too. SciPy makes :measured:`count_with` of JAX's evaluations, each
# with its gradient, or :measured:`count_without` of NumPy's. So JAX's save time only where one of them
# costs less than :measured:`break_even` of NumPy's, including what SciPy does around it.
#
# Now consider the whole fit. If evaluations were all that it cost, how long would SciPy's fit with
# differences take?
one = evaluations.only(NUMPY, size=reference.size).time
count = by_differences.nfev
whole = times.only(experiments.DIFFERENCES).time
print("one evaluation in NumPy:", one.short)
print(f"{count} evaluations: {1e3 * count * one.value:.2g} ms")
print("the whole fit:", whole.short)

# %%
# In 64 bits, an evaluation takes a little longer than this, but most of the rest is SciPy's own work:
# between evaluations, Python code forms the differences, and chooses directions and the lengths of
# steps. Inside JAX, compiled code does that, and a whole fit is one call. The price is the first fit,
# which has to wait for the compiler:
first_fit = times.only(experiments.INSIDE).first_call
print("first fit inside JAX:", first_fit.short)
print("each fit after it:   ", times.only(experiments.INSIDE).time.short)

# %%
# The compiled program serves all data of the same shape, so the more data sets you fit, the less this
# price matters.
#
# Takeaway
# --------
count_with, count_without = by_gradient.nfev, by_differences.nfev
break_even = f"{count_without / count_with:.1f}"
at_ten_thousand = evaluations.select(size=reference.size)
evaluation = at_ten_thousand.speedup(COMPILED, over=NUMPY)
whole_fit = fit_pays.estimate
with_gradient = times.speedup(
    experiments.GRADIENT, over=experiments.DIFFERENCES
)

# %%
# You can't tell the time of a fit from its number of evaluations. With two parameters and ten
# thousand readings, SciPy with JAX's gradient was :measured:`with_gradient than with differences`,
# and a fit inside JAX, once compiled, was :measured:`whole_fit than SciPy's with differences`.
#
# Begin with SciPy and JAX's gradient, which is exact apart from rounding, and saves more evaluations
# the more parameters you have. If you fit many data sets of one shape, time a search that is compiled
# as a whole. But read the next page first, because JAX's own search has a fault.
#
# Next: :doc:`can you believe an optimiser's report? </tutorials/applications/convergence>`
