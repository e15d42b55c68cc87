"""
Calibrating a sensor
====================

You have ten thousand readings of a cheap sensor, and a good sensor beside it that shows what they
should have been. You want an optimiser to find the law that connects the two. SciPy has one, JAX
has one, and SciPy's can borrow its gradients from JAX. This page lets all three walk down to the
optimum, and compares what the walk costs. The next two pages ask whether you can believe what an
optimiser reports, and whether the best fit is the truth.
"""

# %%
# Two sensors, and the law between them
# -------------------------------------
# Our reference sensor shows the true quantity, with a little noise. The cheap sensor shows the
# truth multiplied by a slope, plus an offset. It is noisy as well, and its slope varies a little
# from reading to reading. We simulate both sensors, by :func:`~jaxcap.kernels.calibration.sensors`,
# so we know the law that an optimiser is looking for:
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.kernels import calibration
from jaxcap.kernels.calibration import rmse
from jaxcap.report.source import Source

TRUE = np.array([calibration.SLOPE, calibration.OFFSET])
reference, reading = calibration.sensors(seed=0)
print(reference.shape, reference.dtype, "true slope and offset:", TRUE)

# %%
# Calibrating the cheap sensor means running its law backwards: subtract the offset, and divide by
# the slope. If slope :math:`s` and offset :math:`o` are good, the corrected readings :math:`(b - o)
# / s` come close to the reference :math:`a`. How close? We take the root of the mean squared
# difference:
#
# .. math::
#
#     \mathrm{rmse}(s, o) = \sqrt{\mathrm{mean}\bigl[(a - (b - o) / s)^2\bigr]}
#
# ``rmse`` and ``corrected``, which returns :math:`(b - o) / s`, use only operators and methods of
# arrays. With no ``np`` or ``jnp`` in them, they serve both libraries:
Source(rmse)

# %%
START = np.array([1.0, 0.0])  # no correction at all
data_32 = jnp.float32(reference), jnp.float32(reading)
for label, parameters in ("at the start", START), ("at the truth", TRUE):
    in_numpy = rmse(parameters, reference, reading)
    in_jax = rmse(jnp.float32(parameters), *data_32)
    print(f"{label}: NumPy {in_numpy:.10f}, JAX {in_jax:.10f}")

# %%
# The last digits differ because NumPy computed in 64 bits and JAX in 32. In the next section, which
# times the error, both use 32.
#
# What one evaluation costs
# -------------------------
# An optimiser asks for the error again and again. To compute it, NumPy makes several passes over
# the data, such as one to subtract the offset and one to divide by the slope. Each pass but the
# last stores an array for the next. :func:`jax.jit` can merge them into a single pass, but each
# call of JAX has an :doc:`overhead </tutorials/performance/dispatch_overhead>`. How many readings
# do you think it takes until the passes that JAX saves outweigh that overhead?
from jaxcap.experiments.calibration import CALIBRATION, COMPILED, LOOP, NUMPY
from jaxcap.report import figures

measured = CALIBRATION.run(budget_s=0.03)

# %%
evaluations = measured.subset(r for r in measured if r.variant != LOOP)
_ = figures.scaling(
    evaluations,
    x="size",
    over=NUMPY,
    about=COMPILED,
    title="One evaluation of the error, float32",
    xlabel="readings",
)

# %%
from jaxcap.experiments.dispatch import crossover

pays_from = crossover(evaluations, COMPILED, over=NUMPY, x="size")
break_even = "none of them"
if pays_from:
    is_largest = pays_from == max(r.parameters["size"] for r in evaluations)
    break_even = f"{pays_from:,} readings" + (
        "" if is_largest else " and more"
    )
evaluations.speedups(over=NUMPY)

# %%
from jaxcap.report.claims import claim, speedup_of

jit_pays = claim(
    "the error of a million readings takes less time compiled than in NumPy",
    measured,
    speedup_of(COMPILED, over=NUMPY, size=1_000_000),
)
jit_pays

# %%
# Of the sizes that we tried, compiling clearly saves time at :measured:`break_even`. How close was
# your guess? On short data, most of JAX's time on a CPU goes into handing the work to another
# thread, and little into the arithmetic. (With a hundred readings, the program would be small
# enough to :doc:`run inside the call </tutorials/performance/dispatch_overhead>`.)
#
# One method, three optimisers
# ----------------------------
# All three optimisers use BFGS, a method named after Broyden, Fletcher, Goldfarb and Shanno: walk
# downhill, and learn how the valley bends from the gradients met on the way. They differ in where
# the gradients come from, in where the loop runs, and in how they search along a direction, which
# matters on the next page.
#
# *SciPy with differences.* If you give `SciPy
# <https://docs.scipy.org/doc/scipy/reference/optimize.minimize-bfgs.html>`__ no gradient, it
# estimates one: for each parameter, it takes a small step to the side, and evaluates the error once
# more. How small that step should be depends on the dtype, so our function takes the dtype into
# account:
Source(calibration.fit_by_scipy)

# %%
# *SciPy with JAX's gradient.* :func:`jax.value_and_grad` computes the error together with its
# gradient, which is exact apart from rounding. The loop is still SciPy's, and runs in Python. Each
# of its evaluations is a call of ``_error_and_gradient``, which is
# ``jax.jit(jax.value_and_grad(rmse))``:
Source(calibration.fit_by_gradient)

# %%
# *JAX's own.* In :func:`jax.scipy.optimize.minimize`, the loop is written in JAX as well, so we can
# compile the whole fit, and run all of it in a single call. (We use it to see what that saves. Its
# search has a fault, and for new work there are :doc:`better choices
# </tutorials/applications/convergence>`.)
inside_jax = jax.jit(calibration.fit_by_jax)
Source(calibration.fit_by_jax)

# %%
# Do they agree?
# --------------
# Each optimiser gets the same data and the same start, once in 64 bits and once in 32:
OPTIMISERS = {
    "SciPy, differences": calibration.fit_by_scipy,
    "SciPy, JAX gradient": calibration.fit_by_gradient,
    "JAX": inside_jax,
}


def fit_in(dtype, optimiser, **options):
    """Fit slope and offset in a dtype, starting from no correction."""
    with jax.enable_x64(dtype == "float64"):
        data = reference.astype(dtype), reading.astype(dtype)
        return jax.device_get(optimiser(*data, START, **options))


# %%
fits = {}
for dtype in ("float64", "float32"):
    for name, optimiser in OPTIMISERS.items():
        fits[f"{name}, {dtype}"] = fit_in(dtype, optimiser)

# %%
# We can check all of them, because this problem also has an answer in closed form. Written with
# :math:`u = 1/s` and :math:`v = -o/s`, a corrected reading is :math:`u b + v`, which is linear in
# :math:`u` and :math:`v`. And linear least squares needs no search:
Source(calibration.least_squares)

# %%
exact = calibration.least_squares(reference, reading)
least_error = rmse(exact, reference, reading)
rows = []
for name, fit in fits.items():
    report = "success" if fit.success else "failure"
    counts = f"{fit.nit}", f"{fit.nfev}"
    found = (f"{number:.5f}" for number in (*fit.x, fit.fun))
    rows.append((name, report, *counts, *found))

# %%
from jaxcap.results.tables import Table

found = (f"{number:.5f}" for number in (*exact, least_error))
rows.append(("closed form", "", "", "", *found))
headers = ("", "reports", "steps", "evaluations", "slope", "offset", "error")
Table("One calibration, from the same start", headers, rows)

# %%
# The evaluations column doesn't count the same thing in every row. SciPy's differences take one
# more evaluation of the error for each parameter, and SciPy counts these. Where JAX computes the
# gradient, it comes along with the error, and isn't in this column, though it isn't free.
#
# Then compare what each optimiser *reports* with what it *found*. A failure needn't mean a bad fit,
# because rounding can keep a search from seeing that it has arrived. :doc:`The next page
# </tutorials/applications/convergence>` follows such a failure of JAX's search. Here we ask only
# what was found.
#
# Three ways down the valley
# --------------------------
# Drawn over all slopes and offsets, the error is a long and narrow valley. A map of it takes the
# error at thousands of points, and :func:`jax.vmap` computes a row of them at once:
slopes, offsets = np.linspace(0.9, 2.2, 80), np.linspace(-0.6, 4.0, 80)
points = jnp.stack(jnp.meshgrid(slopes, offsets), axis=-1)
errors_in_row = jax.jit(jax.vmap(rmse, in_axes=(0, None, None)))
surface = jnp.stack([errors_in_row(row, *data_32) for row in points])

# %%
# Where did each optimiser walk? SciPy calls a function of yours after each step. JAX's compiled
# loop offers no such call, but our function takes the largest number of steps as an argument. So we
# run it again and again, and stop it after no step, after one, after two:
paths = {name: [START] for name in OPTIMISERS}
for name in ("SciPy, differences", "SciPy, JAX gradient"):
    fit_in("float64", OPTIMISERS[name], callback=paths[name].append)

steps = range(int(fits["JAX, float64"].nit) + 1)
paths["JAX"] = [fit_in("float64", inside_jax, steps=n).x for n in steps]
taken = [f"{len(path) - 1} ({name})" for name, path in paths.items()]
finding = f"Steps to the end: {', '.join(taken)}"


# %%
figure, axes = plt.subplots(figsize=(6, 4.6))
levels = [0.6, 1, 1.5, 2, 3, 4, 6, 8]
lines = axes.contour(slopes, offsets, surface, levels, colors=figures.GRID)
axes.clabel(lines, fmt="%.3g", fontsize=10.5, colors=figures.INK)
colours = figures.palette(paths)
for (name, path), size in zip(paths.items(), (11, 7, 3)):
    look = {"c": colours[name], "ms": size, "lw": size / 3, "mfc": "none"}
    axes.plot(*np.array(path).T, "o-", label=name, **look)
axes.set(xlabel="slope", ylabel="offset")
figures.headline(figure, finding, "The error, and the way down")
_ = figure.legend(loc="outside lower center", ncols=2)

# sphinx_gallery_thumbnail_number = 2

# %%
# The numbers on the contours are errors. Nested circles mean that the optimisers reached the same
# point.
#
# How near do they come?
# ----------------------
# In each dtype, by what fraction does the worst of the three miss the closed form?
for dtype in ("float64", "float32"):
    found = np.array([fits[f"{name}, {dtype}"].x for name in OPTIMISERS])
    off = (abs(found - exact) / exact).max(axis=1)
    print(f"{dtype}: {off.max():.1e}")

worst_in_32 = list(OPTIMISERS)[off.argmax()]

# %%
# In 64 bits, a search stops when the gradient is small enough, and the first number says how near
# to the optimum that is. In 32 bits, the worst is “:measured:`worst_in_32`”. Differences
# aim beside the optimum, because :math:`(f(x + h) - f(x)) / h` is roughly the slope at :math:`x +
# h/2`, and in 32 bits :math:`h` has to be larger, or rounding would swallow the difference. That
# error in the gradient is small. But along the floor of a narrow valley the gradient is small too,
# so the point where it seems to vanish lies far from the optimum. Rounding can also stop a search
# early.
#
# Now compare the closed form with the true law, which is printed at the top. The best fit misses
# it, so no search could have found it. Why that is has :doc:`a page of its own
# </tutorials/applications/attenuation>`.
#
# What a whole fit costs
# ----------------------
# The three optimisers take turns in fresh processes, in 64 bits, and JAX has compiled its functions
# before the clock starts. You have seen how many evaluations each optimiser makes, and what one
# costs in 32 bits, without its gradient. What would you predict for the whole fit?
from jaxcap.experiments import calibration as experiments

times = experiments.OPTIMISERS.run(budget_s=0.05)

# %%
_ = figures.bars(
    times,
    over=experiments.DIFFERENCES,
    about=experiments.INSIDE,
    title="Time of one calibration",
)

# %%
fit_pays = claim(
    "a whole fit inside JAX is faster than by SciPy with differences",
    times,
    speedup_of(experiments.INSIDE, over=experiments.DIFFERENCES),
)
fit_pays

# %%
# Three costs are easy to forget: arithmetic in 64 bits, the gradients that two of the optimisers
# compute, and the optimiser's own work between evaluations. SciPy's loop runs in Python and JAX's
# doesn't, which matters as long as evaluations are short. And with more parameters, differences
# cost more: a hundred parameters take a hundred more evaluations for each gradient, where
# :func:`jax.grad` still needs a single pass backwards. The price of JAX's loop is that the first
# fit has to compile:
first_fit = times.only(experiments.INSIDE).first_call
print("first fit by JAX, compilation included:", first_fit.short)

# %%
# Of the three, begin with SciPy and JAX's gradient. The gradient is exact apart from rounding, and
# you compile one evaluation instead of a whole fit. And SciPy's search can find a way down where
# JAX's gives up, as the next page shows.
#
# Takeaway
# --------
at_ten_thousand = evaluations.select(size=reference.size)
evaluation = at_ten_thousand.speedup(COMPILED, over=NUMPY)
whole_fit = fit_pays.estimate
with_gradient = times.speedup(
    experiments.GRADIENT, over=experiments.DIFFERENCES
)
print("evaluation:", evaluation)

# %%
# Begin with SciPy and JAX's gradient, which is exact apart from rounding, and needs no further
# evaluations, however many parameters you have. But fewer evaluations don't save time in
# proportion, because each one is a call into JAX, and computes a gradient as well. With two
# parameters and ten thousand readings, a fit with JAX's gradient was
# :measured:`with_gradient than one with differences`. If you fit many data sets of the same size,
# also time a fit that runs entirely inside JAX. Once compiled, such a fit was
# :measured:`whole_fit than SciPy's with differences`.
#
# Don't judge a fit by one evaluation. On ten thousand readings in 32 bits, one compiled evaluation
# of the error was :measured:`evaluation than one in NumPy`. What a fit costs also depends on how
# many evaluations it takes, and on what happens between them.
#
# Next: :doc:`can you believe an optimiser's report? </tutorials/applications/convergence>`
