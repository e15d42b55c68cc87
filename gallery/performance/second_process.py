"""
What does a program pay before its first result?
================================================

You change a line, run the script again, and wait. Python starts, JAX is imported, and what the last
run compiled is compiled once more. This page takes that wait apart in fresh processes, and finds
out how much of it a second process can skip. Its second half is about two more choices that are
often made when a process starts, how many threads compute and how hard the compiler tries, and
tests which settings do what they say.
"""

# %%
# Seven stages to the first result
# --------------------------------
# Our program is the gradient of a small network with eight layers:
from jaxcap.kernels import network
from jaxcap.report.source import Source

Source(network.loss)

# %%
# A fresh process computes this gradient once. It notes the time when Python runs, when JAX has been
# imported, and when JAX has found its devices. Then it traces, lowers and compiles the gradient, in
# the stages that :doc:`the page on loops </tutorials/transformations/loops>` explains, and runs it:
from jaxcap.measure import start_up

Source(start_up.first_result)

# %%
# Once compiled, the gradient is little work. Which stage takes the longest? Guess, and then look at
# a single process:
import time

from jaxcap.measure import fresh

stages = fresh.call(start_up.first_result, time.time())
for stage, seconds in stages.items():
    share = round(40 * seconds / sum(stages.values()))
    print(f"{stage:8}{1000 * seconds:6.0f} ms  {'▪' * share}")

# %%
# The next run of the script pays for all these stages again, unless the first one has saved
# something. JAX has two ways to do that.
#
# A cache on disk, with a threshold
# ---------------------------------
# JAX can keep what it compiles in a folder, for other processes to find. You enable that
# `persistent cache <https://docs.jax.dev/en/latest/persistent_compilation_cache.html>`__ by naming
# the folder before the first compilation. Here two processes run the program, the second with one
# more setting. How many programs will be in the folder after each?
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
cache = {"JAX_COMPILATION_CACHE_DIR": str(folder)}
keep_all = {**cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
for settings in (cache, keep_all):
    fresh.call(start_up.first_result, time.time(), **settings)
    print("programs in the cache:", len(list(folder.glob("*-cache"))))

# %%
# By default, the cache ignores programs that take less than this many seconds to compile:
import jax

jax.config.jax_persistent_cache_min_compile_time_secs

# %%
# If the first process left no program in the folder, its gradient compiled in less time than that.
# A script may consist of many programs that small, and find none of them in the cache. So set the
# threshold to 0, as the second process did. (Keep the folder to yourself. Processes run what they
# find in it, so JAX's documentation warns you not to share it with anybody whom you don't trust.)
#
# A program in a file
# -------------------
# You can also compile *ahead of time*, without calling the function, and save the compiled program.
# JAX has `an experimental module
# <https://docs.jax.dev/en/latest/jax.experimental.serialize_executable.html>`__ for that:
import pickle

from jax.experimental.serialize_executable import serialize

example = network.example(start_up.LAYERS)
gradient = jax.jit(jax.grad(network.loss))
program = gradient.lower(*example).compile()
file = folder / "gradient"
size = file.write_bytes(pickle.dumps(serialize(program)))
print(f"{size:,} bytes")

# %%
# A compiled program fits one kind of device and one release of JAX. :func:`jax.export.export` stops
# before it compiles, and returns a function that is traced and lowered, which you can `save as well
# <https://docs.jax.dev/en/latest/501/export.html>`__. Releases of the next six months can read it,
# by JAX's promise, and so can other machines if they have the same kind of device, or one of those
# that you name as ``platforms``. They still have to compile it, but they need neither your Python
# code nor the modules that it imports. Do the compiled program and the exported function compute
# the same gradient as ``jit``?
import numpy as np
from jax import export

exported = export.export(gradient)(*example)
expected = gradient(*example)
for way in (program, exported.call):
    pairs = zip(way(*example), expected)
    print(f"off by {max(np.abs(a - b).max() for a, b in pairs):.1e}")

# %%
# What each of them saves
# -----------------------
# Now compare three starts. The first finds nothing saved, the second finds its program in the
# cache, and the third loads it from the file. Which stages will get shorter, and how much of the
# wait will be left? We start several processes of each kind, in random order:
without_cache = {"JAX_ENABLE_COMPILATION_CACHE": "0"}
ways = {
    "nothing saved": (None, without_cache),
    "in the cache": (None, keep_all),
    "in a file": (str(file), without_cache),
}

# %%
import random

starts = {name: [] for name in ways}
for _ in fresh.rounds(3):
    for name in random.sample(list(ways), k=len(ways)):
        saved, settings = ways[name]
        stages = fresh.call(
            start_up.first_result, time.time(), saved, **settings
        )
        starts[name].append(stages)

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3.4))
for row, processes in enumerate(starts.values()):
    left = 0
    for stage, colour in zip(start_up.STAGES, figures.COLOURS):
        median = np.median([stages[stage] for stages in processes])
        label = stage if row == 0 else None
        axes.barh(row, median, 0.6, left, color=colour, label=label)
        left += median
    for stages in processes:
        axes.plot(sum(stages.values()), row, "o", color=figures.INK, ms=4)
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
# The cache can save ``compile``, and nothing else. JAX looks a program up by its text, so it has to
# trace and lower the function first. (Whatever else shapes the machine code has to agree, too: the
# release of JAX, the kind of device, and the compiler's flags. Change one of them, and the program
# is compiled again.) The file saves ``trace``, ``lower`` and ``compile``, but you have to know
# which program you want, and to save it again when the function changes.
#
# If ``compile`` didn't get shorter, XLA may have refused the saved program. It checks that this CPU
# has all the features of the CPU that it compiled for. `Some Intel CPUs fail this check even on the
# machine that compiled the program <https://github.com/jax-ml/jax/issues/38445>`__, because two
# preferences are counted as features.
#
# Neither the cache nor the file saves the import, and nothing that is saved could, because the
# import comes first. If it takes most of the time that is left, start fewer processes, and let each
# do more.
#
# How many threads compute?
# -------------------------
# On a CPU, JAX spreads large operations over several threads. If you share the cores with other
# people, or with other processes of yours, you may want it to take only one. To see which threads
# compute, this function asks Linux for the CPU time of each:
from jaxcap.measure import threads

Source(threads.at_work)

# %%
# Fresh processes use this function to count the threads that share a matrix product, and those that
# share ``tanh``. There are four ways in which people limit threads. The first,
# ``sched_setaffinity``, asks the operating system, as the command ``taskset`` does:
Source(threads.usage_on_one_core)

# %%
# The second is ``PJRT_NPROC``, a variable that `XLA reads
# <https://github.com/openxla/xla/blob/main/xla/pjrt/utils.cc>`__ when it makes its pools of
# threads. The third is ``--xla_cpu_multi_thread_eigen``, a flag that has been `recommended since
# 2019 <https://github.com/jax-ml/jax/issues/743>`__. The fourth is ``OMP_NUM_THREADS``, a variable
# that other libraries obey. Which of the four will work?
FLAG = "--xla_cpu_multi_thread_eigen=false"
limits = {
    "none": (threads.usage, {}),
    "sched_setaffinity": (threads.usage_on_one_core, {}),
    "PJRT_NPROC=1": (threads.usage, {"PJRT_NPROC": "1"}),
    FLAG: (threads.usage, {"XLA_FLAGS": FLAG}),
    "OMP_NUM_THREADS=1": (threads.usage, {"OMP_NUM_THREADS": "1"}),
}
used = {
    name: fresh.call(function, JAX_PLATFORMS="cpu", **settings)
    for name, (function, settings) in limits.items()
}

# %%
import os


def sharing(threads_at_work, cores):
    return f"{threads_at_work} on {cores:.1f} cores"


rows = []
for name, found in used.items():
    columns = [sharing(*found[function]) for function in ("product", "tanh")]
    rows.append((name, f"{found['threads']}", *columns))
title = f"Threads of a process, on a machine with {os.cpu_count()} cores"
Table(title, ("limit", "all", "in the product", "in tanh"), rows)

# %%
# A limit works if only one thread computes. (The column *all* also counts threads that wait or
# compile.) If a call is shared by as many threads as in the row *none*, the limit did nothing.
# Which limits work can change with a release: XLA's runtime for CPUs has been replaced since people
# began to recommend the flag. Only the first limit doesn't depend on XLA, and JAX's developers
# `recommended it <https://github.com/jax-ml/jax/issues/1539>`__ early on. (If several threads share
# hardly more than one core, other work took the rest of the machine.)
#
# A wrong flag ends the process
# -----------------------------
# ``XLA_FLAGS`` holds flags for a whole process, and XLA reads them when it starts. The names of its
# flags are in American English. What does XLA say to a British one?
try:
    fresh.call(threads.usage, XLA_FLAGS="--xla_cpu_enable_fast_maths=true")
except fresh.FreshProcessError as error:
    print(str(error).partition("] ")[2])

# %%
# XLA ended the process at once, without an exception. So if a release renames or drops a flag,
# programs that set it stop working. Many flags have a better place: :func:`jax.jit` `takes them for
# one function <https://docs.jax.dev/en/latest/201/controlling-xla.html>`__. If JAX doesn't know a
# flag there, it raises an exception, which you can handle. The first flag below is misspelt again.
# The second is spelt correctly: it brought back XLA's old runtime, for `people whose loops the new
# one had made slow <https://github.com/jax-ml/jax/issues/26145>`__. Does this release still know
# it?
for name in ("xla_cpu_enable_fast_maths", "xla_cpu_use_thunk_runtime"):
    try:
        print(jax.jit(jax.nn.gelu, compiler_options={name: False})(1.0))
    except jax.errors.JaxRuntimeError as error:
        print(error)

# %%
# What do the options change?
# ---------------------------
# Here are three options that people try. *Fast maths* lets the compiler rearrange a calculation as
# if numbers had no rounding. The second turns off the optimisations of LLVM, which writes the
# machine code. The third is the flag that was recommended for threads:
from jaxcap.experiments import compiler_options as experiments

for name, options in experiments.OPTIONS.items():
    print(f"{name:16} {options}")

# %%
# We compile three functions with each of them: ``gelu`` of many numbers, the gradient of a network
# with four layers, and a matrix product. Which option will make which function faster?
results = experiments.COMPILER_OPTIONS.run(processes=4, budget_s=0.03)
results

# %%
results.speedups(over=experiments.DEFAULT)

# %%
from jaxcap.experiments.compiler_options import DEFAULT, FAST_MATHS, GELU
from jaxcap.report.claims import claim, speedup_of

fast_maths_pays = claim(
    "gelu is computed faster with fast maths",
    results,
    speedup_of(FAST_MATHS, over=DEFAULT, work=GELU),
)
fast_maths_pays

# %%
optimising_pays = claim(
    "gelu is computed more slowly without LLVM's optimisations",
    results,
    speedup_of(experiments.UNOPTIMISED, over=DEFAULT, work=GELU),
    below=1,
)
optimising_pays

# %%
# The column *first call* of the table shows how much time the optimisations take. If you run a
# large program only once, to see whether it works at all, you may prefer one that compiles quickly
# and runs slowly.
#
# Rearranging can change the last digits of a result. And with one more option, the compiler for
# CPUs takes it for granted that there is no NaN:
import jax.numpy as jnp

nan = jax.device_put(jnp.nan, jax.devices("cpu")[0])

trusting = {
    "xla_cpu_enable_fast_math": True,
    "xla_cpu_fast_math_honor_nans": False,
}
print(jnp.isnan(nan))
print(jax.jit(jnp.isnan, compiler_options=trusting)(nan))

# %%
# The start under other releases
# ------------------------------
# Has the start itself become shorter over the years? Our :doc:`recordings of JAX's releases
# </releases/index>` time a process that imports JAX and adds two arrays, from its start to its end:
from jaxcap.releases.figures import course, finding
from jaxcap.releases.recorded import recorded

releases = recorded()
FIRST = "import of JAX, and a first result"
(start,) = [s for s in releases.of_jax() if s.benchmark == FIRST]
changes = [change for change in releases.changes if change.series is start]
slower = [step for step in releases.regressions if step.series is start]
now = slower[0] if slower else None
_ = course(start, changes, releases.names, regression=now)

# %%
# In short, the recordings show this: :measured:`by_releases`. Starts scatter more than calls do,
# because a start reads many files, and what else the machine has read since decides whether they
# are still in memory. That can hide a small change.
#
# Takeaway
# --------
from jaxcap.results.statistics import Estimate, Speedup

nothing, in_cache, in_file = (
    np.array([[sum(stages.values())] for stages in each])
    for each in starts.values()
)
first_result = Estimate.from_runs(nothing, unit="s")
cached = Speedup.from_runs(nothing / in_cache)
loaded = Speedup.from_runs(nothing / in_file)
imports = [[stages["import"]] for each in starts.values() for stages in each]
imported = Estimate.from_runs(imports, unit="s")
fast, unoptimised = fast_maths_pays.estimate, optimising_pays.estimate
by_releases = finding(start, changes, now)

# %%
# With nothing saved, a process took :measured:`first_result` to its first result,
# :measured:`imported` of that for the import. A start with the program in the cache was
# :measured:`cached than one with nothing saved`, and a start with the program in a file was
# :measured:`loaded than one with nothing saved`. A cache can save compilation, and a file tracing
# and lowering as well, but nothing saves the import. How much that matters depends on how long your
# program takes to compile, and this one is small. If yours is, too, set the cache's threshold to 0.
#
# To leave cores to others, limit the process with ``sched_setaffinity`` or ``taskset`` before it
# imports JAX. Give flags to ``jax.jit``, as ``compiler_options``, and measure what they do: on this
# page's machine, ``gelu`` with fast maths was :measured:`fast than by default`, and without LLVM's
# optimisations it was :measured:`unoptimised than by default`.
#
# Try it yourself in :doc:`exercise 10 </exercises/10_second_process>`. Next: :doc:`should a
# geometry library move to JAX? </tutorials/performance/geometry>`
