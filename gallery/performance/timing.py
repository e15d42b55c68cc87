"""
How to time JAX, and how not to
===============================

A wrong timing looks just like a right one. This page makes the usual mistakes on purpose, each
beside the right way, so that you will know them when you see them: in your own code, and in the
comparisons of others. All of them have been published.
"""

# %%
# The stopwatch
# -------------
# Most timings begin like this. There is nothing wrong with the clock; look at what it is told to
# time.
import time

import jax
import jax.numpy as jnp
import numpy as np


def stopwatch(function, *args):
    """Seconds of one call, as one would take them at first."""
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


# %%
# Right numbers come from an experiment, which measures the variants of five questions. Six fresh
# processes repeat it and take turns; at the sixth mistake you will see why. Wrong and right numbers are
# collected as we go:
from jaxcap.experiments import mistakes

results = mistakes.MISTAKES.run(budget_s=0.05)
pairs = {}

# %%
# Mistake 1: not to wait
# ----------------------
# JAX hands the work to the device and returns. The array that it returns is a promise. So a clock
# that stops when the call returns has timed the handing over:
n = results.only(mistakes.JAX_32).parameters["size"]
a, b = jax.random.normal(jax.random.key(0), (2, n, n))
product = jax.jit(jnp.matmul)
jax.block_until_ready(product(a, b))  # compile first, to be fair

returned_s = stopwatch(product, a, b)
ready_s = stopwatch(lambda: product(a, b).block_until_ready())
print(f"returned after {returned_s:.2g} s, ready after {ready_s:.2g} s")

# %%
# The experiment takes both times, often. *Time* is right, *until it returns* is what a clock sees that
# doesn't wait:
products = results.select(question=mistakes.PRODUCTS)
awaited = products.only(mistakes.JAX_32)
pairs["not to wait"] = awaited.dispatch.value, awaited.time.value
products

# %%
# How does one notice, without knowing the right time? By arithmetic: the product of two square
# matrices takes 2n³ operations, so a time is also a speed. If that is more than
# the device can do, the time is wrong.
for name, seconds in zip(("wrong", "right"), pairs["not to wait"]):
    print(f"{name}: {2 * n**3 / seconds / 1e9:,.0f} GFLOP/s")

# %%
# Mistake 2: to time the compiler
# -------------------------------
# The first call of a compiled function traces and compiles. A program that calls it once has to
# pay that; the average of ten calls, one of which compiled, describes nothing.
from jaxcap.kernels.elementwise import wave

x = jnp.linspace(0.0, 10.0, 1_000_000)
ten = jax.jit(wave)
jax.clear_caches()
wrong_s = stopwatch(lambda: [ten(x).block_until_ready() for _ in range(10)])

waves = results.select(question=mistakes.COMPILING)
right_s = waves.only(mistakes.COMPILED).time.value
pairs["to time the compiler"] = wrong_s / 10, right_s
waves

# %%
# The table keeps the first call apart. Beware of the opposite mistake, too: compiled programs are kept
# by function, for all wrappers of ``jax.jit``, so a second wrapper of the same function starts warm.
# Whoever wants to know what compiling costs has to empty the cache first, with
# :func:`jax.clear_caches`.
#
# Mistake 3: to send the data each time
# -------------------------------------
# A NumPy array lies in the memory of the host. A JAX function that is called with one has to copy it to
# the device in each call, before it computes anything. (A CPU can share the array's memory instead,
# but only if it happens to begin at a multiple of 64 bytes. Here it doesn't.)
sending = results.select(question=mistakes.SENDING)
pairs["to send the data each time"] = tuple(
    sending.only(name).time.value
    for name in (mistakes.SENT, mistakes.ON_DEVICE)
)
sending

# %%
from jaxcap.report.claims import claim, speedup_of

sending_costs = claim(
    "sending a million numbers with each call makes it slower",
    results,
    speedup_of(mistakes.SENT, over=mistakes.ON_DEVICE),
    below=1,
)
sending_costs

# %%
# Mistake 4: to compare different types
# -------------------------------------
# NumPy computes in 64 bits unless told otherwise, JAX in 32. Half the bits are half the memory
# traffic, and a CPU handles twice as many numbers with one instruction. The first table has the product
# by NumPy in both types. Compare JAX with either:
different = products.speedup(mistakes.JAX_32, over=mistakes.NUMPY_64)
alike = products.speedup(mistakes.JAX_32, over=mistakes.NUMPY_32)
print("different types:", different)
print("the same type:  ", alike)

# %%
# Only the second line compares libraries. What the first one adds to it is the type's doing.
#
# Mistake 5: to wrap anew in each call
# ------------------------------------
# ``jax.jit(f)`` returns an object with a short way to its compiled program. A new one for the same
# function has to look the program up among all that JAX has compiled, and only then knows the way. For
# a function that is new as well, such as a lambda, there is nothing to be found: it compiles, each
# time.
wrapping = results.select(question=mistakes.WRAPPING)
right_s = wrapping.only(mistakes.WRAPPED_ONCE).time.value
for variant in (mistakes.NEW_LAMBDA, mistakes.NEW_WRAPPER):
    wrong_s = wrapping.only(variant).time.value
    pairs[f"to wrap anew: {variant}"] = wrong_s, right_s
wrapping

# %%
# Mistake 6: to run it once
# -------------------------
# Other programs run, clocks change their speed, caches are full of something else. So a comparison
# takes many rounds. Each gives a ratio by itself, here that of ``wave`` op by op and compiled. One
# column for each of the six processes, with all of its rounds, their median, and the interval that
# the process gives itself from the spread of its rounds:
import matplotlib.pyplot as plt
from matplotlib.ticker import EngFormatter

from jaxcap.report import figures
from jaxcap.results.statistics import Estimate

slow, fast = (waves.only(n) for n in (mistakes.OP_BY_OP, mistakes.COMPILED))
rounds = [
    np.divide(before.samples_s, after.samples_s)
    for before, after in zip(slow.runs, fast.runs)
]
by_process = [Estimate.from_runs([ratios]) for ratios in rounds]
all_processes = waves.speedup(mistakes.COMPILED, over=mistakes.OP_BY_OP)

# %%
figure, axes = plt.subplots(figsize=(7, 3.4))
for number, (ratios, own) in enumerate(zip(rounds, by_process), start=1):
    axes.plot([number + 0.15] * len(ratios), ratios, "o", ms=3, color="C0")
    axes.errorbar(
        number - 0.15,
        own.value,
        [[own.value - own.low], [own.high - own.value]],
        fmt="s",
        color=figures.INK,
        capsize=4,
    )
axes.plot([], [], "o", ms=3, color="C0", label="one round")
axes.plot([], [], "s", color=figures.INK, label="one process")
axes.axhspan(
    all_processes.low,
    all_processes.high,
    color=figures.COLOURS[1],
    alpha=0.4,
    label="interval for\nthe next six",
)
axes.set(xlabel="process", ylabel="times as fast", title="One run, many runs")
axes.set_ylim(bottom=0)
_ = figure.legend(loc="outside right center")

# %%
# A process judges itself by how well its own rounds agree. But they have its memory layout in common,
# which the next process draws anew, and so its interval may miss what that process measures. How many of
# the others lie outside the first one's interval here?
first, *others = by_process
outside = sum(not first.low <= one.value <= first.high for one in others)
single = np.concatenate(rounds)
print(f"{outside} of {len(others)} lie outside")
print(f"single rounds say {single.min():.2f} to {single.max():.2f}")
print("all processes:", all_processes)

# %%
# That is why the other pages measure in several fresh processes, and give the interval in which the
# number should lie if as many processes measure it again.
#
# Mistake 7: to choose a weak opponent
# ------------------------------------
# ``wave`` of a thousand numbers, by JAX all at once. One opponent walks through the numbers in a Python
# loop; it does the same work in the same type, but not as anyone would who cares for time. The other is
# NumPy as it is meant to be used, all at once too:
opponents = results.select(question=mistakes.OPPONENTS)
opponents

# %%
# Here is what that loop does to the conclusion:
against_weak = opponents.speedup(mistakes.COMPILED, over=mistakes.LOOP)
against_strong = opponents.speedup(mistakes.COMPILED, over=mistakes.NUMPY)
print("against the loop:      ", against_weak)
print("against all at once:   ", against_strong)

# %%
loop_is_weak = claim(
    "NumPy computes a thousand numbers faster at once than in a loop",
    results,
    speedup_of(mistakes.NUMPY, over=mistakes.LOOP),
)
loop_is_weak

# %%
# Mistake 8: to believe the label
# -------------------------------
# JAX chooses its devices when it is first used. A program that asks for another platform later gets
# no error, and the old device:
on_cpu = jax.default_backend() == "cpu"
before = jax.config.jax_platforms
jax.config.update("jax_platforms", "cpu" if not on_cpu else "cuda")
asked = jax.config.jax_platforms
got = jnp.ones(3).device.platform
jax.config.update("jax_platforms", before)
print(f"asked for {asked}, computed on {got}")

# %%
# A table with a line for that platform would have been measured on the wrong one. Ask the result where
# it lies, as above, and not the settings.
#
# All of them together
# --------------------
# The mistakes in one picture. Those to the left of their right number flatter; those to the right of
# it do an injustice.
figure, axes = plt.subplots(figsize=(7, 3.2))
for row, (wrong, right) in enumerate(pairs.values()):
    axes.plot([wrong, right], [row, row], color=figures.GRID)
wrong, right = zip(*pairs.values())
for numbers, marker, colour, label in (
    (wrong, "X", figures.COLOURS[3], "wrong"),
    (right, "o", figures.COLOURS[2], "right"),
):
    axes.plot(numbers, range(len(pairs)), marker, color=colour, label=label)
axes.set(
    xscale="log",
    xlabel="time of a call",
    title="The same work, timed wrong and right",
)
axes.set_yticks(range(len(pairs)), pairs)
axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
axes.invert_yaxis()
_ = figure.legend(loc="outside right center")

# sphinx_gallery_thumbnail_number = 2

# %%
from jaxcap.results.tables import Table


def short(number, unit):
    """Write a number in two digits."""
    return Estimate.from_runs([[number]], unit=unit).short


rows = [
    (mistake, short(wrong, "s"), short(right, "s"), short(wrong / right, ""))
    for mistake, (wrong, right) in pairs.items()
]
Table("Wrong over right", ("mistake", "wrong", "right", "ratio"), rows)

# %%
# Checklist
# ---------
# - Does the clock stop when the result is there? (:func:`jax.block_until_ready`, for the whole result)
# - Is the first call timed by itself, with an empty cache?
# - Are the data where the computation is, before the clock starts?
# - Do all variants compute the same, in the same type? Have the answers been compared?
# - Is ``jit`` applied once, outside of what is repeated?
# - Is each number a median of many, with an interval? Have the variants taken turns?
# - Would somebody who knows the opponent well have written it like that?
# - Does the page say which device, which versions, which day?
# - Is the resulting speed possible on that device?
#
# Takeaway
# --------
worst, (wrong, right) = max(
    pairs.items(), key=lambda pair: abs(np.log(pair[1][0] / pair[1][1]))
)
off_by = short(max(wrong / right, right / wrong), "")

# %%
# On this page's machine the worst mistake was :measured:`worst`, which was off by a factor of
# :measured:`off_by`. JAX came out :measured:`against_strong` compared with a strong opponent, and
# :measured:`against_weak` compared with a weak one. None of these numbers looked wrong by itself. JAX's own advice is
# in its `guide to benchmarking <https://docs.jax.dev/en/latest/benchmarking.html>`__.
