"""
When is a result ready?
=======================

A JAX call may return before it has computed anything, so Python can do something else meanwhile. But
a stopwatch that doesn't wait measures the wrong thing, and a line as innocent as ``print(loss)``
makes Python stop until the loss is there. This page shows how far Python can run ahead, what makes it
wait, and what you gain by waiting later.
"""

# %%
# A call returns a promise
# ------------------------
# Multiply a large matrix by itself. The first call compiles as well, so we don't time it:
import time

import jax
import jax.numpy as jnp

n = 1000 if jax.default_backend() == "cpu" else 8000
matrix = jax.random.normal(jax.random.key(0), (n, n)) / n**0.5
multiply = jax.jit(jnp.matmul)
_ = multiply(matrix, matrix).block_until_ready()

# %%
# After the second call, look at the clock twice: when the call returns, and when its result is ready.
# What share of the time do you expect to have passed at the first look?
start = time.perf_counter()
promise = multiply(matrix, matrix)
returned_s = time.perf_counter() - start
promise.block_until_ready()
ready_s = time.perf_counter() - start
print(f"returned after {returned_s:.2g} s, ready after {ready_s:.2g} s")

# %%
# The first number is what a stopwatch shows if it doesn't wait for the result: how long it took to
# hand the product to the device. JAX calls this `asynchronous dispatch
# <https://docs.jax.dev/en/latest/async_dispatch.html>`__. What you hold after the call is a promise. It
# looks like any other :class:`jax.Array`, and knows its shape and type. Only its numbers may still be
# missing:
print(promise.shape, promise.dtype)

# %%
# Python can run many calls ahead
# -------------------------------
# You can pass a promise to the next call, which returns another promise. How many calls of such a chain
# can Python make while the device is busy with the first?
# :func:`~jaxcap.measure.timeline.record_timeline` calls a function on its own result again and again,
# and records when each call returned and when its result was ready. We record six calls twice, without
# waiting and with a wait after each call:
from jaxcap.measure.timeline import record_timeline


def next_product(x):
    return multiply(matrix, x)


ahead = record_timeline(next_product, matrix, calls=6)
in_step = record_timeline(next_product, matrix, calls=6, awaited=True)

# %%
# Each row of the figure is a call. Its diamond marks when the call returned, and its bar shows when the
# device can have worked on the product: from when the product's inputs were ready until its result was.
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
# In the lower panel, Python makes each call only when the previous product is ready. In the upper
# panel, the products queue up on the device, and Python is free once it has made the calls. The device
# has the same work to do in both panels. What you gain by running ahead is time for Python.
#
# Python waits when it needs the numbers
# --------------------------------------
# What makes Python wait? We computed a product ``y``, and used it in five ways. After which of these
# can Python go on before the product is ready?
from jaxcap.experiments import asynchronous
from jaxcap.report.source import Source

results = asynchronous.ASYNCHRONOUS.run(budget_s=0.03)
Source(asynchronous.prepare_uses)

# %%
# The column *until it returns* says when Python could go on, and *time* when everything was ready:
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
# Printing an array asks for its numbers, too, and so does ``if y[0, 0] > 0``. So a training loop that
# prints its loss makes Python wait in every step. Print every hundredth loss instead.
#
# Read the next batch while the device works
# ------------------------------------------
# A program often has something to do that doesn't depend on the result, such as reading the next
# batch of data. How much faster is it to read between the call and the wait than after the wait? In our
# experiment, a sleep that takes about as long as the product stands in for reading. The clock stops
# when the product that a function returns is ready:
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
# take half the time, so two is the best factor that you can get here. On a CPU, real data may gain you
# less: a sleep leaves the whole processor to the product, and decoding a file doesn't.
#
# On a CPU, some results are ready when the call returns
# ------------------------------------------------------
# On a CPU, JAX hands the work to another thread, and that takes time, too. So if no earlier work is
# under way, XLA, its compiler, runs small programs inside the call: those in which it counts fewer than
# `a thousand
# <https://github.com/openxla/xla/blob/c827fcd65e895cc571df4add6cd88be760483103/xla/pjrt/cpu/cpu_client.cc>`__
# floating-point operations, or flops. We multiplied larger and larger matrices, and took their cosines.
# Which of the two do you expect to return early at the largest size?
by_size = results.select(question=asynchronous.INSIDE)
_ = figures.returns(by_size, x="size", xlabel="rows of the matrix")

# %%
# Where the two lines of a panel coincide, the result is ready as soon as the call returns. For the
# largest matrix, XLA counts:
square = jnp.ones((1024, 1024))
product = multiply.lower(square, square).cost_analysis()
cosine = jax.jit(jnp.cos).lower(square).cost_analysis()
print(f"flops of the product: {product.get('flops', 0):,.0f}")
print(f"flops of the cosine:  {cosine.get('flops', 0):,.0f}")

# %%
# A cosine is a *transcendental* operation to XLA, and not a flop. So on a CPU, a million cosines pass
# for a small program, and Python has to sit through all of them. The border may move with the next
# release, so let a stopwatch wait in any case.
#
# Takeaway
# --------
last = ahead.calls[-1]
returned_after = f"{100 * last.returned_s / last.ready_s:.2g}%"

# %%
# A JAX call may return before its result is ready. In one run, Python had made all six calls of a
# chain when :measured:`returned_after` of the time to the last result had passed. So wait for the
# result before you stop a clock. Everywhere else, wait as late as you can, and let Python do something
# useful: reading data while the device worked was :measured:`lead than waiting first`.
#
# Now try :doc:`exercise 3 </exercises/3_jit>`, which has you fix a stopwatch and a loop that waits
# too often. Next:
# :doc:`which arguments must be static </tutorials/transformations/static_arguments>`, for when
# ``jit`` refuses to compile a function.
