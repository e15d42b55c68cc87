"""
What is JAX?
============

JAX looks like NumPy, and can run on a GPU. It can also transform a function that you have written:
differentiate it, map it over a batch, or compile it. This page does all three to one short function,
and measures how much time compiling saves.
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
# The result is a :class:`jax.Array`. Its numbers have 32 bits where NumPy's would have 64, for reasons
# that the :doc:`next page </tutorials/basics/jnp_and_numpy>` explains. The array lies on a *device*,
# which is a GPU if JAX finds one that it can use. The machine that built this page used:
print(x.devices())

# %%
# If your machine has a GPU and you still see a ``CpuDevice``, check first whether JAX was installed
# with CUDA.
#
# Differentiate a function
# ------------------------
# JAX transforms ordinary Python functions that call ``jnp``. You will meet this one again on many
# pages:


def wave(x):
    return 0.2 * x + jnp.sin(x) + jnp.cos(2 * x)


# %%
# What is its slope at 3? :func:`jax.grad` takes a function and returns another, which computes the
# derivative:
slope = jax.grad(wave)
print(slope(3.0))

# %%
# To check the result, differentiate by hand. The derivative is :math:`0.2 + \cos(x) - 2 \sin(2x)`:
print(0.2 + jnp.cos(3.0) - 2 * jnp.sin(2 * 3.0))

# %%
# The two slopes agree up to rounding, although nobody told JAX the formula. JAX followed ``wave``
# operation by operation, and applied the chain rule to each.
#
# Map it over an array
# --------------------
# ``jax.grad`` needs a function that returns a single number. Given a single number, ``wave`` returns
# one, so ``slope`` takes one point at a time. But ``x`` has a thousand. :func:`jax.vmap` turns
# ``slope`` into a function of whole arrays, and spares you a loop:
slopes = jax.vmap(slope)(x)
print(slopes.shape)

# %%
# Matplotlib takes JAX's arrays as readily as NumPy's, so here is ``wave`` with all its slopes:
import matplotlib.pyplot as plt

from jaxcap.report import figures

plt.plot(x, wave(x), label="wave")
plt.plot(x, slopes, label="its derivative")
plt.title("A function, and what grad made of it")
plt.xlabel("x")
figures.label_ends(plt.gca())

# sphinx_gallery_thumbnail_number = 1

# %%
# Compile it
# ----------
# Called as it stands, ``wave`` runs *op by op*: every product, sine and sum is a call of its own,
# which reads an array from memory and writes another. :func:`jax.jit` compiles all these operations
# into a single program. Does the program return the same numbers? This is the largest difference:
fast_wave = jax.jit(wave)
print(abs(fast_wave(x) - wave(x)).max())

# %%
# A 32-bit float keeps about seven digits, so this is no more than rounding.
#
# A single program needs a single call, and can leave out the trips to memory between the operations.
# How many times faster would you expect it to be, on a hundred thousand numbers? The first call
# compiles, so we leave it out, and measure how long later calls take until the result is there:
from jaxcap.experiments.jit import INTRODUCTION

results = INTRODUCTION.run(budget_s=0.06)
_ = figures.bars(results, title="wave of a hundred thousand numbers")

# %%
# Another machine may give another answer. So this site states each answer as a *claim*, which is
# checked on every machine that we have results from:
from jaxcap.report.claims import claim, speedup_of

jit_pays = claim(
    "compiling wave makes it faster on a hundred thousand numbers",
    results,
    speedup_of("jit", over="op by op"),
)
speedup = jit_pays.estimate
jit_pays

# %%
# So the compiled ``wave`` was :measured:`speedup than op by op`. The interval says where this
# number would probably land if we measured again. :doc:`The page on jit
# </tutorials/transformations/jit>` finds out where the time goes, and what changes with the size of the
# array.
#
# Takeaway
# --------
# JAX is NumPy's interface plus functions that transform yours: ``grad`` differentiates a function,
# ``vmap`` maps it over arrays, and ``jit`` compiles it. How much compiling gains depends on the
# function and the machine. On a hundred thousand numbers, our compiled function was
# :measured:`speedup than the same function run one operation at a time`.
#
# Next: :doc:`is jax.numpy just NumPy? </tutorials/basics/jnp_and_numpy>`
