"""
What does jit buy?
==================

:func:`jax.jit` compiles a function. After this page you will know why that can make it faster, what
the first call costs and when that is earned back, and how the gain depends on the size of the
arrays.
"""

# %%
# Four functions
# --------------
# All four treat each element by itself. Two come from neural networks, ``wave`` is known from the
# introduction, and ``add`` is a sum with company.
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

from jaxcap.kernels.elementwise import FUNCTIONS, selu, sigmoid, wave

x = jnp.linspace(-10.0, 10.0, 1000)
for function in (selu, sigmoid, wave):
    plt.plot(x, function(x), label=function.__name__)
plt.ylim(-4, 6)
plt.title("Functions of one array")
plt.xlabel("x")
_ = plt.legend()

# %%
# Same answer first
# -----------------
# A fast wrong function is no use. Take the answer in 64 bits for the truth, and see how far the
# others are from it. The unit is the distance of neighbouring numbers of the type, near the largest
# result:
import numpy as np

x = np.linspace(-4.0, 4.0, 100_000)


def answer(function, arity, dtype):
    """Evaluate a function at x, computing in a type."""
    return np.asarray(function(*(jnp.asarray(x, dtype),) * arity), float)


# %%
from jaxcap.results.tables import Table

rows = []
for name, (function, arity) in FUNCTIONS.items():
    with jax.enable_x64(True):
        truth = answer(function, arity, jnp.float64)
    for dtype in (jnp.float32, jnp.float16):
        unit = float(jnp.finfo(dtype).eps) * abs(truth).max()
        eager = answer(function, arity, dtype)
        compiled = answer(jax.jit(function), arity, dtype)
        off = [
            f"{abs(a - truth).max() / unit:.2f}" for a in (eager, compiled)
        ]
        equal = "yes" if (eager == compiled).all() else "no"
        rows.append((name, jnp.dtype(dtype).name, *off, equal))

Table(
    "Largest error, in units in the last place",
    ("function", "type", "op by op", "jit", "equal to the last bit"),
    rows,
)

# %%
# Both carry rounding errors, which need not be the same. Op by op, each intermediate result is
# rounded to the type of the array. Compiled, intermediates stay in registers, where the compiler may
# keep more digits, or join a multiplication and an addition into one operation that rounds once. So
# compare compiled code with a tolerance, never with ``==``.
#
# Why it should be faster
# -----------------------
# Calling ``jax.jit(wave)`` runs the Python function once, with stand-ins that record what is done
# to them. The record looks like this:
x = jnp.linspace(-10.0, 10.0, 1_000_000)
jax.make_jaxpr(wave)(x)

# %%
# Without ``jit`` each line is a kernel of its own: a pass over memory that reads a million numbers
# and writes as many. With it, XLA compiles the whole record. This is the program that it made:
from jaxcap.measure import compilation

print(compilation.program(wave, x))

# %%
# The instruction called *fusion* is one kernel: it reads each element once, does all the arithmetic
# in registers, and writes each result once. Counted for all four functions:
for name, (function, arity) in FUNCTIONS.items():
    before = compilation.kernels_op_by_op(function, *(x,) * arity)
    after = compilation.kernels_compiled(function, *(x,) * arity)
    print(f"{name:8} {before} kernels op by op, {after} compiled")

# %%
# For ``wave``, the last of them, :measured:`before` passes over memory have become
# :measured:`after`. Two costs go down with them: the memory traffic, which matters
# for large arrays, and the dispatch from Python of each operation, which matters for small ones.
#
# How much faster is it?
# ----------------------
# Both ways take turns on ten thousand to ten million numbers (without a GPU, the other functions only on
# a million), on every kind of device that this machine has, in several fresh processes. The intervals are over those processes.
from jaxcap.experiments.jit import ALLOCATOR, COMPILED, JIT, OP_BY_OP

results = JIT.run(budget_s=0.05)
best_device = results.environment.device.platform
on_device = results.select(device=best_device)
on_device.select(function="wave")

# %%
# The column *until it returns* is the time after which Python went on, before the result was there:
# JAX works while your program does something else. A timing that doesn't wait would see that
# column.
from jaxcap.report import figures

_ = figures.scaling(
    on_device.select(function="wave"),
    x="size",
    title="wave, op by op and compiled",
)

# %%
# All four functions, compared with op by op. Don't expect as many times less time as there are
# fewer passes. What ``jit`` saves is memory traffic and dispatch; the arithmetic stays, and the sine
# and the cosine in ``wave`` are much of it:
on_device.speedups(over=OP_BY_OP)

# %%
_ = figures.speedups(
    on_device, over=OP_BY_OP, x="size", title="What jit buys"
)

# sphinx_gallery_thumbnail_number = 3

# %%
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
jit_pays_on_few

# %%
# On the CPU beside a GPU
# -----------------------
# Where the page was built with a GPU, this is the same on its CPU.
if best_device != "cpu":
    on_cpu = results.select(device="cpu")
    _ = figures.speedups(
        on_cpu, over=OP_BY_OP, x="size", title="What jit buys on the CPU"
    )
else:
    print(
        "This page was built without a GPU: the figures above are the CPU's."
    )

# %%
# What the first call costs
# -------------------------
# The first call traces and compiles. Op by op, the first call costs too, since it compiles a small
# kernel for each operation; but those are soon there, compiled for something else. So take the
# worst case, in which only ``jit`` has to compile: after how many calls has it earned that back?
million = on_device.select(function="wave", size=1_000_000)
compiled, eager = million.only(COMPILED), million.only(OP_BY_OP)
for result in (eager, compiled):
    print(
        f"{result.variant:9} first {result.first_call.short}, later {result.time.short}"
    )

# %%
pays_off = compiled.pays_off_after(eager)
print(pays_off or "jit is not measurably faster here: it never pays off")

# %%
first_call_in_calls = round(compiled.first_call.value / compiled.time.value)

# %%
# That is the price list: the first call took as long as :measured:`first_call_in_calls` later ones,
# and each new shape or type of the arguments pays it again.
#
# A trap on CPUs: the allocator
# -----------------------------
# Each result needs memory, op by op for every intermediate. The comparison above lets processes
# keep the memory that they free. By default the C library gives some of it back to the system, at
# some sizes and in some processes, and then has to ask for it again, page by page. Here is the same
# comparison, on the CPU, with that default:
by_default = ALLOCATOR.run(budget_s=0.05)
by_default

# %%
kept = results.select(**ALLOCATOR.points[0])
for label, some in ("memory kept", kept), ("the default", by_default):
    faults = [some.only(v).faults_per_call for v in (OP_BY_OP, COMPILED)]
    speedup = some.speedup(COMPILED, over=OP_BY_OP)
    print(f"{label}: page faults a call {faults}, jit {speedup.words}")

# %%
# Each page fault costs time that has nothing to do with JAX, and the two variants may have different
# numbers of them. Whoever measures ``jit`` without looking reports the allocator too.
#
# Takeaway
# --------
wave_speedup = jit_pays.estimate
default_speedup = by_default.speedup(COMPILED, over=OP_BY_OP)

# %%
# ``jit`` turns many passes over memory into few. Compared with op by op, ``wave`` on a million numbers
# came out :measured:`wave_speedup` on this page's device, and :measured:`default_speedup` on its CPU
# with the default allocator. Compile functions that you call often with the same shapes;
# leave alone what runs once. And before you believe a speed-up, ask what else differed between the
# two.
