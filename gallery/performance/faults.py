"""
Why is it slow, and why is it NaN?
==================================

A compiled function is closed: a debugger can't step through it, and Python's ``print`` sees none of
its numbers. JAX has tools that look inside. This page takes a training step that is slow, returns
NaN and compiles too often, finds each of the three faults with the tool made for it, and then
measures what the tools cost. Which of them could you leave on?
"""

# %%
# A step with faults
# ------------------
# Somebody has measured the distances between a hundred places, and got some of them badly wrong.
# Where are the places? Begin anywhere, and move all points, step by step, until their distances
# agree with the table. An error above a limit counts less, so that wrong entries don't pull too
# hard:
from jaxcap.kernels import placement
from jaxcap.report.source import Source

Source(placement.distances, placement.stress, placement.step)

# %%
# (The names in :func:`jax.named_scope` change nothing. They are there for the profile.) Let the
# limit be the median of all errors, and take three steps:
from functools import partial

import jax
import jax.numpy as jnp

start, table = placement.random_table(100)


def with_median(distances):
    """Return a step, compiled, whose limit is the median."""
    parts = {"distances": distances, "typical": jnp.median}
    stress = partial(placement.stress, **parts)
    return jax.jit(partial(placement.step, stress=stress))


# %%
step = with_median(placement.distances)
positions = start
for _ in range(3):
    positions, value = step(positions, table)
    print(value)


# %%
# Leave the NaN for later, and begin with the time. Guess first: of ten thousand square roots, one
# median and ten thousand losses, which takes longest?
#
# A profile says what ran
# -----------------------
# Inside :func:`jax.profiler.trace`, JAX notes what each thread does, and writes it to a file.
# :class:`jax.profiler.TraceAnnotation` adds a note of ours. Wait for the results in there, because
# the recording ends with the block:
def record(step, folder):
    """Write a profile of ten steps into a folder."""
    with jax.profiler.trace(folder):
        for _ in range(10):
            with jax.profiler.TraceAnnotation("our step"):
                jax.block_until_ready(step(start, table))


# %%
# You would usually look at such a file in `XProf or in Perfetto
# <https://docs.jax.dev/en/latest/201/profiling.html>`__, where you can zoom in and click. But the
# file is data, and ``ProfileData`` reads it. Each line of a profile has its events, and an event
# that is an operation of a compiled program has its name there in the statistic ``hlo_op``:
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory


def profile(step):
    """Record a step, and return the line, the operation and the times of each event."""
    with TemporaryDirectory() as folder:
        record(step, folder)
        (file,) = Path(folder).rglob("*.xplane.pb")
        data = jax.profiler.ProfileData.from_file(str(file))
    lines = [line for plane in data.planes for line in plane.lines]
    events = [(line, event) for line in lines for event in line.events]
    return [
        (line.name, dict(e.stats).get("hlo_op"), e.start_ns, e.duration_ns)
        for line, e in events
    ]


events = profile(step)
everything = Counter(line for line, *_ in events)
operations = Counter(line for line, operation, *_ in events if operation)

# %%
from jaxcap.results.tables import Table

rows = [
    (line.partition("/")[0], f"{operations[line]}", f"{count}")
    for line, count in everything.items()
]
Table("Lines of the profile", ("line", "operations", "all events"), rows)

# %%
# On a CPU, each line is a thread. Python's has our note, the calls of functions, and the waiting.
# Threads of the client run the operations, one after another. If an operation is divided among
# further threads, these have lines too, but nothing there says what they work on. (A GPU's profile
# has lines for the device, and the code below reads those as well. Operations that XLA submits as
# one *command buffer* `may be missing <https://github.com/openxla/xprof/issues/3070>`__ there.)
#
# Names lead back to the code
# ---------------------------
# What the compiler calls ``sort.1`` or ``multiply_select_fusion``, what was that in Python? Not
# even an annotation inside of ``step`` would tell: it is over when tracing is, which `has puzzled
# people <https://github.com/jax-ml/jax/issues/12381>`__. A name from :func:`jax.named_scope`,
# however, goes into the program, and the compiled program still has it:
import re


def sources(step):
    """Return where in the code each compiled operation comes from."""
    program = step.lower(start, table).compile().as_text()
    return dict(re.findall(r'%?([\w.-]+) = .*op_name="([^"]*)"', program))


source_of = sources(step)
ran = {operation for _, operation, *_ in events}
for operation in sorted(ran & source_of.keys())[:4]:
    print(f"{operation:26} {source_of[operation]}")

# %%
# ``jvp`` marks the way forward of a gradient, and ``transpose`` the way back. Where several
# operations were fused, the last gave its name to all. With these names, the profile can be told by
# the parts of ``stress`` and ``step``:
PARTS = ("distances", "limit", "loss", "update", "other")


def timeline(step):
    """Profile a step: which operation ran, of which part, when, and for how many ms."""
    source_of = sources(step)
    spans = []
    for _, operation, start_ns, ns in profile(step):
        if operation:
            source = source_of.get(operation, "")
            part = next((part for part in PARTS if part in source), "other")
            spans.append((operation, part, start_ns / 1e6, ns / 1e6))
    return spans


# %%
# The median was only to say how large an error usually is, and so would the mean. Would the mean be
# any quicker? The table adds up the operations of each part, each by the median of ten steps:
from collections import defaultdict

import numpy as np

with_mean = partial(placement.stress, distances=placement.distances)
timelines = {
    "median": timeline(step),
    "mean": timeline(jax.jit(partial(placement.step, stress=with_mean))),
}


def took_ms(spans):
    """Return how long each part takes in a step."""
    durations = defaultdict(list)
    for operation, part, _, ms in spans:
        durations[part, operation].append(ms)
    totals = dict.fromkeys(PARTS, 0.0)
    for (part, _), ms in durations.items():
        totals[part] += float(np.median(ms)) * len(ms) / 10
    return totals


# %%
took = {limit: took_ms(spans) for limit, spans in timelines.items()}
rows = [
    (part, *(f"{parts[part]:.3f}" for parts in took.values()))
    for part in PARTS
]
columns = ("part", *(f"limit by {limit}" for limit in timelines))
Table("Operations of a step, in ms", columns, rows)

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 2.8))
for lane, spans in enumerate(timelines.values()):
    begin = min(at for *_, at, _ in spans)
    for part, colour in zip(PARTS, figures.COLOURS):
        bars = [(at - begin, ms) for _, name, at, ms in spans if name == part]
        label = None if lane else part
        axes.broken_barh(bars, (lane - 0.3, 0.6), color=colour, label=label)
axes.set(title="Ten steps as recorded", xlabel="ms")
axes.set_yticks((0, 1), [f"limit by\n{limit}" for limit in timelines])
axes.invert_yaxis()
_ = figure.legend(loc="outside lower center", ncols=len(PARTS))

# sphinx_gallery_thumbnail_number = 1


# %%
# Was that your guess? The median of an array takes sorting it, and a sort compares numbers again
# and again, where a root or a loss handles each number once. Gaps between the colours belong to
# Python, which had to make the next call.
#
# Prints show values, checks show where they went wrong
# -----------------------------------------------------
# Now for the NaN. Which of these prints shows it?
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
# Python prints once, while JAX traces, and has only a stand-in for the number.
# :func:`jax.debug.print` becomes part of the program and prints in each call. What it printed is
# telling: the first stress is fine, and yet the positions that come out of that step are not. The
# gradient must have gone wrong.
#
# :obj:`jax.debug_nans` has JAX look for NaN in whatever a compiled function returns. If there is
# one, it runs the function again, operation by operation, until one of them `returns the first NaN
# <https://docs.jax.dev/en/latest/debugging/flags.html>`__:
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
# A multiplication, on the way back of the gradient. You never wrote that multiplication, and so the
# line is the one that asks for the gradient, which you knew. But NaN often begins as an infinity.
# :obj:`jax.debug_infs` stops there:
blame(infinities=True)


# %%
# There it is. The derivative of a square root divides by the root, and JAX does so on the way
# forward. The distance of a point to itself is zero, so the derivative there is infinite, and
# infinity times zero, on the way back, is NaN.
#
# ``where`` selects too late
# --------------------------
# The obvious repair is to take the root only of what isn't zero. Is that enough?
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
# ``where`` computes both sides and selects. On the way back it sends zero to the side that wasn't
# selected, and zero times an infinite derivative is NaN once more. In ``safe_distances``, a first
# ``where`` puts a harmless number under the root, so that there is no infinity in the first place.
# JAX's FAQ `explains it
# <https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where>`__ with a
# logarithm.
#
# With that and the mean, the step does its work:
mended = jax.jit(placement.step)
positions = start
for number in range(301):
    positions, value = mended(positions, table)
    if number % 100 == 0:
        print(f"after {number:3} steps: {value:.4f}")

# %%
# JAX says why it compiles again
# ------------------------------
# The third fault isn't in the step but around it. JAX compiles a function again for arguments of
# another kind, and for another function. Which of these calls compile?
first = jax.jit(lambda x, factor: x * factor)
x, longer = jnp.ones(3), jnp.ones(4)
calls = {
    "the first call": lambda: first(x, 2.0),
    "another number": lambda: first(x, 3.0),
    "another length": lambda: first(longer, 2.0),
    "an integer": lambda: first(x, 2),
    "NumPy's number": lambda: first(x, np.float32(2)),
    "jit of a lambda": lambda: jax.jit(lambda x: 2 * x)(x),
}

# %%
# With :obj:`jax.explain_cache_misses`, JAX logs a reason whenever it traces. The reasons are long,
# since they say where, so this handler prints only the heart of each:
import logging
from textwrap import fill

REASON = r"never seen function|re-defined repeatedly|at \w+, now .+ and before [^h\s]+"


class Reasons(logging.Handler):
    """Prints the heart of each explanation."""

    def emit(self, record):
        """Print one."""
        reasons = re.findall(REASON, record.getMessage())
        print(f"{name:16}", *reasons, sep="\n    ")


# %%
logging.getLogger("jax").addHandler(reasons := Reasons())
with jax.explain_cache_misses(True):
    for name in (*calls, "jit of a lambda"):
        calls[name]()
logging.getLogger("jax").removeHandler(reasons)

# %%
# Only another number needs no new program. A Python number is of a *weak* type, which `gives way to
# that of the array <https://docs.jax.dev/en/latest/type_promotion.html#weak-types>`__, and NumPy's
# is not, so JAX compiles for each of them. And each new lambda is a new function, though it's the
# same line. JAX's guide to `slow compilation
# <https://docs.jax.dev/en/latest/debugging/slow_tracing_compilation.html>`__ has more such reasons;
# :doc:`Which arguments must be static? </tutorials/transformations/static_arguments>` shows what to
# do about changing shapes.
#
# One more fault belongs here, because it shows late, and elsewhere. A traced value stands for a
# number only while JAX traces. Here it's kept for later:
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
# The rest of the message says in which line the value was made. :obj:`jax.check_tracer_leaks`
# raises an error as soon as a trace ends and leaves something behind. Return what you want to keep.
#
# What do the tools cost?
# -----------------------
# A last guess: how many times as long does a step take if it prints one number? We compare a plain
# step with three that are watched: one prints, to where nobody sees it; one runs under
# ``debug_nans``; and :func:`~jax.experimental.checkify.checkify` has put checks for NaN into the
# third, which returns what they found. (`JAX's guide to checkify
# <https://docs.jax.dev/en/latest/debugging/checkify_guide.html>`__ has more kinds of checks.) All
# take the mended step:
from jaxcap.experiments import faults
from jaxcap.experiments.faults import (
    ANEW,
    CHECKED,
    NANS,
    PLAIN,
    PRINTED,
    TRACED,
)

results = faults.TOOLS.run(budget_s=0.05)

# %%
watched = results.select(tools=faults.EACH_STEP)
_ = figures.scaling(
    watched,
    x="points",
    over=PLAIN,
    title="A step, watched",
    xlabel="points to move",
)

# %%
# To print, the program has to stop for Python: JAX calls a function there, hands it the number as
# an array, and Python formats and prints it. That is the same work for ten points as for more, so
# look at how the lines approach each other to the right. Here are ten points in numbers:
ten = watched.select(points=10)
ten

# %%
from jaxcap.report.claims import claim, speedup_of

printing_costs = claim(
    "moving ten points takes more than twice as long with a jax.debug.print",
    results,
    speedup_of(PRINTED, over=PLAIN, points=10, tools=faults.EACH_STEP),
    below=0.5,
)
printing_costs

# %%
nans_cost = claim(
    "moving ten points takes longer under jax.debug_nans",
    results,
    speedup_of(NANS, over=PLAIN, points=10, tools=faults.EACH_STEP),
    below=1,
)
nans_cost

# %%
# The two checks for NaN look at different things. ``debug_nans`` waits for the results of a call
# and looks at these, whatever it took to compute them. The checks of ``checkify`` look at each
# operation, and what must be looked at can't vanish in a fusion. They also have to be compiled, as
# the column of first calls shows.
#
# That leaves two prices that are paid once, or in each iteration if you are unlucky: that of a
# trace, for a single step, and that of a function which is defined anew, and so compiled, for its
# only call:
once = results.select(tools=faults.ONCE)
once

# %%
compiling_costs = claim(
    "a step of ten points takes longer if it is compiled for the call than if "
    "a trace is opened and closed for it",
    results,
    speedup_of(ANEW, over=TRACED, points=10, tools=faults.ONCE),
    below=1,
)
compiling_costs

# %%
# Takeaway
# --------
slowest, slowest_ms = max(took["median"].items(), key=lambda item: item[1])
share = f"{slowest_ms / sum(took['median'].values()):.0%}"
printed = printing_costs.estimate
under_nans = nans_cost.estimate
checked = ten.speedup(CHECKED, over=PLAIN)
anew = once.only(ANEW).time

# %%
# Ask a profile for the time, and name the parts with :func:`jax.named_scope`, because these names
# survive compilation. The part called *:measured:`slowest`* took :measured:`share` of this step.
#
# Ask ``debug_nans`` for a NaN. If it points into a gradient, add ``debug_infs``: many a NaN has
# been an infinity before. Repair it where the infinity arises, and not behind it.
#
# A small step that prints was :measured:`printed than the plain one`. Under ``debug_nans`` it was
# :measured:`under_nans than without`, and with checks inside :measured:`checked than without`.
# Compiled anew, it took :measured:`anew`, so let ``explain_cache_misses`` tell you if that happens
# in your loop.
#
# Try it yourself in :doc:`exercise 11 </exercises/11_faults>`. Next: :doc:`has JAX become faster
# </tutorials/performance/releases>`?
