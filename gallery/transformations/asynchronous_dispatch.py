"""
When is a result ready?
=======================

A JAX call may return before it has computed anything, so Python can do something else meanwhile. But
a stopwatch that doesn't wait measures the wrong thing, and a line as innocent as ``print(loss)``
makes Python stop until the loss is there. This page shows when calls return and when their results
are ready, what makes Python wait, and what you can gain by waiting later.
"""

# %%
# A call returns a promise
# ------------------------
# Multiply a large matrix by itself. The first call also compiles, so it doesn't count:
import time

import jax
import jax.numpy as jnp

n = 1000 if jax.default_backend() == "cpu" else 8000
matrix = jax.random.normal(jax.random.key(0), (n, n)) / n**0.5
multiply = jax.jit(jnp.matmul)
_ = multiply(matrix, matrix).block_until_ready()

# %%
# Look at the clock twice around the second call: when it returns, and when its result is ready.
start = time.perf_counter()
promise = multiply(matrix, matrix)
returned_s = time.perf_counter() - start
promise.block_until_ready()
ready_s = time.perf_counter() - start
print(f"returned after {returned_s:.2g} s, ready after {ready_s:.2g} s")

# %%
# The first number is what a stopwatch shows if nobody waits for the result. It says how long it took
# to hand the product to the device, and nothing about the product. JAX calls this `asynchronous
# dispatch <https://docs.jax.dev/en/latest/async_dispatch.html>`__. What you hold after the call is a
# promise. It looks like any other :class:`jax.Array`, and even knows its shape and type. Only its
# numbers may still be missing:
print(promise.shape, promise.dtype)

# %%
# Python can run many calls ahead
# -------------------------------
# You can pass a promise to the next call, which returns another promise. So Python should be able to
# make several calls of a chain while the device is busy with the first. To watch this,
# :func:`~jaxcap.measure.timeline.record_timeline` calls a function on its own result again and
# again, and records when each call returned and when its result was ready. We record two chains, one
# without waiting and one that waits after each call:
from jaxcap.measure.timeline import record_timeline


def next_product(x):
    return multiply(matrix, x)


ahead = record_timeline(next_product, matrix, calls=6)
in_step = record_timeline(next_product, matrix, calls=6, awaited=True)

# %%
# In the figure, each row is a call. A diamond marks when the call returned. The bar begins when the
# device can start on the product, and ends when the result is ready.
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
finding = (
    f"Without waits, all calls return in the first {share:.2g}% of the run"
)
figures.headline(figure, finding)

# sphinx_gallery_thumbnail_number = 1

# %%
# In the lower panel, Python can't make a call before the previous product is ready. In the upper
# panel, the products queue up on the device, and Python is free once it has made the calls. The queue
# has an end, though: while too many calls are unfinished, the next one has to wait. Each panel is a
# single run of the same products, so don't compare when the two end.
#
# Python waits when it needs the numbers
# --------------------------------------
# To see which lines of code make Python wait, we computed a product ``y``, and used it in the five
# ways below. After which of them can Python go on before the product is ready?
from jaxcap.experiments import asynchronous
from jaxcap.report.source import Source

results = asynchronous.ASYNCHRONOUS.run(budget_s=0.03)
Source(asynchronous.prepare_uses)

# %%
# Compare the columns *until it returns* and *time*:
uses = results.select(question=asynchronous.USES)
early = [
    use.variant for use in uses if use.dispatch.value < use.time.value / 2
]
returned_early = ", ".join(early) or "none of them"
uses

# %%
# These returned before half of the time had passed: :measured:`returned_early`. The shape is known in
# advance, and another product takes ``y`` as a promise. But ``block_until_ready`` waits by
# definition, and a Python float or a NumPy array can't be made until the whole product is finished.
#
# Printing an array asks for its numbers, too, and so does ``if y[0, 0] > 0``. A training loop that
# prints its loss therefore makes Python wait in every step. Print every hundredth loss instead.
#
# Read the next batch while the device works
# ------------------------------------------
# A program often has something to do that doesn't depend on the result, such as reading the next
# batch of data. If it waits first, it spends the two times one after the other. What if it reads
# between the call and the wait? In the experiment, a sleep that takes about as long as the product
# stands in for the disk. Our clock runs until the returned product is ready, so ``read_meanwhile``
# needn't wait for it:
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
# Reading meanwhile was :measured:`lead than waiting first`. Two equal steps that overlap completely
# take half the time, so a factor of two is the best that you can get here. Reading real data on a
# CPU may gain less, because a sleep leaves the processor to the product, and decoding a file
# doesn't.
#
# On a CPU, a small computation may run inside the call
# -----------------------------------------------------
# So far, each call has handed its work over. On a CPU, the "device" is other threads of the same
# process, and waking one of them can take longer than a small computation. So XLA, JAX's compiler,
# runs some computations at once, inside the call, and their results are ready when it returns. Which
# ones? We multiplied larger and larger matrices, and took their cosines:
by_size = results.select(question=asynchronous.INSIDE)
_ = figures.returns(by_size, x="size", xlabel="rows of the matrix")

# %%
# As long as the two lines of a panel coincide, the result is ready as soon as the call returns. From
# where they part, a clock that stops at the lower line misses part of the work.
#
# On a CPU, the size of the arrays isn't what decides. When XLA compiles a program, it counts the
# floating-point operations, or flops. If there are fewer than `a thousand
# <https://github.com/openxla/xla/blob/c827fcd65e895cc571df4add6cd88be760483103/xla/pjrt/cpu/cpu_client.cc>`__,
# the program runs inside the call, unless earlier work is still under way. Here are the counts for
# the largest matrix, for the product and then for the cosine:
square = jnp.ones((1024, 1024))
product = multiply.lower(square, square).cost_analysis()
cosine = jax.jit(jnp.cos).lower(square).cost_analysis()
for count in ("flops", "transcendentals"):
    print(f"{count} of the product: {product.get(count, 0):,.0f}")
    print(f"{count} of the cosine:  {cosine.get(count, 0):,.0f}")

# %%
# XLA counts a cosine as a *transcendental* operation. So on a CPU, a million cosines pass for a
# small computation, and Python has to sit through all of them. The border may move with the next
# release, so don't rely on it: a stopwatch should wait in any case. If you want every call on a CPU
# to finish its work before it returns, set the option ``jax_cpu_enable_async_dispatch`` to false
# before you first use JAX.
#
# Takeaway
# --------
last = ahead.calls[-1]
returned_after = f"{100 * last.returned_s / last.ready_s:.2g}%"

# %%
# A JAX call returns a promise. In a single run, Python had made all six calls of a chain after
# :measured:`returned_after` of the time until the last result. So wait for the result before you
# stop a clock. Everywhere else, wait as late as you can, and let Python do something useful: reading
# data while the device worked was :measured:`lead than waiting first`. In a loop of many small calls,
# :doc:`the calls themselves </tutorials/performance/dispatch_overhead>` may cost more than the waiting.
#
# Now try :doc:`exercise 3 </exercises/3_jit>`, which has you fix a stopwatch and a loop that waits
# too often. Next:
# :doc:`which arguments must be static </tutorials/transformations/static_arguments>`, for when
# ``jit`` refuses to compile a function.
