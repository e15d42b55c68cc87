"""
How to time JAX, and how not to
===============================

A wrong timing doesn't crash. It prints a number with a unit, and the number looks fine. This page asks
a single question, whether JAX multiplies matrices faster than NumPy, and gets five answers. Four of
them come from mistakes, some of which we found in :doc:`published benchmarks </results/then_and_now>`.
You mend them one after the other, and keep a short function and a checklist for your own timings.
"""

# %%
# Nothing is wrong with the stopwatch
# -----------------------------------
# Most timings start out like the function below. Its clock works. The trouble lies in what people ask
# it to time:
import time

import jax
import jax.numpy as jnp
import numpy as np


def stopwatch(function, *args):
    """Time one call, in seconds, the way most of us begin."""
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


# %%
# Our experiments time the same products carelessly and carefully, in several fresh processes. Before
# you look at the answers, guess: how far apart will they be?
from jaxcap.experiments import mistakes
from jaxcap.experiments.jit import ALLOCATOR, KEPT

results = mistakes.MISTAKES.run(budget_s=0.03)
by_default = ALLOCATOR.run(budget_s=0.05)
kept = KEPT.run(budget_s=0.05)

# %%
products = results.select(question=mistakes.PRODUCTS)
by_jax = products.only(mistakes.JAX_32)
wide, narrow = map(products.only, (mistakes.NUMPY_64, mistakes.NUMPY_32))
different = products.speedup(mistakes.JAX_32, over=mistakes.NUMPY_64)
alike = products.speedup(mistakes.JAX_32, over=mistakes.NUMPY_32)

# %%
singles = [
    ratio
    for before, after in zip(narrow.runs, by_jax.runs)
    for ratio in np.divide(before.samples_s, after.samples_s)
]

# %%
first = wide.first_call.value / by_jax.first_call.value
early = wide.time.value / by_jax.dispatch.value
answers = {
    "1 first calls": (first, first),
    "2 without waiting": (early, early),
    "3 different dtypes": (different.value, different.value),
    "4 one round": (min(singles), max(singles)),
    "5 many rounds": (alike.low, alike.high),
}

# %%
ends = [end for both in answers.values() for end in both]
lowest, highest = (
    f"{float(f'{end:.2g}'):,g}" for end in (min(ends), max(ends))
)
looked = f"{lowest} to {highest} times as fast"
finding = f"JAX looks {looked} as NumPy"

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3))
for row, both in enumerate(answers.values()):
    axes.plot(both, [row] * 2, "o-", color="C0", lw=3, ms=8)
axes.axvline(1, color=figures.INK, linestyle="--")
axes.set_yticks(range(len(answers)), list(answers))
axes.set(xscale="log", xlabel="how many times as fast as NumPy JAX looks")
axes.set_ylim(len(answers) - 0.5, -0.5)
axes.xaxis.set_major_formatter("{x:,g}")
figures.headline(figure, finding)

# sphinx_gallery_thumbnail_number = 1

# %%
# Answers to the left of the dashed line are in NumPy's favour, and those to its right in JAX's. The fourth
# answer is the range of single rounds, and the fifth is an interval. No answer makes the mistake of the
# one above it.
#
# A first call compiles, and a later one may return early
# --------------------------------------------------------
# Put the question to the stopwatch yourself, twice:
n = by_jax.parameters["size"]
a = jax.random.normal(jax.random.key(0), (n, n))
a_numpy = np.asarray(a, dtype=np.float64)  # NumPy's default
product = jax.jit(jnp.matmul)

for call in "first", "second":
    numpy_s = stopwatch(np.matmul, a_numpy, a_numpy)
    jax_s = stopwatch(product, a, a)
    print(f"{call:6} call: NumPy {numpy_s:.2g} s, JAX {jax_s:.2g} s")

# %%
# In its first call, JAX traces and compiles the function. You pay for that once for each shape and
# dtype, so report the first call by itself. An average over ten calls would describe neither kind of
# call.
#
# The second call reuses the program, but it may return before the product is there, and give you the
# promise of an array. :doc:`How early a call returns
# </tutorials/transformations/asynchronous_dispatch>` depends on the device and the size, so make it a
# habit to wait for the result, with :meth:`~jax.Array.block_until_ready`:
ready_s = stopwatch(lambda: product(a, a).block_until_ready())
print(f"returned after {jax_s:.2g} s, ready after {ready_s:.2g} s")
for name, seconds in ("returned", jax_s), ("ready", ready_s):
    print(f"{name:8}: {2 * n**3 / seconds / 1e9:,.0f} GFLOP/s")

# %%
# The last lines are a way to notice the mistake: a product takes about 2n³ operations, so each time is
# also a speed. If it is beyond what your processor can do, you have timed something else.
#
# A lead may belong to the dtype
# ------------------------------
# Now the clock is right, and the comparison isn't. Unless you say otherwise, NumPy's floats have 64 bits
# and JAX's have 32. How much of the third answer is due to that?
print("JAX in 32 bits, NumPy in 64:", different)
print("both in 32 bits:            ", alike)

# %%
# The first line gives JAX the credit for what fewer bits save. So compare both libraries in the dtype
# that you need.
#
# A single round is a matter of luck
# ----------------------------------
# Other programs run, and clock speeds drift, so a single run favours the side that was lucky. In our
# experiments, the variants take turns in many rounds. What would each round by itself have said, with
# both libraries in 32 bits? Here, each line is one process:
for before, after in zip(narrow.runs, by_jax.runs):
    ratios = np.divide(before.samples_s, after.samples_s)
    low, median, high = np.quantile(ratios, (0, 0.5, 1))
    print(f"single rounds {low:.2f} to {high:.2f}, median {median:.2f}")

# %%
# Had you run the code once, you might have published any of these single rounds. A median depends less
# on the moment, but still differs from process to process. So the fifth answer comes from all processes,
# as an interval that predicts what as many new ones would say.
#
# The code under the clock can be wrong, too
# ------------------------------------------
# Two more mistakes remain when the clock is right. To see them, compute something small, the sum of two
# waves and a slope:
from jaxcap.kernels.elementwise import wave
from jaxcap.report.source import Source

Source(wave)

# %%
# The first is to wrap a function anew in each call. JAX keeps what it compiled for a function, but a
# ``lambda`` that is written inside a call is a new function every time. We time three kinds of call, on
# a hundred numbers::
#
#     jax.jit(lambda x: wave(x))(few)  # a new lambda in each call
#     jax.jit(wave)(few)  # a new wrapper in each call
#     compiled_wave(few)  # wrapped once
#
# How much longer do you expect the first two to take than the third?
wrapping = results.select(question=mistakes.WRAPPING)
kinds = mistakes.NEW_LAMBDA, mistakes.NEW_WRAPPER, mistakes.WRAPPED_ONCE
for kind in kinds:
    print(f"{kind:13} {wrapping.only(kind).time.short}")

# %%
# A new ``lambda`` is traced and compiled in every call. A new wrapper of the same function finds the
# compiled program, but has to be made. So wrap once, outside of whatever is called repeatedly.
#
# The second mistake is a weak opponent. Both opponents below compute ``wave`` of a thousand numbers with
# NumPy, in JAX's dtype. The weak one takes them one by one, ``[wave(number, np) for number in x]``, and
# the strong one all at once, ``wave(x, np)``. JAX's time is the same in both lines:
opponents = results.select(question=mistakes.OPPONENTS)
against_weak = opponents.speedup(mistakes.COMPILED, over=mistakes.LOOP)
against_strong = opponents.speedup(mistakes.COMPILED, over=mistakes.NUMPY)
print("JAX against the loop:", against_weak)
print("JAX against NumPy:   ", against_strong)

# %%
from jaxcap.report.claims import claim, speedup_of

loop_is_weak = claim(
    "NumPy computes a thousand numbers faster at once than in a loop",
    results,
    speedup_of(mistakes.NUMPY, over=mistakes.LOOP),
)
loop_is_weak


# %%
# So have the opponent written by somebody who knows it well, and try more than one size: on few
# numbers, much of JAX's time is :doc:`the price of a call </tutorials/performance/dispatch_overhead>`.
#
# A stopwatch and a checklist to keep
# -----------------------------------
# For a first look at your own code, this much is enough:
def median_time(function, *args, repeats=20):
    """Time a call that waits for its result, in seconds."""
    jax.block_until_ready(function(*args))  # compiles, and isn't timed
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(function(*args))
        times.append(time.perf_counter() - start)
    return np.median(times)


print(f"{median_time(product, a, a):.2g} s")

# %%
sending = results.speedup(mistakes.SENT, over=mistakes.ON_DEVICE)
gain_by_default, gain_if_kept = (
    some.speedup(mistakes.COMPILED, over=mistakes.OP_BY_OP)
    for some in (by_default, kept)
)

# %%
# This function waits, leaves out the first call, and repeats. Against the other mistakes, ask yourself
# before you publish:
#
# - Do all variants compute the same thing in the same dtype, and have you compared their results?
# - Is ``jit`` applied once, outside of what is repeated?
# - Would somebody who knows the opponent well have written it like that?
# - Did the variants take turns in several processes, and is there an interval?
# - Are the data on the device before the clock starts? A call that was sent a million numbers was
#   :measured:`sending than one that had them`.
# - Do the variants have about as many :term:`page faults <page fault>`? Compiled, ``wave`` of a million
#   numbers was :measured:`gain_by_default than op by op` under the C library's default, and
#   :measured:`gain_if_kept` when that library kept freed memory, as in most of our experiments.
# - Could the device reach the speed that you report?
# - Do you say which device and which versions you used?
#
# Takeaway
# --------
new_lambda = wrapping.speedup(mistakes.NEW_LAMBDA, over=mistakes.WRAPPED_ONCE)

# %%
# A wrong time looks like any other time. On one and the same product of matrices, careless timings made
# JAX look :measured:`looked` as NumPy. With the same dtype, in many rounds of several processes, JAX was
# :measured:`alike than NumPy`.
#
# Some mistakes are in the code that is timed. A new lambda in each call was
# :measured:`new_lambda than wrapping once`. And one compiled function was
# :measured:`against_weak than a Python loop`, and
# :measured:`against_strong than NumPy`. So don't judge a timing by its looks. Go through the checklist
# on this page.
#
# To time your own functions by these rules, call :func:`jaxcap.measure.timing.compare`. JAX has
# advice of its own in its `guide to benchmarking
# <https://docs.jax.dev/en/latest/201/profiling.html>`__. Next: :doc:`whether you can trust the
# intervals on this site </tutorials/performance/precision>`.
