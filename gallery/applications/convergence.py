"""
Can you believe an optimiser?
=============================

An optimiser's last word is "success" or "failure". It is tempting to keep the fits that succeeded,
and to throw the others away. Which good fits would you throw away, and which bad ones would you
keep? You will see a success that never moved, failures at the optimum, and a failure far from it.
This page compares a hundred reports with the points at which the searches stopped, and shows how to
tell a harmless failure from a serious one.
"""

# %%
# A problem with a known answer
# -----------------------------
# We go on with :doc:`the calibration of the previous page </tutorials/applications/calibration>`.
# The task was to find the slope and the offset that bring the readings of a cheap sensor as close
# as possible to those of a good one. Linear least squares has the answer in closed form, so we can
# tell where a search should have ended:
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.kernels import calibration
from jaxcap.kernels.calibration import rmse
from jaxcap.report import figures
from jaxcap.results.tables import Table

reference, reading = calibration.sensors(seed=0)
exact = calibration.least_squares(reference, reading)
print("slope and offset of least error:", exact)

# %%
# Of the three optimisers that look for this answer step by step, we mostly need two. SciPy's
# estimates the gradient: it takes a small step to the side in each parameter, and sees how much the
# error changes. JAX's computes the gradient with :func:`jax.grad`, and we compile the whole search:
START = np.array([1.0, 0.0])
fit_inside_jax = jax.jit(calibration.fit_by_jax)

# %%
# A success that never moved
# --------------------------
# How small should the step to the side be? That depends on the dtype. SciPy's default step is the
# square root of float64's machine epsilon, so it suits 64 bits. What happens if you keep it, and
# compute in 32?
default_step = np.sqrt(np.finfo(float).eps)
narrow = reference.astype("float32"), reading.astype("float32")
small = calibration.fit_by_scipy(*narrow, START, step=default_step)
print(small.message)
print("success" if small.success else "failure", "at", small.x)
print(f"steps: {small.nit}, gradient {abs(small.jac).max():.1g}")

# %%
# In 32 bits, so small a step is lost in rounding: a slope of 1 plus the step is 1 again, and a
# reading minus the step is the same reading. So the error doesn't change, and all differences are
# zero. A search takes a gradient of zero to mean that it has arrived, so this one stopped where it
# began. The true gradient there is anything but zero:
print(jax.grad(rmse)(START, *narrow))

# %%
# A failure that found the optimum
# --------------------------------
# The opposite happens, too: a search arrives at the optimum, and reports failure. To see how often,
# we calibrate a hundred sensors. JAX's optimiser is a JAX function, so :func:`jax.vmap` turns it
# into one that fits all hundred in a single call:
SENSORS = 100
pairs = [calibration.sensors(seed) for seed in range(SENSORS)]
references = np.array([reference for reference, reading in pairs])
readings = np.array([reading for reference, reading in pairs])
many_exact = np.array([calibration.least_squares(*pair) for pair in pairs])

# %%
fit_all = jax.jit(jax.vmap(fit_inside_jax, in_axes=(0, 0, None, 0)))
limits = np.full(SENSORS, 100)  # steps at most, for each sensor
many_fits = {}
for dtype in ("float64", "float32"):
    with jax.enable_x64(dtype == "float64"):
        data = references.astype(dtype), readings.astype(dtype)
        many_fits[dtype] = jax.device_get(fit_all(*data, START, limits))

# %%
# Call the larger of a fit's two errors, in slope and in offset, its *distance* from the closed form.
# How far off is the worst success, and the worst failure?
rows = []
for dtype, found in many_fits.items():
    distance = abs(found.x - many_exact).max(axis=1)
    for report in ("success", "failure"):
        those = found.success == (report == "success")
        worst = f"{distance[those].max():.1g}" if those.any() else "none"
        rows.append((dtype, report, f"{those.sum()}", worst))

headers = ("dtype", "report", "sensors", "largest distance")
Table("A hundred calibrations by JAX", headers, rows)

# %%
# Are these distances large or small? As a scale, take how much the optimum itself varies from one
# sensor to the next:
found = many_fits["float32"]
scale = many_exact.std(axis=0)
largest = abs(found.x - many_exact).max()
print("standard deviation of slope and offset:", scale)
print(
    f"largest distance in 32 bits: {largest / scale.min():.0%} of the smaller"
)

# %%
# That is far below the spread between sensors, so all hundred fits are good enough for most
# purposes, whatever they reported. Why does a search that arrives report failure? At each step,
# BFGS searches along a direction for a point where the error has fallen enough and the slope has
# flattened enough, and reports failure if it finds none. In 32 bits, it is the fall that rounding
# can hide.
#
# Let us follow the first sensor whose search failed (or sensor 0, if none did). When its search
# finds no such point, JAX takes the full step and stops, so we can walk along that last step and
# look at the error. To find where the step began, we run the searches again, each with one step
# fewer:
failed = np.flatnonzero(~found.success)
sensor = failed[0] if len(failed) else 0
data = references.astype("float32"), readings.astype("float32")
one_fewer = fit_all(*data, START, found.nit - 1)
before = one_fewer.x[sensor]
along = np.linspace(-1, 2, 301)
points = before + along[:, None] * (found.x[sensor] - before)

# %%
# Between neighbouring float32 numbers there are gaps, called *spacings*, and no computed error can
# fall between two of these numbers. Did the last step gain more spacings than rounding adds?
errors = {}
for dtype in ("float64", "float32"):
    with jax.enable_x64(dtype == "float64"):
        error_at = jax.vmap(jax.jit(rmse), in_axes=(0, None, None))
        data = references[sensor], readings[sensor]
        data = [column.astype(dtype) for column in data]
        computed = error_at(points.astype(dtype), *data)
        errors[dtype] = np.asarray(computed, float)

lowest = errors["float64"].min()
spacing = np.spacing(np.float32(lowest))

# %%
start, end = np.searchsorted(along, (0, 1))
gain = float((errors["float64"][start] - errors["float64"][end]) / spacing)
rounding = float(np.ptp(errors["float32"] - errors["float64"]) / spacing)
finding = (
    f"The step gained {gain:.2g} spacings; rounding spans {rounding:.2g}"
)

# %%
for dtype in ("float32", "float64"):
    relative = (errors[dtype] - lowest) / spacing
    plt.plot(along, relative, label=f"in {dtype}")
plt.axvline(0, color=figures.INK, lw=1, ls=":")
plt.axvline(1, color=figures.INK, lw=1, ls=":")
plt.xlabel("share of the last step (dotted: its start and its end)")
plt.ylabel("error above the 64-bit minimum,\nin spacings of float32")
figures.headline(plt.gcf(), finding, "The last step, in 32 and in 64 bits")
_ = plt.gcf().legend(loc="outside lower center", ncols=2)

# %%
# Once a step gains less than the rounding, it is a matter of luck whether the computed error falls.
# If it doesn't, the search tries shorter and shorter steps, then gives up. But it gives up at a
# good place. Close to a minimum, the error hardly changes, which is why the search can't see it
# fall, and why you lose so little when it stops. In 64 bits, rounding is so much smaller that the
# gradient comes near zero first.
#
# A failure to take seriously
# ---------------------------
# Can you ignore every failure, then? Try another start, in 64 bits. (JAX's result has a number
# instead of a message, its *status*.)
with jax.enable_x64(True):
    elsewhere = np.array([2.0, 2.0])
    lost = jax.device_get(fit_inside_jax(reference, reading, elsewhere))
    by_scipy = calibration.fit_by_gradient(reference, reading, elsewhere)
print("JAX", jax.__version__, "success" if lost.success else "failure")
print("at", lost.x, f"steps: {int(lost.nit)}, status {int(lost.status)}")
print("SciPy", "success" if by_scipy.success else "failure", "at", by_scipy.x)
statuses = sorted({int(status) for status in found.status})
print("statuses of the hundred searches in 32 bits:", statuses)


# %%
# `A known fault <https://github.com/jax-ml/jax/issues/16236>`__ in its line search can make JAX
# give up here, although there is a way down: SciPy finds it from the same start, with JAX's
# gradient. JAX's report doesn't tell such a failure from a harmless one. A status of 3 stands for
# both, and means that the search along a direction found no point. (A success has the status 0.)
# What tells the two apart is the gradient where the search ended, which would be zero at an
# optimum. Compute it afresh, because the result's own ``jac`` needn't belong to the last point
# after a failure.
#
# How small should the gradient be? That depends on the units. So turn it into a distance: divided
# by the curvature (a matrix here, the Hessian), it estimates how far each parameter is from its
# best value. Here it is for the sensor that we followed, and for the start that went wrong:
def to_go(point, *data):
    """Estimate the way from the optimum to a point nearby."""
    gradient, curvature = jax.grad(rmse), jax.hessian(rmse)
    return jnp.linalg.solve(curvature(point, *data), gradient(point, *data))


# %%
with jax.enable_x64(True):
    ended = found.x[sensor].astype("float64")
    estimate = to_go(ended, references[sensor], readings[sensor])
    print("estimated", estimate, f"for sensor {sensor}")
    print("in truth ", ended - many_exact[sensor])
    print(
        "estimated", to_go(lost.x, reference, reading), "for the other start"
    )
    print("in truth ", lost.x - exact)

# %%
# Near the optimum, the estimate is close. Far away it is only rough, but it still tells you that
# the search isn't done.
#
# The next figure shows each of the hundred searches in 32 bits as a dot or a square, depending on
# its report, and the one that began at (2, 2) as a cross. For each, we compute the gradient in 64
# bits at the point where the search ended. What would have warned you about the cross, its report
# or its gradient?
with jax.enable_x64(True):
    ends = found.x.astype("float64")
    gradient_of_each = jax.vmap(jax.grad(rmse))
    gradients = np.asarray(gradient_of_each(ends, references, readings))
    steepness = abs(jax.grad(rmse)(lost.x, reference, reading)).max()
steepest = float(abs(gradients).max())

# %%
distance = abs(found.x - many_exact).max(axis=1)
gradient = abs(gradients).max(axis=1)
lost_distance = float(abs(lost.x - exact).max())
far, near = f"{lost_distance:.1g}", f"{distance.max():.1g}"
finding = f"The hundred ended within {near} of the optimum, the other search {far} away"

# %%
figure, axes = plt.subplots(figsize=(6, 4.2))
for report, colour, marker in ("success", "C0", "o"), ("failure", "C1", "s"):
    those = found.success == (report == "success")
    look = {"c": colour, "marker": marker, "label": report}
    axes.scatter(gradient[those], distance[those], 24, **look)
    if lost.success == (report == "success"):
        look |= {"marker": "X", "label": f"{report}, other start"}
        axes.scatter(steepness, lost_distance, 90, **look)
axes.set(xscale="log", yscale="log")
axes.set_xlabel("gradient at the end, in 64 bits\n(zero at an optimum)")
axes.set_ylabel("distance from the closed form\n(lower is better)")
figures.headline(figure, finding, "Searches by what they reported", finding)
_ = figure.legend(loc="outside lower center", ncols=2)

# %%
# A repair of JAX's line search has been `proposed <https://github.com/jax-ml/jax/pull/40228>`__,
# but JAX `no longer aims to have optimisers of its own
# <https://docs.jax.dev/en/latest/jep/18137-numpy-scipy-scope.html>`__. For new work, use SciPy with
# JAX's gradient, or `Optimistix <https://docs.kidger.site/optimistix/api/compat/>`__, which has a
# replacement for ``jax.scipy.optimize.minimize``.
#
# Takeaway
# --------
never_moved = "success" if small.success else "failure"
failures = int((~found.success).sum())
worst = float(abs(found.x - many_exact).max())
gradient_where_lost = f"{steepness:.1g}"
steepest_of_hundred = f"{steepest:.1g}"

# %%
# A report tells you whether the search met its own stopping rule, not how good its result is. On
# this page, a search whose differences were lost in rounding reported :measured:`never_moved`
# without taking a step. Of a hundred fits in 32 bits, JAX reported :measured:`failures` as
# failures, and none of the hundred ended farther from the closed form than :measured:`worst`. So go
# by the gradient rather than by the word. It was at most :measured:`steepest_of_hundred` where the
# hundred searches ended, and :measured:`gradient_where_lost` where the search from another start
# gave up. Compute it afresh with :func:`jax.grad`, because near an optimum differences drown in
# rounding, and after a failure the result's own ``jac`` may be out of date. And if you can, run the
# search in 64 bits.
#
# Next: a search may end at the optimum, and the optimum may still be wrong. :doc:`Why isn't the
# best fit the truth? </tutorials/applications/attenuation>`
