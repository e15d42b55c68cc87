"""
Where does the time go?
=======================

You know that a step is slow, but not which part of it. The compiled program won't tell you by
itself, because the compiler has merged your operations and given them other names. This page
records a profile, and traces each operation back to the code that it came from. Time may also go
into compiling again and again, and JAX can say why it does. Does the time go where you would
expect?
"""

# %%
# A slow step
# -----------
# We look for a hundred points in a plane, given a table of their distances in which some entries
# are badly wrong. Start anywhere, and move all points, step by step, until their distances agree
# with most of the table. A small error costs half its square. Beyond a limit, the cost grows only
# linearly, so that each wrong entry pulls with the same bounded force. (Statisticians call this the
# Huber loss.)
from jaxcap.kernels import placement
from jaxcap.report.source import Source

Source(placement.safe_distances, placement.stress, placement.step)

# %%
# (The names in :func:`jax.named_scope` don't change what is computed. The profile below will use
# them.) As the limit, we take the median of all errors. Here are three steps:
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

start, table = placement.random_table(100)
by_median = partial(placement.stress, typical=jnp.median)
step = jax.jit(partial(placement.step, stress=by_median))
positions = start
for _ in range(3):
    positions, value = step(positions, table)
    print(value)


# %%
# Which part do you think takes longest: the distances, the limit (a median of ten thousand
# numbers), or the loss?
#
# A profile says what ran
# -----------------------
# Inside :func:`jax.profiler.trace`, JAX notes what each thread does, and writes it to a file.
# :class:`jax.profiler.TraceAnnotation` adds a note of your own. Call the function once before the
# block, or you profile the compiler. Wait for the results before the block ends, or the profile may
# end before the work does:
def record(step, folder):
    """Write a profile of ten steps into a folder."""
    jax.block_until_ready(step(start, table))
    with jax.profiler.trace(folder):
        for _ in range(10):
            with jax.profiler.TraceAnnotation("our step"):
                jax.block_until_ready(step(start, table))


# %%
# Opening a trace and writing its file take time, too, once for each trace. So record several steps
# in one. (How much time? :doc:`An experiment traces a single step </results/experiments/faults>`.)
#
# You would usually look at such a trace in `XProf or in Perfetto
# <https://docs.jax.dev/en/latest/201/profiling.html>`__, where you can zoom and click. (Install
# ``xprof`` and run ``xprof --port 8791 FOLDER``, or pass ``create_perfetto_trace=True`` to
# ``trace``, and open the file on `Perfetto's site <https://ui.perfetto.dev>`__.) But Python can
# read the ``*.xplane.pb`` file as well, with ``ProfileData``. On a CPU, each *line* of the data is
# a thread. An event that is an operation of a compiled program has a name in ``hlo_op``. The other
# events are calls of Python functions, steps of XLA's runtime, waiting, and our notes:
from pathlib import Path
from tempfile import TemporaryDirectory


def read(file):
    """Return each operation in a profile, its start and how long it took."""
    planes = jax.profiler.ProfileData.from_file(str(file)).planes
    lines = [line for plane in planes for line in plane.lines]
    for event in (event for line in lines for event in line.events):
        if operation := dict(event.stats).get("hlo_op"):
            yield operation, event.start_ns, event.duration_ns


# %%
def profile(step):
    with TemporaryDirectory() as folder:
        record(step, folder)
        (file,) = Path(folder).rglob("*.xplane.pb")
        return list(read(file))


once = profile(step)
print(len(once), "operations, such as", once[0])

# %%
# If several threads work on one large operation, the profile doesn't name it on the helping threads.
# (On a GPU, where
# we haven't run this page, the device has lines of its own, and operations that XLA submits
# together, as a *command buffer*, `may be missing
# <https://github.com/openxla/xprof/issues/3070>`__.)
#
# Names lead back to the code
# ---------------------------
# The compiler gives each operation a name of its own, which doesn't tell you what it is for. (The
# program also keeps functions and lines, but a line may become many operations.) A
# ``TraceAnnotation`` inside ``step`` wouldn't help, because it is Python code: it runs once, during
# tracing, and not when the program runs. But the names of :func:`jax.named_scope` become part of
# the program, and survive its compilation. These operations bear the name of the limit:
import re


def sources(step):
    """Return where in the code each compiled operation comes from."""
    program = step.lower(start, table).compile().as_text()
    return dict(re.findall(r'%?([\w.-]+) = .*op_name="([^"]*)"', program))


operations = {operation for operation, *_ in once}
for operation, source in sources(step).items():
    if operation in operations and "limit" in source:
        print(f"{operation:23} {source}")

# %%
# ``jvp`` marks the forward pass of a gradient. Elsewhere, ``transpose`` marks the backward pass,
# because JAX makes it by `transposing
# <https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html>`__ the forward pass's linear
# part. (The limit has none, because of its ``stop_gradient``.) A fusion merges several operations,
# and keeps the name of one of them. Operations that the compiler adds on its own bear no name, and
# count as *other*, even if they belong to a part: here, some of the median's test for NaN does. By
# these names, we can sort the profile into the parts of ``stress`` and ``step``:
PARTS = ("distances", "limit", "loss", "update", "other")


def timeline(step):
    """Profile a step: which operation ran, of which part, when and how long."""
    source_of = sources(step)
    spans = []
    for operation, *times_ns in profile(step):
        source = source_of.get(operation, "")
        part = next((part for part in PARTS if part in source), "other")
        spans.append((operation, part, *times_ns))
    return spans


# %%
# The mean is also a typical error. Would it be cheaper? To see how far durations scatter by
# themselves, we profile the step with the median twice:
timelines = {
    "median": timeline(step),
    "median again": timeline(step),
    "mean": timeline(jax.jit(placement.step)),
}


# %%
# The duration of an operation may include a wait, for example for a thread that the system hasn't
# scheduled yet. So for each operation, we take the shortest of its runs, and for each part, we add
# up its operations:
from jaxcap.results.tables import Table


def milliseconds(part, spans):
    """Return how long a part takes in one of ten steps, even if it ran often."""
    durations = {}
    for operation, name, _, ns in spans:
        if name == part:
            durations.setdefault(operation, []).append(ns)
    shortest = [min(ns) * len(ns) / 10 for ns in durations.values()]
    return sum(shortest) / 1e6


# %%
took_ms = {
    part: [milliseconds(part, spans) for spans in timelines.values()]
    for part in PARTS
}
rows = [
    (part, *(f"{ms:.3f}" for ms in each)) for part, each in took_ms.items()
]
Table("Operations of a step, in ms", ("part", *timelines), rows)

# %%
of_median = {part: ms for part, (ms, *_) in took_ms.items()}
*_, second, slowest = sorted(of_median, key=of_median.get)
lead_ms = of_median[slowest] - of_median[second]
noise_ms = max(abs(ms - again) for ms, again, _ in took_ms.values())
is_clear = lead_ms > noise_ms
share = f"{of_median[slowest] / sum(of_median.values()):.0%}"

# %%
# The first two columns are profiles of the same step, and a part of it differs by up to
# :measured:`noise`. Differences of this size mean nothing, and somewhat larger ones may still be
# chance. By this measure, :measured:`outcome`.
#
# The median took :measured:`median_took`, and the mean :measured:`mean_took`. To find the middle of
# an array, :func:`jax.numpy.median` sorts it, which is the ``sort`` among the operations of
# ``limit``. A sort passes over the numbers many times, and the other parts only a few times.
#
# Does the step gain what its profile promises? Ask the clock, without a profiler (a first look, the
# medians of fifty calls in one process):
import timeit

for limit, moves in ("median", step), ("mean", jax.jit(placement.step)):
    call = partial(moves, start, table)
    call()  # compiles
    seconds = timeit.repeat(
        lambda call=call: jax.block_until_ready(call()), number=1, repeat=50
    )
    print(f"limit by {limit:6}: {1e3 * np.median(seconds):.2f} ms for a step")

# %%
# The figure shows when each operation ran. In a gap between the bars, one step has ended and the
# next hasn't begun: Python notices the result and makes the next call, and the profiler does its
# own work:
import matplotlib.pyplot as plt

from jaxcap.report import figures

shown = {limit: timelines[limit] for limit in ("median", "mean")}
figure, axes = plt.subplots(figsize=(6, 2.8))
for lane, spans in enumerate(shown.values()):
    begin = min(at for *_, at, _ in spans)
    for part, colour in zip(PARTS[:-1], figures.COLOURS):
        mine = [span for span in spans if span[1] == part]
        bars = [((at - begin) / 1e6, ns / 1e6) for *_, at, ns in mine]
        label = None if lane else part
        axes.broken_barh(bars, (lane - 0.3, 0.6), color=colour, label=label)
axes.set_xlabel("ms since the first operation")
found = f"Limit by median: {slowest} has {share} of the operations' time"
finding = found if is_clear else "Limit by median: no part clearly leads"
figures.headline(figure, finding, "Ten steps as recorded, stalls included")
axes.set_yticks((0, 1), [f"limit by\n{limit}" for limit in shown])
axes.invert_yaxis()
_ = figure.legend(loc="outside lower center", ncols=3)

# %%
# JAX says why it traces again
# ----------------------------
# The time may also go into the compiler. JAX traces and compiles a function again when the types of
# its arguments change, and does so for every new function. Under :obj:`jax.explain_cache_misses`,
# it logs a reason whenever it has to trace. In a program of yours, this is all it takes::
#
#     with jax.explain_cache_misses(True):
#         step(positions, table)
#
# If nothing is printed, JAX didn't trace again. (It may still have compiled, for example for
# another device. ``jax.log_compiles`` logs that.) Which of these calls have to be traced?
multiply = jax.jit(lambda x, factor: x * factor)
x, longer = jnp.ones(3), jnp.ones(4)
mesh = jax.make_mesh((1,), ("devices",))
on_mesh = jax.device_put(x, jax.NamedSharding(mesh, jax.P()))

# %%
calls = {
    "the first call": lambda: multiply(x, 2.0),
    "another number": lambda: multiply(x, 3.0),
    "another length": lambda: multiply(longer, 2.0),
    "an integer": lambda: multiply(x, 2),
    "NumPy's number": lambda: multiply(x, np.float32(2)),
    "on a mesh": lambda: multiply(on_mesh, 2.0),
    "jit of a lambda": lambda: jax.jit(lambda x: 2 * x)(x),
}

# %%
# On this page, we print each message below the name of its call, without the places in the code:
import logging


def show(record):
    _, *reasons = record.getMessage().splitlines()
    print(name)
    for line in reasons:
        if "defined at" not in line:
            print("  ", line.partition("https")[0])


# %%
logger, handler = logging.getLogger("jax"), logging.Handler()
handler.emit = show
logger.addHandler(handler)
with jax.explain_cache_misses(True):
    for name in (*calls, "jit of a lambda"):
        calls[name]()
logger.removeHandler(handler)

# %%
# Compare the list with your guesses:
#
# - ``another number`` doesn't appear, because the program takes any number of the same type.
# - The integer is of another type than the float, so it needs a program of its own.
# - NumPy's number is a float as well. But a Python number has a *weak* type, which `gives way to
#   that of the array <https://docs.jax.dev/en/latest/type_promotion.html#weak-types>`__, and the
#   type of NumPy's number isn't weak.
# - The array on a mesh has the same numbers on the same device. But since `JAX 0.5.1
#   <https://docs.jax.dev/en/latest/changelog.html#jax-0-5-1-feb-24-2025>`__, JAX traces a function
#   anew for an array with a named sharding. So after an update from an older release, a program
#   that mixes the two kinds may trace more often.
# - The last call makes a new ``lambda`` every time that it runs, so JAX never finds a program for
#   it. :doc:`Mistake 5 of timing </tutorials/performance/timing>` measures what that costs.
#
# JAX's guide to `slow compilation
# <https://docs.jax.dev/en/latest/debugging/slow_tracing_compilation.html>`__ has more reasons, and
# :doc:`which arguments must be static </tutorials/transformations/static_arguments>` has remedies
# for changing shapes.
#
# Takeaway
# --------
noise = f"{noise_ms:.3f} ms"
outcome = "no part of the step with the median clearly took longest"
shares = "no part clearly took the most of the time"
if is_clear:
    outcome = f"the part called {slowest} took longest with the median"
    name = "median" if slowest == "limit" else f"part called {slowest}"
    shares = f"the {name} took {share} of the time"
median_took, _, mean_took = (f"{ms:.3f} ms" for ms in took_ms["limit"])

# %%
# To find what is slow, record a profile, and name the parts of your code with
# :func:`jax.named_scope`. In the step that we profiled, :measured:`shares` of all operations. A
# profile is a single look, so before you act on a small difference, record another profile.
#
# If a function is slow in every call, but its operations aren't, JAX may be compiling it each time.
# Then ``jax.explain_cache_misses`` says why.
#
# Next: :doc:`where does a NaN come from </tutorials/performance/faults>`? The same step, with a
# fault in its gradient.
