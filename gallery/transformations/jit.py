"""
What does jit buy?
==================

JAX runs your code one operation at a time, unless you wrap a function in :func:`jax.jit`, which
compiles the whole function into one program. How much time does that save? This page counts the
operations that the compiler merges, and measures whether the time shrinks as much. Because compiling
takes time, too, it ends with the number of calls that earn it back.
"""

# %%
# Python runs the function once, to record it
# -------------------------------------------
# Take ``wave``, the function of the introduction, which treats every number of an array by itself:
import jax
import jax.numpy as jnp

from jaxcap.kernels.elementwise import wave
from jaxcap.report.source import Source

Source(wave)

# %%
# ``jax.jit(wave)`` by itself does almost nothing: it returns a wrapper. The work begins when you
# call the wrapper. JAX then runs your Python function with stand-ins for the arrays, records every
# operation on them, which is called *tracing*, and compiles the record. A ``print`` inside the
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
# arguments, and do nothing else. Whatever else they do happens only while they are traced. A
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
# To print something in each call, use :func:`jax.debug.print`.
#
# Fusion saves trips through memory
# ---------------------------------
# What can a compiler do with the record? :func:`jax.make_jaxpr` shows that of ``wave``:
jax.make_jaxpr(wave)(x)

# %%
# Without ``jit``, each line becomes a *kernel* of its own, which Python starts. Each kernel reads its
# arrays from memory and writes a new one, and all but the last of these are read again by a later
# kernel. With ``jit``, JAX hands the whole record to its compiler, XLA, which makes a program of it.
# This is the program's main part:
from jaxcap.measure import compilation

print(compilation.program(wave, x))

# %%
# The instruction called *fusion* is a single kernel. It reads each number once, computes everything
# that ``wave`` needs of it, and writes the result, so nothing in between goes through memory. Here
# are three more functions that treat each number by itself. Two of them, ``selu`` and ``sigmoid``,
# come from neural networks:
from jaxcap.kernels.elementwise import FUNCTIONS, add, selu, sigmoid

Source(selu, sigmoid, add)

# %%
# How many kernels does each function take, one operation at a time and compiled?
kernels = {}
for name, (function, arity) in FUNCTIONS.items():
    inputs = [x] * arity
    apart = compilation.kernels_op_by_op(function, *inputs)
    fused = compilation.kernels_compiled(function, *inputs)
    kernels[name] = apart, fused
    print(f"{name:8} {apart} op by op, {fused} compiled")

# %%
before, after = kernels["wave"]
by_kernels = f"{before / after:g}"
selu_before, selu_after = kernels["selu"]
selu_by_kernels = f"{selu_before / selu_after:g}"

# %%
# Does the time shrink as much?
# -----------------------------
# Fewer kernels mean fewer trips through memory, and fewer calls from Python. So make a guess before
# you read on. With :measured:`before` kernels replaced by :measured:`after`, by what factor will the
# time of ``wave`` change? And which of the four functions will gain the most?
from jaxcap.experiments.jit import COMPILED, JIT, OP_BY_OP
from jaxcap.report import figures

results = JIT.run(budget_s=0.03)
best_device = results.environment.device.platform
on_device = results.select(device=best_device)
_ = figures.ratios(
    on_device.select(size=1_000_000),
    over=OP_BY_OP,
    title=f"A million numbers, compiled, on the {best_device.upper()}",
)

# sphinx_gallery_thumbnail_number = 1

# %%
from jaxcap.report.claims import BEST, claim, speedup_of

jit_pays = claim(
    "compiling wave makes it faster on a million numbers",
    results,
    speedup_of(
        COMPILED, over=OP_BY_OP, function="wave", device=BEST, size=1_000_000
    ),
)
wave_speedup = jit_pays.estimate
jit_pays

# %%
selu_speedup = on_device.speedup(
    COMPILED, over=OP_BY_OP, function="selu", size=1_000_000
)

# %%
# Compiled ``wave`` was :measured:`wave_speedup than op by op`, and compiled ``selu`` was
# :measured:`selu_speedup`. If only the number of kernels mattered, these factors would be
# :measured:`by_kernels` for ``wave`` and :measured:`selu_by_kernels` for ``selu``. What else takes
# time?
#
# Arithmetic remains to be done
# -----------------------------
# However few kernels there are, each sine and each cosine has to be computed. To see how long that
# takes, compile four functions that differ in what they compute, but not in how much memory they read
# and write. Will their times differ?
one_kernel_each = {
    "x + 1": jax.jit(lambda x: x + 1),
    "exp x": jax.jit(jnp.exp),
    "sin x": jax.jit(jnp.sin),
    "wave": jax.jit(wave),
}

# %%
# Let them take turns, a hundred times, and keep the shortest time of each. The first turn compiles,
# so it won't be the shortest:
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
sine_ratio = min(times_ms["sin x"]) / min(times_ms["exp x"])
sine_to_exp = f"{sine_ratio:.1f} times as long"

# %%
# If moving numbers were all the work, the four times would be alike. Adding one is hardly any
# arithmetic, so ``x + 1`` shows how long the moving takes. What ``wave`` takes beyond that is
# :measured:`arithmetic` of its time. The same sine and cosine have to be computed op by op, so
# ``jit`` can't save their time.
#
# What ``jit`` buys therefore depends on how much arithmetic a function does for each kernel saved.
# ``selu``, ``sigmoid`` and ``add`` compute one exponential of each number, where ``wave`` computes a
# sine and a cosine. Here, ``sin x`` took :measured:`sine_to_exp` as ``exp x``.
#
# The first call pays for the later ones
# --------------------------------------
# The first call of a compiled function takes longer, because it traces and compiles:
million = on_device.select(function="wave", size=1_000_000)
compiled = million.only(COMPILED)
print(f"jit: first {compiled.first_call.short}, later {compiled.time.short}")

# %%
# Op by op, JAX compiles kernels, too, unless earlier code has used the same operations on arrays of the
# same shape and type. The figure therefore counts the compiling of ``jit`` only. It adds up the times,
# call by call. After how many calls will the compiled ``wave`` be ahead?
_ = figures.running_total(
    million, over=OP_BY_OP, title="wave of a million numbers"
)

# %%
calls = compiled.pays_off_after(million.only(OP_BY_OP))
earned_back = (
    f"had earned back its first call after {calls.words} calls"
    if calls
    else "may never earn back its first call"
)

# %%
# The compiled function :measured:`earned_back`. A new shape or type costs another first call.
#
# Takeaway
# --------
# ``jit`` runs your Python function once for each shape and type of its arguments, and records what it
# does. XLA fuses the recorded operations, which saves trips through memory and calls, while the
# arithmetic remains. On a million numbers, our compiled function was
# :measured:`wave_speedup than the same function run one operation at a time`. It
# :measured:`earned_back`. So compile pure functions that you call often with the same shapes.
#
# Next: :doc:`when a result is ready </tutorials/transformations/asynchronous_dispatch>`, which you
# need to know before you time anything yourself. After that, :doc:`exercise 3 </exercises/3_jit>`
# has you fix a stopwatch, then compile and time a function.
