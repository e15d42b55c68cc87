"""
What does grad compute?
=======================

:func:`jax.grad` takes a function and returns a function that computes its derivative. How does it
get there, and how far can you trust the result? This page shows the operations behind a gradient,
compares the result with a derivative worked out by hand, and shows where gradients go wrong.
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
# Its derivative is :math:`42 x^2 + 13`, which ``grad`` has to find by itself:
slope = jax.grad(cubic)
print(slope(17.0), 42 * 17.0**2 + 13)

# %%
# Why ``17.0`` and not ``17``? Because a derivative says what happens when x moves a little, and an
# integer can't move a little:
from textwrap import fill

try:
    slope(17)
except TypeError as error:
    print(fill(str(error).split(". ")[0]))

# %%
# What ``grad`` returns is a function like any other, so you can differentiate it again, and again.
# By the fourth time, nothing of a cubic polynomial should be left:
derivative = cubic
for order in range(1, 5):
    derivative = jax.grad(derivative)
    print(order, derivative(17.0))

# %%
# The chain rule, operation by operation
# --------------------------------------
# How does ``grad`` know? It neither rearranges formulas nor takes small steps. It records the
# operations of your function, looks up the derivative of each, and multiplies them by the chain
# rule, going from the result back to the input. You can watch it at work on ``wave``, which is
# :math:`0.2 x + \sin(x) + \cos(2x)`:
from jaxcap.kernels.elementwise import wave

jax.make_jaxpr(jax.grad(wave))(3.0)

# %%
# Each term contributes its derivative: ``cos a`` comes from ``sin a``, 0.2 from ``mul 0.2 a``, and
# ``sin f``, times -1 and times 2, from ``cos f``. The two lines with ``add_any`` add up the three.
# This listing, which JAX calls a *jaxpr*, also computes the value of ``wave``, and discards it in
# the line that begins with an underscore. Often you want the value as well, to see whether an
# optimiser makes progress, and :func:`jax.value_and_grad` gives you both. Ask for them together,
# because your function then runs only once for both:
value, slope_at_3 = jax.value_and_grad(wave)(3.0)
print(f"value {value:.7f}, derivative {slope_at_3:.7f}")


# %%
# A gradient has the form of its argument
# ---------------------------------------
# A model has more than one parameter. By default, ``grad`` differentiates with respect to the first
# argument, and ``argnums`` names others. The gradient with respect to an array is an array of the
# same shape:
def squared_error(weights, offset, inputs, target):
    return (jnp.dot(weights, inputs) + offset - target) ** 2


weights, inputs = jnp.array([2.0, 1.0]), jnp.array([3.0, -1.0])
jax.grad(squared_error, argnums=(0, 1))(weights, 1.0, inputs, 5.0)


# %%
# Parameters that belong together are better kept in one argument. It can be a dictionary, a list,
# or any nest of those (JAX calls it a *pytree*), and its gradient has the same form:
def error_of(params, inputs, target):
    weights, offset = params["weights"], params["offset"]
    return squared_error(weights, offset, inputs, target)


params = {"weights": weights, "offset": 1.0}
jax.grad(error_of)(params, inputs, 5.0)


# %%
# A loss often has something else to report, such as the prediction behind it. Return it beside the
# loss and say ``has_aux=True``, and it comes back beside the gradient:
def error_and_prediction(params, inputs, target):
    prediction = jnp.dot(params["weights"], inputs) + params["offset"]
    return (prediction - target) ** 2, prediction


jax.grad(error_and_prediction, has_aux=True)(params, inputs, 5.0)

# %%
# Forwards or backwards
# ---------------------
# ``grad`` goes backwards, from one result to all of its inputs. That is why one backward pass is
# enough for a loss, however many parameters it has. Its price is :doc:`memory
# </tutorials/performance/memory>`, because intermediate results have to be kept until the way back
# needs them. :func:`jax.jvp` goes forwards: it follows one direction of change in the inputs
# through to every result, which suits a function with few inputs and many results. Give ``jvp`` a
# point and a direction, and it returns the value and the slope along that direction:
jax.jvp(wave, (3.0,), (1.0,))

# %%
# The slope agrees with that of ``grad`` up to rounding, though ``jvp`` went from the input to the
# result.
#
# To go backwards from several results, use :func:`jax.vjp`. It returns the results, together with a
# function that takes a weight for each. Here, all three results of a cumulative sum weigh the same,
# and the first number counts three times, because it is a part of each:
sums, backwards = jax.vjp(jnp.cumsum, jnp.array([1.0, 2.0, 3.0]))
backwards(jnp.ones(3))

# %%
# For all second derivatives, :func:`jax.hessian` applies forward differentiation to the backward
# pass. Use it for few parameters, because a thousand parameters have a million second derivatives:
jax.hessian(squared_error)(weights, 1.0, inputs, 5.0)

# %%
# For slopes at many points, map grad over them
# ---------------------------------------------
# What if you want the slope of ``wave`` at twenty points? ``grad`` insists on a single number as
# the result, because only then is there a single gradient:
x = jnp.linspace(0.0, 4 * jnp.pi, 20)
try:
    jax.grad(wave)(x)
except TypeError as error:
    print(error)

# %%
# So differentiate the function of one number, and let :func:`jax.vmap` map it over the points:
slopes = jax.vmap(jax.grad(wave))(x)

# %%
# Draw these slopes as short tangents. They should touch the curve without crossing it, except near
# inflection points:
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
# How far can you trust all this? The classic check of a derivative takes a small step in both
# directions and looks at what changes:
def central_difference(function, x, step):
    return (function(x + step) - function(x - step)) / (2 * step)


# %%
# How small should the step be? If the step is too long, it misses how the curve bends. If it is too
# short, you subtract two nearly equal numbers, and dividing by the tiny step magnifies their
# rounding error. Somewhere in between there should be a best step. Let us look for it among powers
# of two, at the point 3:
steps = 2.0 ** -np.arange(1, 46)


def differences(dtype):
    """Return slopes of wave at 3 by differences, computing in a type."""
    at, by = jnp.asarray(3.0, dtype), jnp.asarray(steps, dtype)
    return np.asarray(central_difference(wave, at, by), float)


# %%
# The slope that ``grad`` finds in 64 bits is what we compare the differences with:
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
# Each line is a V. (The one in 32 bits goes flat on the left, because steps that short don't change
# 3, and the difference is zero.) To the right of the best step, what counts is how ``wave`` bends,
# and the error grows with the square of the step. To the left, rounding takes over. So even the
# best step costs digits. In 32 bits there are few to spare, so check gradients in 64 bits. A rule
# of thumb for the step is the cube root of *machine epsilon*, the gap between 1 and the
# next number. Compare it with the best step:
best_step = steps[errors["64 bits"].argmin()]
rule = np.cbrt(np.finfo(float).eps)
print(f"best step {best_step:.1e}, rule of thumb {rule:.1e}")

# %%
# ``grad`` takes no step. Compare it, and the differences, with the derivative worked out by hand,
# :math:`0.2 + \cos(x) - 2 \sin(2x)`, at all twenty points:
from jaxcap.kernels.autodiff import wave_derivative

with jax.enable_x64(True):
    x64 = jnp.linspace(0.0, 4 * jnp.pi, 20)
    exact = wave_derivative(x64)
    stepped = central_difference(wave, x64, rule)
    by_grad = jax.vmap(jax.grad(wave))(x64)
    off_by_steps = f"{abs(stepped - exact).max():.0e}"
    off_by_grad = f"{abs(by_grad - exact).max():.0e}"
print("differences", off_by_steps, "grad", off_by_grad)

# %%
# You needn't write such a check yourself. `JAX's checker
# <https://docs.jax.dev/en/latest/_autosummary/jax.test_util.check_grads.html>`__ steps in a random
# direction, so that it can take functions of many numbers, and raises an error if the slopes
# disagree. Give it arrays of 64 bits, or it will have to tolerate larger errors:
from jax.test_util import check_grads

with jax.enable_x64(True):
    wide = jax.tree.map(np.float64, (params, inputs, 5.0))
    check_grads(error_of, wide, order=1)

# %%
# JAX's `cookbook <https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html>`__ shows other
# kinds of derivatives, such as whole Jacobians.
#
# At a kink, grad has to choose
# -----------------------------
# A function has no slope at a kink, but ``grad`` must return something. Each of these functions has
# a kink or a jump where we ask for its slope, and the second and the third are the same function,
# written in two ways:
kinks = {
    "abs(x)": (jnp.abs, 0.0),
    "relu(x)": (jax.nn.relu, 0.0),
    "maximum(x, 0)": (lambda x: jnp.maximum(x, 0.0), 0.0),
    "round(x)": (jnp.round, 0.5),
}
for name, (function, place) in kinks.items():
    print(f"{name:13} at {place}: {jax.grad(function)(place)}")


# %%
# Each rule is a choice of JAX's authors. :func:`jax.nn.relu` brings one of its own, and
# :func:`jax.numpy.maximum` shares the slope between two equal numbers. Between its jumps, a rounded
# number doesn't move with x, so JAX says 0 wherever you ask, even at a jump, and a model can't
# learn through it.
#
# If a rule doesn't suit you, change it. :func:`jax.custom_jvp` lets you write the rule yourself.
# This function rounds, and pretends to ``grad`` that it doesn't:
@jax.custom_jvp
def rounded(x):
    return jnp.round(x)


rounded.defjvps(lambda tangent, answer, x: tangent)
print(jax.grad(rounded)(0.5))

# %%
# ``custom_jvp`` has a sibling, :func:`jax.custom_vjp`, which takes a rule for the way back. `JAX's
# guide <https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html>`__
# shows when you need the one or the other.
#
# A gradient can be NaN where the value is fine
# ---------------------------------------------
# A square root has no slope at 0: its curve is vertical there. Suppose that you never want to take
# that root, and pick a plain zero with ``where`` instead:


def root_or_zero(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


print("value", root_or_zero(0.0), "slope", jax.grad(root_or_zero)(0.0))


# %%
# The value is fine, but the slope is not a number. ``where`` picks one side after both were
# computed, so the chain rule goes through both. The side that wasn't picked gets the factor 0, but
# its own slope is infinite, and zero times infinity is NaN. So keep the bad number out of the root,
# too:
def safe_root_or_zero(x):
    inside = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(inside), 0.0)


print("slope", jax.grad(safe_root_or_zero)(0.0))

# %%
# Lengths and distances are square roots, so such a NaN turns up in practice, for example in the
# gradient of the distance of a point from itself. An overflow has the same effect: in 32 bits,
# ``exp(-x)`` is infinite at -100, so the slope of ``1 / (1 + exp(-x))`` is zero times infinity
# again. (:func:`jax.nn.sigmoid` has a rule of its own against that.) `JAX's FAQ
# <https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where>`__ has more on
# NaN and ``where``. To find out where a NaN comes from, let JAX stop at the first operation that
# makes one:
try:
    with jax.debug_nans(True):
        jax.grad(root_or_zero)(0.0)
except FloatingPointError as error:
    print(str(error).splitlines()[0])


# %%
# A slope can be wrong without being NaN
# --------------------------------------
# Here is one function, written in two ways, and the first of them again in 64 bits. In 32 bits, the
# first slope is wrong, because it is a difference of two numbers that agree in nearly all of their
# digits:
def gap(x):
    return jnp.sqrt(x + 1) - jnp.sqrt(x)


print(jax.grad(gap)(1e7))
print(jax.grad(lambda x: 1 / (jnp.sqrt(x + 1) + jnp.sqrt(x)))(1e7))
with jax.enable_x64(True):
    print(jax.grad(gap)(1e7), "in 64 bits")

# %%
# Takeaway
# --------
rule_of_thumb = f"{rule:.1e}"
best_error_32 = f"{errors['32 bits'].min():.1e}"

# %%
# ``grad`` applies the chain rule to the operations that your function performs, so it adds no error
# of its own but rounding. Three things can spoil a gradient: an operation that isn't smooth, as at
# a kink, a jump or an infinite slope; an intermediate result that overflows; and nearly equal terms
# that cancel.
#
# To check a gradient, call ``check_grads``, or use central differences in 64 bits, with a step near
# the cube root of machine epsilon: about :measured:`rule_of_thumb` for x near 1. On this page, such
# differences were off by up to :measured:`off_by_steps`, and ``grad`` by :measured:`off_by_grad`. In
# 32 bits, even the best step was off by :measured:`best_error_32`.
#
# Practise in :doc:`exercise 5 </exercises/5_gradient>`. Next:
# :doc:`what vmap replaces </tutorials/transformations/vmap>`.
