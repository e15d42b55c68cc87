"""
Calibrating a sensor
====================

You have ten thousand readings of a cheap sensor, a good sensor to compare it with, and want the law
that connects them. Which optimiser should fit it? This page fits one law with three optimisers, one
of which runs inside JAX, watches them walk down to the optimum, and compares what that costs. Two
more pages ask whether you can believe what they report, and whether the best fit is the truth.
"""

# %%
# Two sensors
# -----------
# Our reference sensor shows the true quantity, with a little noise. The cheap one reads slope times
# truth plus offset. It has noise as well, and its slope trembles from reading to reading. Since
# :func:`~jaxcap.kernels.calibration.sensors` simulates both, we know what an optimiser should find:
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
# To calibrate is to run the law backwards: subtract the offset, divide by the slope. With a good
# slope :math:`s` and offset :math:`o`, the corrected readings :math:`(b - o) / s` agree with the
# reference :math:`a`. How well they agree is measured by the root of the mean squared difference:
#
# .. math::
#
#     \mathrm{rmse}(s, o) = \sqrt{\mathrm{mean}\bigl[(a - (b - o) / s)^2\bigr]}
#
# Here it is in Python. There is no ``np`` or ``jnp`` in it, only operators and methods, so that the
# same function takes arrays of either library:
Source(calibration.corrected, rmse)

# %%
START = np.array([1.0, 0.0])  # no correction at all
data_32 = jnp.float32(reference), jnp.float32(reading)
for label, parameters in ("at the start", START), ("at the truth", TRUE):
    in_numpy = rmse(parameters, reference, reading)
    in_jax = rmse(jnp.float32(parameters), *data_32)
    print(f"{label}: NumPy {in_numpy:.10f}, JAX {in_jax:.10f}")

# %%
# The last digits differ because NumPy had 64 bits and JAX 32. For the timings below, both get the
# same data in the same dtype.
#
# What one evaluation costs
# -------------------------
# An optimiser asks for this number again and again. NumPy makes several passes over the data to
# compute it, and stores what comes out of each; :func:`jax.jit` can do it in one. On the other
# hand, a call of JAX has its :doc:`overhead </tutorials/performance/dispatch_overhead>`. How many
# readings do you think it takes until the one outweighs the other? A plain Python loop joins in, as
# far as it ends in reasonable time.
from jaxcap.experiments.calibration import CALIBRATION, COMPILED, LOOP, NUMPY
from jaxcap.report import figures

evaluations = CALIBRATION.run(budget_s=0.05)
_ = figures.scaling(
    evaluations,
    x="size",
    over=NUMPY,
    title="One evaluation of the error, float32",
    xlabel="readings",
)

# %%
evaluations.speedups(over=NUMPY)

# %%
from jaxcap.report.claims import claim, speedup_of

jit_pays = claim(
    "the error of a million readings takes less time compiled than in NumPy",
    evaluations,
    speedup_of(COMPILED, over=NUMPY, size=1_000_000),
)
jit_pays

# %%
# Where ``jit`` is behind at few readings, you see the price of a call. On a CPU this includes
# handing the work to a thread of its own, which has to wake up first. As for the loop, beware of
# anybody who compares with it: whatever JAX gains over a loop, check first how much of that NumPy
# gains, too.
#
# A longer parameter vector is another program
# --------------------------------------------
# ``rmse`` takes more parameters if you have them, which bend the corrected readings by a square, a
# cube and so on. Set to zero, they change nothing. But ``jit`` compiles for *shapes*, and a vector
# of three has another shape than a vector of two. When will this function be traced? Python only
# runs it to trace it, so a ``print`` inside tells us:


@jax.jit
def error(parameters, reference, reading):
    print("  traced for", parameters.shape)
    return rmse(parameters, reference, reading)


four = jnp.float32([*TRUE, 0, 0])
for vector in (four[:2], four[:3], four):
    for call in (1, 2):
        print(f"{len(vector)} parameters, call {call}")
        error(vector, *data_32)

# %%
# Each new length is traced once, and then compiled, which takes far longer than an evaluation. If
# lengths change all the time, pad: fill every vector to the same length with zeros, and one program
# serves them all.


@jax.jit
def padded_error(parameters, reference, reading):
    print("  traced for", parameters.shape)
    return rmse(parameters, reference, reading)


for length in (2, 3, 4):
    padded = jnp.zeros(4).at[:length].set(four[:length])
    print(f"{length} parameters: {padded_error(padded, *data_32):.6f}")

# %%
# What compiling costs, and other ways to avoid it, is the subject of :doc:`the page on static
# arguments </tutorials/transformations/static_arguments>`.
#
# Three optimisers
# ----------------
# All three use the same method, named after Broyden, Fletcher, Goldfarb and Shanno (BFGS): walk
# downhill, and learn from the gradients on the way how the valley bends. They differ in where the
# gradients come from, and in where the loop runs.
#
# *SciPy with differences.* If you give `SciPy
# <https://docs.scipy.org/doc/scipy/reference/optimize.minimize-bfgs.html>`__ no gradient, it
# estimates one: it evaluates the error once more for each parameter, a small step to the side. How
# small depends on the dtype, which will matter below.
Source(calibration.fit_by_scipy)

# %%
# *SciPy with JAX's gradient.* :func:`jax.value_and_grad` computes the error and its exact gradient
# together. The loop is still SciPy's and runs in Python; each evaluation is one call of this
# compiled function:
error_and_gradient = jax.jit(jax.value_and_grad(rmse))
Source(calibration.fit_by_gradient)

# %%
# *JAX's own.* :func:`jax.scipy.optimize.minimize` has the loop written in JAX as well. So we can
# compile the whole fit, and one call runs all of it.
inside_jax = jax.jit(calibration.fit_by_jax)
Source(calibration.fit_by_jax)

# %%
# Do they agree?
# --------------
# Each of them gets the same data and the same start, in 64 bits and in 32.
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
# This problem is kind enough to have an independent answer. Written with :math:`1/s` and
# :math:`-o/s`, the correction is linear in its parameters, and linear least squares needs no
# iteration:
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
# The number of evaluations depends on who counts. For SciPy's differences it includes the steps to
# the side, so one step downhill costs several; where JAX computes the gradient, it comes with the
# error. (A document from 2023 published such counts, and the errors, of two optimisers that had got
# different data. :doc:`Then and now </results/then_and_now>` has them beside ours.)
#
# Compare two more columns before you read on. What an optimiser *reports* and what it *found* are
# different things, and in 32 bits they need not go together; :doc:`the next page
# </tutorials/applications/convergence>` finds out why. How far are the three from the closed form at
# most, as a share of the value?
for dtype in ("float64", "float32"):
    found = np.array([fits[f"{name}, {dtype}"].x for name in OPTIMISERS])
    print(f"{dtype}: {(abs(found - exact) / exact).max():.1e}")

# %%
# So much for the numbers. This is what they describe: on the left the readings and the fit, and on
# the right both of them with the true law subtracted, which magnifies what is left.
line = np.array([calibration.LOWEST, calibration.HIGHEST])
figure, (left, right) = plt.subplots(1, 2)
for axes, (slope, offset) in (left, (0, 0)), (right, TRUE):
    rest = reading - slope * reference - offset
    axes.plot(reference[::5], rest[::5], ".", ms=2, label="readings")
    fitted = (exact[0] - slope) * line + exact[1] - offset
    axes.plot(line, fitted, label="fit")
    axes.set_xlabel("reference")
left.set_title("Readings and fit")
right.set_title("Less the true law")
_ = left.legend(markerscale=5)

# %%
# The sensor errs more where there is more to measure, because its slope trembles. And the fit is
# tilted against the truth, by a little. That is no fault of the optimisers: they agree with the
# closed form. It has :doc:`a page of its own </tutorials/applications/attenuation>`.
#
# Three ways down the valley
# --------------------------
# Drawn over all slopes and offsets, the error is a long and narrow valley. :func:`jax.vmap`
# computes a row of this map at once, and :func:`jax.lax.map` one row after another, to save memory:


@jax.jit
def error_on_grid(slopes, offsets):
    def at(slope, offset):
        return rmse(jnp.array([slope, offset]), *data_32)

    in_a_row = jax.vmap(at, in_axes=(0, None))
    return jax.lax.map(lambda offset: in_a_row(slopes, offset), offsets)


# %%
# Where did each optimiser walk? SciPy tells a callback after each step. JAX's loop is compiled and
# tells nobody. But the largest number of steps is an argument of our compiled function, so we run
# it again and stop it after no step, after one, after two:
paths = {name: [START] for name in OPTIMISERS}
for name in ("SciPy, differences", "SciPy, JAX gradient"):
    fit_in("float64", OPTIMISERS[name], callback=paths[name].append)

steps = range(int(fits["JAX, float64"].nit) + 1)
paths["JAX"] = [fit_in("float64", inside_jax, steps=n).x for n in steps]


# %%
def draw_map(axes, slopes, offsets, levels):
    """Draw the error as a map, with all paths and the truth."""
    surface = error_on_grid(slopes, offsets)
    lines = axes.contour(
        slopes, offsets, surface, levels, colors=figures.GRID, linewidths=0.8
    )
    axes.clabel(lines, fmt="%.3g", fontsize=10, colors=figures.INK)
    sizes = dict(zip(paths, (11, 7, 3)))
    for name, colour in figures.palette(paths).items():
        slope, offset = np.array(paths[name]).T
        look = {"color": colour, "ms": sizes[name], "mfc": "none", "lw": 1}
        axes.plot(slope, offset, "o-", label=name, **look)
    axes.plot(*TRUE, "X", color=figures.INK, ms=10, label="truth")
    axes.set(xlim=(slopes[0], slopes[-1]), ylim=(offsets[0], offsets[-1]))
    axes.set_xlabel("slope")


# %%
figure, (far, near) = plt.subplots(1, 2, figsize=(6, 4.6))
slopes, offsets = jnp.linspace(0.9, 2.2, 80), jnp.linspace(-0.6, 4.0, 80)
draw_map(far, slopes, offsets, [0.6, 1, 1.5, 2, 3, 4, 6, 8])
slopes, offsets = jnp.linspace(1.46, 1.6, 80), jnp.linspace(2.5, 3.1, 80)
draw_map(near, slopes, offsets, [0.438, 0.44, 0.445, 0.46, 0.5, 0.55])
far.set_title("The error, and the way down")
near.set_title("Near its end")
far.set_ylabel("offset")
names = far.get_legend_handles_labels()
_ = figure.legend(*names, loc="outside lower center", ncols=2)

# sphinx_gallery_thumbnail_number = 3

# %%
# Nested circles mean that two optimisers took the same step. Look where the paths end, and where
# the cross of the truth is.
#
# What a whole fit costs
# ----------------------
# The three take turns in fresh processes, in 64 bits, on compiled functions. You have seen how many
# evaluations each of them makes, and what one evaluation costs. What would you predict?
from jaxcap.experiments import calibration as experiments

times = experiments.OPTIMISERS.run(budget_s=0.05)
_ = figures.bars(
    times, over=experiments.DIFFERENCES, title="Time of one calibration"
)

# %%
fit_pays = claim(
    "a whole fit inside JAX is faster than by SciPy with differences",
    times,
    speedup_of(experiments.INSIDE, over=experiments.DIFFERENCES),
)
fit_pays

# %%
# Two things can make the difference. Differences need one more evaluation for each parameter and
# gradient: two here, a hundred if you had a hundred parameters, where :func:`jax.grad` still needs
# one pass. And with the loop compiled, Python no longer has anything to do between evaluations,
# which counts while these are short. Against that stands the first fit, which compiles:
first_fit = times.only(experiments.INSIDE).first_call
print("first fit by JAX, compilation included:", first_fit.short)

# %%
# Takeaway
# --------
at_ten_thousand = evaluations.select(size=reference.size)
evaluation = at_ten_thousand.speedup(COMPILED, over=NUMPY)
loop = at_ten_thousand.speedup(NUMPY, over=LOOP)
whole_fit = fit_pays.estimate
print("evaluation:", evaluation)

# %%
# For one evaluation on ten thousand readings, NumPy came out :measured:`loop` compared with a loop,
# and ``jit`` :measured:`evaluation` compared with NumPy. A whole fit inside JAX came out
# :measured:`whole_fit` compared with SciPy and its differences. If you have one fit to make, count
# the compilation, too: it is paid once for a program, and a program is good for one shape of the
# parameters, so keep that fixed. And an exact gradient is yours in either case, since SciPy takes
# JAX's.
#
# Next: :doc:`can you believe an optimiser's report? </tutorials/applications/convergence>`
