"""
Can you believe an optimiser?
=============================

An optimiser ends with a word: success, or failure. It is tempting to keep the fits that succeeded,
and to throw the others away. How far can you trust the word? This page gives a search data that it
can't handle, and reads its report. It fits a hundred sensors, and compares what the reports say
with where the fits ended. Then it looks at a failure that you should take seriously, and at what
tells it from the others.
"""

# %%
# A problem with a known answer
# -----------------------------
# We go on with :doc:`the calibration of the page before </tutorials/applications/calibration>`. The
# task was to find the slope and the offset that bring the readings of a cheap sensor as close as
# possible to those of a good one. It suits our question, because linear least squares has the
# answer in closed form:
import jax
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
# Two of the optimisers on that page look for this answer step by step. SciPy's runs in Python, and
# estimates the gradient: it takes a small step to the side in each parameter, and looks at how much
# the error changes. JAX's has the exact gradient, and is compiled as a whole:
START = np.array([1.0, 0.0])
fit_inside_jax = jax.jit(calibration.fit_by_jax)

# %%
# A success that never moved
# --------------------------
# How small should that step be? That depends on the dtype, and SciPy's default suits 64 bits. What
# happens if you keep it, and hand over data in 32?
default_step = np.sqrt(np.finfo(float).eps)
narrow = reference.astype("float32"), reading.astype("float32")
small = calibration.fit_by_scipy(*narrow, START, step=default_step)
print("success" if small.success else "failure", "at", small.x)
print(f"steps: {small.nit}, gradient {abs(small.jac).max():.1g}")

# %%
# In 32 bits, so small a step is lost in rounding. It changes nothing, so all differences are zero.
# And a gradient of zero is what a search looks for. It stops where it began, and reports success.
#
# A failure that found the optimum
# --------------------------------
# The opposite happens, too: a search finds the optimum, and reports failure. To see how often, we
# calibrate a hundred sensors. JAX's optimiser is a JAX function like any other, so :func:`jax.vmap`
# turns it into one that fits all hundred in a single call:
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
# any. So why does a search report failure? BFGS only takes a step if the error falls. Take the
# first sensor whose search failed, or sensor 0 if none did, and walk along the last step of its
# search:
found = many_fits["float32"]
one = int(np.argmin(found.success))
data = references.astype("float32"), readings.astype("float32")
before = fit_all(*data, START, found.nit - 1).x[one]
along = np.linspace(-1, 2, 301)
points = before + along[:, None] * (found.x[one] - before)

# %%
# At each point of this walk, compute the error in both dtypes:
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
# The unit of the vertical axis is the distance between neighbouring float32 numbers at this size.
# In that unit, how much was there to gain by the step, and how far does rounding throw off the
# error?
start, end = np.searchsorted(along, (0, 1))
gain = float((errors["float64"][start] - errors["float64"][end]) / spacing)
rounding = float(np.ptp(errors["float32"] - errors["float64"]) / spacing)
print(f"gain of the step {gain:.2g}, rounding of the error {rounding:.2g}")

# %%
# A gain smaller than the rounding can't be seen. Whether the computed error falls is then a matter
# of luck. If it doesn't, the search tries shorter and shorter steps, and gives up. But the place
# where it gives up is a good one. Close to a minimum the error hardly changes: that is why the
# search can't see it fall, and why you lose nothing when it stops. In 64 bits, rounding is so much
# smaller that the gradient comes near zero first.
#
# A failure to take seriously
# ---------------------------
# Does it follow that you may ignore a failure? Try another start, in 64 bits:
with jax.enable_x64(True):
    lost = fit_inside_jax(reference, reading, np.array([2.0, 2.0]))
    steepness = abs(jax.grad(rmse)(lost.x, reference, reading)).max()
print("JAX", jax.__version__, "success" if lost.success else "failure")
print("at", lost.x, f"steps: {int(lost.nit)}, gradient {steepness:.1g}")

# %%
# Versions of JAX with `a known fault <https://github.com/jax-ml/jax/issues/16236>`__ give up here,
# although there is a way down. To tell such a failure from a harmless one, compute the gradient in
# 64 bits where the search ended. Near an optimum, it is nearly zero.
#
# Don't wait for a repair, since JAX `no longer aims to have optimisers of its own
# <https://docs.jax.dev/en/latest/jep/18137-numpy-scipy-scope.html>`__. For new work, use SciPy with
# JAX's gradient, or `Optimistix <https://docs.kidger.site/optimistix/api/compat/>`__, which has a
# replacement with the same arguments.
#
# Takeaway
# --------
never_moved = "success" if small.success else "failure"
failures = int((~found.success).sum())
worst = float(abs(found.x - many_exact).max())
gradient_where_lost = f"{steepness:.1g}"

# %%
# A report says why a search stopped, and not how good its result is. On this page, a search whose
# differences drowned in rounding reported :measured:`never_moved` without taking a step. Of a
# hundred fits in 32 bits, JAX reported :measured:`failures` as failures, and none of the hundred
# ended farther from the closed form than :measured:`worst`. So go by the gradient, and not by the
# word. The gradient is nearly zero at an optimum, and was :measured:`gradient_where_lost` where the
# last search of this page ended. And optimise in 64 bits if you can.
#
# Next: the optimum is found, and still isn't the law that made the data. :doc:`Why isn't the best
# fit the truth? </tutorials/applications/attenuation>`
