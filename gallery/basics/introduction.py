"""
What is JAX?
============

JAX is a library for arrays, with NumPy's interface, that can do three things NumPy can't: run on a
GPU, differentiate your functions, and compile them. After this page you will have JAX installed,
know which device it uses, and have differentiated and compiled a function.
"""

# %%
# Install it
# ----------
# For a machine without a GPU::
#
#     python -m pip install jax
#
# For Linux with an NVIDIA GPU, CUDA included, so that only the driver has to be there before::
#
#     python -m pip install "jax[cuda13]"
#
# This page also uses the site's own package, which brings JAX along. The site's first
# page has it, and says :ref:`how to install it <run-it-yourself>`.
#
# Which device does it use?
# -------------------------
# JAX calls each kind of hardware a *backend*, and takes the fastest one it finds. On the machine
# that built this page it is this one:
import jax

jax.default_backend()

# %%
# A backend has devices. Arrays are put on the first one unless you say otherwise.
jax.devices()

# %%
jax.device_count()

# %%
# If you have a GPU and read ``cpu`` here, then JAX was installed without CUDA: it works, but it
# can't see the GPU. More facts that a timing depends on:
from jaxcap.measure.machine.description import capture

machine = capture()
print(f"{machine.device}, {machine.cores} CPU cores, Python {machine.python}")

# %%
# A first array
# -------------
# The module ``jax.numpy``, by habit called ``jnp``, has the functions you know:
import jax.numpy as jnp

x = jnp.linspace(0.0, 12.0, 1000)
x[:5]

# %%
# The result is a :class:`jax.Array`. It knows where it lives and holds 32-bit numbers unless told
# otherwise; the :doc:`next page </tutorials/basics/jnp_and_numpy>` says why.
print(type(x).__name__, x.dtype, x.shape, x.devices())

# %%
# A first plot
# ------------
# Other libraries take JAX arrays as they take NumPy's. This function is the example on many pages
# of this site:
import matplotlib.pyplot as plt


def wave(x):
    return 0.2 * x + jnp.sin(x) + jnp.cos(2 * x)


plt.plot(x, wave(x))
plt.title("Two waves on a slope")
plt.xlabel("x")
_ = plt.ylabel("wave(x)")

# %%
# Differentiate it
# ----------------
# :func:`jax.grad` takes a function that returns one number, and returns the function that computes
# its derivative. It is exact up to rounding, and no formula was typed:
slope = jax.grad(wave)
slope(3.0)

# %%
# Worked out by hand, the derivative is :math:`0.2 + \cos x - 2 \sin 2x`:
0.2 + jnp.cos(3.0) - 2 * jnp.sin(2 * 3.0)

# %%
# ``slope`` takes one number. :func:`jax.vmap` makes it take an array of them, and the result can be
# plotted beside the wave:
plt.plot(x, wave(x), label="wave")
plt.plot(x, jax.vmap(slope)(x), label="its derivative")
plt.title("A function, and what grad made of it")
plt.xlabel("x")
_ = plt.legend()

# %%
# Compile it
# ----------
# :func:`jax.jit` compiles a function for the device. The answers agree to the precision of 32-bit
# numbers:
fast_wave = jax.jit(wave)
float(abs(fast_wave(x) - wave(x)).max())

# %%
# And it is meant to be faster. A timing of JAX goes wrong easily, so this site measures by
# *experiments* (:class:`~jaxcap.measure.experiment.Experiment`). This one times the same function, as it
# is and compiled, on a hundred thousand numbers. It waits for results, lets both ways take turns, and
# does so in several fresh processes, since no two processes are equally fast:
from jaxcap.experiments.jit import INTRODUCTION

results = INTRODUCTION.run(budget_s=0.1)
results

# %%
# Is it faster? What this site asserts, it checks. A *claim* asks the results, and says whether it holds
# on the machine that ran the page. :doc:`A list </results/claims>` has all claims, by device.
from jaxcap.report.claims import claim, speedup_of

jit_pays = claim(
    "compiling wave makes it faster on a hundred thousand numbers",
    results,
    speedup_of("jit", over="op by op"),
)
speedup = jit_pays.estimate
jit_pays

# %%
# Takeaway
# --------
# JAX is NumPy's interface with transformations on top: ``grad`` differentiates a function, ``vmap``
# maps it over arrays, ``jit`` compiles it. On this page's machine, and compared with op by op, a
# compiled function of a few operations came out :measured:`speedup` on a hundred thousand numbers.
# When compiling pays, and why, is the subject of
# :doc:`the page on jit </tutorials/transformations/jit>`.
# :doc:`First </tutorials/basics/jnp_and_numpy>`: where ``jax.numpy`` and NumPy differ.
