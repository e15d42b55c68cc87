"""
What is JAX?
============

JAX looks like NumPy, but it can run on a GPU, and it does three things with your functions that
NumPy doesn't: it differentiates them, turns them into functions of whole batches, and compiles
them. This page takes one short function through all three.
"""

# %%
# Install JAX
# -----------
# On a machine without a GPU, a plain install is all you need::
#
#     python -m pip install jax
#
# On Linux with an NVIDIA GPU, ask for CUDA as well. Pip then brings CUDA along, except for the
# driver, which you need beforehand::
#
#     python -m pip install "jax[cuda13]"
#
# To run this page yourself you also need the site's own package:
# :ref:`here is how to get it <run-it-yourself>`.
#
# Make an array
# -------------
# The module :mod:`jax.numpy` mirrors most of NumPy, function by function. Everybody calls it
# ``jnp``:
import jax
import jax.numpy as jnp

x = jnp.linspace(0.0, 12.0, 1000)
x[:5]

# %%
# The result is a :class:`jax.Array`. It holds 32-bit numbers where NumPy would have chosen 64 bits,
# for reasons that the :doc:`next page </tutorials/basics/jnp_and_numpy>` explains:
print(x.dtype, x.shape)

# %%
# Find out which device it is on
# ------------------------------
# JAX calls each kind of hardware a *backend*. If it can use several, it prefers a GPU or a TPU to
# the CPU. A backend has one or more devices, and unless you say otherwise, new arrays go to the
# first. On the machine that built this page:
print(jax.default_backend(), x.devices())


# %%
# What if your machine has a GPU, but your own program prints ``cpu``? There are four usual
# suspects: JAX was installed without CUDA, the driver is too old, the CUDA plugin doesn't fit JAX's
# version, or the environment variable ``JAX_PLATFORMS`` says ``cpu``.
#
# A laptop and a server both say ``cpu``, but their times have little in common. That is why each
# page of this site says below its title which machine measured it.
#
# Write a function as you would for NumPy
# ---------------------------------------
# A function for JAX is an ordinary Python function that calls ``jnp``. You will meet ``wave`` again
# on many pages. Since Matplotlib takes JAX arrays as readily as NumPy's, we can plot it at once:
def wave(x):
    return 0.2 * x + jnp.sin(x) + jnp.cos(2 * x)


# %%
import matplotlib.pyplot as plt

plt.plot(x, wave(x))
plt.title("Two waves on a slope")
plt.xlabel("x")
_ = plt.ylabel("wave(x)")

# %%
# Get its slope without working it out
# ------------------------------------
# What is the slope of this curve at 3? :func:`jax.grad` takes a function and returns another, which
# computes the derivative:
slope = jax.grad(wave)
slope(3.0)

# %%
# To check the result, differentiate by hand. The derivative is :math:`0.2 + \cos(x) - 2 \sin(2x)`:
0.2 + jnp.cos(3.0) - 2 * jnp.sin(2 * 3.0)

# %%
# The two slopes agree up to rounding, although nobody told JAX the formula. JAX followed ``wave``
# operation by operation, and applied the chain rule to each. A quotient of small differences
# wouldn't come that close in 32 bits. (You can ignore the :term:`weak type` for now.)
#
# ``jax.grad`` only works on functions that return a single number. ``wave`` does so when you give it
# a single number, so ``slope`` takes one point at a time, while our curve has a thousand points.
# :func:`jax.vmap` turns ``slope`` into a function of whole arrays, so you needn't write a loop:
slopes = jax.vmap(slope)(x)
print(slopes.shape, slopes[:3])

# %%
# Here is the curve with all its slopes:
from jaxcap.report import figures

plt.plot(x, wave(x), label="wave")
plt.plot(x, slopes, label="its derivative")
plt.title("A function, and what grad made of it")
plt.xlabel("x")
figures.label_ends(plt.gca())

# sphinx_gallery_thumbnail_number = 2

# %%
# Turn its operations into one program
# ------------------------------------
# Called as it stands, ``wave`` runs *op by op*: every product, sine and sum is a call of its own,
# which reads an array from memory and writes another. :func:`jax.jit` compiles all these operations
# into a single program for the device. Does it still return the same numbers? This is the largest
# difference:
fast_wave = jax.jit(wave)
float(abs(fast_wave(x) - wave(x)).max())

# %%
# A 32-bit float keeps about seven digits, so this is no more than rounding. Is the compiled
# function also faster? Guess before you read on: by what factor, on a hundred thousand numbers?
#
# A stopwatch alone would mislead you
# -----------------------------------
# Why not time one call of each? Because the first call compiles, because JAX may return before the
# result is there, and because a machine isn't equally fast all the time. So this site leaves the
# first call out, *waits* for each result, and lets the variants *take turns*, in several fresh
# processes. (:doc:`The page on timing </tutorials/performance/timing>` shows what happens
# otherwise.) Here is how long a call took:
from jaxcap.experiments.jit import INTRODUCTION

results = INTRODUCTION.run(budget_s=0.06)
_ = figures.bars(results, title="wave of a hundred thousand numbers")

# %%
# Were you close? Another machine may give another answer, so this site states each conclusion as a
# *claim*, and checks it against what was measured. The number in a claim comes with an *interval*,
# where it would probably land if we measured again:
from jaxcap.report.claims import claim, speedup_of

jit_pays = claim(
    "compiling wave makes it faster on a hundred thousand numbers",
    results,
    speedup_of("jit", over="op by op"),
)
speedup = jit_pays.estimate
jit_pays

# %%
# So the compiled ``wave`` was :measured:`speedup than op by op`. Three things decide such a number:
# calls from Python, trips through memory, and arithmetic. Compiling saves calls and trips, but
# leaves most of the arithmetic. :doc:`The page on jit </tutorials/transformations/jit>` takes the
# three apart, and times ``wave`` at several sizes.
#
# Takeaway
# --------
# JAX is NumPy's interface plus functions that transform yours: ``grad`` differentiates a function,
# ``vmap`` maps it over arrays, and ``jit`` compiles it. You write a plain Python function, and pass
# it to the one you need. How much compiling gains depends on the function and the machine, so
# measure it. On a hundred thousand numbers, our compiled function was
# :measured:`speedup than the same function run one operation at a time`.
#
# Next: :doc:`is jax.numpy just NumPy? </tutorials/basics/jnp_and_numpy>`
