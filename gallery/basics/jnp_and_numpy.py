"""
Is jax.numpy just NumPy?
========================

Nearly. Replace ``np`` with ``jnp``, and most code runs as before. To see what doesn't, this page moves
one small function from NumPy to JAX. Three errors stop it on the way, and each says what to write
instead. Then the function runs, and returns a wrong number. The differences that can hurt you are the
ones that raise no error.
"""

# %%
# A function to move
# ------------------
# A balloon logs its height in metres, a hundred readings to a row. A zero marks a reading that failed,
# and one other reading is known to be bad, so it is replaced with the one before. How much do the
# readings scatter? Many textbooks compute the variance as the mean of the squares minus the square of
# the mean, and so does this function:
import numpy as np


def variance(log, bad):
    readings = np.ravel(log)
    readings[bad] = readings[bad - 1]
    valid = readings[readings > 0]
    return np.mean(valid**2) - np.mean(valid) ** 2


# %%
# The log is made up: random noise around a height, with a failed reading and a bad one. For ten
# thousand metres, NumPy finds a variance of about one:
noise = np.random.default_rng(0).standard_normal((10, 100))


def log_at(height):
    log = height + noise
    log[3, 7] = 0.0
    log[5, 2] = 2 * height
    return log.tolist()


log = log_at(10_000)
print(variance(log, bad=502))

# %%
# Error 1: lists have to be converted
# -----------------------------------
# We replace ``np`` with ``jnp``. The log is a list, which most of NumPy's functions accept. Most of
# JAX's don't:
import jax
import jax.numpy as jnp

try:
    jnp.ravel(log)
except TypeError as error:
    print(str(error).splitlines()[0])

# %%
# JAX wants you to write the conversion yourself, because it can be expensive. Before JAX compiles or
# differentiates a function, it records each operation, and a list among the arguments is recorded
# element by element. :func:`jax.make_jaxpr` shows the record. How many operations does it have for a
# list of a thousand numbers?
recorded = jax.make_jaxpr(jnp.array)([0.0] * 1000)
print(len(recorded.eqns))

# %%
# So convert lists outside of the functions that JAX compiles or differentiates:
readings = jnp.array(log).ravel()

# %%
# Error 2: arrays can't be changed in place
# -----------------------------------------
# The function's second line assigns to an element. In JAX, that is an error, too:
from textwrap import fill

try:
    readings[502] = readings[501]
except TypeError as error:
    print(fill(str(error).splitlines()[0], break_long_words=False))

# %%
# A JAX array is a value, like a number or a string, and JAX relies on that when it differentiates
# your function or reorders its operations. So instead of changing an array, you make a new one,
# with :attr:`at <jax.numpy.ndarray.at>`:
mended = readings.at[502].set(readings[501])
print("old:", readings[502], "new:", mended[502])

# %%
# A whole new array for one element sounds wasteful. :doc:`A later page
# </tutorials/transformations/updates>` finds out when JAX can do without.
#
# Error 3: shapes can't depend on values
# --------------------------------------
# The third line selects the valid readings. That works as in NumPy until you compile the function:


def select(readings):
    return readings[readings > 0]


print(select(mended).shape)
try:
    jax.jit(select)(mended)
except jax.errors.NonConcreteBooleanIndexError as error:
    print(str(error).splitlines()[0])


# %%
# How many readings are valid depends on their values. But :func:`jax.jit` compiles one program for all
# arrays of a shape and type, and has to know in advance how long each result is. The usual way out is
# to keep the shape, and to say which elements count. Means and sums have an argument for that,
# ``where``, so here is the whole function in JAX:
@jax.jit
def jax_variance(readings, bad):
    readings = readings.at[bad].set(readings[bad - 1])
    valid = readings > 0
    squares = jnp.mean(readings**2, where=valid)
    return squares - jnp.mean(readings, where=valid) ** 2


print(jax_variance(readings, bad=502))

# %%
# No error, and a wrong number: 32 bits
# -------------------------------------
# The function runs, but NumPy's variance was about one. Is the translation wrong? Its formula is the
# same, and so are the readings that it uses. But the numbers have another type:
print("NumPy:", np.array(log).dtype)
print("JAX:  ", readings.dtype)

# %%
# NumPy's numbers have 64 bits unless you ask for others, and JAX makes them half as long, because
# `64 bits can slow down a GPU, and some hardware lacks them
# <https://docs.jax.dev/en/latest/101/default_dtypes.html>`__. A float of 32 bits keeps about seven
# decimal digits. Let the balloon rise to ten thousand metres, with the same noise at each height, so
# that the variance stays the same. From what height on do you expect trouble?
heights = np.logspace(1, 4, 201)
by_numpy = [variance(log_at(height), 502) for height in heights]
arrays = [jnp.asarray(np.ravel(log_at(height))) for height in heights]
by_jax = [float(jax_variance(array, 502)) for array in arrays]

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.semilogx(heights, by_jax, "C1", label="JAX, 32 bits")
axes.semilogx(heights, by_numpy, "C0", label="NumPy, 64 bits")
axes.set(xlabel="height in metres", ylabel="computed variance")
axes.set_title("The same noise at each height")
figures.label_ends(axes)
strayed = f"{min(by_jax):.0f}".replace("-", "\N{MINUS SIGN}")
right = f"{by_numpy[0]:.2f}"
finding = f"NumPy stays at {right}, and JAX gets as low as {strayed}"
figures.headline(figure, finding)

# sphinx_gallery_thumbnail_number = 1

# %%
# The higher the balloon, the larger the squares, and the coarser their rounding. At ten thousand metres,
# they are about a hundred million, and floats of 32 bits are eight apart there, in NumPy as in JAX. That
# swamps a variance of about one. The remedy is a formula that subtracts the mean first, as
# :func:`jax.numpy.var` does, or else 64 bits:
print("jnp.var in 32 bits:", jnp.var(mended, where=mended > 0))
with jax.enable_x64(True):
    in_64_bits = jnp.array(log).ravel()
    print("ours in 64 bits:   ", jax_variance(in_64_bits, 502))

# %%
# To have 64 bits in a whole program, write ``jax.config.update("jax_enable_x64", True)`` at its
# start. Until you do, even ``dtype=jnp.float64`` gets you 32 bits, with a warning. JAX also `stays at 32
# bits <https://docs.jax.dev/en/latest/jep/9407-type-promotion.html>`__ where NumPy moves to 64: when you
# add integers and floats that have 32 bits each.
#
# No error either: an index out of bounds
# ---------------------------------------
# Suppose you mistype the number of the bad reading. The log has a thousand readings, so NumPy raises an
# error for number 1502. What will JAX do?
try:
    variance(log, bad=1502)
except IndexError as error:
    print("NumPy:", error)
print("JAX:  ", jax_variance(readings, bad=1502))

# %%
# JAX returned a number. The index may be computed on a GPU, in a program that can't raise a Python
# exception, so indexing has to do *something*. On ten elements, you can see what:
print(jnp.arange(10)[11])
print(jnp.arange(10).at[11].set(99))

# %%
# Reading returned the last element, and setting did nothing. So the bad reading stayed in the log, and
# made the variance huge. Another mistake may give you a more plausible number. Where you read at an index
# that may be out of bounds, ask for a result that is hard to overlook, such as NaN:
print(jnp.arange(10.0).at[11].get(mode="fill", fill_value=jnp.nan))

# %%
# A NumPy array is converted in each call
# ---------------------------------------
# One more thing raises no error, and costs time only. JAX takes NumPy's arrays, but converts them in each
# call. On a GPU, that means a copy over the bus, and even on a CPU, JAX may copy. How much does that add
# to a product of two matrices? We timed :func:`jax.numpy.matmul` on arrays of both kinds, with NumPy's own
# product beside it:
from jaxcap.experiments import product

results = product.PRODUCT.run(budget_s=0.06)
_ = figures.scaling(
    results,
    x="size",
    over=product.JAX_ON_NUMPY,
    about=product.JAX_ARRAYS,
    title="Product of two square matrices",
    xlabel="rows of each matrix",
)

# %%
from jaxcap.report.claims import claim, speedup_of

own_arrays_pay = claim(
    "JAX multiplies 1000 by 1000 matrices faster on its own arrays than on "
    "NumPy's",
    results,
    speedup_of(product.JAX_ARRAYS, over=product.JAX_ON_NUMPY, size=1000),
)
own_arrays = own_arrays_pay.estimate
own_arrays_pay

# %%
# If you convert your arrays once, at the start, with :func:`jax.numpy.asarray`, no call has to. From then
# on, don't write to the NumPy array, because JAX's array `may share its memory
# <https://github.com/jax-ml/jax/issues/37830>`__.
#
# Takeaway
# --------
# Write ``jnp`` for ``np``, and let the errors guide you: convert lists, update with ``at``, and keep
# shapes fixed. Then check what no error will tell you: whether 32 bits are enough, and whether indices
# are in bounds. In 32 bits, a textbook's formula put a variance of about one at :measured:`strayed`.
#
# Convert NumPy's arrays once, at the start: with a thousand rows, a product of JAX's own arrays was
# :measured:`own_arrays than of NumPy's`.
#
# Try it yourself in :doc:`the first exercise </exercises/1_arrays>`. Next:
# :doc:`random numbers </tutorials/basics/random_numbers>`.
