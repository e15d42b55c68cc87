"""
Calibrating a sensor
====================

You will fit the law of a sensor to ten thousand readings with three optimisers, one of them inside
JAX, and know what each costs. You will also know when to believe an optimiser that reports success,
or failure, and why the best fit is not the true law.
"""

# %%
# Two sensors
# -----------
# A reference sensor shows the truth, nearly. Ours reads slope times truth plus offset. Both have
# noise, and the slope trembles from reading to reading. The data are made by
# :func:`~jaxcap.kernels.calibration.sensors`, so here we know what an optimiser should find:
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.kernels import calibration
from jaxcap.kernels.calibration import rmse

TRUE = np.array([calibration.SLOPE, calibration.OFFSET])
reference, reading = calibration.sensors(seed=0)
print(reference.shape, reference.dtype, "true slope and offset:", TRUE)

# %%
# To calibrate is to undo the law: subtract the offset, divide by the slope. A good slope :math:`s`
# and offset :math:`o` make the corrected readings :math:`(b - o) / s` agree with the reference
# :math:`a`. The measure is the root of the mean squared difference, and smaller is better:
#
# .. math::
#
#     \mathrm{rmse}(s, o) = \sqrt{\mathrm{mean}\,\bigl(a - (b - o) / s\bigr)^2}
#
# :func:`jaxcap.kernels.calibration.rmse` is written with operators and methods only. So the same
# function takes NumPy's arrays and JAX's, and computes in their type.
START = np.array([1.0, 0.0])  # no correction at all
for label, parameters in ("at the start", START), ("at the truth", TRUE):
    in_numpy = rmse(parameters, reference, reading)
    in_jax = rmse(*map(jnp.float32, (parameters, reference, reading)))
    print(f"{label}: NumPy {in_numpy:.10f}, JAX {in_jax:.10f}")

# %%
# NumPy used 64 bits and JAX 32, which shows in the last digits. The figures below give both the
# same data in the same type.
#
# One evaluation
# --------------
# An optimiser asks for this number again and again. By a loop over the readings, by NumPy and by
# :func:`jax.jit`, in several fresh processes (the loop only where it ends soon):
from jaxcap.report import figures
from jaxcap.experiments.calibration import CALIBRATION, COMPILED, LOOP, NUMPY

evaluations = CALIBRATION.run(budget_s=0.05)
_ = figures.scaling(
    evaluations, x="size", title="One evaluation of the error, float32"
)

# %%
evaluations.speedups(over=NUMPY)

# %%
from jaxcap.report.claims import claim, speedup_of

jit_pays = claim(
    "the error of a million readings is there sooner compiled than by NumPy",
    evaluations,
    speedup_of(COMPILED, over=NUMPY, size=1_000_000),
)
jit_pays

# %%
# For few readings a call is mostly overhead, and expect JAX to have more of it: on a CPU it also
# hands the work to a thread of its own, which has to wake up and to find a free core. For many,
# ``jit`` is meant to win, since it does in one pass over memory what NumPy does in several. The loop
# is here because it is the usual unfair opponent. A speed-up over a loop is not due to JAX: NumPy has
# it too.
#
# A longer parameter is another program
# -------------------------------------
# ``rmse`` takes further parameters, which bend the corrected readings by a square, a cube and so
# on. With zeros there, nothing changes. But ``jit`` compiles for a *shape*, and a vector of three is
# another shape than a vector of two. Python runs the function only to trace it, so a ``print``
# inside shows when:


@jax.jit
def error(parameters, reference, reading):
    print("  traced for", parameters.shape)
    return rmse(parameters, reference, reading)


data_32 = jnp.float32(reference), jnp.float32(reading)
vectors = [jnp.float32([*TRUE, 0, 0][:n]) for n in (2, 3, 4)]
for vector in vectors:
    for call in (1, 2):
        print(f"{len(vector)} parameters, call {call}")
        error(vector, *data_32)

# %%
# Each of these traces is followed by a compilation. What that costs is the subject of
# :doc:`the page on static arguments </tutorials/transformations/static_arguments>`.
#
# If the shape changes often, pad. One vector of four, filled with zeros, serves all three:


@jax.jit
def padded_error(parameters, reference, reading):
    print("  traced for", parameters.shape)
    return rmse(parameters, reference, reading)


for vector in vectors:
    padded = jnp.zeros(4).at[: len(vector)].set(vector)
    print(f"{len(vector)} parameters: {padded_error(padded, *data_32):.6f}")

# %%
# Three optimisers
# ----------------
# All three use the method of Broyden, Fletcher, Goldfarb and Shanno (BFGS): it walks downhill, and
# learns from the gradients on its way how the valley bends. They differ in where gradients come
# from and where the loop runs.
#
# *SciPy with differences.* Without a gradient,
# `SciPy <https://docs.scipy.org/doc/scipy/reference/optimize.minimize-bfgs.html>`__ evaluates the
# error once more for each parameter, a small step away. The step has to suit the type.
from jaxcap.report.source import Source

Source(calibration.fit_by_scipy)

# %%
# *SciPy with JAX's gradient.* :func:`jax.value_and_grad` returns the error and its gradient from
# one pass over the data. SciPy's loop stays in Python, and every evaluation is a call of this compiled
# function:
error_and_gradient = jax.jit(jax.value_and_grad(rmse))
Source(calibration.fit_by_gradient)

# %%
# *JAX's own.* :func:`jax.scipy.optimize.minimize` is the loop itself in JAX, so all of it compiles
# to one program.
inside_jax = jax.jit(calibration.fit_by_jax)
Source(calibration.fit_by_jax)

# %%
# Same answer first
# -----------------
# All three get the same data, in 64 bits and in 32, and the same start.
OPTIMISERS = {
    "SciPy, differences": calibration.fit_by_scipy,
    "SciPy, JAX gradient": calibration.fit_by_gradient,
    "JAX": inside_jax,
}


def ready(fit, dtype):
    """Prepare a call of an optimiser in a type."""
    with jax.enable_x64(dtype == "float64"):
        data = reference.astype(dtype), reading.astype(dtype)
        if fit is not calibration.fit_by_scipy:
            data = jax.device_put(data)

    def call(**options):
        with jax.enable_x64(dtype == "float64"):
            return fit(*data, START, **options)

    return call


# %%
# Where does each of them end?
CALLS = {
    f"{name}, {dtype}": ready(fit, dtype)
    for dtype in ("float64", "float32")
    for name, fit in OPTIMISERS.items()
}
fits = {name: jax.device_get(call()) for name, call in CALLS.items()}

# %%
# The table has an independent answer in its last row. Written with :math:`1/s` and :math:`-o/s` the
# correction is linear, and then least squares has a solution without any steps.
from jaxcap.results.tables import Table

exact = calibration.least_squares(reference, reading)
closed_form = ("closed form", "", "", "", *(f"{n:.5f}" for n in exact))


def row(name, fit):
    """Say what an optimiser reports, after how many steps and evaluations."""
    report = "success" if fit.success else "failure"
    counts = f"{fit.nit}", f"{fit.nfev}"
    numbers = (f"{number:.5f}" for number in fit.x)
    return name, report, *counts, *numbers


# %%
Table(
    "One calibration, from the same start",
    ("", "reports", "steps", "evaluations", "slope", "offset"),
    [*(row(name, fit) for name, fit in fits.items()), closed_form],
)

# %%
# In 64 bits all agree with the closed form to the digits that matter. How near is near enough? The
# largest distance from it in each type, as a share of the value:
for dtype in ("float64", "float32"):
    found = np.array([fits[f"{name}, {dtype}"].x for name in OPTIMISERS])
    print(f"{dtype}: {(abs(found - exact) / exact).max():.1e}")

# %%
# The data and the fit, and beside them the same with the true law subtracted:
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
# The sensor errs more where there is more to measure: that is the trembling slope. And the fit is
# tilted against the truth, a little. We come back to that.
#
# The ways down
# -------------
# The error over all slopes and offsets is a long, narrow valley. :func:`jax.vmap` evaluates it on a
# grid, one row after another by :func:`jax.lax.map` to save memory.


@jax.jit
def error_on_grid(slopes, offsets):
    def at(slope, offset):
        return rmse(jnp.array([slope, offset]), *data_32)

    in_a_row = jax.vmap(at, in_axes=(0, None))
    return jax.lax.map(lambda offset: in_a_row(slopes, offset), offsets)


# %%
# SciPy tells a callback where it is. JAX's loop tells nobody, but the number of steps is an
# argument of the compiled function, so we can run it again and stop it after none, one, two:
paths = {name: [START] for name in OPTIMISERS}
for name in ("SciPy, differences", "SciPy, JAX gradient"):
    CALLS[f"{name}, float64"](callback=paths[name].append)

steps = range(int(fits["JAX, float64"].nit) + 1)
paths["JAX"] = [CALLS["JAX, float64"](steps=n).x for n in steps]


# %%
def draw_paths(axes, slopes, offsets, levels):
    """Draw the valley as a map, and all paths."""
    surface = error_on_grid(slopes, offsets)
    lines = axes.contour(
        slopes, offsets, surface, levels, colors=figures.GRID, linewidths=0.8
    )
    axes.clabel(lines, fmt="%.3g", fontsize=8)
    looks = zip(figures.palette(paths).items(), (11, 7, 3), strict=True)
    for (name, colour), size in looks:
        path = np.array(paths[name]).T
        axes.plot(
            *path, "o-", color=colour, ms=size, mfc="none", lw=1, label=name
        )
    axes.plot(*TRUE, "X", color=figures.INK, ms=10, label="truth")
    axes.set(
        xlim=slopes[jnp.array([0, -1])], ylim=offsets[jnp.array([0, -1])]
    )
    axes.set_xlabel("slope")


# %%
figure, (far, near) = plt.subplots(1, 2, figsize=(7, 4.5))
slopes, offsets = jnp.linspace(0.9, 2.2, 80), jnp.linspace(-0.6, 4.0, 80)
draw_paths(far, slopes, offsets, [0.6, 1, 1.5, 2, 3, 4, 6, 8])
slopes, offsets = jnp.linspace(1.46, 1.6, 80), jnp.linspace(2.5, 3.1, 80)
draw_paths(near, slopes, offsets, [0.438, 0.44, 0.445, 0.46, 0.5, 0.55])
far.set_title("The error, and the way down")
near.set_title("Near its end")
far.set_ylabel("offset")
names = far.get_legend_handles_labels()
_ = figure.legend(*names, loc="outside lower center", ncols=4, fontsize=9)

# sphinx_gallery_thumbnail_number = 3

# %%
# Nested circles mean the same path. All paths end at one point, and it isn't the true one.
#
# What a fit costs
# ----------------
# All three, in 64 bits, take turns in fresh processes. Everything was compiled before:
from jaxcap.experiments import calibration as experiments

times = experiments.OPTIMISERS.run(budget_s=0.05)
_ = figures.bars(times, title="Time of one calibration")

# %%
# Read this with the evaluations in mind. Two parameters are few: differences cost only two more
# evaluations for each gradient. With a hundred parameters they would cost a hundred more, where
# :func:`jax.grad` still needs one pass. Compiling the loop as a whole takes away what Python does
# between evaluations, which counts where these are short. And an optimiser in 32 bits may need more
# evaluations than in 64.
first_fit = times.only(experiments.INSIDE).first_call
print("first fit by JAX, compilation included:", first_fit.short)

# %%
fit_pays = claim(
    "a whole fit inside JAX is faster than by SciPy with differences",
    times,
    speedup_of(experiments.INSIDE, over=experiments.DIFFERENCES),
)
fit_pays

# %%
# Before we ask why they all end beside the truth, a look at what they reported.
#
# Success that is none
# --------------------
# SciPy's own step for differences suits 64 bits. In 32 it is too small to change the corrected
# readings:
default_step = np.sqrt(np.finfo(float).eps)
small = CALLS["SciPy, differences, float32"](step=default_step)
print("success" if small.success else "failure", "at", small.x)
print(f"after {small.nit} steps, gradient {abs(small.jac).max():.1g}")

# %%
# A step that is lost in rounding changes nothing, so all differences were zero, and where the
# gradient is zero the search is over. It ended where it began, and reports success.
#
# Failure that is none
# --------------------
# The other way round happens too. Calibrate a hundred sensors, in both types, and sort by what was
# reported. Since JAX's optimiser is a JAX function, :func:`jax.vmap` runs all hundred in one call:
SENSORS = 100
pairs = [calibration.sensors(seed) for seed in range(SENSORS)]
many = np.stack(pairs, axis=1)
many_exact = np.array([calibration.least_squares(*pair) for pair in pairs])
fit_all = jax.jit(jax.vmap(inside_jax, in_axes=(0, 0, None, 0)))
limit = np.full(SENSORS, 100)

# %%
rows, many_fits = [], {}
for dtype in ("float64", "float32"):
    with jax.enable_x64(dtype == "float64"):
        fit = jax.device_get(fit_all(*many.astype(dtype), START, limit))
    many_fits[dtype] = fit
    off = abs(fit.x - many_exact).max(axis=1)
    for report, those in ("success", fit.success), ("failure", ~fit.success):
        worst = f"{off[those].max():.1g}" if those.any() else ""
        rows.append((f"{dtype}, {report}", str(int(those.sum())), worst))

headers = ("type and report", "sensors", "largest error")
Table("A hundred calibrations by JAX", headers, rows)

# %%
# The error is the distance from the closed form. To judge it, this is how much the optimum itself
# varies from one sensor to the next:
print("standard deviation of slope and offset:", many_exact.std(axis=0))

# %%
# Where the errors in the table are far smaller than that, the optimum of a search that "failed" is
# as useful as any. Why does it report failure? A step of BFGS is only taken if the error falls. Take
# a sensor whose search failed, if there is one, and walk along the last step that it tried, in both
# types:
fit = many_fits["float32"]
one = int(np.argmin(fit.success))  # the first failure, or else the first
before = fit_all(*many.astype("float32"), START, fit.nit - 1).x
along = np.linspace(-1, 2, 301)
points = before[one] + along[:, None] * (fit.x[one] - before[one])
errors = {}
for dtype in ("float64", "float32"):
    with jax.enable_x64(dtype == "float64"):
        at = jax.vmap(jax.jit(rmse), in_axes=(0, None, None))
        data = many[:, one].astype(dtype)
        errors[dtype] = np.asarray(at(points.astype(dtype), *data), float)

# %%
lowest = errors["float64"].min()
spacing = np.spacing(np.float32(lowest))
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
# The unit is the distance between neighbouring float32 numbers at this size. How much the step
# could gain, and how far off the error computed in 32 bits is, in that unit:
start, end = np.searchsorted(along, (0, 1))
gain = float((errors["float64"][start] - errors["float64"][end]) / spacing)
rounding = float(np.ptp(errors["float32"] - errors["float64"]) / spacing)
print(f"gain of the step {gain:.2g}, rounding of the error {rounding:.2g}")

# %%
# A gain that is smaller than the rounding can't be seen. Then it is chance whether the computed error
# falls, and where it doesn't, the line search shortens the step again and again and gives up. The
# optimum is good all the same: near the minimum the error hardly changes, which is why the search
# can't see it fall, and why it doesn't matter. In 64 bits the spacing is so fine that the gradient is
# nearly zero before this happens.
#
# Failure that is one
# -------------------
# It would be wrong to conclude that failure may be ignored. From another start:
with jax.enable_x64(True):
    lost = inside_jax(reference, reading, np.array([2.0, 2.0]))
    steepness = abs(error_and_gradient(lost.x, reference, reading)[1]).max()
print("JAX", jax.__version__, "success" if lost.success else "failure")
print("at", lost.x, f"after {int(lost.nit)} steps, gradient {steepness:.1g}")

# %%
# In versions of JAX with `a known fault <https://github.com/jax-ml/jax/issues/16236>`__, the line
# search gives up here although there is a way down, in 64 bits too. The gradient tells the two kinds
# of failure apart: compute it at the end point, in 64 bits, and see whether it is nearly zero. JAX
# `no longer aims to have optimisers of its own
# <https://docs.jax.dev/en/latest/jep/18137-numpy-scipy-scope.html>`__. For new work look at
# `Optimistix <https://docs.kidger.site/optimistix/api/compat/>`__, which has a replacement with the
# same arguments, or use SciPy with JAX's gradient.
#
# Why not the truth?
# ------------------
# The optimum is found, by four ways, and it isn't the true law. That is not the optimiser's fault.
# At the truth the error is larger:
for label, parameters in ("optimum", exact), ("truth", TRUE):
    print(f"{label}: {rmse(parameters, reference, reading):.5f}", parameters)

# %%
# Least squares looks for the correction that comes nearest to the reference, and starts from noisy
# readings. An extreme reading is extreme partly by its noise, so the best guess of the truth is less
# extreme than the reading says: a steeper slope, which divides by more. Statisticians call that
# attenuation. More data don't help. For infinitely many, slope and offset tend to
# :func:`~jaxcap.kernels.calibration.least_squares_limit`:
calibration.least_squares_limit()

# %%
# An estimator that doesn't have this bias knows that both sensors err, and by how much in
# proportion. :func:`Deming's <jaxcap.kernels.calibration.deming>` fits the line that is nearest to
# the points across, with distances in units of each sensor's noise. If both are equally noisy that is
# orthogonal distance regression. The ratio has to be known, from the data sheet or from looking at
# one truth many times:
ratio = calibration.noise_ratio(reference)
print(f"noise variance, readings over reference: {ratio:.0f}")
print("Deming:", calibration.deming(reference, reading, ratio))

# %%
# One data set may be luck. These are the hundred sensors from above, each by both estimators:
ratios = [calibration.noise_ratio(reference) for reference, _ in pairs]
across = np.array(
    [
        calibration.deming(*pair, r)
        for pair, r in zip(pairs, ratios, strict=True)
    ]
)
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
# By the ratio, nearly all the noise of these two is in the readings. Predicting them from the
# reference, instead of the other way round, would do nearly as well here. But only the ratio says so.
#
# Which one is right depends on the question. To correct readings of this sensor with the least error,
# take least squares, for that is what it minimises. To know the law of the sensor, or to correct
# readings that are spread in another way, take the unbiased one.
#
# Takeaway
# --------
at_ten_thousand = evaluations.select(size=reference.size)
evaluation = at_ten_thousand.speedup(COMPILED, over=NUMPY)
loop = at_ten_thousand.speedup(NUMPY, over=LOOP)
whole_fit = fit_pays.estimate
failures = int((~fit.success).sum())
worst = float(abs(fit.x - many_exact).max())
print("evaluation:", evaluation)

# %%
# - For one evaluation on ten thousand readings, NumPy came out :measured:`loop` compared with a loop,
#   and ``jit`` :measured:`evaluation` compared with NumPy.
# - Compared with SciPy with differences, a whole fit inside JAX came out :measured:`whole_fit`. Each
#   new shape of the parameters is compiled anew.
# - Of a hundred fits in 32 bits, JAX called :measured:`failures` a failure. The largest error of all
#   hundred was :measured:`worst`. Optimise in 64 bits, look at ``success``, and judge by the gradient.
# - An optimiser finds the minimum of what you wrote down. Whether that is what you want to know is a
#   question about noise, not about JAX.
#
# Before: :doc:`linear algebra </tutorials/performance/linear_algebra>`. Next, your turn: the
# :doc:`exercises </exercises/index>`.
