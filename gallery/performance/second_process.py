"""
What does a program pay before its first result?
================================================

You change a line, run the script again, and wait. Python starts, JAX is imported, and what the last
run compiled is compiled once more. This page takes that wait apart in fresh processes, and finds
out how much of it a second process can skip. It then looks at two more things that are decided
before the first result: how many threads will compute, and how well the compiler tries.
"""

# %%
# Seven stages come first
# -----------------------
# Our program is the gradient of a small network, of eight layers:
from jaxcap.kernels import network
from jaxcap.report.source import Source

Source(network.loss)

# %%
# A fresh process computes it once. It notes the time when Python runs, when JAX has been imported,
# and when JAX has found its devices. Then it traces, lowers and compiles the gradient, as
# :doc:`the page on loops </tutorials/transformations/loops>` explains, and runs it:
from jaxcap.measure import start_up

Source(start_up.first_result)

# %%
# The program is small enough to run in a few milliseconds. Which of the other stages takes the
# longest? Guess, and then look at a single process:
import time

from jaxcap.measure import fresh

for stage, seconds in fresh.call(start_up.first_result, time.time()).items():
    print(f"{stage:8}{1000 * seconds:6.0f} ms  {'▪' * round(50 * seconds)}")

# %%
# (Each ▪ stands for a fiftieth of a second. The first run takes longer than later ones, because
# memory is touched for the first time.)
#
# A cache on disk, with a threshold
# ---------------------------------
# JAX can keep what it compiles in a folder, for other processes to find. You enable that `persistent
# cache <https://docs.jax.dev/en/latest/persistent_compilation_cache.html>`__ by naming the folder,
# before the first compilation. So let two processes run the program, the second with one more
# setting. How many programs will be in the folder after each?
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
cache = {"JAX_COMPILATION_CACHE_DIR": str(folder)}
keep_all = {**cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
for settings in (cache, keep_all):
    fresh.call(start_up.first_result, time.time(), **settings)
    print(len(list(folder.glob("*-cache"))), "programs in the cache")

# %%
# By default, the cache ignores programs that compile in less than this many seconds:
import jax

jax.config.jax_persistent_cache_min_compile_time_secs

# %%
# If your program has many small functions, none of them may reach the threshold. Set it to 0, as
# the second process did. (Keep the folder to yourself. Processes run what they find in it, so JAX's
# documentation warns you not to share it with anybody whom you don't trust.)
#
# An exported function
# --------------------
# There is another thing that you can hand to a second process. :func:`jax.export.export` traces and
# lowers a function, and makes bytes of the result. Whoever has these bytes needs neither your
# Python code nor the modules that it imports:
from jax import export

example = network.example(start_up.LAYERS)
gradient = jax.jit(jax.grad(network.loss))
saved = export.export(gradient)(*example).serialize()
exported = folder / "gradient"
exported.write_bytes(saved)

# %%
# Does the gradient survive that?
import numpy as np

again = export.deserialize(saved).call(*example)
max(np.abs(a - b).max() for a, b in zip(again, gradient(*example)))

# %%
# What each of them saves
# -----------------------
# Now for the comparison. One process finds nothing, one finds its program in the cache, and one
# reads the exported function. Which stages will get shorter, and which of the three will be first?
# Each gets several processes, in random order:
NO_CACHE = {"JAX_ENABLE_COMPILATION_CACHE": "0"}
ways = {
    "nothing saved": (None, NO_CACHE),
    "in the cache": (None, keep_all),
    "exported": (str(exported), NO_CACHE),
}

# %%
import random

starts = {name: [] for name in ways}
for _ in fresh.rounds(4):
    for name in random.sample(list(ways), k=len(ways)):
        file, settings = ways[name]
        stages = fresh.call(
            start_up.first_result, time.time(), file, **settings
        )
        starts[name].append(stages)

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3.4))
totals = [
    [sum(stages.values()) for stages in each] for each in starts.values()
]
for row, (processes, total) in enumerate(zip(starts.values(), totals)):
    left = 0
    for stage, colour in zip(start_up.STAGES, figures.COLOURS):
        median = np.median([stages[stage] for stages in processes])
        label = stage if row == 0 else None
        axes.barh(row, median, 0.6, left, color=colour, label=label)
        left += median
    axes.plot(total, [row] * len(total), "o", color=figures.INK, ms=4)
axes.set_yticks(range(len(starts)), list(starts))
axes.invert_yaxis()
axes.set(xlabel="seconds since the start (lower is better)")
axes.set_title("To the first result (a dot for each process)")
_ = figure.legend(loc="outside lower center", ncols=4)

# sphinx_gallery_thumbnail_number = 1

# %%
from jaxcap.results.tables import Table

rows = []
for stage in start_up.STAGES:
    medians = [
        np.median([s[stage] for s in each]) for each in starts.values()
    ]
    rows.append((stage, *(f"{1000 * median:.0f} ms" for median in medians)))
Table("Medians by stage", ("stage", *starts), rows)

# %%
# The cache takes the place of ``compile``, and of nothing else. JAX looks a program up by its text,
# so it has to trace and lower the function first. The exported function is that text. Reading it
# replaces the tracing of your Python code, and XLA still compiles it. You can combine the two.
#
# If ``compile`` didn't get shorter with the cache, XLA may have refused what it found. It checks
# that the CPU has all the features of the one that it compiled for, and `on some Intel CPUs the
# check fails on the very machine that compiled
# <https://github.com/jax-ml/jax/issues/38445>`__: it counts two preferences as features.
#
# Nothing here saves the import, and no JAX function could: it comes before all of them. If most of
# the time goes there, don't start more processes than you need. In a process that goes on, such as
# a server, you can choose when to compile: ``jax.jit(f).lower(x).compile()`` does it before the
# first request, and is gone with the process.
#
# How many threads compute?
# -------------------------
# JAX on a CPU shares work among threads. If the cores are shared as well, with other people or with
# other processes of yours, you may want it to take only one. To see who computes, this function
# asks Linux for the CPU time of each thread:
from jaxcap.measure import threads

Source(threads.at_work)

# %%
# Fresh processes count the threads that share a matrix product, and those that share ``tanh``. Four
# limits are in use. The first, which is called ``taskset`` in a shell, asks the operating system to
# run the process on one core. The second `tells XLA
# <https://github.com/openxla/xla/blob/main/xla/pjrt/utils.cc>`__ how many threads its pools should
# have, though no documentation mentions it. The third is the flag that is recommended most often,
# and the fourth a setting that other libraries obey. Which of them will work?
FLAG = "--xla_cpu_multi_thread_eigen=false"
limits = {
    "none": (False, {}),
    "sched_setaffinity": (True, {}),
    "PJRT_NPROC=1": (False, {"PJRT_NPROC": "1"}),
    FLAG: (False, {"XLA_FLAGS": FLAG}),
    "OMP_NUM_THREADS=1": (False, {"OMP_NUM_THREADS": "1"}),
}
used = {
    name: fresh.call(threads.usage, one, JAX_PLATFORMS="cpu", **settings)
    for name, (one, settings) in limits.items()
}

# %%
import os


def sharing(threads_at_work, cores):
    return f"{threads_at_work} on {cores:.1f} cores"


rows = [
    (
        name.replace("=", " = "),
        f"{n['threads']}",
        sharing(*n["product"]),
        sharing(*n["tanh"]),
    )
    for name, n in used.items()
]
title = f"Threads of a process, on a machine with {os.cpu_count()} cores"
Table(title, ("limit", "all", "in the product", "in tanh"), rows)

# %%
# A limit works if one thread is left that computes. Others may remain, which wait, or compile. If a
# row has as many as the first, its limit did nothing. That can change with a release: the flag is
# as old as JAX, and the runtime that it was made for `has been replaced
# <https://github.com/jax-ml/jax/issues/30554>`__. Only the first limit doesn't depend on XLA, and
# JAX's developers `recommend it <https://github.com/jax-ml/jax/issues/1539>`__. (A number of cores
# below one means that the machine had other work, too.)
#
# A wrong flag ends the process
# -----------------------------
# ``XLA_FLAGS`` holds flags for a whole process, and XLA reads them when it starts. What does it say
# if you misspell one?
try:
    fresh.call(threads.usage, XLA_FLAGS="--xla_cpu_fast_maths=true")
except fresh.FreshProcessError as error:
    print(str(error).partition("] ")[2])

# %%
# That was the end of the process, without an exception. So a flag that one release renames stops
# programs that worked under another. For most flags there is a better place: :func:`jax.jit` `takes
# them for one function <https://docs.jax.dev/en/latest/201/controlling-xla.html>`__, and raises an
# exception that you can handle:
try:
    jax.jit(jax.nn.gelu, compiler_options={"xla_cpu_fast_maths": True})(1.0)
except jax.errors.JaxRuntimeError as error:
    print(error)

# %%
# What do the options change?
# ---------------------------
# Here are three that people try. *Fast math* lets the compiler calculate as if numbers had no
# rounding, the second turns off LLVM's optimisations, and the third is the flag from above:
from jaxcap.experiments import compiler_options as experiments

experiments.OPTIONS

# %%
# Three functions are compiled with each: ``gelu`` of many numbers, the gradient of a network of
# four layers, and a matrix product. Which option will make which of them faster?
results = experiments.COMPILER_OPTIONS.run(processes=4, budget_s=0.05)
results

# %%
results.speedups(over=experiments.DEFAULT)

# %%
from jaxcap.experiments.compiler_options import (
    DEFAULT,
    FAST_MATH,
    GELU,
    UNOPTIMISED,
)
from jaxcap.report.claims import claim, speedup_of

fast_math_pays = claim(
    "gelu is computed faster with fast math",
    results,
    speedup_of(FAST_MATH, over=DEFAULT, work=GELU),
)
fast_math_pays

# %%
optimising_pays = claim(
    "gelu is computed more slowly without LLVM's optimisations",
    results,
    speedup_of(UNOPTIMISED, over=DEFAULT, work=GELU),
    below=1,
)
optimising_pays

# %%
# Look at the column *first call*, too: what the optimisations cost is there. If you run a large
# program once, to see whether it works, you may want it compiled badly and soon.
#
# Fast math is off by default, and for a reason. One of its relatives tells the compiler that there
# will be no NaN, and it believes that:
import jax.numpy as jnp

trusting = {
    "xla_cpu_enable_fast_math": True,
    "xla_cpu_fast_math_honor_nans": False,
}
print(jnp.isnan(jnp.nan))
print(jax.jit(jnp.isnan, compiler_options=trusting)(jnp.nan))

# %%
# Flags come and go with XLA's releases. ``xla_cpu_use_thunk_runtime``, which many posts recommend
# against slow loops, is one that this page looks for:
try:
    jax.jit(jnp.sum, compiler_options={"xla_cpu_use_thunk_runtime": False})(
        1.0
    )
except jax.errors.JaxRuntimeError as error:
    print(error)

# %%
# The start under other releases
# ------------------------------
# Has the start itself become shorter? Our :doc:`recordings of JAX's releases </releases/index>`
# time a process that imports JAX and adds two arrays, from its start to its end:
from jaxcap.releases.figures import course, finding
from jaxcap.releases.recorded import recorded

releases = recorded()
FIRST = "import of JAX, and a first result"
(start,) = [s for s in releases.of_jax() if s.benchmark == FIRST]
changes = [change for change in releases.changes if change.series is start]
_ = course(start, changes, releases.names)

# %%
# Takeaway
# --------
from jaxcap.results.statistics import Estimate, Speedup

nothing, in_cache, from_export = np.array(totals)[..., None]
first_result = Estimate.from_runs(nothing, unit="s")
cached = Speedup.from_runs(nothing / in_cache)
not_traced = Speedup.from_runs(nothing / from_export)
imports = [[stages["import"]] for each in starts.values() for stages in each]
imported = Estimate.from_runs(imports, unit="s")
fast, unoptimised = fast_math_pays.estimate, optimising_pays.estimate
by_releases = finding(start, changes)

# %%
# A process that found nothing saved took :measured:`first_result` to its first result, of which the
# import took :measured:`imported`. One that found its program in the cache was
# :measured:`cached than that`, and one that read an exported function was
# :measured:`not_traced`. A cache saves compilation, an export saves tracing, and nothing saves the
# import. Set the cache's threshold to 0 if your programs are small.
#
# To leave cores to others, limit the process with ``sched_setaffinity`` or ``taskset``, before it
# imports JAX. Give flags to ``jax.jit``, as ``compiler_options``, and measure them: on this page's
# machine, fast math was :measured:`fast than the default`, and no optimisation
# :measured:`unoptimised`.
#
# Try it yourself in :doc:`exercise 10 </exercises/10_second_process>`. Next: :doc:`should a
# geometry library move to JAX? </tutorials/performance/geometry>`
