"""
How to time JAX, and how not to
===============================

A wrong timing doesn't crash. It prints a number with a unit, and the number looks fine. This page
makes eight mistakes on purpose, some of which we found in :doc:`published benchmarks
</results/then_and_now>`. It shows how far off each of them is, and what to do instead.
"""

# %%
# Nothing is wrong with the stopwatch
# -----------------------------------
# Most timings start out like the function below. Its clock works. What goes wrong is what people
# ask it to time:
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
# To see how far off a timing is, you need another that you can trust. So our experiments do the same
# work wrongly and rightly, in several fresh processes that take turns:
from jaxcap.experiments import mistakes
from jaxcap.experiments.jit import ALLOCATOR, KEPT

results = mistakes.MISTAKES.run(budget_s=0.03)
by_default = ALLOCATOR.run(budget_s=0.05)
kept = KEPT.run(budget_s=0.05)

# %%
# The figure below shows what each mistake does to JAX's apparent speed. Before you look, guess which of
# them you have made yourself, and whether they made JAX look fast or slow.
awaited = results.only(mistakes.JAX_32)
many = results.only(mistakes.COMPILED, question=mistakes.COMPILING)
ten_s = many.first_call.value + 9 * many.time.value
looks = {
    "1 stopping too early": awaited.time.value / awaited.dispatch.value,
    "2 averaging the compiler in": 10 * many.time.value / ten_s,
}

# %%
in_turns = {
    "3 sending the data": (mistakes.SENT, mistakes.ON_DEVICE),
    "5 a new lambda": (mistakes.NEW_LAMBDA, mistakes.WRAPPED_ONCE),
    "5 a new wrapper": (mistakes.NEW_WRAPPER, mistakes.WRAPPED_ONCE),
    "6 different dtypes": (mistakes.NUMPY_32, mistakes.NUMPY_64),
    "7 a weak opponent": (mistakes.NUMPY, mistakes.LOOP),
}

# %%
for mistake, (variant, over) in in_turns.items():
    looks[mistake] = results.speedup(variant, over=over).value
asked = results.select(question=mistakes.COMPILING)
true_gain, gain_by_default, gain_if_kept = (
    some.speedup(mistakes.COMPILED, over=mistakes.OP_BY_OP).value
    for some in (asked, by_default, kept)
)
looks["4 timing the allocator"] = gain_by_default / gain_if_kept
factors = {mistake: max(look, 1 / look) for mistake, look in looks.items()}
worst = max(factors, key=factors.get)[2:]
off_by = f"{float(f'{max(factors.values()):.1e}'):,g}"

# %%
runs = zip(results.only(mistakes.OP_BY_OP).runs, many.runs)
singles = [
    ratio / true_gain
    for before, after in runs
    for ratio in np.divide(before.samples_s, after.samples_s)
]
rows = {mistake: (look, look) for mistake, look in looks.items()}
rows["8 running it once"] = min(singles), max(singles)
rows = dict(sorted(rows.items()))
finding = f"Wrong in both directions, at worst by a factor of {off_by}"

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 4))
for row, ends in enumerate(rows.values()):
    axes.plot([*ends, 1], [row] * 3, "X-", color="C0", ms=9, markevery=[0, 1])
axes.axvline(1, color=figures.INK, linestyle="--")
axes.text(0.7, -0.8, "too slow", ha="right", va="center")
axes.text(1.4, -0.8, "too fast", va="center")
axes.set_yticks(range(len(rows)), list(rows))
axes.set(xscale="log", xlabel="JAX's apparent speed / its real speed")
axes.set_ylim(len(rows) - 0.5, -1.3)
axes.xaxis.get_major_locator().set_params(numticks=5)
axes.xaxis.set_major_formatter("{x:,g}")
figures.headline(figure, finding)

# sphinx_gallery_thumbnail_number = 1

# %%
# In rows 4 and 8, the speed is what ``jit`` gains, and in rows 6 and 7, it is JAX's lead over NumPy.
# The mistakes are of three kinds: the clock covers too little or too much, the call does other work
# than you think, or the comparison favours one side.
#
# The clock covers too little or too much
# ---------------------------------------
# **Mistake 1: stopping the clock too early.** A call to JAX may return before its work is done, and
# give you the promise of an array. To time the computation, wait for the result with
# :meth:`~jax.Array.block_until_ready` before you read the clock:
products = results.select(question=mistakes.PRODUCTS)
n = products.only(mistakes.JAX_32).parameters["size"]
a, b = jax.random.normal(jax.random.key(0), (2, n, n))
product = jax.jit(jnp.matmul)
product(a, b).block_until_ready()  # compile first, to be fair

ready_s = stopwatch(lambda: product(a, b).block_until_ready())
returned_s = stopwatch(product, a, b)
print(f"returned after {returned_s:.2g} s, ready after {ready_s:.2g} s")

# %%
# Could you have spotted the mistake without knowing the right time? The product of two square matrices
# takes about 2n³ operations, so every time is also a speed:
for name, seconds in ("wrong", returned_s), ("right", ready_s):
    print(f"{name}: {2 * n**3 / seconds / 1e9:,.0f} GFLOP/s")

# %%
# If your program beats what your processor can do at best, you have timed something else. But the
# speed gives away large errors only, and :doc:`how early a call returns
# </tutorials/transformations/asynchronous_dispatch>` depends on the device and the size. So make it a
# habit to wait.
#
# **Mistake 2: averaging the compiler in.** Some of the next mistakes are about ``wave``, the sum of two
# waves and a slope:
from jaxcap.kernels.elementwise import wave
from jaxcap.report.source import Source

Source(wave)

# %%
# JAX traces and compiles a function during its first call. Ten calls include the first, so what does
# their average tell you?
x = jnp.linspace(0.0, 10.0, 1_000_000)
compiled_wave = jax.jit(wave)
jax.clear_caches()  # so that the first call compiles
ten_calls_s = stopwatch(
    lambda: [compiled_wave(x).block_until_ready() for _ in range(10)]
)
waves = results.select(question=mistakes.COMPILING)
measured = waves.only(mistakes.COMPILED)
print(f"ten calls, on average: {ten_calls_s / 10:.2g} s")
print("first call:", measured.first_call.short)
print("later call:", measured.time.short)

# %%
# The average describes neither kind of call, and depends on how many calls you make. You pay for
# compiling once, so report the first call by itself.
#
# The call does work that you didn't mean to time
# -----------------------------------------------
# **Mistake 3: sending the data with every call.** Pass a NumPy array to a JAX function, and each call
# may have to copy it to the device first. That can happen even on a CPU: we call a compiled ``x + 1``
# with a million numbers that start at an address where JAX can't read them in place:
from jaxcap.report.claims import claim, speedup_of

sending_costs = claim(
    "a call that is sent a million numbers is slower than one that has them",
    results,
    speedup_of(mistakes.SENT, over=mistakes.ON_DEVICE),
    below=1,
)
sending_costs

# %%
# Which time is right depends on your program. If each call has new data, leave the transfer in, and say
# so. If the data stay the same, send them before you start the clock, and wait until they are there,
# with ``jax.block_until_ready(jax.device_put(x))``.
#
# **Mistake 4: timing the memory allocator.** Op by op, every intermediate result of ``wave`` needs
# memory. If the C library has returned the memory of earlier results to the operating system, the
# program is interrupted by a *page fault* whenever it first touches a new page. Our experiments tell
# the library to keep its memory. Here is what ``jit`` gains on the CPU with this setting and by default,
# and how many page faults a call has:
for label, some in ("memory kept", kept), ("default", by_default):
    gain = some.speedup(mistakes.COMPILED, over=mistakes.OP_BY_OP)
    print(f"{label}: jit is {gain}")
    for kind in (mistakes.OP_BY_OP, mistakes.COMPILED):
        print(f"  page faults, {kind}:", some.only(kind).faults_per_call)

# %%
# Where only one variant has page faults, the other looks better, but by how much is up to the
# allocator. The figure takes the gain with memory kept for the real one, while your own program runs
# with the default. So say which of the two you measured.
#
# **Mistake 5: wrapping anew in each call.** JAX keeps what it compiles for each function and for each
# combination of shapes and dtypes. But a ``lambda`` that is written inside a call is a new function
# every time. We time three kinds of call, on a hundred numbers::
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
# The comparison favours one side
# -------------------------------
# **Mistake 6: comparing different dtypes.** Unless you say otherwise, NumPy's floats have 64 bits and
# JAX's have 32. So how much of a headline like "JAX beats NumPy" is JAX, and how much is the dtype?
# Here are products of matrices, first with the defaults:
different = products.speedup(mistakes.JAX_32, over=mistakes.NUMPY_64)
alike = products.speedup(mistakes.JAX_32, over=mistakes.NUMPY_32)
print("JAX in 32 bits, NumPy in 64:", different)
print("both in 32 bits:            ", alike)

# %%
# In the first line, JAX gets the credit for whatever fewer bits save. So compare both libraries in the
# dtype that you need.
#
# **Mistake 7: choosing a weak opponent.** How much faster JAX is depends on whom it races. Both
# opponents below compute ``wave`` of a thousand numbers with NumPy, in JAX's dtype. The weak one takes
# them one by one, ``[wave(number, np) for number in x]``, and the strong one all at once,
# ``wave(x, np)``:
opponents = results.select(question=mistakes.OPPONENTS)
against_weak = opponents.speedup(mistakes.COMPILED, over=mistakes.LOOP)
against_strong = opponents.speedup(mistakes.COMPILED, over=mistakes.NUMPY)
print("JAX against the loop:", against_weak)
print("JAX against NumPy:   ", against_strong)

# %%
# JAX's time is the same in both lines. What differs is the opponent:
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
# **Mistake 8: running it once.** Other programs run, and clock speeds drift, so a single run favours
# the side that was lucky. In our experiments, both variants take a turn in each of many rounds. What
# would each round by itself have said about the gain from compiling ``wave``? Each line but the last is
# one process:
slow, fast = waves.only(mistakes.OP_BY_OP), waves.only(mistakes.COMPILED)
for before, after in zip(slow.runs, fast.runs):
    ratios = np.divide(before.samples_s, after.samples_s)
    low, median, high = np.quantile(ratios, (0, 0.5, 1))
    print(f"single rounds {low:.2f} to {high:.2f}, median {median:.2f}")
overall = waves.speedup(mistakes.COMPILED, over=mistakes.OP_BY_OP)
print("all processes:", overall)


# %%
# Had you run the code once, you might have published any of these single rounds. A median depends less
# on the moment, but still differs from process to process. So we take the median over all processes,
# with an interval that predicts what as many new ones would say. :doc:`The next page
# </tutorials/performance/precision>` tests whether such intervals keep their word.
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


print(f"{median_time(compiled_wave, x):.2g} s")

# %%
# This function waits, leaves out the first call, and repeats. Against the other mistakes, ask yourself
# before you publish:
#
# - Is ``jit`` applied once, outside of what is repeated?
# - Are the data on the device before the clock starts?
# - Do all variants compute the same thing in the same dtype, and have you compared their results?
# - Would somebody who knows the opponent well have written it like that?
# - Did the variants take turns in several processes, and is there an interval?
# - Do they have about as many page faults, by ``resource.getrusage``?
# - Could the device reach the speed that you report?
# - Do you say which device and which versions you used?
#
# Takeaway
# --------
# A wrong time looks like any other time. The worst mistake on this page, :measured:`worst`, was off
# by a factor of :measured:`off_by`, and mistakes go in both directions. Even a correct time says little
# without its opponent: the same compiled function was :measured:`against_weak than a Python loop`, and
# :measured:`against_strong than NumPy`. So don't judge a timing by its looks. Go through the checklist on
# this page.
#
# To time your own functions by these rules, call :func:`jaxcap.measure.timing.compare`. JAX has
# advice of its own in its `guide to benchmarking
# <https://docs.jax.dev/en/latest/201/profiling.html>`__. Next: :doc:`whether you can trust the
# intervals on this site </tutorials/performance/precision>`.
