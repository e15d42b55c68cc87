"""
Where does the time go?
=======================

You know that a step is slow, but not which part of it. A profile lists what ran and for how long, but
under names that the compiler chose. This page profiles a small step, finds out which part of the code
each operation came from, and asks a timer whether the profile was right.
"""

# %%
# A slow step
# -----------
# We want to place a hundred points on a plane, given a table of their distances in which some
# entries are badly wrong. Each step moves all points a little, so that their distances agree better
# with the table. The loss, called ``stress``, squares small errors. An error above a limit
# counts only linearly, so that no wrong entry pulls too hard:
from jaxcap.kernels import placement
from jaxcap.report.source import Source

Source(placement.safe_distances, placement.stress, placement.step)

# %%
# The names in :func:`jax.named_scope` don't change what is computed. We will find them in the compiled
# program. As the limit, we take the median of all ten thousand errors. Everything runs on the CPU:
from functools import partial

import jax
import jax.numpy as jnp

cpu = jax.devices("cpu")[0]
start, table = jax.device_put(placement.random_table(100), cpu)
by_median = partial(placement.stress, typical=jnp.median)
step = jax.jit(partial(placement.step, stress=by_median))
positions, value = step(start, table)
print("stress at the start:", value)

# %%
# Before you read on, guess: which part takes longest, the distances, the limit, the loss, or the
# update?
#
# A profile lists what ran
# ------------------------
# Inside :func:`jax.profiler.trace`, JAX records what runs and for how long, and then writes a file.
# `XProf and Perfetto <https://docs.jax.dev/en/latest/201/profiling.html>`__ show a profile as a
# timeline, in which you can zoom and click. Python can read the file, too. Among its many events,
# those of compiled operations have the name of the operation as ``hlo_op``:
from pathlib import Path
from tempfile import TemporaryDirectory


def operations(folder):
    """Yield when each operation in a profile began, how long it took, and its name."""
    (file,) = Path(folder).rglob("*.xplane.pb")
    profile = jax.profiler.ProfileData.from_file(str(file))
    lines = [line for plane in profile.planes for line in plane.lines]
    for event in (event for line in lines for event in line.events):
        if name := dict(event.stats).get("hlo_op"):
            yield event.start_ns, event.duration_ns, name


# %%
# On a GPU, set ``XLA_FLAGS=--xla_gpu_enable_command_buffer=``, or events `may lack the name
# <https://github.com/openxla/xprof/issues/3070>`__.
#
# The step runs once before the recording, so that the profile doesn't include its compilation, and
# we wait for the result, so that the recording doesn't end before the work. Another program may hold
# up a step, so we record ten steps, and keep the quickest:
def profile(step):
    """Return the operations of the quickest of ten steps."""
    jax.block_until_ready(step(start, table))
    recordings = []
    for _ in range(10):
        with TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                jax.block_until_ready(step(start, table))
            recordings.append(sorted(operations(folder)))
    return min(recordings, key=lambda ran: sum(ns for _, ns, _ in ran))


# %%
recorded = profile(step)
longest_first = sorted(recorded, key=lambda operation: -operation[1])
print(len(recorded), "operations in a step, of which the longest are:")
for _, ns, name in longest_first[:4]:
    print(f"{ns / 1000:7.1f} µs  {name}")

# %%
*_, longest = longest_first[0]

# %%
# The longest operation is called :measured:`longest`. But where is that in the code? The compiler
# chose these names for the operations that it made of yours. A *fusion*, for example, is several of
# them merged into one.
#
# The names of scopes survive compilation
# ---------------------------------------
# The compiled program has longer names, too: the ``op_name`` of an operation lists the scopes in
# which it was written. Here are the operations that came from the scope ``limit``:
import re


def sources(step):
    """Return which part of the code each compiled operation came from."""
    program = step.lower(start, table).compile().as_text()
    return dict(re.findall(r'%?([\w.-]+) = .*op_name="([^"]*)"', program))


source_of = sources(step)
for _, _, name in recorded:
    if "limit" in source_of.get(name, ""):
        print(f"{name:23} {source_of[name]}")

# %%
# Read a line from left to right: the compiled function, our scope, the functions of JAX that were
# called in it, and the operation. The ``jvp`` around the scope marks the forward pass of the gradient.
# These names tell us to which part of the step each operation belongs. An operation without a scope
# of ours counts as *other*:
PARTS = ("distances", "limit", "loss", "update", "other")


def by_part(step, recorded):
    """Say of which part each operation was, when it began, and how long it ran."""
    source_of = sources(step)
    for start_ns, ns, name in recorded:
        source = source_of.get(name, "")
        part = next((part for part in PARTS if part in source), "other")
        yield part, start_ns, ns


# %%
# The upper row of the plot will show whether your guess was right. The lower row is a step whose limit
# is the mean of the errors instead of their median:
by_mean = jax.jit(placement.step)
profiles = {
    "limit by\nmedian": list(by_part(step, recorded)),
    "limit by\nmean": list(by_part(by_mean, profile(by_mean))),
}


# %%
def microseconds(spans):
    """Add up the operations of each part."""
    took = dict.fromkeys(PARTS, 0.0)
    for part, _, ns in spans:
        took[part] += ns / 1e3
    return took


took_us, took_by_mean_us = map(microseconds, profiles.values())
slowest = max(took_us, key=took_us.get)
share = f"{took_us[slowest] / sum(took_us.values()):.0%}"

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

colours = figures.COLOURS[:4] + figures.COLOURS[-1:]
figure, axes = plt.subplots(figsize=(6, 3.1))
for lane, spans in enumerate(profiles.values()):
    begin = min(at for _, at, _ in spans)
    for part, colour in zip(PARTS, colours):
        mine = [(at, ns) for name, at, ns in spans if name == part]
        bars = [((at - begin) / 1e6, ns / 1e6) for at, ns in mine]
        label = None if lane else part
        axes.broken_barh(bars, (lane - 0.3, 0.6), color=colour, label=label)
axes.set_xlabel("ms since the first operation began")
finding = f"Limit by median: {slowest} has {share} of the operations' time"
figures.headline(figure, finding, "The quickest of ten steps")
axes.set_yticks(range(len(profiles)), profiles)
axes.invert_yaxis()
_ = figure.legend(loc="outside lower center", ncols=3)

# %%
median_took = f"{took_us['limit']:,.1f} µs"
mean_took = f"{took_by_mean_us['limit']:,.1f} µs"

# %%
# Each bar is an operation, in the colour of its part. With the median, the :measured:`slowest` part
# took :measured:`share` of the total operation time. The limit took :measured:`median_took` by
# median, and :measured:`mean_took` by mean. How can a single number be so much work? To find the
# middle of an array, :func:`jax.numpy.median` sorts it: that is the ``sort`` among the operations of
# ``limit``. A mean needs no sorting, only a sum.
#
# Small shares are less certain: a fusion may hold operations of several parts, but it has the scope of
# only one, which then gets all its time.
#
# A timer has the last word
# -------------------------
# The profiler does some work of its own, and a step is more than its operations. Will the step gain as
# much by a mean as the profile says? We time it without the profiler:
import timeit

import numpy as np

for limit, moves in ("median", step), ("mean", by_mean):
    call = partial(moves, start, table)
    call()  # compiles
    seconds = timeit.repeat(
        lambda call=call: jax.block_until_ready(call()), number=1, repeat=50
    )
    print(f"limit by {limit:6}: {1e3 * np.median(seconds):.2f} ms for a step")

# %%
# If these times differ by about as much as the two limits in the plot, the profile was right. Neither
# the profile nor the timer says whether a mean is good enough. The wrong entries of the table raise
# the mean of the errors more than their median, so with a mean they pull harder.
#
# If a call takes much longer than its operations, JAX may be tracing and compiling it each time, for
# example because of :doc:`a lambda that is new each time </tutorials/performance/timing>`. Inside
# ``with jax.explain_cache_misses(True)``, JAX logs the reason.
#
# Takeaway
# --------
# To find what is slow, record a profile, and name the parts of your code with
# :func:`jax.named_scope`, because these names survive compilation. In the step that we profiled,
# the :measured:`slowest` part took :measured:`share` of the total operation time. The profiler takes
# time as well, so before you act on a profile, confirm it with a timer.
#
# Next: :doc:`where does a NaN come from </tutorials/performance/faults>`? The same step, with a
# fault in its gradient.
