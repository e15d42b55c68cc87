"""
What does jit buy?
==================

JAX runs your code one operation at a time, unless you wrap a function in :func:`jax.jit`, which
compiles the whole function into one program. How much time does that save, and what do you pay for
it? This page first works out what a compiler can save, then measures it, and ends with the bill:
the time that compiling takes, and digits that may change.
"""

# %%
# Four functions that take each number by itself
# ----------------------------------------------
# To work out what a compiler can save, we need functions whose cost is easy to reason about. These
# four treat every number of an array by itself, so it is easy to count what each number needs.
# ``selu`` and ``sigmoid`` come from neural networks, ``wave`` you know from the introduction, and
# ``add`` combines a sum with an exponential.
import jax
import jax.numpy as jnp

from jaxcap.kernels.elementwise import FUNCTIONS, add, selu, sigmoid, wave
from jaxcap.report.source import Source

Source(selu, sigmoid, add, wave)

# %%
# ``add`` takes two arrays and can't be drawn as a curve. The others look like this:
import matplotlib.pyplot as plt

from jaxcap.report import figures

x = jnp.linspace(-10.0, 10.0, 1000)
for function in (selu, sigmoid, wave):
    name = function.__name__
    plt.plot(x, function(x), color=figures.palette([name])[name], label=name)
plt.ylim(-4, 6)
plt.title("Functions of one array")
plt.xlabel("x")
figures.label_ends(plt.gca())

# %%
# Python runs the function once, to record it
# -------------------------------------------
# ``jax.jit(f)`` by itself does almost nothing: it returns a wrapper. The work begins when you call
# the wrapper. JAX then runs your Python function with stand-ins for the arrays, records every
# operation on them (this is called *tracing*), and compiles the record. A ``print`` inside the
# function shows when that happens. How many times will it print in three calls?
x = jnp.linspace(-10.0, 10.0, 1_000_000)


@jax.jit
def talkative(x):
    print("Python runs this line with", x)
    return wave(x)


for size in (1_000_000, 1_000_000, 10):
    print("calling with", size, "numbers")
    talkative(x[:size])

# %%
# It printed twice. The second call found a program for arrays of its shape and type, so Python
# never entered the function. The third call brought a new shape, for which JAX had to trace and
# compile again.
#
# That is why functions for ``jit`` should be *pure*: they should compute their result from their
# arguments, and do nothing else. Whatever else they do happens only while they are traced. So a
# ``print`` falls silent in later calls, and a global variable keeps the value that tracing saw:
tilt = 0.2


@jax.jit
def tilted(x):
    return tilt * x


print(tilted(1.0))
tilt = 5.0
print(tilted(1.0))

# %%
# The second answer is outdated, and no error told you so. Pass such a value as an argument instead.
# To print something each time the program runs, use :func:`jax.debug.print`.
#
# Fusion saves trips through memory
# ---------------------------------
# What can a compiler do with such a record? :func:`jax.make_jaxpr` shows the record of ``wave``:
jax.make_jaxpr(wave)(x)

# %%
# Without ``jit``, each line becomes a *kernel* of its own, which Python starts. The kernel reads
# its one or two arrays of a million numbers from memory and writes another, only for a later kernel
# to read that again. With ``jit``, JAX's compiler XLA gets to see the whole record, and makes a
# program of it that you can read with ``jax.jit(wave).lower(x).compile().as_text()``. This is the
# main part:
from jaxcap.measure import compilation

print(compilation.program(wave, x))

# %%
# The instruction called *fusion* is a single kernel. It reads each number once, does all the
# arithmetic in registers, and writes each result once, so nothing in between goes through memory.
# How many kernels remain for each of our four functions?
kernels = {}
for name, (function, arity) in FUNCTIONS.items():
    inputs = [x] * arity
    apart = compilation.kernels_op_by_op(function, *inputs)
    fused = compilation.kernels_compiled(function, *inputs)
    kernels[name] = apart, fused

# %%
_ = figures.dumbbell(
    kernels,
    ("op by op", "compiled"),
    label="kernels (lower is better)",
    finding=f"wave is {kernels['wave'][0]} kernels op by op, "
    f"and {kernels['wave'][1]} compiled",
    unit="",
)

# %%
before, after = kernels["wave"]
by_kernels = f"{before / after:g}"

# %%
# For ``wave``, :measured:`before` kernels became :measured:`after`. Two costs shrink with that:
# memory traffic, which should matter most for large arrays, and the calls from Python, which should
# matter most for small ones.
#
# Does the time shrink with the number of kernels?
# ------------------------------------------------
# Make a guess before you read on: with :measured:`before` kernels replaced by :measured:`after`, by
# what factor will the time for a million numbers change?
#
# We time ``wave`` both ways, on ten thousand to ten million numbers. Each range is over several
# fresh processes:
from jaxcap.experiments.jit import COMPILED, JIT, OP_BY_OP

results = JIT.run(budget_s=0.03)
best_device = results.environment.device.platform
on_device = results.select(device=best_device)
on_device.select(function="wave")

# %%
# The column *until it returns* is the time after which Python could go on. Because JAX may return
# before the result is computed, a clock that doesn't wait reads that column instead of *time*. The
# next page is about the gap between the two. Here is *time*, for ``wave``:
_ = figures.scaling(
    on_device.select(function="wave"),
    x="size",
    title="wave, op by op and compiled",
    xlabel="numbers in the array",
)

# %%
# How much does compiling speed up each of the four functions? And which size gains more: a small
# one, where calls matter most, or a large one, where memory does? On a machine with a GPU, there is
# a figure for each device. On one without, only ``wave`` was measured at several sizes, so each of
# the others is a single point:
for device in dict.fromkeys((best_device, "cpu")):
    _ = figures.speedups(
        results.select(device=device),
        over=OP_BY_OP,
        x="size",
        title=f"What jit buys on the {device.upper()}",
        xlabel="numbers in the array",
    )

# sphinx_gallery_thumbnail_number = 4

# %%
# Here is ``wave`` on a large array, and then on a small one:
from jaxcap.report.claims import BEST, claim, speedup_of

on_best = {"over": OP_BY_OP, "function": "wave", "device": BEST}
jit_pays = claim(
    "compiling wave makes it faster on a million numbers",
    results,
    speedup_of(COMPILED, **on_best, size=1_000_000),
)
jit_pays

# %%
jit_pays_on_few = claim(
    "compiling wave makes it faster on ten thousand numbers",
    results,
    speedup_of(COMPILED, **on_best, size=10_000),
)
wave_speedup, on_few = jit_pays.estimate, jit_pays_on_few.estimate
gained_more = "the intervals overlap, so which size gained more is open"
if on_few.low > wave_speedup.high:
    gained_more = "the small array gained more"
elif wave_speedup.low > on_few.high:
    gained_more = "the large array gained more"
jit_pays_on_few

# %%
# Now return to your guess. Compiled, ``wave`` was :measured:`wave_speedup than op by op` on a
# million numbers, and :measured:`on_few` on ten thousand. On this device, :measured:`gained_more`.
# Both times, :measured:`before` kernels became :measured:`after`. If only the number of kernels
# counted, both factors would be :measured:`by_kernels`. What else takes time?
#
# Arithmetic remains to be done
# -----------------------------
# Arithmetic takes time, too. While ``jit`` saves trips through memory and calls from Python, it
# saves arithmetic only where XLA can simplify a formula, or where a function computes the same
# thing twice, or something that nobody uses. There is little of that in our four functions, so each
# sine and each exponential remains to be computed. (``selu`` computes one for every number, even
# where ``where`` then discards it.)
#
# How much of the time is arithmetic? To find out, compile four functions that each become a single
# kernel. They read and write the same amount of memory, so they differ only in what they compute in
# between:
one_kernel_each = {
    "x + 1": jax.jit(lambda x: x + 1),
    "sin x": jax.jit(jnp.sin),
    "cos 2x": jax.jit(lambda x: jnp.cos(2 * x)),
    "wave": jax.jit(wave),
}

# %%
# Let them take turns, a hundred times, and keep the shortest time of each. (The first turn compiles,
# so it won't be the shortest.)
import time

times_ms = {name: [] for name in one_kernel_each}
for _ in range(100):
    for name, compiled in one_kernel_each.items():
        start = time.perf_counter()
        compiled(x).block_until_ready()
        times_ms[name].append(1000 * (time.perf_counter() - start))

for name, times in times_ms.items():
    print(f"{name:6} {min(times):.3f} ms")

# %%
beyond = 1 - min(times_ms["x + 1"]) / min(times_ms["wave"])
arithmetic = f"{max(beyond, 0):.0%}"

# %%
# These are the shortest times of a single process, so they needn't match the table, and on a busy
# machine even the shortest of a hundred can be off. If moving numbers were all the work, the four
# times would be alike. What a function takes beyond ``x + 1`` should be arithmetic: for ``wave``,
# that is :measured:`arithmetic` of the compiled function's time. Arithmetic stays the same however
# few kernels there are, so ``jit`` can save only what comes on top of it. The other three functions
# leave more to save, because they compute a single exponential of each number instead of a sine and
# a cosine. Compare their points in the figure above with that of ``wave``.
#
# If you time this yourself on a CPU, memory can distort the result. Op by op, each intermediate
# result needs memory of its own, and getting that from the operating system can cost more than the
# kernel: :doc:`the page on timing </tutorials/performance/timing>` has this trap as its last
# mistake.
#
# The first call pays for the later ones
# --------------------------------------
# The first call of a compiled function takes longer, because it traces and compiles. Op by op, the
# first call may take even longer, since JAX compiles a small kernel for each operation. In a real
# program, though, some earlier line has probably compiled those kernels already.
# So take the worst case for ``jit``, in which op by op has nothing left to compile:
million = on_device.select(function="wave", size=1_000_000)
compiled = million.only(COMPILED)
print(f"jit: first {compiled.first_call.short}, later {compiled.time.short}")

# %%
# The first call takes extra time, and each later call may save some. After how many calls do the two
# balance? The figure adds up the times of both variants, call by call:
_ = figures.running_total(
    million, over=OP_BY_OP, title="wave of a million numbers"
)

# %%
first_call_in_calls = int(
    float(f"{compiled.first_call.value / compiled.time.value:.1e}")
)

# %%
# You can also read the bill in calls: the first call took as long as
# :measured:`first_call_in_calls` later ones. You pay that again for every new shape or type of the
# arguments. The Python number ``2.0`` and ``jnp.float32(2.0)`` are of different types, so passing
# first one and then the other compiles twice.
#
# Compiling may change the last digit
# -----------------------------------
# Does the compiled function return exactly the same numbers? Take the answer in 64 bits as the
# truth. How far from it, at most, are the answers op by op and compiled? The unit is the gap
# between neighbouring 32-bit numbers at the largest result:
import numpy as np


def largest_error(found, truth):
    """Return the largest error, in units in the last place."""
    unit = np.spacing(np.float32(abs(truth).max()))
    return f"{abs(np.asarray(found) - truth).max() / unit:.2f}"


# %%
points = np.linspace(-4.0, 4.0, 100_000, dtype=np.float32)
rows = []
for name, (function, arity) in FUNCTIONS.items():
    inputs = [jnp.asarray(points)] * arity
    by_op, fused = function(*inputs), jax.jit(function)(*inputs)
    with jax.enable_x64(True):
        truth = np.asarray(function(*[jnp.asarray(points, float)] * arity))
    errors = largest_error(by_op, truth), largest_error(fused, truth)
    rows.append((name, *errors, "yes" if (by_op == fused).all() else "no"))

# %%
from jaxcap.results.tables import Table

headers = ("function", "op by op", "jit", "equal to the last bit")
Table("Largest error, in units in the last place", headers, rows)

# %%
# Both columns show rounding errors, which needn't agree. Op by op, every intermediate result is
# rounded to 32 bits. A compiled program may join a multiplication and an addition into one
# instruction, which rounds once instead of twice, or rearrange a formula. So compare compiled code
# with a tolerance, never with ``==``.
#
# Takeaway
# --------
# ``jit`` traces a function once for each shape and type, lets XLA fuse the recorded operations
# where it can, and from then on runs the result without going through your Python code. That can
# save memory traffic and calls, but seldom arithmetic, and it may change the last digit. On a
# million numbers, our compiled function was
# :measured:`wave_speedup than the same function run one operation at a time`. Weigh such a number
# against the first call, which took as long as :measured:`first_call_in_calls` later ones. So
# compile pure functions that you call often with the same shapes.
#
# Next: :doc:`when a result is ready </tutorials/transformations/asynchronous_dispatch>`, which you
# need to know before you time anything yourself. After that, :doc:`exercise 3 </exercises/3_jit>`
# has you fix a stopwatch, then compile and time a function.
