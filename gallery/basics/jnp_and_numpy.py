"""
Is jax.numpy just NumPy?
========================

Nearly: same names, same broadcasting, same results to rounding. After this page you will know the
four places where code that works with NumPy fails or, worse, means something else, and what it
costs to mix arrays of both.
"""

# %%
# Parallels
# ---------
# The same call makes the same numbers.
import jax
import jax.numpy as jnp
import numpy as np

array_np = np.arange(10, dtype=np.int32)
array_jnp = jnp.arange(10, dtype=jnp.int32)
print("NumPy:", array_np)
print("JAX:  ", array_jnp)

# %%
# The types differ. Only the second kind can live on a GPU and be differentiated or compiled.
print(type(array_np))
print(isinstance(array_jnp, jax.Array), array_jnp.devices())

# %%
# Formulas carry over, and so do plots:
import matplotlib.pyplot as plt

x_np, x_jnp = np.linspace(1, 10, 1000), jnp.linspace(1, 10, 1000)
y_np, y_jnp = np.sin(x_np) + x_np**0.5, jnp.sin(x_jnp) + x_jnp**0.5

plt.plot(x_np, y_np, label="NumPy", linewidth=6, alpha=0.4)
plt.plot(x_jnp, y_jnp, label="jax.numpy")
plt.title("sin x + √x, drawn twice")
plt.xlabel("x")
_ = plt.legend()

# %%
# First difference: arrays don't change
# -------------------------------------
# Assigning to an element is the first thing that fails:
a = jnp.array([[2, 2, 2], [2, 1, 3]])
try:
    a[1, 1] = 7
except TypeError as error:
    print(str(error).splitlines()[0])

# %%
# A JAX array is a value, like a number or a string. That is what allows JAX to reorder, fuse and
# differentiate computations: nothing can change behind its back. To change an element is to make a
# new array, with ``.at``:
b = a.at[1, 1].set(7)
b

# %%
# The old array is as it was:
a

# %%
# There is also ``.at[...].add``, ``.multiply``, ``.min`` and more. Inside a compiled function the
# copy is usually avoided, since the compiler sees that nobody needs the old array any more.
#
# Second difference: 32 bits
# --------------------------
# NumPy computes in 64 bits unless told otherwise, JAX in 32: accelerators are much faster at it.
print(np.ones(3).dtype, jnp.ones(3).dtype)

# %%
# Asking for 64 bits is not enough. JAX answers with 32, and says so:
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(jnp.ones(3, dtype=jnp.float64).dtype)
print(str(caught[0].message).splitlines()[0][:88] + "…")

# %%
# It takes a switch, best thrown once at the start of a program, or for a few lines:
with jax.enable_x64(True):
    print(jnp.ones(3).dtype)

# %%
# What is lost otherwise is visible. A 32-bit number has 24 bits for its digits, so from 2²⁴ on it
# misses every other integer, and adding one changes nothing:
large = 2.0**24
print(np.float64(large) + 1, jnp.float32(large) + 1)

# %%
# Third difference: out of bounds
# -------------------------------
# NumPy raises:
try:
    np.arange(10)[11]
except IndexError as error:
    print(error)

# %%
# A GPU can't raise in the middle of a computation, so JAX takes the nearest element there is when
# reading, and drops the update when writing:
print(jnp.arange(10)[11])
print(jnp.arange(10).at[11].set(99))

# %%
# Better to say what you want:
jnp.arange(10.0).at[11].get(mode="fill", fill_value=jnp.nan)

# %%
# Fourth difference: promotion
# ----------------------------
# When types meet, NumPy widens to be safe, and JAX stays narrow to be fast. An integer array and a
# 32-bit float array, for instance:
print((np.ones(2, np.int32) + np.ones(2, np.float32)).dtype)
print((jnp.ones(2, jnp.int32) + jnp.ones(2, jnp.float32)).dtype)

# %%
# Lists are another case: NumPy converts them without a word, JAX refuses, because converting an
# element at a time is slow enough to be a mistake.
try:
    jnp.sum([1, 2, 3])
except TypeError as error:
    print(str(error).splitlines()[0])

# %%
# What mixing costs
# -----------------
# JAX functions accept NumPy arrays. Each time, the array is brought to the device first, and an
# array that lives on a GPU travels back when NumPy wants it. How much is that? Take the product of
# a large matrix and its transpose, in 32 bits, three ways: by JAX on JAX arrays, by NumPy, and by
# JAX on NumPy arrays. First, how far are the others from JAX's answer, relative to its largest
# number?
from jaxcap.experiments import product

answers = [np.asarray(call()) for call in product.prepare(size=500).values()]
reference = answers[0]
scale = abs(reference).max()
print([float(abs(a - reference).max() / scale) for a in answers[1:]])

# %%
# Then they take turns, in several fresh processes, because one process can be lucky:

results = product.PRODUCT.run(budget_s=0.1)
results

# %%
results.speedups(over=product.NUMPY)

# %%
from jaxcap.report import figures

largest = max(result.parameters["size"] for result in results)
_ = figures.bars(
    results.select(size=largest),
    title=f"Product of two {largest} by {largest} matrices",
)

# %%
_ = figures.scaling(results, x="size", title="Product of two square matrices")

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
jax_is_faster = claim(
    "JAX multiplies 1000 by 1000 matrices faster than NumPy",
    results,
    speedup_of(product.JAX_ARRAYS, over=product.NUMPY, size=1000),
)
jax_is_faster

# %%
# Takeaway
# --------
transfer = results.speedup(
    product.JAX_ARRAYS, over=product.JAX_ON_NUMPY, size=largest
)
against_numpy = results.speedup(
    product.JAX_ARRAYS, over=product.NUMPY, size=largest
)
print("JAX arrays instead of NumPy arrays:", transfer)
print("JAX instead of NumPy:", against_numpy)

# %%
# Write ``jnp`` for ``np``, and look out for assignment, for 32 bits, for indices out of bounds and
# for mixed types. Convert arrays once, at the start, and stay on the device: at the largest size
# here, and compared with JAX on NumPy's arrays, JAX on JAX's came out :measured:`transfer`.
# Compared with NumPy, it came out :measured:`against_numpy`. On a CPU both call a matrix product that
# was tuned by hand, so the second comparison is one of two tuned libraries; on a GPU the first shows
# what moving the data costs, and the second what the hardware gains.
#
# Next: :doc:`random numbers </tutorials/basics/random_numbers>`.
