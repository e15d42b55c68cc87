"""
When is a result ready?
=======================

A JAX function may return before it has computed anything, and what you hold then is a promise of
the result. So Python and the device work side by side, until one has to wait for the other. If you
don't know which of them is waiting, you will misread a clock, and speed up the wrong part. We let
Python run ahead of a few large products, see what makes it stop, and give it something to do in the
meantime. The last section turns to small calls, where the device may have to wait for Python.
"""

# %%
# A call returns a promise
# ------------------------
# Multiply a large matrix by itself, twice. The first call compiles, so look at the clock around the
# second, at two moments: when the call returns, and when its result is ready.
import time

import jax
import jax.numpy as jnp

n = 1000 if jax.default_backend() == "cpu" else 8000
matrix = jax.random.normal(jax.random.key(0), (n, n)) / n**0.5
multiply = jax.jit(jnp.matmul)
_ = multiply(matrix, matrix).block_until_ready()

# %%
start = time.perf_counter()
promise = multiply(matrix, matrix)
returned_s = time.perf_counter() - start
promise.block_until_ready()
ready_s = time.perf_counter() - start
print(f"returned after {returned_s:.2g} s, ready after {ready_s:.2g} s")

# %%
# Between the two moments, the device is at work, and Python is free to go on. JAX calls this
# `asynchronous dispatch <https://docs.jax.dev/en/latest/async_dispatch.html>`__, because the call
# *dispatches* work to the device and returns. What comes back is a :class:`jax.Array` like any
# other. Its shape and type are known before anything is computed, so only its numbers may still be
# missing:
print(promise.shape, promise.dtype)

# %%
# Python can run many calls ahead
# -------------------------------
# You can pass a promise to the next call, which returns a promise in turn. So Python may finish a
# whole chain of calls while the device is still busy with the first. To watch that happen,
# :func:`~jaxcap.measure.timeline.record_timeline` calls a function on its own result, again and
# again, and records when each call returned and when its result was ready. Record one chain without
# waiting, and one with a wait after each call:
from jaxcap.measure.timeline import record_timeline


def next_product(x):
    return multiply(matrix, x)


ahead = record_timeline(next_product, matrix, calls=6)
in_step = record_timeline(next_product, matrix, calls=6, awaited=True)

# %%
# In the picture, each row is a call. A diamond marks when the call returned. The bar shows when the
# device can have worked on it: from when the call was made and its input was ready, until the
# result was.
import matplotlib.pyplot as plt

from jaxcap.report import figures


def draw(axes, timeline, title):
    """Draw one row for each call."""
    rows = range(1, len(timeline.calls) + 1)
    for row, (begin, end) in zip(rows, timeline.executions):
        axes.barh(row, end - begin, left=begin, color="C0", height=0.5)
    returned = [call.returned_s for call in timeline.calls]
    edge = {"markeredgecolor": figures.INK, "clip_on": False}
    axes.plot(
        returned, rows, "D", color="C3", label="the call returned", **edge
    )
    axes.barh(0, 0, color="C0", label="device may work on it")
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
figure.legend(*lines, loc="outside lower center", ncols=2)
share = 100 * ahead.calls[-1].returned_s / ahead.calls[-1].ready_s
finding = f"Without waits, all calls return within {share:.2g}% of the time"
figures.headline(figure, finding)

# sphinx_gallery_thumbnail_number = 1

# %%
# In the upper panel, diamonds near the left edge are calls that returned while the device was still
# at the first product. In the lower panel, Python couldn't make a call until the previous product
# was done. Each panel shows a single run of the same products, so which of the two ends first may
# be chance. How far ahead was Python when it made the last call? In step, expect five sixths of the
# whole time to have passed, because five of the six products have to be done before that call:
for name, timeline in (("ahead", ahead), ("in step", in_step)):
    last = timeline.calls[-1]
    print(f"{name}: {100 * last.returned_s / last.ready_s:.2g}%")

# %%
# Python waits when it needs the numbers
# --------------------------------------
# Python has to wait when it needs the numbers themselves. It needs them to print an array, to test a
# value with ``if``, or to convert it with ``float`` or to NumPy, and it waits, of course, when you
# call :func:`jax.block_until_ready`. It needn't wait to read the shape or the type, or to pass the
# array on to another JAX function. But it can't run ahead for ever. Under JAX 0.10, a CPU has at
# most 32 computations under way, so in a long chain of products, each call after the 32nd waits
# until an earlier product is done.
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
# Which returned before half of their time had passed? Here, :measured:`returned_early`. The last
# three of the five can't return early. ``block_until_ready`` waits by
# definition, and the other two need numbers. Even a single number is there only when the whole
# product is. So a training loop that prints its loss makes Python wait in every step. Print every
# hundredth loss instead, or one that is a few steps old.
#
# Read the next batch while the device works
# ------------------------------------------
# While the device works, Python can do something else that has to be done, such as reading the next
# batch of data. If Python waits for the device first, the two times add up. If it reads meanwhile,
# you should see only the longer of the two. The second part of the experiment has both orders, and
# a sleep that takes about as long as the product stands in for the disk:
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
# To see the overlap, record a chain as above, but with a read before each product. Again, a sleep
# stands in for the disk, and takes as long as a product did on average in step:
from functools import partial

read_s = in_step.calls[-1].ready_s / len(in_step.calls)


def read_and_multiply(x):
    time.sleep(read_s)
    return next_product(x)


chain = partial(record_timeline, read_and_multiply, matrix, calls=4)
orders = {"Wait, then read": chain(awaited=True), "Read meanwhile": chain()}

# %%
figure, panels = plt.subplots(2, sharex=True, figsize=(6, 4))
for axes, (order, timeline) in zip(panels, orders.items()):
    end = 0.0
    for call in timeline.calls:
        spans = {"Python reads": (call.called_s, call.returned_s)}
        spans["device works"] = max(end, call.returned_s), call.ready_s
        for (who, (begin, end)), colour in zip(spans.items(), ("C3", "C0")):
            width = end - begin
            axes.barh(who, width, 0.5, begin, color=colour, ec=figures.INK)
    axes.set_title(order)
    axes.invert_yaxis()
axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
axes.locator_params(axis="x", nbins=5)
axes.set_xlabel("time since the first read (lower is better)")
waited, lapped = (order.calls[-1].ready_s for order in orders.values())
finding = f"In one run, {waited:.2g} s in turn and {lapped:.2g} s overlapped"
figures.headline(figure, finding)

# %%
# In fresh processes, with a single product and a single read, reading meanwhile was
# :measured:`lead than waiting first`. Two equal steps that overlap can take half the time at best.
# Our chain has four reads and four products. Its first read and its last product have nothing to
# overlap with, so at best, the eight steps take the time of five, a factor of 1.6. The figure shows
# a factor of :measured:`in_chain`. Each order ran only once, and a product can take longer in one
# run than in the other, so such a factor may miss 1.6 in either direction. Don't count on as much
# from a real disk: a sleep leaves the processor alone, while reading and decoding need it.
#
# Small computations may run inside the call
# ------------------------------------------
# So far, a call handed its work over and returned. But the hand-over takes time, too. On a CPU, the
# "device" is other threads of the same process, and handing a small computation to one of them can
# take longer than computing it. So if the inputs are ready and no earlier work is under way, JAX
# runs a small computation at once, inside the call, and the result is there when the call returns.
#
# Where is the border? The third part of the experiment multiplies larger and larger matrices, and
# takes their cosine:
by_size = results.select(question=asynchronous.INSIDE)
_ = figures.returns(by_size, x="size", xlabel="rows of the matrix")

# %%
# Where the two lines meet, the result was there when the call returned. Where they part, the call
# returned early, so a clock that stops at the lower line says nothing about the computation.
#
# On a CPU, the border depends on how many floating-point operations, or flops, XLA counted when it
# compiled the function. A cosine isn't a flop to XLA, which counts such functions separately, as
# *transcendentals*:
cosine = jax.jit(jnp.cos)
for rows in sorted({result.parameters["size"] for result in by_size}):
    square = jnp.ones((rows, rows))
    of_product = multiply.lower(square, square).cost_analysis()
    of_cosine = cosine.lower(square).cost_analysis()
    print(
        f"{rows:5,} rows: product {of_product['flops']:13,.0f} flops,",
        end=" ",
    )
    print(f"cosine {of_cosine.get('flops', 0):.0f} flops")

# %%
# The border was at a thousand flops when we read XLA's source. Products with more flops are handed
# over. For the smaller of them, the figure can't show it, because the product is done as soon as the
# hand-over is. A cosine counts as no flops at all, so even a million cosines pass for a small
# computation, and run inside the call. The next version of JAX may draw the border elsewhere, so
# even if a call has always waited so far, don't rely on that. On a GPU, expect a compiled call to
# return early, unless too many earlier ones are still under way.
#
# For debugging you can switch the hand-over off on CPUs. Set ``jax_cpu_enable_async_dispatch`` to
# false before you first use JAX, and every call on a single CPU device computes its result before
# it returns.
#
# With many small calls, the device may wait for Python
# -----------------------------------------------------
# Running ahead helps only while the device has more to do than Python. In a loop of small calls it
# may be the other way round: the device is done before Python has prepared the next call. Take a
# model that draws two normal numbers :math:`a` and :math:`b`, and returns :math:`14 a^2 + 13 b`.
# ``looped`` evaluates it with new keys each time, and waits for each value if ``awaited`` is true.
# ``chained`` compiles the loop itself, with :func:`jax.lax.scan`, so all values together take one
# call:
from jaxcap.kernels import random_model as model

Source(model.my_model, model.looped, model.step, model.chained)

# %%
# Which costs such a loop more: waiting for each value, or making the calls? In the figure, *jit* is
# ``looped`` with the model compiled, *jit with split* compiles the whole ``step``, *scan* is
# ``chained``, and *vmap* computes all values at once, from other keys. The clock stops when the
# last value is ready:
from jaxcap.experiments import awaiting

loops_of_calls = awaiting.AWAITING.run(budget_s=0.05)
_ = figures.bars(
    loops_of_calls,
    over=awaiting.STEP,
    about=awaiting.SCAN,
    title="Many evaluations of a small model",
    label="time of all iterations (lower is better)",
)

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
    speedup_of(awaiting.SCAN, over=awaiting.STEP),
)
scan = scan_pays.estimate
scan_pays

# %%
split = loops_of_calls.speedup(awaiting.STEP, over=awaiting.COMPILED)
calls = loops_of_calls.speedup(awaiting.SCAN, over=awaiting.COMPILED)
blamed = "the calls" if calls.value * waiting.value > 1 else "the waiting"

# %%
# Here, :measured:`blamed` cost more. The loop that waits for each value was
# :measured:`waiting than the loop that doesn't`. With the split of the keys compiled together with
# the model, Python makes a single call in each step, and that loop was
# :measured:`split than the one that splits outside`. With the whole loop compiled, Python makes a
# single call in all, and that was :measured:`scan than a compiled call for each step`. On a CPU,
# there may be little to wait for, because a computation as small as this model can run inside its
# call. On a GPU, waiting may matter more.
#
# Takeaway
# --------
last = ahead.calls[-1]
returned_after = f"{100 * last.returned_s / last.ready_s:.2g}%"
in_chain = f"{waited / lapped:.2g}"

# %%
# A JAX call returns a promise: Python had made all six calls of a chain of products after
# :measured:`returned_after` of the time until the last result. So wait for the result before you
# read a clock. Otherwise, wait only when you need the numbers: doing something else in the meantime
# was :measured:`lead than waiting first`. If a loop of small calls is slow, don't blame the waiting
# yet: compile the whole loop into one call, and measure that. On this page, one call was
# :measured:`scan than a loop of compiled calls`.
#
# Now try :doc:`exercise 3 </exercises/3_jit>`, which has you fix a stopwatch and a loop that waits
# too often. Next:
# :doc:`which arguments must be static </tutorials/transformations/static_arguments>`, for when
# ``jit`` refuses to compile a function.
