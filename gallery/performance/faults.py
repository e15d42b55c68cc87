"""
Why is it slow, and why is it NaN?
==================================

A debugger can't step through a compiled function, and Python's ``print`` sees none of its numbers.
But JAX has `tools that look inside <https://docs.jax.dev/en/latest/201/debugging.html>`__. This
page takes one step of an optimisation, which is slow and returns NaN, and finds each fault with a
tool made for it. Another tool says why JAX compiles a function again. Then it measures what the
tools cost. Which of them could you leave on?
"""

# %%
# A step with faults
# ------------------
# Somebody measured the distances between a hundred places, and got some of them badly wrong. Where
# are the places? Start anywhere, and move all points, step by step, until their distances agree
# with the table. Small errors count by their square. Beyond a limit, an error counts only in
# proportion to its size, so that wrong entries don't pull too hard. (Statisticians call this the
# Huber loss.)
from jaxcap.kernels import placement
from jaxcap.report.source import Source

Source(placement.distances, placement.stress, placement.step)

# %%
# (The names in :func:`jax.named_scope` don't change what is computed. The profile below will use
# them.) As the limit, we take the median of all errors. Here are three steps:
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

start, table = placement.random_table(100)
by_mean = partial(placement.stress, distances=placement.distances)
by_median = partial(by_mean, typical=jnp.median)
step = jax.jit(partial(placement.step, stress=by_median))
positions = start
for _ in range(3):
    positions, value = step(positions, table)
    print(value)


# %%
# Leave the NaN for later, and begin with the time. Have a guess: which takes longest, ten thousand
# square roots, the median of as many numbers, or ten thousand losses?
#
# A profile says what ran
# -----------------------
# Inside :func:`jax.profiler.trace`, JAX notes what each thread does, and writes it to a file.
# :class:`jax.profiler.TraceAnnotation` adds a note of your own. Wait for the results before the
# block ends, or the profile may end before the work does:
def record(step, folder):
    """Write a profile of ten steps into a folder."""
    with jax.profiler.trace(folder):
        for _ in range(10):
            with jax.profiler.TraceAnnotation("our step"):
                jax.block_until_ready(step(start, table))


# %%
# You would usually look at such a file in `XProf or in Perfetto
# <https://docs.jax.dev/en/latest/201/profiling.html>`__, where you can zoom and click. But you can
# also read it in Python, with ``ProfileData``:
from pathlib import Path
from tempfile import TemporaryDirectory


def profile(step):
    """Record a step, and return all events, each with its line of the profile."""
    with TemporaryDirectory() as folder:
        record(step, folder)
        (file,) = Path(folder).rglob("*.xplane.pb")
        data = jax.profiler.ProfileData.from_file(str(file))
    lines = [line for plane in data.planes for line in plane.lines]
    return [(line.name, event) for line in lines for event in line.events]


events = profile(step)

# %%
from collections import Counter

from jaxcap.results.tables import Table

counts = Counter(line for line, _ in events)
ran = Counter(line for line, event in events if "hlo_op" in dict(event.stats))
rows = [
    (line.partition("/")[0], f"{ran[line]}", f"{count}")
    for line, count in counts.items()
]
Table("Lines of the profile", ("line", "operations", "all events"), rows)

# %%
# On a CPU, each line is a thread. The line named after the program that you started belongs to
# Python: it has our notes, calls of functions, and the waiting. Other threads run the operations of
# compiled programs, and may share the ten steps between them. More threads may help with a large
# operation, but the profile doesn't show with which. (On a GPU, there are lines for the device as
# well, and the code below reads them. So far, we have run it on CPUs only. Operations that XLA
# submits together, as a *command buffer*, `may be missing
# <https://github.com/openxla/xprof/issues/3070>`__ from those.)
#
# Names lead back to the code
# ---------------------------
# The compiler gives each operation a name of its own, which doesn't tell you what it is for. (The
# program also keeps functions and lines, but a line may become many operations.) A
# ``TraceAnnotation`` inside ``step`` wouldn't help, because Python enters and leaves it while JAX
# traces (`people have wondered <https://github.com/jax-ml/jax/issues/12381>`__ where theirs went).
# But the names of :func:`jax.named_scope` become part of the program, and survive its compilation.
# These operations compute the limit:
import re


def sources(step):
    """Return where in the code each compiled operation comes from."""
    program = step.lower(start, table).compile().as_text()
    return dict(re.findall(r'%?([\w.-]+) = .*op_name="([^"]*)"', program))


ran = {dict(event.stats).get("hlo_op") for _, event in events}
for operation, source in sources(step).items():
    if operation in ran and "limit" in source:
        print(f"{operation:23} {source}")

# %%
# ``jvp`` marks the forward pass of a gradient. Elsewhere, ``transpose`` marks the backward pass,
# because JAX makes it by `transposing
# <https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html>`__ the forward pass's linear
# part. (The limit has none, because of its ``stop_gradient``.) A fusion merges several operations,
# and keeps the name of one of them. By these names, we can sort the profile into the parts of
# ``stress`` and ``step``:
PARTS = ("distances", "limit", "loss", "update", "other")


def timeline(step):
    """Profile a step: which operation ran, of which part, when and how long."""
    source_of = sources(step)
    spans = []
    for _, event in profile(step):
        if operation := dict(event.stats).get("hlo_op"):
            source = source_of.get(operation, "")
            part = next((part for part in PARTS if part in source), "other")
            times_ns = event.start_ns, event.duration_ns
            spans.append((operation, part, *times_ns))
    return spans


# %%
# The limit only has to say how large an error usually is. The mean says that, too. Is it quicker to
# compute than the median? For each part, the table adds up the median times of its operations over
# ten steps:
timelines = {
    "median": timeline(step),
    "mean": timeline(jax.jit(partial(placement.step, stress=by_mean))),
}


def milliseconds(part, spans):
    """Return how long a part takes in one of ten steps, even if it ran often."""
    durations = {}
    for operation, name, _, ns in spans:
        if name == part:
            durations.setdefault(operation, []).append(ns)
    usual = [np.median(ns) * len(ns) / 10 for ns in durations.values()]
    return float(sum(usual)) / 1e6


# %%
took_ms = {
    part: [milliseconds(part, spans) for spans in timelines.values()]
    for part in PARTS
}
rows = [
    (part, *(f"{ms:.3f}" for ms in both)) for part, both in took_ms.items()
]
columns = ("part", *(f"limit by {limit}" for limit in timelines))
Table("Operations of a step, in ms", columns, rows)

# %%
# Both columns compute the same ``distances``. If the two times for this part differ, other work may
# have got in the way of one profile, because a profile is a single look and has no interval. The
# figure shows when each operation ran. In a gap between the bars, the device waits for Python to
# make the next call:
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 2.8))
for lane, spans in enumerate(timelines.values()):
    begin = min(at for *_, at, _ in spans)
    for part, colour in zip(PARTS[:-1], figures.COLOURS):
        mine = [span for span in spans if span[1] == part]
        bars = [((at - begin) / 1e6, ns / 1e6) for *_, at, ns in mine]
        label = None if lane else part
        axes.broken_barh(bars, (lane - 0.3, 0.6), color=colour, label=label)
axes.set_xlabel("ms since the first operation (lower is better)")
of_limit, of_all = took_ms["limit"][0], sum(ms[0] for ms in took_ms.values())
finding = f"Without stalls, the limit takes {of_limit / of_all:.0%} of a step"
figures.headline(figure, finding, "Ten steps as recorded, stalls included")
axes.set_yticks((0, 1), [f"limit by\n{limit}" for limit in timelines])
axes.invert_yaxis()
_ = figure.legend(loc="outside lower center", ncols=3)

# sphinx_gallery_thumbnail_number = 1


# %%
# With the median, the part called :measured:`slowest` took longest. To find the middle of an array,
# :func:`jax.numpy.median` sorts it. That is the sort among the operations of ``limit``. A sort
# looks at each number many times, whereas a root, a loss or a mean looks at it once.
#
# Prints show values, checks show where they went wrong
# -----------------------------------------------------
# The second fault is the NaN. Here, two prints watch the value of the step. Which of them will show
# it?
@jax.jit
def watched(positions, table):
    moved, value = step(positions, table)
    print("Python has", value)
    jax.debug.print("the device has {}", value)
    return moved, value


positions = start
for _ in range(3):
    positions, _ = watched(positions, table)
jax.effects_barrier()

# %%
# Python prints once, while JAX traces, when all it has is a stand-in for the number.
# :func:`jax.debug.print` becomes part of the program, and prints in every call. Its first line is
# an important hint. The stress of the first step was still a number, but the points that this step
# returned gave NaN. Between the stress and the new points, the step computes the gradient.
#
# (Under :func:`jax.disable_jit`, Python runs the function itself, so its ``print`` and a debugger
# see numbers. But that takes longer, and a fault that exists only in the compiled program won't
# show.)
#
# Under :obj:`jax.debug_nans`, JAX looks for NaN in all that compiled functions return. When it
# finds one, it `runs the function again, operation by operation
# <https://docs.jax.dev/en/latest/debugging/flags.html>`__, and raises an error at the first that
# returns NaN:
import traceback


def blame(infinities):
    """Take a step with checks, and print what they find, and in which line."""
    try:
        with jax.debug_nans(True), jax.debug_infs(infinities):
            step(start, table)
    except FloatingPointError as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = [frame for frame in frames if "_src" not in frame.filename][-1]
        print(f"{error}, in {last.name}:\n    {last.line}")


blame(infinities=False)

# %%
# It was a multiplication, but which? Nobody wrote it. It belongs to the backward pass, so the
# traceback can only show the line that asks for the gradient. But a NaN often starts out as an
# infinity, so let :obj:`jax.debug_infs` look for infinities as well:
blame(infinities=True)


# %%
# This is the line to fix. (JAX's message says *nan* for infinities, too.) Each point is at a
# distance of zero from itself. The derivative of a square root divides by the root, so it is
# infinite there, and JAX computes it in the forward pass already. In the backward pass, it is
# multiplied by the slope of the loss, which is zero where the distance and the table agree, and
# infinity times zero is NaN.
#
# ``where`` selects too late
# --------------------------
# The obvious repair is to take roots only of numbers above zero, as ``with_where`` does. Does that
# help? And does ``safe_distances`` do better?
def with_where(positions):
    offsets = positions[:, None] - positions
    squares = (offsets**2).sum(axis=-1)
    return jnp.where(squares > 0, jnp.sqrt(squares), 0)


Source(placement.safe_distances)

# %%
for distances in (placement.distances, with_where, placement.safe_distances):
    stress = partial(placement.stress, table=table, distances=distances)
    value, slope = jax.value_and_grad(stress)(start)
    bad = int(jnp.isnan(slope).sum())
    print(
        f"{distances.__name__:15} {value:.4f}, NaN in {bad} of {slope.size}"
    )

# %%
# ``where`` selects between two arrays, so both sides have been computed by then. In the backward
# pass, the side that wasn't selected gets a zero, which is multiplied by the infinite derivative
# again. That is why ``safe_distances`` first puts a harmless number under the root: no infinity
# arises. JAX's FAQ has `the same trick for a logarithm
# <https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where>`__.
#
# With safe distances, and with the mean as the limit, the points move, and the stress falls:
fixed = jax.jit(placement.step)
positions = start
for number in range(301):
    positions, value = fixed(positions, table)
    if number % 100 == 0:
        print(f"after {number:3} steps: {value:.4f}")

# %%
# JAX says why it compiles again
# ------------------------------
# A third kind of fault lies not in a function but in how you call it. JAX compiles a function again
# when the types of its arguments change, and compiles every new function. Which of these calls
# compile?
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
# Under :obj:`jax.explain_cache_misses`, JAX logs a reason whenever it has to trace. We print the
# messages without the lines that name places in the code:
import logging


def show(record):
    _, *reasons = record.getMessage().splitlines()
    print(name)
    for line in reasons:
        if "defined at" not in line:
            print("  ", line.partition("https")[0])


handler = logging.Handler()
handler.emit = show

# %%
logger = logging.getLogger("jax")
before, logger.handlers = logger.handlers, [handler]
with jax.explain_cache_misses(True):
    for name in (*calls, "jit of a lambda"):
        calls[name]()
logger.handlers = before

# %%
# ``another number`` doesn't appear, because that call didn't compile: the program takes any number
# of the same type. A Python number has a *weak* type, which
# `gives way to that of the array <https://docs.jax.dev/en/latest/type_promotion.html#weak-types>`__.
# The integer is of another type than the float, and NumPy's number has a type that isn't weak, so
# each of them needs a program. The array on a mesh has the same numbers on the same device, but
# since `JAX 0.5.1 <https://docs.jax.dev/en/latest/changelog.html#jax-0-5-1-feb-24-2025>`__, JAX
# traces a function anew for an array with a named sharding. Older releases reused the trace of the
# array without one, so after an update, a program that mixes the two may trace more often. And the
# last call makes a new lambda every time that it runs. JAX's guide to
# `slow compilation <https://docs.jax.dev/en/latest/debugging/slow_tracing_compilation.html>`__ has
# more reasons, and
# :doc:`which arguments must be static </tutorials/transformations/static_arguments>` has remedies
# for changing shapes.
#
# A related fault tends to surface far from its cause. A traced value stands for a number only as
# long as JAX traces. This function keeps a traced value for later:
from textwrap import fill

kept = []


@jax.jit
def remembering(positions):
    kept.append(placement.stress(positions, table))
    return kept[-1]


remembering(start)
try:
    kept[-1] + 1
except jax.errors.UnexpectedTracerError as error:
    print(fill(str(error).splitlines()[0], 70))

# %%
# The rest of the message names the line that made the value, and `JAX's documentation
# <https://docs.jax.dev/en/latest/errors.html#jax.errors.UnexpectedTracerError>`__ has more
# examples. Under :obj:`jax.check_tracer_leaks`, the call of ``remembering`` would have raised an
# error itself. If you want to keep a value, return it.
#
# What do the tools cost?
# -----------------------
# How many times as long does a step take if it prints one number? We compare a plain step with
# three that are watched. The first prints a number, though the experiment throws the text away. The
# second runs under ``debug_nans``. The third has checks for NaN, built in by
# :func:`~jax.experimental.checkify.checkify`, and returns what they found as an error. (Such checks
# can also look at
# `indices, or at conditions of your own <https://docs.jax.dev/en/latest/debugging/checkify_guide.html>`__.)
# All take the fixed step. These are the functions that we time, the first of them inside a wrapper
# that waits until the number is printed:
from jaxcap.experiments import faults as experiments

Source(
    experiments.step_that_prints,
    experiments.call_with_debug_nans,
    experiments.call_and_throw,
)

# %%
results = experiments.TOOLS.run(budget_s=0.03)

# %%
watched = results.subset(
    result
    for result in results.select(tools=experiments.EACH_STEP)
    if result.variant != experiments.CHECKED
)
_ = figures.scaling(
    watched,
    x="points",
    over=experiments.PLAIN,
    title="A step, watched",
    xlabel="points to move",
)

# %%
# To print, a program
# `calls back into Python <https://docs.jax.dev/en/latest/201/callbacks.html>`__, which takes time
# even if the step computes next to nothing. So the longer a step takes anyway, the less it should
# feel a print, and the lines should approach each other to the right. (A print also
# `changes what is compiled <https://docs.jax.dev/en/latest/201/debugging.html#sharp-bits-of-jax-debug-print>`__:
# a number that would have stayed inside a fusion has to be stored, and may even be rounded
# differently.) For the shortest step, at the left end, the table also has the step with
# ``checkify``:
left_end = {"points": 10, "tools": experiments.EACH_STEP}
ten = results.select(**left_end)
ten

# %%
from jaxcap.report.claims import claim, speedup_of

printing_costs = claim(
    "moving ten points takes more than twice as long with a jax.debug.print",
    results,
    speedup_of(experiments.PRINTED, over=experiments.PLAIN, **left_end),
    below=0.5,
)
printing_costs

# %%
# The two ways to look for NaN differ in what they look at. ``debug_nans`` adds nothing to the
# program: it waits for each result and inspects it. (Functions traced while it is on donate no
# arguments, though.) ``checkify`` makes another program, with a check for each operation. Here is a
# function that computes a NaN and then selects another value. Which of the two will notice?
from jax.experimental import checkify


def selects_another(x):
    return jnp.where(x > 0, jnp.log(x), 0)


with jax.debug_nans(True):
    print("under debug_nans:", jax.jit(selects_another)(-1.0))
check = checkify.checkify(selects_another, errors=checkify.nan_checks)
error, value = jax.jit(check)(-1.0)
print("with checkify:", value, "and the error:", error.get())

# %%
# ``debug_nans`` sees what the function returns, and there the NaN is gone. ``checkify`` saw it
# where it arose. The price: a program with so many checks may take longer to compile. Compare the
# first calls in the table. Which of the two is cheaper in each step?
checks_cost = claim(
    "moving ten points takes longer with checks by checkify than under "
    "jax.debug_nans",
    results,
    speedup_of(experiments.CHECKED, over=experiments.NANS, **left_end),
    below=1,
)
checks_cost

# %%
# What does the profiler cost? The table has a single step with a trace around it, which is opened,
# closed and written to a file:
once = results.select(tools=experiments.ONCE)
once

# %%
# Opening and closing are paid once for each trace, however many steps it has. So record several
# steps in one.
#
# Takeaway
# --------
in_median = {part: both[0] for part, both in took_ms.items()}
slowest = max(in_median, key=in_median.get)
printed = printing_costs.estimate
under_nans = ten.speedup(experiments.NANS, over=experiments.PLAIN)
checked = ten.speedup(experiments.CHECKED, over=experiments.PLAIN)
first_call = ten.only(experiments.PLAIN).first_call

# %%
# To find what is slow, record a profile, and name the parts of your code with
# :func:`jax.named_scope`. In this step, the part called :measured:`slowest` took longest.
#
# To find where a NaN begins, use ``debug_nans``. If it points into a gradient, add ``debug_infs``,
# because a NaN there often begins as an infinity in the forward pass. Then see to it that no
# infinity arises. Replacing it afterwards comes too late for the gradient.
#
# Which tools could you leave on? That depends on how long your step takes. A step of ten points
# that prints was :measured:`printed than the plain one`. Under ``debug_nans`` it was
# :measured:`under_nans than without`, and with ``checkify`` :measured:`checked than without`. A
# step that is compiled again in each call takes about as long every time as its first call, here
# :measured:`first_call`, and ``explain_cache_misses`` says why it is compiled.
#
# Try it yourself in :doc:`exercise 11 </exercises/11_faults>`. Next: :doc:`has JAX become faster
# </tutorials/performance/releases>`?
