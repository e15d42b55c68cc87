"""
Calibrating a sensor
====================

SciPy's optimiser fits your model, and you would like it to be faster. JAX can help in two ways. It
can compute exact gradients, so that SciPy needs fewer evaluations of your model, or it can run the
whole search. This page calibrates a cheap sensor in both ways and by SciPy alone, and asks which of the
two ways saves time, and why.
"""

# %%
# One error for both libraries
# ----------------------------
# You have ten thousand readings of a cheap sensor, and a good sensor beside it, the *reference*,
# that shows what they should have been. The cheap sensor multiplies the true quantity by a slope
# and adds an offset, and both sensors have noise. To calibrate it, look for the slope and the offset
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
# JAX gives fewer digits because it computes in 32 bits by default. SciPy works in 64, so we run the
# searches in 64 bits.
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
# :func:`jax.value_and_grad` computes the error and its exact gradient together. With ``jac=True``, we
# tell SciPy that it gets both:
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
# In both of these, SciPy's loop runs in Python, and calls our function each time. The loop of
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
# Each search evaluated the error at least once in each step. How many evaluations would you expect the
# gradients to save?
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
# All three found the optimum: the readings of another such sensor would move it :doc:`far more than
# these distances </tutorials/applications/attenuation>`. Differences need more evaluations because, with
# two parameters, a gradient takes three of them: one at the point itself, and one beside it for each
# parameter. In the other two rows, an evaluation computes the gradient as well, :doc:`however many
# parameters there are </tutorials/transformations/grad>`.
#
# Do fewer evaluations save time?
# -------------------------------
# Make a prediction from the table: if the first search takes a second, how long do the other two
# take? We time all three in 64 bits, after JAX has compiled its functions and has its readings on the
# device:
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
# What one evaluation costs
# -------------------------
# SciPy by itself needs more evaluations, by a factor of :measured:`fewer`, but those compute only the error,
# in NumPy. With JAX's gradient, each computes the error and the gradient in JAX, and hands both to SciPy.
# How much longer does that take? We time one of each, in 64 bits:
import timeit


def evaluate_in_numpy():
    return rmse(START, reference, reading)


def evaluate_in_jax():
    return jax.device_get(error_and_gradient(START, *on_device))


def microseconds(evaluate):
    """Return the time of a call, from the fastest of 50 hundreds."""
    return 1e4 * min(timeit.repeat(evaluate, number=100, repeat=50))


# %%
with jax.enable_x64(True):
    on_device = jax.device_put((reference, reading))
    in_jax = microseconds(evaluate_in_jax)

in_numpy = microseconds(evaluate_in_numpy)

# %%
for one, count, way in (
    (in_numpy, by_differences.nfev, experiments.DIFFERENCES),
    (in_jax, by_gradient.nfev, experiments.GRADIENT),
):
    print(f"{count} x {one:3.0f} µs = {one * count / 1000:.2f} ms, ", end="")
    print(f"in a fit of {times.only(way).time.short}")

# %%
# An evaluation with its gradient took :measured:`dearer` as long as NumPy's without. These are the fastest
# calls, in a tight loop, and calls in a fit may be slower. The rest of a fit is SciPy's own work: Python
# code chooses directions and the lengths of steps and, without a gradient, forms the differences. A
# gradient spares SciPy the differences, so it may save time even if the evaluations together don't.
#
# More readings change the balance. How do NumPy and compiled JAX compare on the error alone, here in 32
# bits, when their number grows?
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
# JAX </tutorials/performance/dispatch_overhead>`.
#
# One call for the whole search
# -----------------------------
# The search inside JAX has no Python between its steps, and pays for one call instead of one for each
# evaluation. In return, the first fit has to wait for the compiler:
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
fewer = f"{count_without / count_with:.1f}"
dearer = f"{in_jax / in_numpy:.1f} times"
whole_fit = fit_pays.estimate
with_gradient = times.speedup(
    experiments.GRADIENT, over=experiments.DIFFERENCES
)

# %%
# With two parameters and ten thousand readings, SciPy needed :measured:`count_with` evaluations with JAX's
# gradient instead of :measured:`count_without`, and each took :measured:`dearer` as long. The fit was
# :measured:`with_gradient than with differences`. A fit inside JAX, once compiled, was
# :measured:`whole_fit than SciPy's with differences`.
#
# Begin with SciPy and JAX's gradient, which is exact apart from rounding, and saves more evaluations
# the more parameters you have. If you fit many data sets of one shape, time a search that is compiled
# as a whole. But read the next page first, because JAX's own search has a fault.
#
# Next: :doc:`can you believe an optimiser's report? </tutorials/applications/convergence>`
