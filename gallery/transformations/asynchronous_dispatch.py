"""
When is a result there?
=======================

JAX returns an array before it has computed it. After this page you will know when Python waits and
when it doesn't, what a clock around a JAX call has timed, how to use the time until the result is
there, and what a loop of many small calls spends its time on.
"""

# %%
# A promise
# ---------
# The first product compiles. The second only has to be computed, and we look at the clock twice:
# when the call has returned, and when the result is there.
import time

import jax
import jax.numpy as jnp
import numpy as np

n = 1000 if jax.default_backend() == "cpu" else 8000
matrix = jax.random.normal(jax.random.key(0), (n, n)) / n**0.5
product = jax.jit(jnp.matmul)
product(matrix, matrix).block_until_ready()

start = time.perf_counter()
promise = product(matrix, matrix)
returned_s = time.perf_counter() - start
promise.block_until_ready()
ready_s = time.perf_counter() - start
print(f"returned after {returned_s:.2g} s, ready after {ready_s:.2g} s")

# %%
# What came back first is a :class:`jax.Array` like any other. Its shape and type are known without
# computing anything; only its numbers are missing. JAX calls this `asynchronous dispatch
# <https://docs.jax.dev/en/latest/async_dispatch.html>`__: a call *dispatches* work to the device,
# and Python goes on.
print(promise.shape, promise.dtype)

# %%
# A chain of promises
# -------------------
# A promise can be handed to the next call, which returns a promise too. So Python can run far ahead
# of the device. :func:`~jaxcap.measure.timeline.record_timeline` calls a function on its own result again and again,
# and notes for each call when it returned and when its result was there. First as a program would
# do it, and then with a wait after each call:
from jaxcap.measure.timeline import record_timeline


@jax.jit
def multiply(x):
    return matrix @ x


ahead = record_timeline(multiply, matrix, calls=6)
in_step = record_timeline(multiply, matrix, calls=6, awaited=True)

# %%
# In the picture, each row is a call: a mark where it returned, and a bar for the time in which the
# device may have worked on it, which begins when the input is there.
import matplotlib.pyplot as plt


def draw(axes, timeline, title):
    """Draw one row for each call."""
    for row, (begin, end) in enumerate(timeline.executions, 1):
        axes.barh(row, end - begin, left=begin, color="C0", height=0.5)
    returned = [call.returned_s for call in timeline.calls]
    rows = range(1, len(returned) + 1)
    axes.plot(returned, rows, "D", color="C3", label="the call returned")
    axes.barh(0, 0, color="C0", label="the device works on it")
    axes.set_title(title)
    axes.set_ylabel("call")
    axes.set_yticks(rows)


# %%
from matplotlib.ticker import EngFormatter

figure, (top, bottom) = plt.subplots(2, sharex=True, figsize=(7, 5))
draw(top, ahead, "Python runs ahead")
draw(bottom, in_step, "Python waits after each call")
for axes in (top, bottom):
    axes.set_ylim(len(ahead.calls) + 0.6, 0.4)
bottom.xaxis.set_major_formatter(EngFormatter(unit="s"))
bottom.set_xlabel("time since the first call")
_ = figure.legend(
    *top.get_legend_handles_labels(), loc="outside lower center", ncols=2
)

# sphinx_gallery_thumbnail_number = 1

# %%
# Above, all calls should have returned while the device is at the first. Below, each call
# returns when its row begins, because Python was held up before. In numbers, the share of the whole
# time after which the last call had returned:
for name, timeline in (("ahead", ahead), ("in step", in_step)):
    last = timeline.calls[-1]
    print(f"{name}: {100 * last.returned_s / last.ready_s:.2g} %")

# %%
# What makes Python wait
# ----------------------
# Whatever needs the numbers. Python waits when it prints an array, compares its values with ``if``,
# converts it with ``float`` or to NumPy, and of course when you call
# :func:`jax.block_until_ready`. Whatever needs only shape and type doesn't wait, and neither do
# other JAX functions. The next experiment has three parts, and runs in several fresh processes that
# take turns. Its first part computes a product and then uses it, in one of five ways:
from jaxcap.experiments import asynchronous
from jaxcap.report.source import Source

results = asynchronous.ASYNCHRONOUS.run(budget_s=0.05)
Source(asynchronous.prepare_uses)

# %%
results.select(question=asynchronous.USES)

# %%
# Look at the column *until it returns*. The last three can't return before the product is there, even
# where the answer is a single number. So a line that prints the loss in each step of a training makes
# Python wait in each step.
#
# What the lead is good for
# -------------------------
# A program often has something else to do: read the next data, for instance. In the second part a
# pause stands in for a disk, and takes about as long as a product. Waiting first and reading then
# takes the sum of both; reading while the device works should take only as long as the longer of them.
Source(asynchronous.prepare_overlap)

# %%
from jaxcap.report.claims import claim, speedup_of

lead_pays = claim(
    "reading while the device works is faster than waiting first",
    results,
    speedup_of(asynchronous.MEANWHILE, over=asynchronous.WAIT),
)
lead_pays

# %%
# Small computations
# ------------------
# Handing work over costs time too. On a CPU the work goes to another thread of the same process, and
# for a small computation that isn't worth the trouble: JAX computes it at once, inside the call, and
# the result is ready when the call returns. What is small? XLA decides by the operations that it
# counts when it compiles. The third part has the product and the cosine of larger and larger
# matrices:
by_size = results.select(question=asynchronous.INSIDE)
sizes = sorted({result.parameters["size"] for result in by_size})
figure, both = plt.subplots(1, 2, sharey=True, figsize=(7, 4))
for axes, name in zip(both, by_size.variants):
    some = by_size.select(variant=name)
    for label, line, times in (
        ("until the result is there", "o-", [r.time for r in some]),
        ("until the call returns", "s--", [r.dispatch for r in some]),
    ):
        values = [time.value for time in times]
        ends = np.transpose([(time.low, time.high) for time in times])
        axes.errorbar(
            sizes, values, abs(ends - values), fmt=line, label=label
        )
    axes.set_title(name)
    axes.set_xlabel("size")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, map(str, sizes))
    axes.minorticks_off()
both[0].yaxis.set_major_formatter(EngFormatter(unit="s"))
both[0].set_ylabel("time of a call")
lines = both[0].get_legend_handles_labels()
_ = figure.legend(*lines, loc="outside lower center", ncols=2)

# %%
# Where the lines meet, the call returned with its result; where they part, it returned early, and the
# lower line says nothing about the computation. On a GPU they should part for both. On a CPU the
# product leaves the call when it is large enough. The cosine may stay in it however large the matrix
# is, because XLA doesn't count it among the operations, but apart, as a transcendental function. For
# the largest matrix:
largest = sizes[-1]
for name, call in asynchronous.prepare(asynchronous.INSIDE, largest).items():
    cost = call.func.lower(*call.args).cost_analysis()
    result = by_size.only(name, size=largest)
    share = result.dispatch.value / result.time.value
    print(f"{name}, returned after {share:.0%} of the time")
    for kind in ("flops", "transcendentals"):
        print(f"  {kind}: {cost.get(kind, 0):,.0f}")

# %%
# None of this is promised, and the next version of JAX may decide otherwise. So don't rely on a call
# that waits because it always did. An option turns the handing over off on CPUs,
# ``jax_cpu_enable_async_dispatch``: set to false before JAX is first used, it keeps everything inside
# the call, which helps with debugging and costs the lead.
#
# A loop of small calls
# ---------------------
# A well-known exercise draws random numbers in a loop, splits the key in each iteration, and asks
# what :func:`jax.jit` makes of it, with and without waiting:
from jaxcap.kernels.random_model import my_model


def loop(model, loops, wait=lambda value: value):
    """Evaluate a model of two random numbers many times over."""
    key = jax.random.key(0)
    for _ in range(loops):
        key, *subkeys = jax.random.split(key, 3)
        value = wait(model(subkeys))
    return value


float(loop(my_model, 10))  # which also compiles all that it needs

# %%
# ``my_model(keys)`` is :math:`14 a^2 + 13 b`, where :math:`a` and :math:`b` are normal. The exercise
# asks for a hundred thousand iterations, which suits a GPU. On a CPU we do fewer:
loops = 2_000 if jax.default_backend() == "cpu" else 100_000
fast_model = jax.jit(my_model)
fast_model(jax.random.split(jax.random.key(0))).block_until_ready()

for name, arguments in {
    "op by op": (my_model, loops),
    "jit": (fast_model, loops),
    "jit, each awaited": (fast_model, loops, jax.block_until_ready),
}.items():
    start = time.perf_counter()
    loop(*arguments)
    per_loop_s = (time.perf_counter() - start) / loops
    print(f"{name:18} {per_loop_s * 1e6:6.0f} µs an iteration")

# %%
# What do these three numbers mean, over :measured:`loops` iterations?
#
# The first two say when Python was through with the loop, which is not when the numbers were there:
# a GPU may still have been at work. A CPU computes calls as small as these before they return, so
# there the two may be nearly the whole time. The third waits for each number, which no program needs:
# the device idles until Python comes back. And each is a single run, in a fixed order, so a small
# difference between them says nothing. What you want to know is when *all* values are there, with no
# wait in between.
#
# The fair comparison
# -------------------
# So each variant now returns all of its values, and the clock stops when the last of them is there.
# Compare *until it returns* with *time* to see who was ahead of the device. Three variants are new.
# *jit with split* puts the splitting into the compiled function. *scan* has the whole loop in one
# compiled call, by :func:`jax.lax.scan`. *vmap* splits all keys at once and does without a loop.
from jaxcap.experiments import awaiting

point = awaiting.AWAITING.points[0]
variants = awaiting.prepare(**point)
values = {name: np.array(call()) for name, call in variants.items()}
sample = values.pop(awaiting.VMAP)
for name, some in values.items():
    off = abs(some - values[awaiting.OP_BY_OP]).max()
    print(f"{name:18} off by {off:.1g}")

# %%
# These compute the same numbers, to rounding. *vmap* uses other keys, since all of them are split from
# one, so it must be judged as a random sample: by its mean, which should be near 14.
mean = float(sample.mean())
variance = 2 * 14**2 + 13**2
deviation = (variance / sample.size) ** 0.5
print(f"mean {mean:.1f}, expected 14 with a deviation of {deviation:.1f}")

# %%
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
waiting_costs

# %%
scan_pays = claim(
    "a loop inside one compiled call is faster than a loop of compiled calls",
    loops_of_calls,
    speedup_of(awaiting.SCAN, over=awaiting.COMPILED),
)
scan_pays

# %%
names = [result.variant for result in loops_of_calls]
times = [result.time for result in loops_of_calls]
per_loop = np.array([one.value for one in times]) / point["loops"]
ends = np.transpose([(one.low, one.high) for one in times]) / point["loops"]
figure, axes = plt.subplots()
axes.errorbar(per_loop, names, xerr=abs(ends - per_loop), fmt="o", capsize=4)
axes.invert_yaxis()
axes.set_xscale("log")
axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
axes.set_title("All values awaited at the end")
_ = axes.set_xlabel("time of an iteration")

# %%
# The loop was never about arithmetic: an iteration computes two numbers. It was about calls. Op by
# op, each operation of the model is a call from Python. Compiled, the model is one, but the line
# that splits the key still makes several. Inside one compiled call there are none, and with *vmap*
# the device no longer even has to take one number after another.
#
# Takeaway
# --------
last = ahead.calls[-1]
returned_after = f"{100 * last.returned_s / last.ready_s:.2g} %"
waiting, scan = waiting_costs.estimate, scan_pays.estimate
lead = lead_pays.estimate
vmap = loops_of_calls.speedup(awaiting.VMAP, over=awaiting.COMPILED)
print("vmap:", vmap)

# %%
# A JAX call returns a promise. Of the six products in a row, the last call had returned after
# :measured:`returned_after` of the time that all results took, so a clock has to wait for the result
# before it is read. A program shouldn't wait before it needs the numbers: compared with waiting
# first, doing something else meanwhile came out :measured:`lead`. For many small calls, first ask how
# many calls there are, and then who waits. Compared with the jitted model in a Python loop, waiting
# for each value came out :measured:`waiting`, the loop inside one compiled call :measured:`scan`, and
# ``vmap``, which has no loop, :measured:`vmap`.
#
# Before this: :doc:`what jit buys </tutorials/transformations/jit>`. Next: :doc:`arguments that are not
# traced </tutorials/transformations/static_arguments>`.
