"""
What does grad compute?
=======================

:func:`jax.grad` takes a function and returns a function that computes its derivative. It neither
rearranges formulas nor takes small steps: it looks up the derivative of each operation that your
function performs, and combines them by the chain rule. This page watches it do so, counts the digits
that you can trust, and shows where the slope may not be the one that you expect.
"""

# %%
# Start where the answer is known
# -------------------------------
# Take a polynomial that you can differentiate in your head:
import jax
import jax.numpy as jnp
import numpy as np


def cubic(x):
    return 14 * x**3 + 13 * x


cubic(17)

# %%
# Its derivative is :math:`42 x^2 + 13`. Does ``grad`` find the same?
slope = jax.grad(cubic)
print(slope(17.0), 42 * 17.0**2 + 13)

# %%
# We passed ``17.0`` because a derivative says what happens when x moves a little, and an integer
# can't move a little:
from textwrap import fill

try:
    slope(17)
except TypeError as error:
    print(fill(str(error).split(". ")[0]))

# %%
# What ``grad`` returns is a function like any other, so you can differentiate it again. By the
# fourth time, nothing of a cubic polynomial should be left:
derivative = cubic
for order in range(1, 5):
    derivative = jax.grad(derivative)
    print(order, derivative(17.0))

# %%
# The chain rule, operation by operation
# --------------------------------------
# Where does such a slope come from? Let JAX list the operations that compute it, for the function
# ``wave``, which is :math:`0.2 x + \sin(x) + \cos(2x)`:
from jaxcap.kernels.elementwise import wave

jax.make_jaxpr(jax.grad(wave))(3.0)

# %%
# Each term has left its derivative in the list: ``cos a`` comes from ``sin a``, 0.2 from
# ``mul 0.2 a``, and ``sin f``, times -1 and times 2, from ``cos f``. The two lines with ``add_any``
# add up the three.
#
# The list also computes the value of ``wave``, and discards it in the line that begins with an
# underscore. If you want to keep the value, :func:`jax.value_and_grad` returns both:
value, slope_at_3 = jax.value_and_grad(wave)(3.0)
print(f"value {value:.7f}, derivative {slope_at_3:.7f}")


# %%
# ``grad`` applies the chain rule backwards, from the result to the inputs, so one pass is enough for
# all parameters of a loss. The price is :doc:`memory </tutorials/performance/memory>`, because
# intermediate results have to be kept until that pass needs them. JAX's `cookbook
# <https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html>`__ also explains the forward
# direction, and when it is the better choice.
#
# A gradient has the form of its argument
# ---------------------------------------
# ``grad`` differentiates with respect to the first argument, unless you name others in ``argnums``.
# That argument can be a number, an array, or a dictionary of a model's parameters:
def squared_error(params, inputs, target):
    prediction = jnp.dot(params["weights"], inputs) + params["offset"]
    return (prediction - target) ** 2


params = {"weights": jnp.array([2.0, 1.0]), "offset": 1.0}
inputs = jnp.array([3.0, -1.0])
jax.grad(squared_error)(params, inputs, 5.0)

# %%
# The gradient is a dictionary with the same keys, and the part for ``weights`` has their shape. So
# you can update each parameter by its own part of the gradient.
#
# For slopes at many points, map grad over them
# ---------------------------------------------
# The argument may hold many numbers, but the result has to be a single one. So what happens if you
# ask for the slope of ``wave`` at twenty points?
x = jnp.linspace(0.0, 4 * jnp.pi, 20)
try:
    jax.grad(wave)(x)
except TypeError as error:
    print(error)

# %%
# Differentiate the function of one number, and let :func:`jax.vmap` map its derivative over the
# points:
slopes = jax.vmap(jax.grad(wave))(x)

# %%
# Drawn as short tangents, these slopes should follow the curve:
import matplotlib.pyplot as plt

from jaxcap.report import figures

curve = jnp.linspace(0.0, 4 * jnp.pi, 500)
plt.plot(curve, wave(curve), label="wave", linewidth=6, color=figures.GRID)
for point, height, rise in zip(x, wave(x), slopes):
    run = np.array([-0.3, 0.3])
    plt.plot(point + run, height + rise * run, color="C3")
plt.plot(x, wave(x), "o", color="C3", markersize=4, label="slope, by grad")
plt.title("A curve and its slopes")
plt.xlabel("x")
figures.label_ends(plt.gca())

# sphinx_gallery_thumbnail_number = 1


# %%
# Small steps lose digits, and grad takes none
# --------------------------------------------
# The tangents look right, but how many digits of each slope can you trust? The classic check takes a
# small step in both directions, and divides the change by the distance:
def central_difference(function, x, step):
    return (function(x + step) - function(x - step)) / (2 * step)


# %%
# How small should the step be? Try powers of two, at the point 3, in 32 and in 64 bits, and compare
# the differences with the slope that ``grad`` finds in 64 bits:
steps = 2.0 ** -np.arange(1, 46)


def differences(dtype):
    at, by = jnp.asarray(3.0, dtype), jnp.asarray(steps, dtype)
    return np.asarray(central_difference(wave, at, by), float)


with jax.enable_x64(True):
    by_grad = float(jax.grad(wave)(3.0))
    found = {"64 bits": differences(jnp.float64)}
found["32 bits"] = differences(jnp.float32)
errors = {name: abs(slopes - by_grad) for name, slopes in found.items()}

# %%
for name, off in errors.items():
    best = off.argmin()
    (line,) = plt.loglog(steps, off, label=name)
    plt.loglog(steps[best], off[best], "o", color=line.get_color())
plt.xlabel("step")
plt.ylabel("distance from grad\n(lower is better)")
in_64, in_32 = (f"{off.min():.0e}" for off in errors.values())
finding = f"At best, a difference is off by {in_64} in 64 bits, {in_32} in 32"
subject = "Best steps marked: rounding to the left, truncation to the right"
figures.headline(plt.gcf(), finding, subject)
figures.label_ends(plt.gca())

# %%
# To the right of the best step, the error grows with the square of the step, because a long step
# misses how the curve bends. To the left, rounding takes over: you subtract two nearly equal
# numbers, and dividing by a tiny step magnifies their rounding errors. In 32 bits, the shortest steps
# don't even change 3, so the line ends flat. Even the best step costs digits.
#
# ``grad`` takes no step. Does it keep its digits? At all twenty points, compare it with the derivative
# worked out by hand, :math:`0.2 + \cos(x) - 2 \sin(2x)`. Beside it stand the differences with the best
# step from above, all in 64 bits:
from jaxcap.kernels.autodiff import wave_derivative

best_step = steps[errors["64 bits"].argmin()]
with jax.enable_x64(True):
    x64 = jnp.linspace(0.0, 4 * jnp.pi, 20)
    exact = wave_derivative(x64)
    stepped = central_difference(wave, x64, best_step)
    by_grad = jax.vmap(jax.grad(wave))(x64)
    off_by_steps = f"{abs(stepped - exact).max():.0e}"
    off_by_grad = f"{abs(by_grad - exact).max():.0e}"
print(f"off by up to {off_by_steps} (differences), {off_by_grad} (grad)")

# %%
# ``grad`` is off by a rounding error. Differences are less exact, but exact enough to catch a mistake
# in a gradient. `check_grads
# <https://docs.jax.dev/en/latest/_autosummary/jax.test_util.check_grads.html>`__ takes a step in a
# random direction, and raises an error if the slopes disagree. Give it arrays of 64 bits: in 32, it
# has to allow for so much rounding that a small mistake goes unnoticed.
from jax.test_util import check_grads

with jax.enable_x64(True):
    wide = jax.tree.map(np.float64, (params, inputs, 5.0))
    check_grads(squared_error, wide, order=1)

# %%
# At a kink, grad has to choose
# -----------------------------
# A function has no slope at a kink or a jump, but ``grad`` applies the rule of the operation all the
# same. Two of these functions, ``relu`` and ``maximum``, return the same values. Would you expect the
# same slope?
kinks = {
    "abs(x)": (jnp.abs, 0.0),
    "relu(x)": (jax.nn.relu, 0.0),
    "maximum(x, 0)": (lambda x: jnp.maximum(x, 0.0), 0.0),
    "round(x)": (jnp.round, 0.5),
}
for name, (function, place) in kinks.items():
    print(f"{name:13} at {place}: {jax.grad(function)(place)}")


# %%
# ``grad`` sees the operations, so two ways to write a function can have two slopes.
# :func:`jax.numpy.maximum` shares the slope between two equal numbers, while :func:`jax.nn.relu`
# brings a rule of its own. And ``round`` gets the slope that it has between its jumps, which is 0, so
# a model can't learn through it.
#
# If a rule doesn't suit you, `write your own
# <https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html>`__ with
# :func:`jax.custom_jvp`. This function rounds x, and tells ``grad`` that it returns x unchanged:
@jax.custom_jvp
def rounded(x):
    return jnp.round(x)


rounded.defjvps(lambda tangent, answer, x: tangent)
print(rounded(0.7), jax.grad(rounded)(0.7))

# %%
# A gradient can be NaN where the value is fine
# ---------------------------------------------
# The curve of a square root is vertical at 0, so its slope is infinite there. Suppose that you avoid
# that root, and let ``where`` pick a plain zero instead. Which slope do you get?


def root_or_zero(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


print("value", root_or_zero(0.0), "slope", jax.grad(root_or_zero)(0.0))


# %%
# Both sides of ``where`` are computed before it picks one, so the chain rule goes through both. The
# side that wasn't picked gets the factor 0. But the slope of its root is infinite, and zero times
# infinity is NaN. So keep the bad number out of the root itself:
def safe_root_or_zero(x):
    inside = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(inside), 0.0)


print("slope", jax.grad(safe_root_or_zero)(0.0))

# %%
# Roots of 0 are easy to meet: the distance of a point from itself is one. :doc:`Where does a NaN come
# from </tutorials/performance/faults>` finds such a NaN in a larger program.
#
# Takeaway
# --------
best_error_32 = f"{errors['32 bits'].min():.1e}"

# %%
# ``grad`` applies the chain rule to the operations that your function performs, and takes no steps. At
# twenty points, in 64 bits, it was off by up to :measured:`off_by_grad`, and differences by up to
# :measured:`off_by_steps`. At the point 3, in 32 bits, a difference was off by
# :measured:`best_error_32`, even with the best step. To check a gradient, call ``check_grads`` with
# arrays of 64 bits.
#
# If a slope surprises you, look at the operations that you wrote. At a kink or a jump, their rules
# have to choose a slope. And an infinite slope can become NaN, even on the side of a ``where`` that
# wasn't picked.
#
# Practise in :doc:`exercise 5 </exercises/5_gradient>`. Next:
# :doc:`what vmap replaces </tutorials/transformations/vmap>`.
