"""
Calibrating a sensor
====================

You have ten thousand readings of a cheap sensor, a good sensor to compare it with, and want the law
that connects them. Which optimiser should fit it, when can you believe its report, and will the
best fit be the truth? This page fits one law with three optimisers, one of which runs inside JAX,
and compares what they cost and what they claim. Then it asks why all of them miss the law that the
data were made with.
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
#     \mathrm{rmse}(s, o) = \sqrt{\mathrm{mean}\,\bigl(a - (b - o) / s\bigr)^2}
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
from jaxcap.results.tables import Table

exact = calibration.least_squares(reference, reading)
least_error = rmse(exact, reference, reading)

rows = []
for name, fit in fits.items():
    report = "success" if fit.success else "failure"
    counts = f"{fit.nit}", f"{fit.nfev}"
    found = (f"{number:.5f}" for number in (*fit.x, fit.fun))
    rows.append((name, report, *counts, *found))

found = (f"{number:.5f}" for number in (*exact, least_error))
rows.append(("closed form", "", "", "", *found))
headers = ("", "reports", "steps", "evaluations", "slope", "offset", "error")
Table("One calibration, from the same start", headers, rows)

# %%
# Compare two columns before you read on. What an optimiser *reports* and what it *found* are
# different things, and in 32 bits they need not go together. How far are the three from the closed
# form at most, as a share of the value?
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
# tilted against the truth, by a little. We'll come back to that.
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
# A success that never moved
# --------------------------
# Now for the reports. SciPy's own step for differences suits 64 bits. What happens if you forget to
# change it, and hand over data of 32 bits?
default_step = np.sqrt(np.finfo(float).eps)
small = fit_in("float32", calibration.fit_by_scipy, step=default_step)
print("success" if small.success else "failure", "at", small.x)
print(f"after {small.nit} steps, gradient {abs(small.jac).max():.1g}")

# %%
# So small a step is lost in rounding, and changes nothing. All differences are then zero, and a
# gradient of zero is what a search looks for: it stops where it began, and reports success.
#
# A failure that found the optimum
# --------------------------------
# It happens the other way round, too. To see how often, calibrate a hundred sensors. JAX's
# optimiser is a JAX function like any other, so :func:`jax.vmap` turns it into one that fits all
# hundred in one call:
SENSORS = 100
pairs = [calibration.sensors(seed) for seed in range(SENSORS)]
references = np.array([reference for reference, reading in pairs])
readings = np.array([reading for reference, reading in pairs])
many_exact = np.array([calibration.least_squares(*pair) for pair in pairs])

fit_all = jax.jit(jax.vmap(inside_jax, in_axes=(0, 0, None, 0)))
limits = np.full(SENSORS, 100)
many_fits = {}
for dtype in ("float64", "float32"):
    with jax.enable_x64(dtype == "float64"):
        data = references.astype(dtype), readings.astype(dtype)
        many_fits[dtype] = jax.device_get(fit_all(*data, START, limits))

# %%
# Sorted by dtype and by report, how far is the worst of them from the closed form?
rows = []
for dtype, found in many_fits.items():
    distance = abs(found.x - many_exact).max(axis=1)
    for report in ("success", "failure"):
        those = found.success == (report == "success")
        worst = f"{distance[those].max():.1g}" if those.any() else ""
        rows.append((dtype, report, f"{those.sum()}", worst))

headers = ("dtype", "report", "sensors", "largest distance")
Table("A hundred calibrations by JAX", headers, rows)

# %%
# Is that much or little? As a scale, this is how much the optimum itself varies from sensor to
# sensor:
print("standard deviation of slope and offset:", many_exact.std(axis=0))

# %%
# Where the distances are far below that scale, a search that "failed" gave a result as useful as
# any. Why did it report failure? BFGS only takes a step if the error falls. So pick a sensor whose
# search failed (the first one if none did), and walk along the last step that it tried:
found = many_fits["float32"]
one = int(np.argmin(found.success))
data = references.astype("float32"), readings.astype("float32")
before = fit_all(*data, START, found.nit - 1).x[one]
along = np.linspace(-1, 2, 301)
points = before + along[:, None] * (found.x[one] - before)

# %%
# On this line, compute the error in both dtypes:
errors = {}
for dtype in ("float64", "float32"):
    with jax.enable_x64(dtype == "float64"):
        error_at = jax.vmap(jax.jit(rmse), in_axes=(0, None, None))
        data = references[one].astype(dtype), readings[one].astype(dtype)
        computed = error_at(points.astype(dtype), *data)
        errors[dtype] = np.asarray(computed, float)

lowest = errors["float64"].min()
spacing = np.spacing(np.float32(lowest))

# %%
for dtype in ("float32", "float64"):
    relative = (errors[dtype] - lowest) / spacing
    plt.plot(along, relative, label=f"computed in {dtype}")
plt.axvline(0, color=figures.INK, lw=1, ls=":")
plt.axvline(1, color=figures.INK, lw=1, ls=":")
plt.xlabel("share of the last step (dotted: its start and its end)")
plt.ylabel("error above its minimum,\nin spacings of float32")
plt.title("The last step, seen in 32 and in 64 bits")
_ = plt.gcf().legend(loc="outside lower center", ncols=2)

# %%
# The unit is the distance between neighbouring float32 numbers at this size. In that unit, how much
# was there to gain by the step, and how far does rounding throw off the error?
start, end = np.searchsorted(along, (0, 1))
gain = float((errors["float64"][start] - errors["float64"][end]) / spacing)
rounding = float(np.ptp(errors["float32"] - errors["float64"]) / spacing)
print(f"gain of the step {gain:.2g}, rounding of the error {rounding:.2g}")

# %%
# A gain smaller than the rounding can't be seen. Whether the computed error falls is then a matter
# of luck, and where it doesn't, the search tries ever shorter steps and gives up. Its optimum is
# good all the same, for one and the same reason: close to a minimum the error hardly changes. So
# the search can't see it fall any more, and you lose nothing if it stops. In 64 bits the numbers
# lie so close that the gradient gets to nearly zero first.
#
# A failure to take seriously
# ---------------------------
# Does it follow that you may ignore a failure? Try another start, in 64 bits:
with jax.enable_x64(True):
    lost = inside_jax(reference, reading, np.array([2.0, 2.0]))
    steepness = abs(error_and_gradient(lost.x, reference, reading)[1]).max()
print("JAX", jax.__version__, "success" if lost.success else "failure")
print("at", lost.x, f"after {int(lost.nit)} steps, gradient {steepness:.1g}")

# %%
# Versions of JAX with `a known fault <https://github.com/jax-ml/jax/issues/16236>`__ give up here,
# although there is a way down. The gradient tells this failure from the harmless one: compute it at
# the point where the search ended, in 64 bits, and ask whether it is nearly zero.
#
# Don't count on its being mended soon: JAX `no longer aims to have optimisers of its own
# <https://docs.jax.dev/en/latest/jep/18137-numpy-scipy-scope.html>`__. For new work, use SciPy with
# JAX's gradient, or `Optimistix <https://docs.kidger.site/optimistix/api/compat/>`__, which has a
# replacement with the same arguments.
#
# Why isn't the best fit the truth?
# ---------------------------------
# In 64 bits the optimisers agree with the closed form, and so with each other, but not with the law
# that made the data. They aren't to blame, because the truth has the larger error:
for label, parameters in ("optimum", exact), ("truth", TRUE):
    print(f"{label}: {rmse(parameters, reference, reading):.5f}", parameters)

# %%
# We asked for the correction that brings noisy readings as close to the reference as possible. An
# extreme reading is extreme partly by bad luck, so the best guess for it is less extreme than it
# looks. The fit learns this, and divides by a slope that is too steep. Statisticians call it
# attenuation. More data won't help: this is where the fit ends up with infinitely many readings:
calibration.least_squares_limit()

# %%
# To get at the law itself, an estimator has to know that both sensors err, and in which proportion.
# Deming's does. It looks for the line that is nearest to the points, with distances measured in
# units of each sensor's noise. (With equal noise this is orthogonal distance regression.) The
# proportion has to come from somewhere else: from data sheets, or from showing both sensors the
# same truth many times.
Source(calibration.deming)

# %%
ratio = calibration.noise_ratio(reference)
print(f"noise variance, readings over reference: {ratio:.0f}")
print("Deming:", calibration.deming(reference, reading, ratio))

# %%
# With one set of data, that might be luck. So let both estimators loose on the hundred sensors from
# above:
across = []
for pair in pairs:
    ratio_of_pair = calibration.noise_ratio(pair[0])
    across.append(calibration.deming(*pair, ratio_of_pair))
across = np.array(across)

plt.plot(*many_exact.T, "o", label="least squares", alpha=0.6)
plt.plot(*across.T, "s", label="Deming", alpha=0.6)
plt.plot(*TRUE, "X", color=figures.INK, markersize=12, label="truth")
plt.xlabel("slope")
plt.ylabel("offset")
plt.title("A hundred sensors of the same law")
_ = plt.legend()

# %%
by_least_squares = np.linalg.norm(many_exact - TRUE, axis=1)
by_deming = np.linalg.norm(across - TRUE, axis=1)
nearer = int((by_deming < by_least_squares).sum())
print(f"Deming is nearer to the truth for {nearer} of {SENSORS} sensors")
print("mean of Deming's slopes and offsets:", across.mean(axis=0))

# %%
# So which of the two is right? That depends on your question. If you want to correct readings of
# this sensor with the least error, take least squares, because that is what it minimises. If you
# want to know the law, or to correct readings that are spread differently, take the estimator
# without the bias. (The ratio above also says that nearly all of the noise is in the readings. So
# predicting these from the reference, and solving for the truth afterwards, would have done almost
# as well. But only the ratio could tell you.)
#
# Takeaway
# --------
at_ten_thousand = evaluations.select(size=reference.size)
evaluation = at_ten_thousand.speedup(COMPILED, over=NUMPY)
loop = at_ten_thousand.speedup(NUMPY, over=LOOP)
whole_fit = fit_pays.estimate
failures = int((~found.success).sum())
worst = float(abs(found.x - many_exact).max())
print("evaluation:", evaluation)

# %%
# - For one evaluation on ten thousand readings, NumPy came out :measured:`loop` compared with a
#   loop, and ``jit`` :measured:`evaluation` compared with NumPy.
# - A whole fit inside JAX came out :measured:`whole_fit` compared with SciPy and its differences.
#   What you compile is compiled for the shape of the parameters, so keep that fixed.
# - Of a hundred fits in 32 bits, JAX reported :measured:`failures` as failures, and the largest
#   error of all hundred was :measured:`worst`. Optimise in 64 bits, and judge by the gradient, not
#   only by the report.
# - An optimiser finds the minimum of what you wrote down. Whether that is what you want to know is
#   a question about noise, and no optimiser will ask it for you.
#
# Next: a model with millions of parameters instead of two, :doc:`trained in JAX and in PyTorch
# </tutorials/applications/mnist>`.
