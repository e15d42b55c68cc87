"""
Is jax.numpy just NumPy?
========================

Nearly. Replace ``np`` with ``jnp``, and most of your code runs as before. The rest raises an error
or, worse, quietly computes something else. This page shows six habits from NumPy that you have to
change, says why, and then measures what it costs to mix the arrays of both libraries.
"""

# %%
# Most code carries over
# ----------------------
# Nearly all names are the same, and so are the rules of broadcasting and slicing. Here is the same
# call in both libraries:
import jax
import jax.numpy as jnp
import numpy as np

array_np = np.arange(10, dtype=np.int32)
array_jnp = jnp.arange(10, dtype=jnp.int32)
print("NumPy:", array_np)
print("JAX:  ", array_jnp)

# %%
# Whole formulas carry over, too. Here is one, computed by both:
import matplotlib.pyplot as plt

from jaxcap.report import figures

x_np = np.linspace(1, 10, 1000)
x_jnp = jnp.linspace(1, 10, 1000)

plt.plot(x_np, np.sin(x_np) + np.sqrt(x_np), label="NumPy", linewidth=6)
plt.plot(x_jnp, jnp.sin(x_jnp) + jnp.sqrt(x_jnp), label="jax.numpy")
plt.title("sin x + √x, drawn twice")
plt.xlabel("x")
figures.label_ends(plt.gca())

# %%
# What differs is the type of the result. JAX's functions return a :class:`jax.Array`, which can
# live on a GPU, while a NumPy array always lives in the memory of the CPU.
print(type(array_np))
print(isinstance(array_jnp, jax.Array), array_jnp.devices())

# %%
# Arrays can't be changed in place
# --------------------------------
# You will probably meet this difference first. Try to assign to an element:
from textwrap import fill

a = jnp.array([[2, 2, 2], [2, 1, 3]])
try:
    a[1, 1] = 7
except TypeError as error:
    print(fill(str(error).splitlines()[0], break_long_words=False))

# %%
# A JAX array is a value, like a number or a string. JAX needs it that way, because before it
# differentiates, reorders or fuses your operations, it has to be sure that an array means the same
# wherever it is used. So instead of changing an array, you make a new one, with
# :attr:`at <jax.numpy.ndarray.at>`:
b = a.at[1, 1].set(7)
b

# %%
# The old array is as it was:
a

# %%
# Besides ``.set`` there are ``.add``, ``.multiply``, ``.min`` and others. Does copying a whole
# array for one element sound wasteful? Inside a compiled function there may be no copy: where
# nothing else needs the old array, the compiler can write into its memory.
# :doc:`A later page </tutorials/transformations/updates>` finds out when it does.
#
# For the same reason, JAX has no *views*. In NumPy, a row of a matrix shares the matrix's memory,
# so writing to the row changes the matrix:
matrix_np = np.ones((2, 3))
row_np = matrix_np[0]
row_np[:] = 0
print(matrix_np)

# %%
# In JAX, a row is an array of its own, and you get a changed matrix only if you ask for one:
matrix = jnp.ones((2, 3))
print(matrix.at[0].set(0))

# %%
# The rule that arrays don't change has a leak: don't write to a NumPy array after you have handed it
# to JAX. JAX may still be reading it, even after the call has returned. And on a CPU, JAX may share
# its memory instead of copying it, as :func:`jax.device_put` may, and :func:`jax.numpy.asarray`
# with a ``dtype``. Then the JAX array `changes as well
# <https://github.com/jax-ml/jax/issues/37830>`_. If you mean to go on writing, hand over a copy,
# ``array.copy()``.
#
# Numbers have 32 bits
# --------------------
# NumPy makes floats of 64 bits unless you tell it otherwise. JAX makes them half as long, because
# accelerators can be much faster with short numbers, and half as many bytes have to be moved.
print(np.ones(3).dtype, jnp.ones(3).dtype)

# %%
# Does the difference matter? A 32-bit float keeps 24 binary digits, which are not enough for every
# integer above 2²⁴. What is 2²⁴ + 1?
print("64 bits:", int(np.float64(2**24) + 1))
print("32 bits:", int(jnp.float32(2**24) + 1))

# %%
# The added 1 is lost, and nothing tells you, so a counter kept in a 32-bit float would stop here
# for good. (Integers have 32 bits, too, and wrap around to negative numbers at 2³¹.) A sum of
# fractions is usually off long before that, because each addition rounds and the errors pile up. To
# watch them, add one tenth after another, and compare the running sum with a product in 64 bits:
tenth = np.float32(0.1)
counts = np.arange(1, 1_000_001)
running = np.cumsum(np.full(len(counts), tenth))
off = abs(running / (counts * float(tenth)) - 1)

# %%
figure, axes = plt.subplots(figsize=(6, 3))
axes.loglog(counts[::100], off[::100])
axes.set(xlabel="additions", ylabel="relative error\n(lower is better)")
axes.set_xlim(left=100)
axes.set_title("A running sum of tenths in 32 bits")
figures.headline(figure, f"After the last addition, off by {off[-1]:.1%}")

# sphinx_gallery_thumbnail_number = 2

# %%
# Where a thin spike points down, the running sum crosses the true value, and is right by accident.
# :func:`numpy.sum` and :func:`jax.numpy.sum` lose fewer digits, because they add up groups of terms
# first. Their groups differ, so their results may differ as well.
#
# What if you ask JAX for 64 bits? It warns, and gives you 32:
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(jnp.ones(3, dtype=jnp.float64).dtype)
print(str(caught[0].message).splitlines()[0][:88] + "…")

# %%
# To get 64 bits, you have to switch them on: for the whole program by
# ``jax.config.update("jax_enable_x64", True)`` at its start, or for a few lines by a ``with``
# block:
with jax.enable_x64(True):
    print(jnp.ones(3).dtype)

# %%
# Indices out of bounds don't raise
# ---------------------------------
# An array of ten elements has no index 11, and NumPy tells you:
try:
    np.arange(10)[11]
except IndexError as error:
    print(error)

# %%
# JAX doesn't. The index may be computed on a GPU, by a program that can't raise an exception in
# Python, so indexing has to return *something*. When you read with brackets, JAX in practice takes
# the nearest element that exists. When you write, it drops the update:
print(jnp.arange(10)[11])
print(jnp.arange(10).at[11].set(99))

# %%
# A wrong index therefore gives you a plausible number. If an index of yours may be out of bounds,
# say what you want to see in that case. NaN is hard to overlook:
jnp.arange(10.0).at[11].get(mode="fill", fill_value=jnp.nan)

# %%
# Mixed types stay narrow
# -----------------------
# What is the type of a 32-bit integer plus a 32-bit float? Because a 32-bit float can't hold all
# those integers, NumPy goes to 64 bits, to be safe. JAX stays with 32, to be fast:
print((np.ones(2, np.int32) + np.ones(2, np.float32)).dtype)
print((jnp.ones(2, jnp.int32) + jnp.ones(2, jnp.float32)).dtype)

# %%
# Lists have to be converted
# --------------------------
# NumPy's functions take a list wherever they take an array, and convert it without a word. JAX
# could do that too. But if the list is an argument of a function that JAX traces, each element
# becomes an input of its own, with operations that put it into the array. Long lists are slow that
# way, so JAX leaves the decision to you:
try:
    jnp.sum([1, 2, 3])
except TypeError as error:
    print(str(error).splitlines()[0])

# %%
# Write ``jnp.sum(jnp.array([1, 2, 3]))`` instead. Now you see the conversion, and you can move it
# to where it happens only once, outside of the function that JAX traces.
#
# Shapes can't depend on values
# -----------------------------
# The sixth habit, unlike the other five, bites only when JAX *traces* your function, for example to
# compile or to map it. Until then, selecting the positive elements works as in NumPy:


def positives(x):
    return x[x > 0]


x = jnp.array([-1.0, 2.0, -3.0, 4.0])
positives(x)

# %%
# How many elements come back depends on the values in ``x``. But :func:`jax.jit` compiles one
# program for all arrays of a shape and type, and that program needs to know in advance how much
# memory its result takes:
try:
    jax.jit(positives)(x)
except jax.errors.NonConcreteBooleanIndexError as error:
    print(str(error).splitlines()[0])

# %%
# The usual way out is to keep the shape, and to blank out with :func:`jax.numpy.where` what you
# don't want. A sum of the positive elements, for example, doesn't mind the zeros:


def positives_or_zero(x):
    return jnp.where(x > 0, x, 0.0)


jax.jit(positives_or_zero)(x)

# %%
# If you need the elements themselves, or their positions, say how many to expect. Many functions
# whose result has no fixed length take a ``size``, among them :func:`jax.numpy.nonzero`,
# :func:`jax.numpy.unique` and :func:`jax.numpy.compress`, which picks elements:


@jax.jit
def positives_of_three(x):
    positions = jnp.nonzero(x > 0, size=3, fill_value=-1)[0]
    return jnp.compress(x > 0, x, size=3, fill_value=jnp.nan), positions


positives_of_three(x)

# %%
# Only two elements are positive, so the last place holds the ``fill_value``. Choose one that can't
# be mistaken for data: the default is zero, which looks like an element and like a position. Be
# generous with ``size``, because JAX drops whatever doesn't fit, and doesn't tell you.
#
# Does it cost time to hand over NumPy's arrays?
# ----------------------------------------------
# JAX's functions accept NumPy arrays, but at each call, the array has to be brought to where the
# device can read it. For a GPU, that is a journey over the bus, and another one back if NumPy wants
# the result. For a CPU, it is a copy at most.
#
# How large is that price beside real work? Below, the product of two matrices is computed in three
# ways, all in 32 bits. ``linalg.product`` is :func:`jax.numpy.matmul`.
from jaxcap.experiments import product
from jaxcap.report.source import Source

Source(product.prepare)

# %%
# Before you compare speeds, check that the answers agree. How far is JAX's product from NumPy's,
# relative to the largest number in it?
rng = np.random.default_rng(0)
a, b = rng.standard_normal((2, 500, 500), dtype=np.float32)
by_numpy = a @ b
by_jax = jnp.matmul(a, b)
float(abs(by_jax - by_numpy).max() / abs(by_numpy).max())

# %%
# A difference of a few units in the seventh digit is no mistake: the libraries add up the same
# products in a different order. On a GPU it may be larger, because there
# :doc:`JAX may round the matrices </tutorials/performance/linear_algebra>` before it multiplies
# them.
#
# The work of a product grows with the cube of the size, but what has to be moved grows only with
# its square. So at which sizes would you still notice that the arrays come from NumPy? And should
# JAX beat NumPy at multiplying matrices at all? All three ways take turns, in several fresh
# processes:
results = product.PRODUCT.run(budget_s=0.06)
_ = figures.scaling(
    results,
    x="size",
    over=product.NUMPY,
    title="Product of two square matrices",
    xlabel="rows of each matrix",
)

# %%
# The two ways with JAX differ in nothing but the origin of the arrays, so compare them first. In
# this table, JAX on NumPy's arrays is the baseline:
verdicts = {
    size: results.speedup(
        product.JAX_ARRAYS, over=product.JAX_ON_NUMPY, size=size
    ).verdict
    for size in sorted({result.parameters["size"] for result in results})
}
noticed = [f"{n:,}" for n, word in verdicts.items() if word == "faster"]
handing_over = "took no time that we could measure"
if noticed:
    handing_over = f"took measurable time at {' and '.join(noticed)} rows"
results.speedups(over=product.JAX_ON_NUMPY)

# %%
from jaxcap.report.claims import claim, speedup_of

own_arrays_pay = claim(
    "JAX multiplies 1000 by 1000 matrices faster on its own arrays than on "
    "NumPy's",
    results,
    speedup_of(product.JAX_ARRAYS, over=product.JAX_ON_NUMPY, size=1000),
)
own_arrays_pay

# %%
# So handing over NumPy's arrays :measured:`handing_over`.
#
# And how does JAX do against NumPy?
jax_is_faster = claim(
    "JAX multiplies 1000 by 1000 matrices faster than NumPy",
    results,
    speedup_of(product.JAX_ARRAYS, over=product.NUMPY, size=1000),
)
on_1000_rows = jax_is_faster.estimate
jax_is_faster

# %%
# So on 1000 rows, JAX was :measured:`on_1000_rows than NumPy`. But don't read the factor at any size
# as a verdict on NumPy's arithmetic. If JAX uses a GPU, you are comparing two kinds of hardware. On
# a CPU, both libraries call routines that were tuned by hand. They take turns here, and each keeps
# threads of its own. On a machine with few cores, or one that is busy with something else, threads
# get in each other's way, and NumPy by itself can be many times faster than in this measurement.
#
# Takeaway
# --------
largest = max(result.parameters["size"] for result in results)
against_numpy = results.speedup(
    product.JAX_ARRAYS, over=product.NUMPY, size=largest
)
print("JAX instead of NumPy:", against_numpy)

# %%
# Write ``jnp`` for ``np``, and watch for six things: assignment, 32 bits, indices out of bounds,
# mixed types, lists, and shapes that depend on values. Convert your arrays once, at the start, and
# leave them on the device, because each conversion for a GPU is a copy over the bus. On this page's
# device, handing NumPy's arrays to a matrix product :measured:`handing_over`. On the largest
# matrices, JAX was :measured:`against_numpy than NumPy`. Don't move to JAX for the speed of a single
# operation, though. Its strength is what it does to whole functions.
#
# Try it yourself in :doc:`the first exercise </exercises/1_arrays>`. Next:
# :doc:`random numbers </tutorials/basics/random_numbers>`.
