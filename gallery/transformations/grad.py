"""
What does grad compute?
=======================

:func:`jax.grad` takes a function and returns the function that computes its derivative. After this
page you will be able to differentiate at one point and at many, once and again, to check what comes
out, and to tell which way of taking many gradients is fast, in JAX and in PyTorch.
"""

# %%
# A polynomial
# ------------
# Start where the answer is known. ``cubic(x)`` is :math:`14 x^3 + 13 x`:
import jax
import jax.numpy as jnp

from jaxcap.kernels.autodiff import cubic

cubic(17)

# %%
# Its derivative is :math:`42 x^2 + 13`. ``grad`` isn't told that:
slope = jax.grad(cubic)
gradient = str(slope(17.0))
print(gradient, 42 * 17.0**2 + 13)

# %%
# It has to be ``17.0``. A derivative asks what happens when x moves a little, and an integer can't:
from textwrap import fill

try:
    slope(17)
except TypeError as error:
    print(fill(str(error).split(". ")[0]))

# %%
# What ``grad`` returns is a function like any other, so it can be differentiated again. The fourth
# derivative of a cubic polynomial should be nothing:
derivative = cubic
for order in range(1, 5):
    derivative = jax.grad(derivative)
    print(order, derivative(17.0))

# %%
# How it does that
# ----------------
# ``grad`` neither rearranges formulas nor tries small steps. It records the operations that the
# function does, knows the derivative of each, and joins them by the chain rule, from the result
# back to the input. For ``wave``, which is :math:`0.2 x + \sin x + \cos 2x`, the record becomes:
from jaxcap.kernels.elementwise import wave

jax.make_jaxpr(jax.grad(wave))(3.0)

# %%
# Look for ``cos a``, the derivative of ``sin a``. The record also computes the value of ``wave`` and
# then throws it away: the line that begins with an underscore is the last addition. If you need
# both, as an optimiser does, :func:`jax.value_and_grad` hands out what is there anyway.
value, slope_at_3 = map(float, jax.value_and_grad(wave)(3.0))
print(f"value {value:.7f}, derivative {slope_at_3:.7f}")

# %%
# In numbers of operations:
from jaxcap.measure.compilation import kernels_op_by_op

for name, function in {
    "value": wave,
    "derivative": jax.grad(wave),
    "both": jax.value_and_grad(wave),
}.items():
    print(f"{name:10} {kernels_op_by_op(function, 3.0)}")

# %%
# At many points
# --------------
# ``grad`` wants one number to come out, since only then is there one gradient. An array of twenty
# numbers is an error:
x = jnp.linspace(0.0, 4 * jnp.pi, 20)
try:
    jax.grad(wave)(x)
except TypeError as error:
    print(error)

# %%
# So differentiate the function of one number, and let :func:`jax.vmap` map the result:
slopes = jax.vmap(jax.grad(wave))(x)
print(slopes)

# %%
# Drawn as short tangents, the slopes should touch the curve and not cross it, except where it turns
# from bending one way to bending the other:
import matplotlib.pyplot as plt
import numpy as np

curve = jnp.linspace(0.0, 4 * jnp.pi, 500)
plt.plot(curve, wave(curve), label="wave", linewidth=6, alpha=0.35)
reach = np.array([[-0.3], [0.3]])
ends = x + reach, wave(x) + reach * slopes
plt.plot(*ends, color="C3", label=["slope, by grad", *[""] * 19])
plt.plot(x, wave(x), "o", color="C3", markersize=4)
plt.title("A curve and its slopes")
plt.xlabel("x")
_ = plt.legend()

# sphinx_gallery_thumbnail_number = 1

# %%
# Is it right?
# ------------
# The usual check of a derivative takes a small step and sees what changes. There are two ways to
# step, and the question of how far. Powers of two are steps that don't need rounding.
from jaxcap.kernels.autodiff import central_difference, forward_difference

steps = 2.0 ** -np.arange(1, 46)


def differences(method, dtype):
    """Slopes of wave at 3 by differences, computing in a type."""
    at = jnp.asarray(3.0, dtype)
    return np.asarray(method(wave, at, jnp.asarray(steps, dtype)), float)


# %%
# Expect a V. A long step misses the bends of the curve, and a short one divides the rounding error
# of two nearly equal numbers by a tiny number.
with jax.enable_x64(True):
    by_grad = float(jax.grad(wave)(3.0))
    errors = {
        "central, 64 bits": differences(central_difference, jnp.float64),
        "forward, 64 bits": differences(forward_difference, jnp.float64),
    }
errors["central, 32 bits"] = differences(central_difference, jnp.float32)
errors = {name: abs(found - by_grad) for name, found in errors.items()}

# %%
for name, error in errors.items():
    best = error.argmin()
    (line,) = plt.loglog(steps, error, label=name)
    plt.loglog(steps[best], error[best], "o", color=line.get_color())
plt.text(1e-13, 1e-7, "rounding")
plt.text(3e-3, 1e-9, "truncation")
plt.title("Difference quotient against grad, best steps marked")
plt.xlabel("step")
plt.ylabel("absolute difference")
_ = plt.legend(loc="lower left")

# %%
# Right of its best step each line rises with the step: with its square if the difference is central,
# with the step itself if it goes forward. To the left it rises as the step shrinks. So every step
# costs digits, and in 32 bits there are few to spare. That is why gradients are checked in 64 bits.
central = errors["central, 64 bits"]
best_step = f"{steps[central.argmin()]:.1e}"
best_error = f"{central.min():.1e}"
best_error_32 = f"{errors['central, 32 bits'].min():.1e}"
print(f"64 bits: best step {best_step}, error {best_error}")
print(f"32 bits: error at best {best_error_32}")

# %%
# ``grad`` takes no step and pays for none. Against the formula worked out by hand, it is off by
# roundings only. Both checks at all twenty points:
from jaxcap.kernels.autodiff import wave_derivative

with jax.enable_x64(True):
    x64 = jnp.linspace(0.0, 4 * jnp.pi, 20)
    exact = wave_derivative(x64)
    stepped = central_difference(wave, x64, 2.0**-17)
    by_grad = jax.vmap(jax.grad(wave))(x64)
    print(f"differences {abs(stepped - exact).max():.1e}")
    print(f"grad        {abs(by_grad - exact).max():.1e}")

# %%
# For functions of more than one number JAX brings `a checker
# <https://docs.jax.dev/en/latest/_autosummary/jax.test_util.check_grads.html>`__ that steps in a
# random direction. And ``grad`` is one of several derivatives that JAX has; its `cookbook
# <https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html>`__ shows the others.
#
# The same in PyTorch
# -------------------
# PyTorch's habit is to mark the input, to compute, and to go backwards from the result. From a sum,
# that gives all slopes at once, since no point has a part in another's summand:
import torch

from jaxcap.kernels.autodiff_torch import wave_torch

leaf = torch.linspace(0, 4 * torch.pi, 20, requires_grad=True)
wave_torch(leaf).sum().backward()
leaf.grad[:5]

# %%
# Newer versions can also transform functions as JAX does:
torch.func.vmap(torch.func.grad(wave_torch))(leaf.detach())[:5]

# %%
# And there is the loop, which goes backwards from one point after another:
singles = [point.detach().requires_grad_() for point in leaf]
for point in singles:
    wave_torch(point).backward()
torch.stack([point.grad for point in singles])[:5]

# %%
# Six ways to a thousand gradients
# --------------------------------
# JAX has three ways too, by where :func:`jax.jit` goes: nowhere, inside of the ``vmap``, or around
# it. Before the clock starts, do all six agree with the formula? The unit is the distance of
# neighbouring 32-bit numbers near the steepest slope:
from jaxcap.experiments import gradients
from jaxcap.results.tables import Table

points = np.linspace(0, 10 * np.pi, 1000, dtype=np.float32)
with jax.enable_x64(True):
    truth = np.asarray(wave_derivative(points.astype(float)))
unit = np.finfo(np.float32).eps * abs(truth).max()

calls = gradients.prepare(points=1000, device="cpu")
off = {name: abs(np.asarray(call()) - truth) for name, call in calls.items()}
rows = [(name, f"{error.max() / unit:.2f}") for name, error in off.items()]
Table("Largest error, in units in the last place", ("way", "error"), rows)

# %%
# They do, to rounding. JAX's three differ in what is left for Python to do in each call. So count,
# over ten calls, how often the body of the function runs in Python, and how many operations JAX
# dispatches in a call:
ways = {
    gradients.OP_BY_OP: lambda f: jax.vmap(jax.grad(f)),
    gradients.INNER_JIT: lambda f: jax.vmap(jax.jit(jax.grad(f))),
    gradients.JIT: lambda f: jax.jit(jax.vmap(jax.grad(f))),
}


def times_run(way):
    """Count how often the function itself runs in ten calls."""
    runs = []
    mapped = way(lambda x: runs.append(x) or wave(x))
    for _ in range(10):
        mapped(points)
    return len(runs)


# %%
rows = [
    (
        name,
        str(times_run(way)),
        str(kernels_op_by_op(way(wave), points)),
    )
    for name, way in ways.items()
]
headers = ("way", "runs of Python in ten calls", "operations a call")
Table("What is left for Python", headers, rows)

# %%
# Without ``jit``, Python runs the function in each call, with ``grad`` and ``vmap`` looking on, and
# dispatches each operation. With ``jit`` inside, one operation is left, and the function is not run
# again; but ``vmap`` is still Python, and in each call works out what that operation is for a whole
# array. With ``jit`` around everything, a call goes straight to the compiled program. So put ``jit``
# on the outside: the arithmetic is the same, and the way to it is shorter.
#
# Now the clock. All six take turns, in fresh processes:

results = gradients.GRADIENTS.run(budget_s=0.05)
on_cpu = results.select(device="cpu", points=1000)
on_cpu

# %%
# A loop may take many times as long as a single call, so the axis is logarithmic:
from matplotlib.ticker import EngFormatter

_, axes = plt.subplots(figsize=(7, 3.2))
for row, result in enumerate(on_cpu):
    time = result.time
    ends = [[time.value - time.low], [time.high - time.value]]
    axes.errorbar(time.value, row, xerr=ends, fmt="o", capsize=4)
axes.set_yticks(range(len(on_cpu)), [r.variant for r in on_cpu])
axes.invert_yaxis()
axes.set_xscale("log")
axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
_ = axes.set_title("Gradients of a thousand points on the CPU")

# %%
# Which comparison is fair?
# -------------------------
# A thousand points are no work. What the clock sees is how much each library does around it, and
# the loop does that a thousand times. To compare it with JAX's ``vmap`` is to compare a loop with an
# array operation; JAX has slow loops too, and the next page times one. The fair pair is each
# library's best: for JAX the last of its three, for PyTorch, without ``torch.compile``, the backward
# pass of the sum.
pairs = {
    "loop against inner jit": (gradients.INNER_JIT, gradients.LOOP),
    "best against best": (gradients.JIT, gradients.BACKWARD),
    "within PyTorch": (gradients.BACKWARD, gradients.LOOP),
    "within JAX": (gradients.JIT, gradients.OP_BY_OP),
}
ratios = {
    name: on_cpu.speedup(one, over=other)
    for name, (one, other) in pairs.items()
}
rows = [
    (name, r.short, r.range, r.verdict_in_words) for name, r in ratios.items()
]
interval = ratios["within JAX"].interval_name
headers = ("pair", "times as fast", interval, "verdict")
Table("Which way is faster", headers, rows)

# %%
from jaxcap.report.claims import BEST, claim, speedup_of

jit_belongs_outside = claim(
    "a thousand gradients come faster with jit around vmap than inside",
    results,
    speedup_of(
        gradients.JIT,
        over=gradients.INNER_JIT,
        points=1000,
        device=BEST,
    ),
)
jit_belongs_outside

# %%
jax_is_faster = claim(
    "JAX's best way to a thousand gradients on a CPU is faster than "
    "PyTorch's uncompiled one",
    results,
    speedup_of(
        gradients.JIT, over=gradients.BACKWARD, points=1000, device="cpu"
    ),
)
jax_is_faster

# %%
# JAX's best is compiled and PyTorch's is not. PyTorch can compile as well, with ``torch.compile``,
# which needs a C++ compiler on the machine and is left out here.
#
# On a GPU
# --------
# A thousand numbers can't keep a GPU busy, and each operation costs the time to launch it. Expect
# no gain over the CPU there, and a large one for ten million.
if (best_device := results.environment.device.platform) != "cpu":
    on_gpu = results.select(device=best_device)
    print(on_gpu.speedups(over=gradients.OP_BY_OP))
else:
    print("This page was built without a GPU.")

# %%
# Takeaway
# --------
unfair, fair, loop_cost, outer_jit = ratios.values()
inner_jit = on_cpu.speedup(gradients.JIT, over=gradients.INNER_JIT)
print("outer jit over inner jit:", inner_jit)

# %%
# ``grad`` is exact to rounding: at 17 the slope of the polynomial is :measured:`gradient`. Difference
# quotients are a check, in 64 bits and with a step near :measured:`best_step`, which here was still
# off by :measured:`best_error`. For many gradients write ``jit(vmap(grad(f)))``. For a thousand on
# this page's CPU, that came out :measured:`inner_jit` compared with ``jit`` inside, and
# :measured:`outer_jit` compared with no ``jit``. Compared with PyTorch's best without
# ``torch.compile``, it came out :measured:`fair`. PyTorch's loop over scalars is no fair
# opponent: compared with that, JAX with ``jit`` inside came out :measured:`unfair`, and PyTorch
# without the loop :measured:`loop_cost`.
#
# Next: :doc:`what vmap replaces </tutorials/transformations/vmap>`.
