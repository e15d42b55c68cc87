"""
Is jax.numpy just NumPy?
========================

Nearly. Replace ``np`` with ``jnp``, and most of your code runs as before. But six habits from NumPy
have to change: three because JAX quietly computes something else, and three because it raises an
error. This page shows each of them with its reason, the quiet ones first.
"""

# %%
# Most code carries over
# ----------------------
# The names are nearly the same, and so are the rules of broadcasting and slicing. Here is one formula
# in both libraries:
import jax
import jax.numpy as jnp
import numpy as np

x_np = np.arange(6.0).reshape(2, 3)
x_jnp = jnp.arange(6.0).reshape(2, 3)
print(np.sqrt(x_np[:, 1:]) + x_np[0, 2])
print(jnp.sqrt(x_jnp[:, 1:]) + x_jnp[0, 2])

# %%
# Quiet change 1: numbers have 32 bits
# ------------------------------------
# JAX's result above has fewer digits. NumPy's numbers have 64 bits unless you ask for others, and JAX
# makes them half as long, because `64 bits can slow down a GPU, and some hardware lacks them
# <https://docs.jax.dev/en/latest/101/default_dtypes.html>`__:
print("NumPy:", np.ones(3).dtype, np.arange(3).dtype)
print("JAX:  ", jnp.ones(3).dtype, jnp.arange(3).dtype)


# %%
# A float of 32 bits keeps about seven decimal digits, and a formula can lose all of them. Many
# textbooks have the variance in such a form, as the mean of the squares minus the square of the
# mean:
def variance(x):
    return (x**2).mean() - x.mean() ** 2


# %%
# Take a thousand random numbers, and shift all of them by the same amount, up to ten thousand. NumPy
# keeps them at 64 bits, and ``jnp.asarray`` narrows them to 32 without a warning. A shift doesn't
# change the variance, so both lines should be flat. How far would you expect JAX's to stray?
noise = np.random.default_rng(0).standard_normal(1000)
shifts = np.logspace(0, 4, 201)
by_numpy = [variance(noise + shift) for shift in shifts]
by_jax = [float(variance(jnp.asarray(noise + shift))) for shift in shifts]

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.semilogx(shifts, by_jax, "C1", label="JAX, 32 bits")
axes.semilogx(shifts, by_numpy, "C0", label="NumPy, 64 bits")
axes.set(xlabel="shift", ylabel="computed variance")
axes.set_title("The same function of the same thousand numbers")
figures.label_ends(axes)
right = by_numpy[0]
furthest = f"{max(by_jax, key=lambda v: abs(v - right)):.0f}"
finding = f"NumPy stays at {right:.2f}, and JAX strays as far as {furthest}"
figures.headline(figure, finding.replace("-", "\N{MINUS SIGN}"))

# sphinx_gallery_thumbnail_number = 1

# %%
# After a shift by ten thousand, the squares are about a hundred million, and floats of 32 bits are
# eight apart there, in NumPy as in JAX. So rounding swamps a variance of about one, and no exception
# tells you. The remedy is a formula that subtracts the mean first, as :func:`jax.numpy.var` does, or
# else 64 bits:
shifted = noise + shifts[-1]
print("jnp.var in 32 bits:", jnp.var(jnp.asarray(shifted)))
with jax.enable_x64(True):
    print("variance in 64 bits:", variance(jnp.asarray(shifted)))

# %%
# To have 64 bits in a whole program, write ``jax.config.update("jax_enable_x64", True)`` at its
# start. Until you do, even ``dtype=jnp.float64`` gets you 32 bits, with a warning.
#
# Quiet change 2: mixed types stay narrow
# ---------------------------------------
# What do you get if you add a float of 32 bits to an integer of 32 bits? NumPy moves to 64 bits,
# so that no integer is rounded. JAX stays at 32, `to spare the GPU
# <https://docs.jax.dev/en/latest/jep/9407-type-promotion.html>`__:
count = 2**24 + 1
in_numpy = np.array(count, np.int32) + np.array(0, np.float32)
in_jax = jnp.array(count, jnp.int32) + jnp.array(0, jnp.float32)
print("NumPy:", in_numpy.dtype, int(in_numpy))
print("JAX:  ", in_jax.dtype, int(in_jax))

# %%
# Adding zero has changed JAX's number by one, because a 32-bit float can't hold every integer above
# 2²⁴, about 17 million. Keep large counts and indices away from floats.
#
# Quiet change 3: an index out of bounds returns a number
# -------------------------------------------------------
# An array of ten elements has no index 11, and NumPy tells you:
try:
    np.arange(10)[11]
except IndexError as error:
    print(error)

# %%
# JAX doesn't. The index may be computed on a GPU, in a program that can't raise a Python exception,
# so indexing has to return *something*. What would you have JAX do if a program reads element 11, or
# sets it with ``at``, JAX's way to set an element?
print(jnp.arange(10)[11])
print(jnp.arange(10).at[11].set(99))

# %%
# Reading returned the last element, and setting did nothing. So a wrong index can give you a plausible
# number. If yours may be out of bounds, say what you want to see in that case. NaN is hard to overlook:
print(jnp.arange(10.0).at[11].get(mode="fill", fill_value=jnp.nan))

# %%
# Error 1: arrays can't be changed in place
# -----------------------------------------
# Try to assign to an element:
from textwrap import fill

a = jnp.array([[2, 2, 2], [2, 1, 3]])
try:
    a[1, 1] = 7
except TypeError as error:
    print(fill(str(error).splitlines()[0], break_long_words=False))

# %%
# A JAX array is a value, like a number or a string, and JAX relies on that when it differentiates
# your function or reorders its operations. So instead of changing an array, you make a new one,
# with :attr:`at <jax.numpy.ndarray.at>`:
print(a.at[1, 1].set(7))
print(a)

# %%
# The old array hasn't changed. A whole new array for one element sounds wasteful, but inside a
# compiled function, JAX can often write into the old one's memory. :doc:`A later page
# </tutorials/transformations/updates>` finds out when it does.
#
# Error 2: shapes can't depend on values
# --------------------------------------
# You can select elements as in NumPy, as long as you don't compile:


def positives(x):
    return x[x > 0]


x = jnp.array([-1.0, 2.0, -3.0, 4.0])
positives(x)

# %%
# How many elements come back depends on the values in ``x``. But :func:`jax.jit` compiles one
# program for all arrays of a shape and type, and has to know in advance how long its result is:
try:
    jax.jit(positives)(x)
except jax.errors.NonConcreteBooleanIndexError as error:
    print(str(error).splitlines()[0])

# %%
# The usual way out is to keep the shape, and to blank out what you don't want. If you go on to sum
# the positive elements, for example, zeros do no harm:


@jax.jit
def positives_or_zero(x):
    return jnp.where(x > 0, x, 0.0)


positives_or_zero(x)

# %%
# If you need the elements themselves, say how many to expect: :func:`jax.numpy.compress`, among
# others, takes a ``size``.
#
# Error 3: lists have to be converted
# -----------------------------------
# NumPy's functions take a list wherever they take an array. Most of JAX's don't:
try:
    jnp.sum([1, 2, 3])
except TypeError as error:
    print(str(error).splitlines()[0])

# %%
# JAX wants you to write ``jnp.sum(jnp.array([1, 2, 3]))``, so that nobody overlooks the conversion,
# which can be expensive. Before JAX compiles or differentiates a function, it records each
# operation, and a list among the arguments is recorded element by element. :func:`jax.make_jaxpr`
# shows the record. How many operations does it have for a list of a thousand numbers?
recorded = jax.make_jaxpr(jnp.array)([0.0] * 1000)
print(len(recorded.eqns))

# %%
# So convert your lists early, outside of the functions that JAX compiles or differentiates.
#
# A NumPy array raises no error, but JAX converts it in each call. On a GPU, that means a copy over the
# bus, and even on a CPU, JAX may copy. How much does that add to a product of two matrices? We
# measured :func:`jax.numpy.matmul` on arrays of both kinds, with NumPy's own product beside it:
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
# With a thousand rows, JAX on its own arrays was :measured:`own_arrays than on NumPy's`. If you
# convert your arrays once, at the start, with :func:`jax.numpy.asarray`, no call has to. From then on,
# don't write to the NumPy array, because JAX's array `may share its memory
# <https://github.com/jax-ml/jax/issues/37830>`__.
#
# Takeaway
# --------
strayed = furthest.replace("-", "\N{MINUS SIGN}")

# %%
# Write ``jnp`` for ``np``, and check three things that no error will tell you: whether 32 bits are
# enough, what mixed types do to large integers, and whether indices are in bounds. In 32 bits, a
# textbook's formula put a variance of about one at :measured:`strayed`. The other three habits raise
# errors: update with ``at`` instead, keep shapes fixed, and convert lists. Convert NumPy's arrays,
# too, once and at the start.
#
# Try it yourself in :doc:`the first exercise </exercises/1_arrays>`. Next:
# :doc:`random numbers </tutorials/basics/random_numbers>`.
