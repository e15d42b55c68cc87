"""
How to time JAX, and how not to
===============================

A wrong timing doesn't crash. It prints a number with a unit, and the number looks fine. This page
makes nine mistakes on purpose, beside the right measurement wherever there is one, so that you'll
recognise them later. Most of them we found in :doc:`published benchmarks
</results/then_and_now>`, and you may find some in your own code. If nine are too many for one
sitting, stop after the fifth.
"""

# %%
# Nothing is wrong with the stopwatch
# -----------------------------------
# Most timings start out like the function below. Its clock works. What goes wrong is what people
# tell it to time:
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
# To see how far off a timing is, you need another that you can trust. Ours come from an experiment
# that runs in several fresh processes, which take turns. Mistake 6 explains why one process isn't
# enough.
from jaxcap.experiments import mistakes

results = mistakes.MISTAKES.run(budget_s=0.03)

# %%
# Mistake 1: stopping the clock too early
# ---------------------------------------
# A call to JAX may return before the work is done. What you get back is the promise of an array,
# and a clock that stops there has timed the promise. To time the computation, wait for the result
# with :meth:`~jax.Array.block_until_ready` before you read the clock:
n = results.only(mistakes.JAX_32).parameters["size"]
a, b = jax.random.normal(jax.random.key(0), (2, n, n))
product = jax.jit(jnp.matmul)
product(a, b).block_until_ready()  # compile first, to be fair

ready_s = stopwatch(lambda: product(a, b).block_until_ready())
returned_s = stopwatch(product, a, b)
print(f"returned after {returned_s:.2g} s, ready after {ready_s:.2g} s")

# %%
# Two single calls can't tell you more than that. The experiment measured both times again and
# again, in several processes, as :doc:`how we measure </measuring>` explains. In its table, *time*
# includes the waiting, and *until it returns* is what an impatient clock shows:
products = results.select(question=mistakes.PRODUCTS)
awaited = products.only(mistakes.JAX_32)
too_early = awaited.dispatch.value, awaited.time.value
products

# %%
# Could you have spotted the mistake without knowing the right time? Yes, with a little arithmetic.
# The product of two square matrices takes 2n³ operations, so every time is also a speed:
for name, seconds in zip(("wrong", "right"), too_early):
    print(f"{name}: {2 * n**3 / seconds / 1e9:,.0f} GFLOP/s")

# %%
# Look up what your processor can do at best. If your program beats that, you have timed something
# else. The arithmetic won't catch every case, because how early a call returns depends on the
# device and on how much there is to compute, as
# :doc:`asynchronous dispatch </tutorials/transformations/asynchronous_dispatch>` shows. So make it
# a habit to wait.
#
# Mistake 2: averaging the compiler in
# ------------------------------------
# The first call of a compiled function also traces and compiles it. You pay that cost once. Average
# it with nine calls that don't compile, and the result describes neither kind:
from jaxcap.kernels.elementwise import wave
from jaxcap.report.source import Source

Source(wave)

# %%
x = jnp.linspace(0.0, 10.0, 1_000_000)
compiled_wave = jax.jit(wave)
jax.clear_caches()
ten_calls_s = stopwatch(
    lambda: [compiled_wave(x).block_until_ready() for _ in range(10)]
)
print(f"ten calls, on average: {ten_calls_s / 10:.2g} s")

# %%
# Compare that average with what the experiment measured, for the first call and for the later ones:
waves = results.select(question=mistakes.COMPILING)
waves

# %%
# The table keeps the *first call* in a column of its own, and so should you.
#
# The opposite mistake is harder to notice: you mean to time the compiler, and get a call that
# doesn't compile. Wrapping the function again won't give you a fresh first call, because JAX finds
# the compiled program by the function itself and the options of ``jit``, whichever wrapper compiled
# it. Empty the caches with :func:`jax.clear_caches` instead, and switch off the persistent cache, if
# you use one.
#
# Mistake 3: sending the data with every call
# -------------------------------------------
# NumPy's arrays live in the host's memory, and JAX computes on arrays that live on the device. Pass
# a NumPy array to a JAX function, and each call has to bring the data over before it can start. On
# a CPU, that means a copy, unless the array's address happens to be a multiple of 64 bytes, where
# JAX can read it in place. We chose another address for ours, and sent a million numbers each time
# to a compiled ``x + 1``:
sending = results.select(question=mistakes.SENDING)
sending

# %%
from jaxcap.report.claims import claim, speedup_of

sending_costs = claim(
    "a call that is sent a million numbers is slower than one that has them",
    results,
    speedup_of(mistakes.SENT, over=mistakes.ON_DEVICE),
    below=1,
)
sending_costs

# %%
# Each ratio on this page is the median of the ratios within rounds, so it may differ from the
# quotient of two times in a table.
#
# Which of the two times is right, sent or on the device, depends on your program. If your program
# sends its data once, send it before you start the clock, with
# ``jax.block_until_ready(jax.device_put(x))``, because :func:`jax.device_put` returns early, too.
# If it has new data for each call, leave the transfer in, and say so.
#
# Mistake 4: comparing different dtypes
# -------------------------------------
# NumPy computes in 64 bits unless you tell it otherwise, and JAX in 32. The number of operations is
# the same, but half as many bytes have to be moved, and one instruction of a CPU handles twice as
# many numbers:
print(np.ones(1000).nbytes, "bytes, or", jnp.ones(1000).nbytes)

# %%
# That alone gives JAX a head start. So how much of a headline like "JAX beats NumPy" is JAX, and
# how much is the dtype? The table of products above has NumPy in both:
different = products.speedup(mistakes.JAX_32, over=mistakes.NUMPY_64)
alike = products.speedup(mistakes.JAX_32, over=mistakes.NUMPY_32)
print("different dtypes:", different)
print("the same dtype:  ", alike)

# %%
# Only the second line compares the libraries. The first also credits JAX with whatever fewer bits
# save.
#
# Mistake 5: wrapping anew in each call
# -------------------------------------
# To make a wrapper, ``jax.jit(f)`` inspects ``f``. Throw the wrapper away, and the next call has to
# make another. That one still finds what JAX has compiled for ``f``. But if the function is new as
# well, as a ``lambda`` written inside the call always is, there is nothing to find, and JAX
# compiles again. Here are the three kinds of call, which we time on a hundred numbers::
#
#     jax.jit(lambda x: wave(x))(few)  # a new lambda in each call
#     jax.jit(wave)(few)  # a new wrapper in each call
#     compiled_wave(few)  # wrapped once
#
# Guess what the first two cost before you look:
wrapping = results.select(question=mistakes.WRAPPING)
ONCE, NEW = mistakes.WRAPPED_ONCE, mistakes.NEW_WRAPPER
over_wrapper = wrapping.speedup(ONCE, over=NEW)
over_lambda = wrapping.speedup(ONCE, over=mistakes.NEW_LAMBDA)
wrapping

# %%
# A call of a function that was wrapped once was
# :measured:`over_wrapper than one with a new wrapper`, and
# :measured:`over_lambda than one with a new lambda`. A new wrapper makes JAX inspect the function,
# and a new ``lambda`` makes it trace and compile as well, in every call.
#
# Mistake 6: running it once
# --------------------------
# Other programs run, clock speeds drift, and caches hold somebody else's data, so a single run says
# as much about its moment as about your code. Take many rounds instead, and give both variants a
# turn in each. Every round then has a ratio of its own, here for ``wave`` op by op and compiled:
import matplotlib.pyplot as plt

from jaxcap.report import figures
from jaxcap.results.statistics import Estimate

slow = waves.only(mistakes.OP_BY_OP)
fast = waves.only(mistakes.COMPILED)
rounds = [
    np.divide(before.samples_s, after.samples_s)
    for before, after in zip(slow.runs, fast.runs)
]
by_process = [Estimate.from_runs([ratios]) for ratios in rounds]
all_processes = waves.speedup(mistakes.COMPILED, over=mistakes.OP_BY_OP)

# %%
# In the figure, each column is one process, its dots are rounds, and the square is their median.
# Suppose that you had run only the first process. The grey band is the interval that you would have
# reported.
first, *others = by_process
outside = sum(not first.low <= one.value <= first.high for one in others)
of_others = f"{outside} of {len(others)} other processes"
single = np.concatenate(rounds)
finding = (
    f"Single rounds say from {single.min():.1f} to {single.max():.1f} times"
)
missed = f"The band missed {of_others}, so the first process knew too little"
caught = (
    "The band caught them all this time, which is no promise for the next"
)
verdict_of_band = missed if outside else caught

# %%
figure, axes = plt.subplots(figsize=(6, 4.2))
for column, (ratios, own) in enumerate(zip(rounds, by_process), 1):
    axes.plot([column + 0.15] * len(ratios), ratios, "o", ms=3, color="C0")
    errors = [[own.value - own.low], [own.high - own.value]]
    square = {"fmt": "s", "color": figures.INK, "capsize": 4}
    axes.errorbar(column - 0.15, own.value, errors, **square)
axes.plot([], [], "o", ms=3, color="C0", label="one round")
axes.plot([], [], "s", color=figures.INK, label="one process")
span = {"color": figures.INK, "alpha": 0.15, "zorder": 0}
axes.axhspan(first.low, first.high, label="first one's interval", **span)
for end in (all_processes.low, all_processes.high):
    axes.axhline(end, color=figures.COLOURS[1], linestyle="--")
axes.plot([], [], "C1--", label="interval for as many again")
axes.set(xlabel="process", ylabel="times as fast (higher is better)")
axes.set_ylim(bottom=0)
figures.headline(figure, finding)
_ = figure.legend(loc="outside lower center", ncols=2)

# %%
# :measured:`verdict_of_band`. A process can judge itself only by how well its own rounds agree. But
# some things are settled when a process starts, such as where its code lies in memory, and they
# stay the same in all its rounds. So one process can report a narrow interval that the next process
# falls outside. Here is what single rounds could have told you, and what all processes together
# say:
print(f"single rounds say {single.min():.2f} to {single.max():.2f}")
print("all processes:", all_processes)

# %%
# The last line is what this site prints. We take the median ratio in each process, and then the
# median over the processes. Its interval, which is dashed in the figure, is a prediction: measure
# again in as many new processes, and 95 times out of 100 their median should fall inside.
#
# Mistake 7: choosing a weak opponent
# -----------------------------------
# How much faster JAX is depends on whom it races. Take ``wave`` of a thousand numbers, which JAX
# computes in one call. The first opponent does the same work in the same dtype, but in a Python
# loop over the numbers, ``[wave(number, np) for number in x]``. The second is NumPy, used the way it
# is meant to be, ``wave(x, np)``:
opponents = results.select(question=mistakes.OPPONENTS)
opponents

# %%
# Here is the same time of JAX, set against each opponent:
against_weak = opponents.speedup(mistakes.COMPILED, over=mistakes.LOOP)
against_strong = opponents.speedup(mistakes.COMPILED, over=mistakes.NUMPY)
print("against the loop:   ", against_weak)
print("against NumPy:      ", against_strong)

# %%
# Only the opponents differ. Don't make a headline of the second line, either: a thousand numbers
# are so few that JAX may spend most of its time on :doc:`the call, and on handing it to another
# thread </tutorials/performance/dispatch_overhead>`. So compare the opponents themselves:
loop_is_weak = claim(
    "NumPy computes a thousand numbers faster at once than in a loop",
    results,
    speedup_of(mistakes.NUMPY, over=mistakes.LOOP),
)
loop_is_weak

# %%
# Mistake 8: believing the label
# ------------------------------
# Suppose a benchmark has a line for the CPU and a line for the GPU, and switches between them by a
# setting such as ``jax_platforms``. JAX reads that setting when it first needs a device.
# Afterwards, you can change it without any error, and without any effect:
on_cpu = jax.default_backend() == "cpu"
before = jax.config.jax_platforms
jax.config.update("jax_platforms", "cpu" if not on_cpu else "cuda")
asked = jax.config.jax_platforms
got = jnp.ones(3).device.platform
jax.config.update("jax_platforms", before)
print(f"asked for {asked}, computed on {got}")

# %%
# Both lines of that benchmark would have come from one device. To switch while the program runs,
# put the arrays where you want them with :func:`jax.device_put`, or use :func:`jax.default_device`.
# Either way, ask the result where it is, and not the settings where it should be:
with jax.default_device(jax.devices("cpu")[0]):
    print(jnp.ones(3).device)

# %%
# Mistake 9: timing the memory allocator
# --------------------------------------
# Op by op, every intermediate result of ``wave`` needs memory of its own. When an array is dropped,
# the C library may keep its memory for the next one, or return it to the operating system and ask
# for it again, page by page. By default, the size of the array, what the program did before, and
# luck decide which of the two happens. Our experiments tell the library to keep its memory, so that
# luck stays out of the numbers. On the CPU, this is what happens when we leave the decision to the
# library:
from jaxcap.experiments.jit import ALLOCATOR, KEPT

by_default = ALLOCATOR.run(budget_s=0.05)
by_default

# %%
# When a call touches a page of memory that the operating system has to hand out first, the system
# counts a *page fault*. Here is what it counts in a call op by op and in a compiled call, first
# with the memory kept and then by default:
VARIANTS = mistakes.OP_BY_OP, mistakes.COMPILED
kept = KEPT.run(budget_s=0.05)
for label, some in ("memory kept", kept), ("the default", by_default):
    faults = [some.only(variant).faults_per_call for variant in VARIANTS]
    speedup = some.speedup(mistakes.COMPILED, over=mistakes.OP_BY_OP)
    print(f"{label}: page faults a call {faults}")
    print(f"  jit: {speedup}")

# %%
# A page fault costs time that has nothing to do with JAX. Where one variant has many and the other
# has few, part of what you would credit to ``jit`` belongs to the allocator. Your own program lives
# with the default, so neither number is a lie. But before you quote one of them, count page faults
# with Python's `resource.getrusage
# <https://docs.python.org/3/library/resource.html#resource.getrusage>`__, and say whether the
# memory was kept.
#
# Wrong and right times in one picture
# ------------------------------------
# Each row joins a wrong time with the right one. A cross to the left of its dot makes the code look
# too fast, and a cross to the right too slow. In the two rows of opponents, the code is the
# opponent's. The sent data and the allocator count as wrong here, because the figure asks how long
# JAX's computation takes.
compared = {
    "sending the data": (sending, mistakes.SENT, mistakes.ON_DEVICE),
    "an opponent of 64 bits": (
        products,
        mistakes.NUMPY_64,
        mistakes.NUMPY_32,
    ),
    "compiling in each call": (wrapping, mistakes.NEW_LAMBDA, ONCE),
    "wrapping in each call": (wrapping, NEW, ONCE),
    "a weak opponent": (opponents, mistakes.LOOP, mistakes.NUMPY),
}

# %%
right_s = waves.only(mistakes.COMPILED).time.value
pairs = {
    "stopping too early": too_early,
    "averaging the compiler in": (ten_calls_s / 10, right_s),
}
in_turns = {}
for mistake, (part, *both) in compared.items():
    pairs[mistake] = tuple(part.only(variant).time.value for variant in both)
    wrong, right = both
    in_turns[mistake] = part.speedup(right, over=wrong)

# %%
pairs["timing the allocator"] = tuple(
    some.only(mistakes.OP_BY_OP).time.value for some in (by_default, kept)
)
over_right = {
    mistake: in_turns.get(mistake, Estimate.from_runs([[wrong_s / right_s]]))
    for mistake, (wrong_s, right_s) in pairs.items()
}
factors = {
    mistake: ratio if ratio.value >= 1 else ratio.ratio_of(1)
    for mistake, ratio in over_right.items()
}

# %%
worst = max(factors, key=lambda mistake: factors[mistake].value)
off_by = factors[worst].short

# %%
_ = figures.dumbbell(
    pairs,
    ("wrong", "right"),
    label="time of a call",
    finding=f"Timed wrong and right: off by a factor of up to {off_by}",
)

# sphinx_gallery_thumbnail_number = 2


# %%
# A stopwatch and a checklist to keep
# -----------------------------------
# For a first look at your own code, this much is enough. It avoids mistakes 1 and 2. It still
# measures in a single process, and leaves the allocator as it is. The other mistakes depend on what
# you pass to it:
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
# Before you publish what it prints, go through this list.
#
# **The clock**
#
# - Does it stop when the whole result is ready? (:func:`jax.block_until_ready` waits for a pytree.)
# - Is the first call timed separately, with empty caches?
# - Is ``jit`` applied once, outside what is repeated?
# - Is each number a median of many, with an interval, from variants that took turns?
# - Could the device reach the speed that you report?
#
# **The data**
#
# - Is it on the device before the clock starts?
# - Do the arrays come in as arguments? (If a compiled function finds them ready-made, the compiler
#   may do some of the work beforehand.)
# - Is everything that you want to time returned? (The compiler drops what nobody uses.)
#
# **The opponent**
#
# - Do all variants compute the same thing in the same dtype, and has anybody compared the answers?
# - Do they have about as many page faults?
# - Would somebody who knows the opponent well have written it like that?
# - Do you say which device, which versions and which day?
#
# Takeaway
# --------
# A wrong time looks like any other time. The worst mistake on this page, :measured:`worst`, threw a
# time off by a factor of :measured:`off_by`. Even a correct time can mislead, because so much
# depends on the opponent. The same compiled function was
# :measured:`against_weak than a Python loop`, and :measured:`against_strong than NumPy`. So don't
# judge a timing by its looks. Go through the checklist on this page, and work out whether your
# device could reach the speed that the time implies.
#
# To time your own functions by these rules, call :func:`jaxcap.measure.timing.compare`. JAX has
# advice of its own in its `guide to benchmarking
# <https://docs.jax.dev/en/latest/201/profiling.html>`__. Next: :doc:`whether you can trust the
# intervals on this site </tutorials/performance/precision>`.
