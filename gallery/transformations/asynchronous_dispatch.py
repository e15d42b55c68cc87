"""
When is a result ready?
=======================

A JAX function may return before it has computed anything: what you hold is a promise of the result.
When does Python run ahead of the device, and when does it have to wait? And what does a clock
around a JAX call measure, then? This page notes both moments: when a call returns, and when its
result is ready. At the end, it asks what a loop of many small calls spends its time on: on waiting,
or on the calls.
"""

# %%
# A call returns a promise
# ------------------------
# Multiply a large matrix by itself, twice. The first call compiles. Around the second, look at the
# clock at two moments: when the call returns, and when its result is ready.
import time

import jax
import jax.numpy as jnp
import numpy as np

n = 1000 if jax.default_backend() == "cpu" else 8000
matrix = jax.random.normal(jax.random.key(0), (n, n)) / n**0.5
product = jax.jit(jnp.matmul)
_ = product(matrix, matrix).block_until_ready()

# %%
start = time.perf_counter()
promise = product(matrix, matrix)
returned_s = time.perf_counter() - start
promise.block_until_ready()
ready_s = time.perf_counter() - start
print(f"returned after {returned_s:.2g} s, ready after {ready_s:.2g} s")

# %%
# Between the two moments, the device is at work, and Python is free to go on. Yet what came back is
# a :class:`jax.Array` like any other. Its shape and type are known before anything is computed, and
# only its numbers may be missing. JAX calls this `asynchronous dispatch
# <https://docs.jax.dev/en/latest/async_dispatch.html>`__: the call *dispatches* work to the device,
# and returns.
print(promise.shape, promise.dtype)

# %%
# Python can run many calls ahead
# -------------------------------
# You can pass a promise to the next call, which returns a promise in turn. So Python may finish a
# whole chain of calls while the device is still busy with the first. To watch that happen, record
# when each call returned and when its result was ready.
# :func:`~jaxcap.measure.timeline.record_timeline` does so for a function that is called on its own
# result, again and again. Record one chain without waiting, and one with a wait after each call:
from jaxcap.measure.timeline import record_timeline


@jax.jit
def multiply(x):
    return matrix @ x


ahead = record_timeline(multiply, matrix, calls=6)
in_step = record_timeline(multiply, matrix, calls=6, awaited=True)

# %%
# In the picture, each row is a call. A diamond marks when the call returned. The bar shows when the
# device could have been working: from the moment its input was ready until the result was.
import matplotlib.pyplot as plt


def draw(axes, timeline, title):
    """Draw one row for each call."""
    rows = range(1, len(timeline.calls) + 1)
    for row, (begin, end) in zip(rows, timeline.executions):
        axes.barh(row, end - begin, left=begin, color="C0", height=0.5)
    returned = [call.returned_s for call in timeline.calls]
    axes.plot(returned, rows, "D", color="C3", label="the call returned")
    axes.barh(0, 0, color="C0", label="the device works on it")
    axes.set(title=title, ylabel="call", yticks=rows)
    axes.set_ylim(len(timeline.calls) + 0.6, 0.4)


# %%
from matplotlib.ticker import EngFormatter

figure, (top, bottom) = plt.subplots(2, sharex=True, figsize=(6, 5))
draw(top, ahead, "Python runs ahead")
draw(bottom, in_step, "Python waits after each call")
bottom.xaxis.set_major_formatter(EngFormatter(unit="s"))
bottom.set_xlabel("time since the first call")
lines = top.get_legend_handles_labels()
_ = figure.legend(*lines, loc="outside lower center", ncols=2)

# sphinx_gallery_thumbnail_number = 1

# %%
# In the upper panel, Python may run ahead: diamonds that line up near the left edge, above one
# another, are calls that returned while the device was still at the first product. In the lower
# panel, Python couldn't make a call until the previous one was done. Each panel shows a single run,
# and the products are the same, so which of the two ends first may be chance. To put a number on
# the difference, take the share of the whole time that had passed when the last call returned:
for name, timeline in (("ahead", ahead), ("in step", in_step)):
    last = timeline.calls[-1]
    print(f"{name}: {100 * last.returned_s / last.ready_s:.2g} %")

# %%
# Python waits when it needs the numbers
# --------------------------------------
# When does a promise have to be kept? When Python needs the numbers themselves: to print an array,
# to test a value with ``if``, to convert it with ``float`` or to NumPy, and of course when you call
# :func:`jax.block_until_ready`. For the shape or the type it needn't wait, nor to pass the array on
# to another JAX function.
#
# Can you tell these uses apart? The first part of the next experiment computes a product ``y`` and
# then uses it in one of five ways. Decide for each whether the call can return early:
from jaxcap.experiments import asynchronous
from jaxcap.report.source import Source

results = asynchronous.ASYNCHRONOUS.run(budget_s=0.03)
Source(asynchronous.prepare_uses)

# %%
# Compare the columns *until it returns* and *time*. Where they are far apart, Python was free to go
# on:
uses = results.select(question=asynchronous.USES)
early = [
    use.variant for use in uses if use.dispatch.value < use.time.value / 2
]
returned_early = ", ".join(early) or "none of them"
uses

# %%
# These uses returned before half of the time had passed: :measured:`returned_early`. Did you choose
# the same? The last three of the five uses can't return early, because they need numbers, and a
# single number is available only when the whole product is. So a training loop that prints its loss
# makes Python wait in every step. Print every hundredth loss, or one that is a few steps old.
#
# Read the next batch while the device works
# ------------------------------------------
# What can Python do while the device works? A program often has something else to do, such as
# reading the next batch of data. If it waits for the device first, the two times add up. If it
# reads meanwhile, you should see only the longer of the two times. The second part of the
# experiment has both orders, and a sleep that takes about as long as the product stands in for the
# disk:
Source(asynchronous.prepare_overlap)

# %%
from jaxcap.report.claims import claim, speedup_of

lead_pays = claim(
    "reading while the device works is faster than waiting first",
    results,
    speedup_of(asynchronous.MEANWHILE, over=asynchronous.WAIT),
)
lead = lead_pays.estimate
lead_pays

# %%
from jaxcap.report import figures

_ = figures.bars(
    results.select(question=asynchronous.OVERLAP),
    title="A product on the device, and a read from the disk",
)

# %%
# Two equal times that overlap in full make a factor of two. Reading meanwhile was
# :measured:`lead than waiting first`. Don't count on as much from a real disk: a sleep leaves the
# processor alone, while reading and decoding need it.
#
# Small computations may run inside the call
# ------------------------------------------
# So far, a call handed its work over and returned. But handing over costs time as well. On a CPU,
# the "device" is other threads of the same process, and for a small computation the hand-over can
# cost more than the work. So if its inputs are ready, JAX runs a small computation at once, inside
# the call, and the result is there when the call returns.
#
# Where is the border? The third part of the experiment multiplies larger and larger matrices, and
# takes their cosine:
by_size = results.select(question=asynchronous.INSIDE)
_ = figures.returns(by_size, x="size")

# %%
product_early, cosine_early = (
    ", ".join(
        f"{result.parameters['size']:,}"
        for result in by_size.select(variant=name)
        if result.dispatch.value < result.time.value / 2
    )
    or "none"
    for name in ("product", "cosine")
)

# %%
# Where the two lines meet, the result was there when the call returned. Where they part, the call
# returned early, so the lower line says nothing about the computation. A call returned in less than
# half of the time that its result took at these numbers of rows: :measured:`product_early` for the
# product, and :measured:`cosine_early` for the cosine. On a GPU, expect at least the larger sizes,
# for both.
#
# On a CPU, the border depends on what XLA counted when it compiled the function. It decides by the
# number of floating-point operations, and functions such as the cosine aren't among these: XLA
# counts them separately, as *transcendentals*. Here is what it counts for the largest matrix:
largest = max(result.parameters["size"] for result in by_size)
square = jnp.ones((largest, largest))
programs = {
    "product": asynchronous.multiply.lower(square, square),
    "cosine": jax.jit(jnp.cos).lower(square),
}
for name, lowered in programs.items():
    cost = lowered.cost_analysis()
    print(f"{name}: {cost.get('flops', 0):,.0f} flops, ", end="")
    print(f"{cost.get('transcendentals', 0):,.0f} transcendentals")

# %%
# And this is how much of the time had passed when the call returned:
for name in by_size.variants:
    result = by_size.only(name, size=largest)
    print(f"{name}: {result.dispatch.value / result.time.value:.0%}")

# %%
# If XLA counts no flops in the cosines, then on a CPU they pass for a small computation, and if
# their input is there, they run inside the call, however many there are. (The border was at a
# thousand flops when we read XLA's source.) None of this is guaranteed, and the next version of JAX
# may draw the border elsewhere. So even if a call has always waited so far, don't rely on it.
#
# For debugging you can switch the hand-over off on CPUs. Set ``jax_cpu_enable_async_dispatch`` to
# false before you first use JAX, and every call computes its result before it returns.
#
# A stopwatch around a loop doesn't wait for the results
# ------------------------------------------------------
# What does this mean for a loop of small calls? The exercise sheet of a course of 2023 evaluates a
# small random model in a loop, and asks whether :func:`jax.jit` helps, first without waiting and
# then with it. The model draws two normal numbers :math:`a` and :math:`b`, and returns
# :math:`14 a^2 + 13 b`:
from jaxcap.kernels import random_model
from jaxcap.kernels.random_model import my_model

Source(my_model)


# %%
def loop(model, loops, wait=False):
    """Evaluate a model many times, with new keys each time."""
    key = jax.random.key(0)
    for _ in range(loops):
        key, *subkeys = jax.random.split(key, 3)
        value = model(subkeys)
        if wait:
            value.block_until_ready()
    return value


_ = loop(my_model, 10).block_until_ready()  # compiles what it needs

# %%
# The sheet asks for a hundred thousand iterations, which suits a GPU. On a CPU we do fewer:
loops = 2_000 if jax.default_backend() == "cpu" else 100_000
fast_model = jax.jit(my_model)
_ = loop(fast_model, 10).block_until_ready()  # compiles it

for name, arguments in {
    "op by op": (my_model, loops),
    "jit": (fast_model, loops),
    "jit, each awaited": (fast_model, loops, True),
}.items():
    start = time.perf_counter()
    loop(*arguments)
    per_loop_s = (time.perf_counter() - start) / loops
    print(f"{name:18} {per_loop_s * 1e6:6.0f} µs an iteration")

# %%
# What can you conclude from these three numbers, over :measured:`loops` iterations? Less than you
# might hope. The first two say when Python left the loop, whether or not the values were ready. A
# GPU may still have had work in its queue; a CPU computes such small calls before they return. The
# third waits for each value, which hardly any program has to do. And each is a single run in a
# fixed order, so it contains whatever else the machine was doing.
#
# A fair clock stops when all values are ready
# --------------------------------------------
# What you want to know is when *all* values are ready, with no waiting in between. So in the
# experiment each variant returns all of its values, and the clock stops when the last of them is
# ready. The first three variants are loops like the one above:
Source(random_model.looped)

# %%
# These three differ in whether they compile and whether they wait, and each iteration still takes
# several calls. What if the loop makes fewer calls? *jit with split* compiles a whole step of the
# loop, so that splitting the key no longer needs calls of its own. *scan* compiles the loop itself,
# with :func:`jax.lax.scan`, so that a single call does all steps:
Source(random_model.step, random_model.looped_steps, random_model.chained)

# %%
# And *vmap* has no loop at all: it splits all keys at once, and maps the model over them.
Source(random_model.batched)

# %%
# Do they compute the same? All but *vmap* should agree up to rounding:
from jaxcap.experiments import awaiting

point = awaiting.AWAITING.points[0]
variants = awaiting.prepare(loops=point["loops"])
values = {name: np.array(call()) for name, call in variants.items()}
sample = values.pop(awaiting.VMAP)
for name, some in values.items():
    off = abs(some - values[awaiting.OP_BY_OP]).max()
    print(f"{name:18} off by {off:.1g}")

# %%
# *vmap* draws other random numbers, because it splits all keys from one. So judge it as a random
# sample, by its mean:
mean = float(sample.mean())
variance = 2 * 14**2 + 13**2
deviation = (variance / sample.size) ** 0.5
print(f"mean {mean:.1f}, expected 14 with a deviation of {deviation:.1f}")

# %%
# Which do you expect to matter more: waiting for each value, or the number of calls? An iteration
# computes two numbers, which is next to no arithmetic, so count the calls. Op by op, Python makes
# one for every operation. With ``jit``, the model is one call, but the line that splits the key
# still makes its own. *jit with split* leaves one an iteration, and *scan* and *vmap* one for all:
loops_of_calls = awaiting.AWAITING.run(budget_s=0.05)
loops_of_calls

# %%
loops_of_calls.speedups(over=awaiting.COMPILED)

# %%
waiting_costs = claim(
    "waiting for each value makes a loop of small calls slower",
    loops_of_calls,
    speedup_of(awaiting.AWAITED, over=awaiting.COMPILED),
    below=1,
)
waiting = waiting_costs.estimate
waiting_costs

# %%
scan_pays = claim(
    "a loop inside one compiled call is faster than a loop of compiled calls",
    loops_of_calls,
    speedup_of(awaiting.SCAN, over=awaiting.COMPILED),
)
scan = scan_pays.estimate
scan_pays

# %%
_ = figures.bars(
    loops_of_calls,
    over=awaiting.COMPILED,
    about=awaiting.SCAN,
    title="All values awaited at the end",
    label="time of all iterations (lower is better)",
)

# %%
# Was it the waiting, or the calls? The loop that waits for each value was
# :measured:`waiting than the loop that doesn't`. The loop that moved into one compiled call was
# :measured:`scan than the loop of calls`. If the times shrink in the same order as the number of
# calls, then this loop spends its time on calls. *scan* and *vmap* both make a single call, and
# differ only inside it: *vmap* needn't finish one value before it starts the next.
#
# Takeaway
# --------
last = ahead.calls[-1]
returned_after = f"{100 * last.returned_s / last.ready_s:.2g} %"

# %%
# A JAX call returns a promise: in the chain of six products, the last call had returned after
# :measured:`returned_after` of the time that all results took. So wait for the result before you
# read a clock. Otherwise, wait only when you need the numbers: doing something else in the meantime
# was :measured:`lead than waiting first`. If a loop of small calls takes long, move it into one
# compiled call before you blame the waiting: here, that call was
# :measured:`scan than a loop of calls`.
#
# Now try :doc:`exercise 4 </exercises/4_jit>`, which has you mend a stopwatch and a loop that waits
# too often. Next: :doc:`which arguments must be static </tutorials/transformations/static_arguments>`,
# for when ``jit`` refuses to compile a function.
