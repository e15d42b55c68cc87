"""
Can you believe an optimiser?
=============================

An optimiser ends with "success" or "failure", and it is tempting to keep the fits that succeeded
and to throw the others away. Which good fits would you lose, and which bad ones would you keep?
This page meets a success that never moved, failures at the optimum, and a failure far away from it.
Then JAX's gradient and curvature show how far each search still had to go.
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
# reading. All differences are zero, and a gradient of zero looks like an optimum. So compute in 64 bits,
# and let JAX compute the gradient, too, as on the previous page.
#
# Failures at the optimum
# -----------------------
# A good fit can also be reported as a failure. To see how often, we simulate a hundred sensors, and find
# the exact optimum of each:
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
# offset. From here on, "the hundred" are these fits in 32 bits. How much smaller could their errors have
# become? Compare that with the gap between neighbouring numbers of float32:
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
# that is left is smaller than the gap, rounding hides it. The *line search*, which chooses the length of
# a step, then finds no length that lowers the computed error enough, and gives up. In 64 bits, the gaps
# are so much smaller that the gradient comes close enough to zero first.
#
# A search succeeds if all components of its gradient are below a limit, ``gtol``, and the result contains
# the gradient as ``jac``. Is that the gradient of the point where the search ended? We compute the gradient
# there anew, in 64 bits, and count the failures that are below the default limit:
with jax.enable_x64(True):
    anew = np.array(jax.vmap(jax.grad(rmse))(ends, references, readings))

failed = ~found.success
for name, gradients in {"reported": found.jac, "anew": anew}.items():
    below = abs(gradients[failed]).max(axis=1) < 1e-5
    print(f"{name:8} gradient below the limit: {below.sum()} of {below.size}")

# %%
# When the line search gives up here, JAX `takes a step all the same
# <https://github.com/jax-ml/jax/blob/main/jax/_src/scipy/optimize/bfgs.py>`__, but tests and reports the
# gradient from before that step. So don't judge a failure by the gradient in its report.
#
# A failure far from the optimum
# ------------------------------
# Are failures harmless, then? Try another start, in 64 bits, and let SciPy begin there, too, with JAX's
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
# <https://github.com/jax-ml/jax/pull/40228>`__ has been proposed. The *status* in JAX's result doesn't
# tell the two kinds of failure apart: 0 stands for a success, and 3 for a line search that failed, near
# the optimum or far from it.
#
# The gradient shows how far there is to go
# -----------------------------------------
# So far, we have judged searches by the exact optima, which you won't have. At an optimum, the gradient
# is zero. How small is small enough depends on your units, but divided by the curvature, the gradient
# becomes a distance: an estimate of how far each parameter is from its best value. A minus sign makes it
# point there. With several parameters, the curvature is a matrix, which :func:`jax.hessian` computes. Where all
# its eigenvalues are positive, the error curves upwards in every direction, as it does around a minimum:


def judge(parameters, *data):
    gradient = jax.grad(rmse)(parameters, *data)
    curvature = jax.hessian(rmse)(parameters, *data)
    to_go = -jnp.linalg.solve(curvature, gradient)
    return to_go, jnp.linalg.eigvalsh(curvature)


with jax.enable_x64(True):
    to_go, eigenvalues = jax.vmap(judge)(ends, references, readings)
    print(f"the hundred: eigenvalues of at least {eigenvalues.min():.2f}")
    way_of_stuck, of_stuck = judge(stuck.x, *data)
    print(f"never moved: eigenvalues {of_stuck}")
    way_of_lost, of_lost = judge(lost.x, *data)
    print(f"other start: eigenvalues {of_lost}, to go {way_of_lost}")

# %%
# One eigenvalue is negative, so the search that never moved is at no minimum, whatever its report says.
# How far can you trust the estimates of the others? The figure compares them with the true distances, for
# the worse of the two parameters:
estimated = np.abs(to_go).max(axis=1)
true = abs(found.x - optima).max(axis=1)

# %%
longest = float(estimated.max())
of_other_start = float(np.abs(way_of_lost).max())
off_by = float(abs(lost.x - exact).max())
to_go_elsewhere = f"{of_other_start:.2g}"
finding = f"To go: {longest:.0e} at most, in the hundred, and {to_go_elsewhere} from the other start"
shown = {
    "success": (estimated[found.success], true[found.success]),
    "failure": (estimated[failed], true[failed]),
    "failure, other start": (of_other_start, off_by),
}

# %%
from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 4.2))
for (name, points), marker in zip(shown.items(), "o+X"):
    # The dots are in front of the crosses, which reach beyond them.
    size, order = (11, 2) if marker == "+" else (5, 3)
    axes.loglog(*points, marker, ms=size, zorder=order, label=name)
ends_of_line = [1e-9, 100]
axes.plot(ends_of_line, ends_of_line, ":", color=figures.INK, lw=1)
axes.set_xlabel("estimated distance from the optimum")
axes.set_ylabel("true distance")
figures.headline(figure, finding, "How far the searches had to go", finding)
_ = figure.legend(loc="outside lower center", ncols=2)

# %%
# A good estimate lies on the dotted line. Those of the hundred do, because near an optimum the
# gradient grows in proportion to the distance. From the other start, the estimate is rough, but too large
# to overlook.
#
# Takeaway
# --------
never_moved = "success" if stuck.success else "failure"
failures = int(failed.sum())
worst = float(true.max())

# %%
# A report tells you whether a search met its own rule for stopping, but not how good its result is.
# On this page, a search that never left its start was reported as a :measured:`never_moved`. Of a
# hundred fits in 32 bits, :measured:`failures` were reported as failures, though none of the hundred
# was farther from its optimum than :measured:`worst`.
#
# So compute gradient and curvature where a search ended, in 64 bits. If all eigenvalues of the curvature
# are positive, the gradient divided by the curvature estimates how far there is to go. If one is negative,
# the search is at no minimum.
#
# JAX `no longer aims to have optimisers of its own
# <https://docs.jax.dev/en/latest/jep/18137-numpy-scipy-scope.html>`__. For new work, use SciPy with
# JAX's gradient, or `Optimistix <https://docs.kidger.site/optimistix/api/compat/>`__, which has a
# replacement for ``jax.scipy.optimize.minimize``.
#
# Next: a search may end at the optimum, and the optimum may still be wrong. :doc:`Why isn't the
# best fit the truth? </tutorials/applications/attenuation>`
