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

from jaxcap.measure.timing import compare, measure


def stopwatch(function, *args):
    """Seconds of one call, as one would take them at first."""
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


# %%
# Wrong and right numbers are collected here, as we go:
pairs = {}

# %%
# Mistake 1: not to wait
# ----------------------
# JAX hands the work to the device and returns. The array that it returns is a promise. So a clock
# that stops when the call returns has timed the handing over:
on_cpu = jax.default_backend() == "cpu"
n = 1500 if on_cpu else 8000
a, b = jax.random.normal(jax.random.key(0), (2, n, n))
product = jax.jit(jnp.matmul)
jax.block_until_ready(product(a, b))  # compile first, to be fair

returned_s = stopwatch(product, a, b)
ready_s = stopwatch(lambda: product(a, b).block_until_ready())
print(f"returned after {returned_s:.2g} s, ready after {ready_s:.2g} s")

# %%
# :func:`~jaxcap.measure.timing.measure` takes both times, often:
awaited = measure(product, a, b, experiment="waiting", budget_s=2)
pairs["not to wait"] = awaited.dispatch.value, awaited.time.value
awaited

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

x = jnp.linspace(0.0, 10.0, 100_000)
ten = jax.jit(wave)
jax.clear_caches()
wrong_s = stopwatch(lambda: [ten(x).block_until_ready() for _ in range(10)])
warm = measure(ten, x, experiment="compiling")
pairs["to time the compiler"] = wrong_s / 10, warm.time.value
warm

# %%
# The table keeps the first call apart. Beware of the opposite mistake, too: ``jax.jit`` remembers
# functions, not wrappers, so a second wrapper of the same function starts warm. Whoever wants to know
# what compiling costs has to empty the cache first, with :func:`jax.clear_caches`.
#
# Mistake 3: to send the data each time
# -------------------------------------
# A NumPy array lies in the memory of the host. Each call of a JAX function with it has to copy it to
# the device before it computes anything.
increment = jax.jit(lambda x: x + 1)
on_host = np.linspace(0, 10, 1_000_000, dtype=np.float32)
on_device = jnp.asarray(on_host)

sending = compare(
    {
        "sent each time": lambda: increment(on_host),
        "already there": lambda: increment(on_device),
    },
    experiment="sending",
)
pairs["to send the data each time"] = tuple(
    result.time.value for result in sending
)
sending

# %%
from jaxcap.report.claims import claim

sending_costs = claim(
    "sending a million numbers with each call makes it slower",
    sending,
    lambda r: r.speedup("sent each time", over="already there"),
    below=1,
)
sending_costs

# %%
# Mistake 4: to compare different types
# -------------------------------------
# NumPy computes in 64 bits unless told otherwise, JAX in 32. Half the bits are half the memory
# traffic and, for a matrix product, about half the work. Who is faster here, and by how much is that
# the library?
m = 1000
wide = np.random.default_rng(0).normal(size=(m, m))
narrow = wide.astype(np.float32)
matrix = jnp.asarray(narrow)

types = compare(
    {
        "NumPy float64": lambda: wide @ wide,
        "NumPy float32": lambda: narrow @ narrow,
        "JAX float32": lambda: product(matrix, matrix),
    },
    experiment="types",
)
types

# %%
different = types.speedup("JAX float32", over="NumPy float64")
alike = types.speedup("JAX float32", over="NumPy float32")
print("different types:", different)
print("the same type:  ", alike)

# %%
# Mistake 5: to wrap anew in each call
# ------------------------------------
# ``jax.jit(f)`` returns an object that remembers what it compiled. Made anew in each call, it has to
# find out. For a function that is made anew as well, such as a lambda, there is nothing to be found:
# it compiles, each time.
small = jnp.linspace(0.0, 10.0, 100)
hoisted = jax.jit(wave)

wrapping = compare(
    {
        "a new lambda": lambda: jax.jit(lambda x: wave(x))(small),
        "a new wrapper": lambda: jax.jit(wave)(small),
        "wrapped once": lambda: hoisted(small),
    },
    experiment="wrapping",
)
right_s = wrapping.only("wrapped once").time.value
for variant in ("a new lambda", "a new wrapper"):
    pairs[f"to wrap anew: {variant}"] = (
        wrapping.only(variant).time.value,
        right_s,
    )
wrapping

# %%
# Mistake 6: to run it once
# -------------------------
# Other programs run, clocks change their speed, caches are full of something else. Take one
# comparison, and look at what each of its rounds would have said by itself:
import matplotlib.pyplot as plt
from matplotlib.ticker import EngFormatter

from jaxcap.report import figures

million = jnp.linspace(0.0, 10.0, 1_000_000)
rounds = compare(
    {
        "op by op": lambda: wave(million),
        "jit": lambda: hoisted(million),
    },
    experiment="rounds",
    precision=0,
)
slow, fast = (
    rounds.only(name).runs[0].samples_s for name in ("op by op", "jit")
)
single = np.divide(slow, fast)
all_rounds = rounds.speedup("jit", over="op by op")

# %%
figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(single, "o", label="one round")
axes.axhline(all_rounds.value, color=figures.INK, label="median")
axes.axhspan(
    all_rounds.low,
    all_rounds.high,
    color=figures.COLOURS[1],
    alpha=0.4,
    label="its interval",
)
axes.set(
    xlabel="round",
    ylabel="times as fast as op by op",
    title="One run, many runs",
)
axes.set_ylim(bottom=0)
_ = figure.legend(loc="outside right center")

# %%
# How many times as fast as op by op is ``jit``? From the least to the largest, single rounds say:
print(f"{single.min():.2f} to {single.max():.2f}, all of them: {all_rounds}")

# %%
# Even that interval is about this process. The next process may lay out its memory in another way;
# that is why the other pages compare in several fresh processes
# (:func:`~jaxcap.measure.timing.compare` with an :class:`~jaxcap.measure.experiment.Experiment`).
#
# Mistake 7: to choose a weak opponent
# ------------------------------------
# The gradient at a thousand points, by JAX all at once. One opponent walks through the points in a
# Python loop; it does the same work, but not as anyone would who cares for time. The other takes them
# all at once too:
from jaxcap.experiments.gradients import BACKWARD, JIT, LOOP, prepare

calls = prepare(points=1000, device="cpu")
opponents = compare(
    {name: calls[name] for name in (JIT, LOOP, BACKWARD)},
    experiment="opponents",
)
opponents

# %%
# Here is what that loop does to the conclusion:
against_weak = opponents.speedup(JIT, over=LOOP)
against_strong = opponents.speedup(JIT, over=BACKWARD)
print("against the loop:      ", against_weak)
print("against all at once:   ", against_strong)

# %%
loop_is_weak = claim(
    "PyTorch on a CPU takes a thousand gradients faster at once than in a "
    "loop",
    opponents,
    lambda r: r.speedup(BACKWARD, over=LOOP),
)
loop_is_weak

# %%
# Mistake 8: to believe the label
# -------------------------------
# JAX chooses its devices when it is first used. A program that asks for another platform later gets
# no error, and the old device:
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
from jaxcap.results.statistics import Estimate
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
# :measured:`off_by`. Compared with PyTorch on all points at once, JAX came out
# :measured:`against_strong`; compared with the weak opponent, the loop, it came out
# :measured:`against_weak`. None of these numbers looked wrong by itself. JAX's own advice is
# in its `guide to benchmarking <https://docs.jax.dev/en/latest/benchmarking.html>`__.
