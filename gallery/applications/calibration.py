"""
Calibrating a sensor
====================

SciPy's optimiser fits your model, and you would like it to be faster. JAX can help in two ways. It
can compute exact gradients, so that SciPy needs fewer evaluations of your model, or it can run the
whole search. Which of the two should you try first? This page calibrates a cheap sensor in both ways and
by SciPy alone, and finds the answer in what a fit spends its time on.
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
# The function contains neither ``np`` nor ``jnp``, so NumPy and JAX can both compute it. Our searches
# will start at a slope of 1 and an offset of 0, which correct nothing:
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
# least squares <jaxcap.kernels.calibration.least_squares>` finds the optimum without a search. And how
# many evaluations would you expect the gradients to save?
exact = calibration.least_squares(reference, reading)
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
# All three found the optimum: the readings of another such sensor would move it :doc:`far more
# than these distances </tutorials/applications/attenuation>`. Differences need more evaluations because a
# gradient takes one at the point itself, and one beside it for each parameter: three with our two, and more
# with every further parameter. In the other two rows, an evaluation computes the gradient as well,
# :doc:`however many parameters there are </tutorials/transformations/grad>`.
#
# Do fewer evaluations save time?
# -------------------------------
# If the first search takes a second, how long do the other two take, by the table? We time all three in
# 64 bits, after JAX has compiled its functions and has its readings on the device:
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
# The search inside JAX makes about as many evaluations, so if their number settled what a fit costs, it
# would take the same time as SciPy with JAX's gradient.
#
# Where does the time of a fit go?
# --------------------------------
# A fit by SciPy consists of evaluations and of SciPy's own work: Python code that chooses directions and
# lengths of steps and, without a gradient, forms the differences. To tell the two apart, we let a fit
# time its evaluations:
from time import perf_counter


def timed_fit(evaluate, data, jac):
    """Return how long a fit takes, and how long its evaluations."""
    taken = []

    def timed(*args):
        start = perf_counter()
        values = evaluate(*args)
        taken.append(perf_counter() - start)
        return values

    start = perf_counter()
    scipy.optimize.minimize(timed, START, data, method="BFGS", jac=jac)
    return perf_counter() - start, sum(taken)


# %%
# Beside our ten thousand readings, we fit a million. Which of the fits will spend most of their time on
# evaluations? We print the medians of several fits in this one process, so their times are
# rougher than those above:
def in_jax(*args):
    return jax.device_get(error_and_gradient(*args))


def print_times(size, name, fits, *how):
    times = np.array([timed_fit(*how) for _ in range(fits)])
    fit, evaluations = np.median(times, axis=0)
    share = f"{evaluations / fit:.0%}"
    print(f"{size:9,} {name:12} {1000 * fit:6.1f} ms, evaluations {share}")
    return fit, share


# %%
seen = {}
with jax.enable_x64(True):
    for size, fits in (10_000, 30), (1_000_000, 3):
        data = calibration.sensors(size=size)
        on_device = jax.device_put(data)
        in_jax(START, *on_device)  # compiles
        seen[size] = (
            print_times(size, "differences", fits, rmse, data, False),
            print_times(size, "JAX gradient", fits, in_jax, on_device, True),
        )

# %%
(_, share_few), (_, share_few_jax) = seen[10_000]
(by_numpy_s, share_many), (by_jax_s, share_many_jax) = seen[1_000_000]
of_differences = f"{by_jax_s / by_numpy_s:.0%}"

# %%
# With ten thousand readings, evaluations took :measured:`share_few` of the fit with differences. A gradient
# from JAX saves some of them, and SciPy's work on the differences. But each of the others takes longer,
# because it computes the gradient, too, and because JAX has to :doc:`start it and hand over its result
# </tutorials/performance/dispatch_overhead>`. In the fit with JAX's gradient, evaluations took
# :measured:`share_few_jax`.
#
# With a million readings, the shares were :measured:`share_many` and :measured:`share_many_jax`, and the fit with
# JAX's gradient took :measured:`of_differences` of the time of the one with differences. The larger the
# share of the evaluations, the more their number matters. Besides, NumPy passes over the readings several
# times, and JAX can :doc:`merge these passes </tutorials/transformations/jit>`. Does that show in the
# error alone, without its gradient and in 32 bits?
from jaxcap.experiments.calibration import COMPILED, NUMPY

measured = experiments.CALIBRATION.run(budget_s=0.03)

# %%
jit_pays = claim(
    "the error of a million readings takes less time compiled than in NumPy",
    measured,
    speedup_of(COMPILED, over=NUMPY, size=1_000_000),
)
jit_pays

# %%
# One call for the whole search
# -----------------------------
# The search inside JAX leaves nothing to SciPy or to Python. In return, the first fit has to wait for the
# compiler:
first_fit = times.only(experiments.INSIDE).first_call
print("first fit inside JAX:", first_fit.short)
print("each fit after it:   ", times.only(experiments.INSIDE).time.short)

# %%
# The compiled program serves all data of the same shape and type, so a process pays this price once.
#
# Takeaway
# --------
count_with, count_without = by_gradient.nfev, by_differences.nfev
whole_fit = fit_pays.estimate
with_gradient = times.speedup(
    experiments.GRADIENT, over=experiments.DIFFERENCES
)

# %%
# With ten thousand readings, SciPy needed :measured:`count_with` evaluations with JAX's gradient instead of
# :measured:`count_without`, and the fit was :measured:`with_gradient than with differences`. A fit inside
# JAX, once compiled, was :measured:`whole_fit than SciPy's with differences`. With a million readings, the fit with
# JAX's gradient took :measured:`of_differences` of the time of the one with differences.
#
# So find out how much of your fit its evaluations take. If they take most of it, begin with JAX's
# gradient, which keeps SciPy's search, and saves the more of them the more parameters you have. If they take
# little, fewer can't save much, and you can compile the whole search, which pays if you fit many data sets of
# one shape. But read the next page first, because JAX's own search has a fault.
#
# Next: :doc:`can you believe an optimiser's report? </tutorials/applications/convergence>`
