"""
What does grad compute?
=======================

:func:`jax.grad` takes a function and returns a function that computes its derivative. It neither
rearranges formulas nor takes small steps: it looks up the derivative of each operation that your
function performs, and combines them by the chain rule. This page shows how, counts the digits that
you can trust, and shows where the slope depends on how you wrote the function.
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
# Many numbers may go in, but one comes out
# -----------------------------------------
# ``grad`` differentiates with respect to the first argument, unless ``argnums`` gives the
# positions of others. That argument can be a number, an array, or a dictionary of a model's
# parameters:
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
# The argument may hold many numbers, but the result has to be a single one. What happens if you ask
# for the slope of ``wave`` at twenty points?
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
# The tangents look right, but how many digits of each slope can you trust? Without ``grad``, you would
# take a small step in both directions, and divide the change by the distance:
def central_difference(function, x, step):
    return (function(x + step) - function(x - step)) / (2 * step)


# %%
# We compare both ways with the derivative worked out by hand, :math:`0.2 + \cos(x) - 2 \sin(2x)`, which
# NumPy computes in 64 bits. What counts is the largest error at the twenty points:
from jaxcap.kernels.autodiff import wave_derivative

exact = wave_derivative(np.asarray(x, float), np)


def largest_error(slopes):
    return abs(np.asarray(slopes, float) - exact).max()


# %%
# How small should a step be? Try powers of two, in 32 and in 64 bits. Will the best of them come close
# to ``grad``?
steps = 2.0 ** -np.arange(1, 46)
by_grad, by_steps = {}, {}
for name, dtype in {"32 bits": np.float32, "64 bits": np.float64}.items():
    with jax.enable_x64(True):
        at = jnp.asarray(x, dtype)
        by_grad[name] = largest_error(jax.vmap(jax.grad(wave))(at))
        by_steps[name] = [
            largest_error(central_difference(wave, at, dtype(step)))
            for step in steps
        ]

# %%
for colour, (name, off) in zip(("C0", "C1"), by_steps.items()):
    plt.loglog(steps, off, colour, label=f"steps, {name}")
    no_steps = np.full(steps.size, by_grad[name])
    plt.loglog(steps, no_steps, f"{colour}:", label=f"grad, {name}")
plt.xlabel("step")
plt.ylabel("largest error\n(lower is better)")
off_by_grad, off_by_steps = (
    f"{np.min(off['64 bits']):.0e}" for off in (by_grad, by_steps)
)
finding = f"In 64 bits, grad is off by {off_by_grad}, the best step by {off_by_steps}"
figures.headline(plt.gcf(), finding, "Slopes at twenty points")
figures.label_ends(plt.gca())

# %%
# To the right of the best step, the error grows with the square of the step, because a long step
# misses how the curve bends. To the left, rounding takes over: you subtract two nearly equal
# numbers, and dividing by a tiny step magnifies their rounding errors. In 32 bits, the shortest steps
# don't even change most of the points, so the line ends flat.
#
# ``grad`` takes no step, so its slopes are off by rounding errors alone. Differences are less exact, but
# exact enough to catch a mistake in a gradient. `check_grads
# <https://docs.jax.dev/en/latest/_autosummary/jax.test_util.check_grads.html>`__ uses them for that.
#
# At a kink, the operations choose the slope
# ------------------------------------------
# A function has no slope at a kink, but each operation has a rule all the same. These three functions
# return the same values: x if it is positive, and otherwise 0. Would you expect the same slope at 0?
ways = {
    "relu(x)": jax.nn.relu,
    "maximum(x, 0)": lambda x: jnp.maximum(x, 0.0),
    "(x + abs(x)) / 2": lambda x: (x + jnp.abs(x)) / 2,
}
for name, way in ways.items():
    print(f"{name:16}  value {way(0.0)}, slope {jax.grad(way)(0.0)}")


# %%
# ``grad`` sees the operations, so one function has three slopes. :func:`jax.nn.relu` brings a rule of
# its own, which says 0. :func:`jax.numpy.maximum` shares the slope between two equal numbers. And the
# rule of ``abs`` says 1 at 0, which makes the last slope (1 + 1) / 2. If a rule doesn't suit you, `write
# your own <https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html>`__
# with :func:`jax.custom_jvp`.
#
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
# infinity is NaN. So keep the 0 out of the root itself:
def safe_root_or_zero(x):
    inside = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(inside), 0.0)


print("slope", jax.grad(safe_root_or_zero)(0.0))

# %%
# You meet such a root when you compute the distance between two points that may coincide. :doc:`Where
# does a NaN come from </tutorials/performance/faults>` finds a NaN of this kind in a larger program.
#
# Takeaway
# --------
error_32 = f"{by_grad['32 bits']:.0e}"
best_error_32 = f"{min(by_steps['32 bits']):.0e}"

# %%
# ``grad`` applies the chain rule to the operations that your function performs. Unlike a
# difference quotient, it takes no small step. At twenty points, in 64 bits, its largest error was
# :measured:`off_by_grad`, and that of the quotients was :measured:`off_by_steps`, even with the best
# step. In 32 bits, they were :measured:`error_32` and :measured:`best_error_32`.
#
# If a slope surprises you, look at the operations that you wrote. At a kink, their rules choose the
# slope. And an infinite slope can turn the gradient into NaN, even on the side of a ``where`` that
# wasn't picked.
#
# Practise in :doc:`exercise 5 </exercises/5_gradient>`. Next:
# :doc:`what vmap replaces </tutorials/transformations/vmap>`.
