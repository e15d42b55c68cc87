"""
Can you believe an optimiser?
=============================

An optimiser ends with "success" or "failure", and it is tempting to keep the fits that succeeded
and to throw the others away. Which good fits would you lose, and which bad ones would you keep?
This page meets a success that never moved, failures at the optimum, and a failure far away from it.
Then three lines of JAX tell them apart, by an estimate of how far each search still had to go.
"""

# %%
# A success that never moved
# --------------------------
# We go on with :doc:`the calibration of the previous page </tutorials/applications/calibration>`,
# which looks for the slope and the offset of least error. Linear least squares gives the exact
# answer, so we always know where a search should have ended. Suppose that you compile the error with
# JAX, and hand it to SciPy as it is:
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

from jaxcap.kernels import calibration
from jaxcap.kernels.calibration import rmse

START = np.array([1.0, 0.0])
data = calibration.sensors(seed=0)
exact = calibration.least_squares(*data)

# %%
stuck = scipy.optimize.minimize(jax.jit(rmse), START, data, method="BFGS")
print(stuck.message)
print("found:", stuck.x, "exact:", exact)
print(f"steps: {stuck.nit}, gradient: {stuck.jac}")

# %%
# The message says that all is well, but the search is still at its start. SciPy estimates the
# gradient from small steps to the side, whose size suits 64 bits, and JAX computes in 32 by default.
# There, a slope of 1 plus so small a step is 1 again, and a reading minus the step is the same
# reading. All differences are zero, and a gradient of zero looks like an optimum.
#
# To cure this, compute in 64 bits, and let JAX compute the gradient, too, as on :doc:`the previous
# page </tutorials/applications/calibration>`.
#
# Failures at the optimum
# -----------------------
# The opposite happens, too. To see how often, we simulate a hundred sensors, and find the exact
# optimum of each:
SENSORS = 100
pairs = [calibration.sensors(seed) for seed in range(SENSORS)]
references = np.array([reference for reference, reading in pairs])
readings = np.array([reading for reference, reading in pairs])
optima = np.array([calibration.least_squares(*pair) for pair in pairs])

# %%
# Then JAX's own search fits all of them in a single call, with the help of :func:`jax.vmap`. Are its
# failures farther from the optimum than its successes?
fit_all = jax.jit(jax.vmap(calibration.fit_by_jax, in_axes=(0, 0, None)))
for dtype in ("float64", "float32"):
    with jax.enable_x64(dtype == "float64"):
        both = references.astype(dtype), readings.astype(dtype)
        found = jax.device_get(fit_all(*both, START))
    distance = abs(found.x - optima).max(axis=1)
    for name, report in {"successes": True, "failures": False}.items():
        off = distance[found.success == report]
        worst_off = f"{off.max():.0e}" if len(off) else "none"
        print(f"{dtype}: {len(off):3} {name:9}, farthest: {worst_off}")

# %%
# In 32 bits, JAX reported :measured:`failures` of the hundred fits as failures. But none of the
# hundred, whatever the report, was farther from its optimum than :measured:`worst`, in slope or in
# offset. How much smaller could their errors have become? Compare that with the gap between
# neighbouring numbers of float32:
with jax.enable_x64(True):
    error_of_each = jax.jit(jax.vmap(rmse))
    ends = found.x.astype("float64")
    least = error_of_each(optima, references, readings)
    to_gain = np.array(error_of_each(ends, references, readings) - least)

gap = np.spacing(np.float32(rmse(exact, *data)))
print(f"left to gain, at most: {to_gain.max():.1e}")
print(f"gap between numbers:   {gap:.1e}")

# %%
# A minimum is flat at its bottom, so the error hardly falls over the last stretch. When the gain
# that is left is smaller than the gap, rounding decides whether the computed error falls. The *line
# search*, which chooses the length of a step, insists that it does, and gives up if it sees no fall.
# In 64 bits, the gaps are so much smaller that the gradient comes close enough to zero first.
#
# A result also contains a gradient, as ``jac``. Before you judge a search by that, compare it with the
# gradient at the point where the search ended, here for the fit in which they differ most:
with jax.enable_x64(True):
    at_ends = np.array(jax.vmap(jax.grad(rmse))(ends, references, readings))

differing = abs(found.jac - at_ends).max(axis=1).argmax()
print("reported:  ", found.jac[differing], found.success[differing])
print("at the end:", at_ends[differing])

# %%
# When the line search gives up here, JAX `takes a step all the same
# <https://github.com/jax-ml/jax/blob/main/jax/_src/scipy/optimize/bfgs.py>`__, and reports, and tests,
# a gradient that belongs to another point.
#
# A failure far from the optimum
# ------------------------------
# So are failures harmless? Try another start, in 64 bits, and let SciPy begin there, too, with JAX's
# gradient:
elsewhere = np.array([2.0, 2.0])
with jax.enable_x64(True):
    lost = jax.device_get(jax.jit(calibration.fit_by_jax)(*data, elsewhere))
    by_scipy = calibration.fit_by_gradient(*data, elsewhere)

print("JAX  ", "success" if lost.success else "failure", lost.x)
print("SciPy", "success" if by_scipy.success else "failure", by_scipy.x)
statuses = sorted(set(found.status.tolist()))
print("JAX's status here:", lost.status, "and in the hundred fits:", statuses)

# %%
# There is a way down, as SciPy shows. JAX's line search has `a known fault
# <https://github.com/jax-ml/jax/issues/16236>`__ that can end it too early, and a `repair
# <https://github.com/jax-ml/jax/pull/40228>`__ has been proposed. JAX's result also contains a
# number, its *status*, but that doesn't tell the two kinds of failure apart: 0 stands for a success,
# and 3 for a line search that failed, near the optimum or far from it.
#
# The gradient shows how far there is to go
# -----------------------------------------
# We could judge the failures because we knew the exact optima. What can you do if you don't? At an
# optimum, the gradient is zero. How small is small enough depends on your units, but divided by the
# curvature, the gradient becomes a distance: an estimate of how far each parameter is from its best
# value. With several parameters, the curvature is a matrix, and :func:`jax.hessian` computes it:


def way_to_go(parameters, *data):
    gradient = jax.grad(rmse)(parameters, *data)
    curvature = jax.hessian(rmse)(parameters, *data)
    return jnp.linalg.solve(curvature, gradient)


# %%
# We ask how far the three searches for the first sensor had to go, and print the eigenvalues of the
# curvature as well. At a minimum, none of them is negative:
searches = {
    "SciPy, never moved": stuck,
    "JAX, other start": lost,
    "SciPy, other start": by_scipy,
}
with jax.enable_x64(True):
    for name, end in searches.items():
        curvatures = jnp.linalg.eigvalsh(jax.hessian(rmse)(end.x, *data))
        print(f"{name:18} {way_to_go(end.x, *data)}, {curvatures}")

# %%
# The search that never moved is at no minimum, and its distance means nothing. In the other lines,
# distances near zero say that a search had arrived. How far can you trust them? The figure compares
# the estimated distance with the true one, for all searches, and for the worse of the two parameters:
with jax.enable_x64(True):
    ways = np.array(jax.vmap(way_to_go)(ends, references, readings))

# %%
estimated, true = abs(ways).max(axis=1), abs(found.x - optima).max(axis=1)
shown = {
    "success": (estimated[found.success], true[found.success]),
    "failure": (estimated[~found.success], true[~found.success]),
}
estimates = {}
with jax.enable_x64(True):
    for name, end in {"never moved": stuck, "other start": lost}.items():
        estimates[name] = float(abs(way_to_go(end.x, *data)).max())
        report = "success" if end.success else "failure"
        off = abs(end.x - exact).max()
        shown[f"{report}, {name}"] = estimates[name], off

# %%
longest = float(estimated.max())
way_of_lost = f"{estimates['other start']:.2g}"
finding = (
    f"To go: {longest:.0e} at most, and {way_of_lost} from the other start"
)

# %%
from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 4.2))
for (name, points), marker in zip(shown.items(), "o+DX"):
    size = 11 if marker == "+" else 6
    axes.loglog(*points, marker, ms=size, label=name)
ends_of_line = [1e-9, 100]
axes.plot(ends_of_line, ends_of_line, ":", color=figures.INK, lw=1)
axes.set_xlabel("estimated distance from the optimum")
axes.set_ylabel("true distance")
figures.headline(figure, finding, "How far the searches had to go", finding)
_ = figure.legend(loc="outside lower center", ncols=2)

# %%
# A good estimate lies on the dotted line. Those of the hundred do, because near an optimum the
# gradient grows in proportion to the distance. So it still shows the way where the error is too flat
# to do so. Far from the optimum, the estimate is rough, but too large to overlook.
#
# Takeaway
# --------
never_moved = "success" if stuck.success else "failure"
failures = int((~found.success).sum())
worst = float(true.max())

# %%
# A report tells you whether a search met its own rule for stopping, but not how good its result is.
# On this page, a search that never left its start was reported as a :measured:`never_moved`. Of a
# hundred fits in 32 bits, :measured:`failures` were reported as failures, and none of the hundred
# was farther from its optimum than :measured:`worst`. So where a search ended, compute the gradient
# anew, in 64 bits. If all eigenvalues of the curvature are positive, divide the gradient by it: by
# this estimate, the hundred had at most :measured:`longest` to go, and the search from another start
# :measured:`way_of_lost`. If one is negative, as where the first search stood still, go on searching.
#
# JAX `no longer aims to have optimisers of its own
# <https://docs.jax.dev/en/latest/jep/18137-numpy-scipy-scope.html>`__. For new work, use SciPy with
# JAX's gradient, or `Optimistix <https://docs.kidger.site/optimistix/api/compat/>`__, which has a
# replacement for ``jax.scipy.optimize.minimize``.
#
# Next: a search may end at the optimum, and the optimum may still be wrong. :doc:`Why isn't the
# best fit the truth? </tutorials/applications/attenuation>`
