"""
Which settings limit threads, and which save time?
==================================================

Two things are often decided before a program computes anything: how many threads may share the
work, and how hard the compiler tries. Advice on both usually takes the form of an environment
variable or a flag, and it often outlives the code for which it was written. This page tries four
ways to limit threads in fresh processes, finds out what becomes of a flag that XLA doesn't know,
and measures what the compiler's options change.
"""

# %%
# How many threads compute?
# -------------------------
# On a CPU, JAX spreads large operations over several threads. If you share the cores with other
# people, or with other processes of yours, you may want it to take only one. To see what a call
# takes, ``at_work`` repeats it, and compares the CPU time that Linux noted for each thread before
# and after. It counts the threads that do at least a twentieth of the work, and divides their CPU
# time by the time that passed, which gives the number of cores that they kept busy. The first
# function below does this for a matrix product and for ``tanh``:
from jaxcap.measure import threads
from jaxcap.report.source import Source

Source(threads.usage, threads.usage_on_one_core)

# %%
# There are four ways in which people limit threads. The first is ``sched_setaffinity``, in the
# second function, which ties the process to one core, as the command ``taskset`` does. The second is
# ``PJRT_NPROC``, a variable that `XLA reads
# <https://github.com/openxla/xla/blob/main/xla/pjrt/utils.cc>`__ when it makes its pools of
# threads. The third is ``--xla_cpu_multi_thread_eigen``, a flag that has been `recommended since
# 2019 <https://github.com/jax-ml/jax/issues/743>`__. The fourth is ``OMP_NUM_THREADS``, a variable
# that `NumPy's linear algebra <https://numpy.org/doc/stable/reference/global_state.html>`__ may
# obey, and other libraries do. Which of the four will work?
from jaxcap.measure import fresh

FLAG = "--xla_cpu_multi_thread_eigen=false"
limits = {
    "none": (threads.usage, {}),
    "sched_setaffinity": (threads.usage_on_one_core, {}),
    "PJRT_NPROC=1": (threads.usage, {"PJRT_NPROC": "1"}),
    FLAG: (threads.usage, {"XLA_FLAGS": FLAG}),
    "OMP_NUM_THREADS=1": (threads.usage, {"OMP_NUM_THREADS": "1"}),
}

# %%
used = {
    name: fresh.call(function, JAX_PLATFORMS="cpu", **settings)
    for name, (function, settings) in limits.items()
}


# %%
def listed(names):
    """Join names as a sentence does."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


one_core = [
    name
    for name, found in used.items()
    if name != "none" and 0 < max(found["product"][1], found["tanh"][1]) < 1.2
]
kept = listed(one_core or ["none of the four limits"])
left_to = "one core" if FLAG in one_core else "several cores"

# %%
import os

from jaxcap.results.tables import Table

rows = []
for name, found in used.items():
    shared = [
        f"{at_work} on {cores:.1f} cores"
        for at_work, cores in (found["product"], found["tanh"])
    ]
    rows.append((name, f"{found['threads']}", *shared))
title = f"Threads of a process, on a machine with {os.cpu_count()} cores"
Table(title, ("limit", "all", "in the product", "in tanh"), rows)

# %%
# A limit works if a call keeps no more than one core busy, however many threads share that core.
# Here, a call stayed on one core under :measured:`kept`. The column *all* also counts threads that
# wait or compile.
#
# Which limits work can change with a release. The flag, for example, was recommended for XLA's old
# runtime, which `jaxlib 0.4.32
# <https://docs.jax.dev/en/latest/changelog.html#jaxlib-0-4-32-september-11-2024>`__ replaced by a
# new one. Under the release of this page, the flag left the work to :measured:`left_to`. Of the
# four limits, only ``sched_setaffinity`` needs nobody's cooperation, because the operating system
# enforces it. JAX's developers `recommended it <https://github.com/jax-ml/jax/issues/1539>`__ early
# on. From a shell, you can limit any program without touching its code, here to the first core:
#
# .. code-block:: console
#
#    $ taskset -c 0 python script.py
#
# Within a program, call ``os.sched_setaffinity(0, {0})`` before you import JAX.
#
# A wrong flag ends the process
# -----------------------------
# ``XLA_FLAGS`` holds flags for a whole process, and XLA `reads them when it starts
# <https://docs.jax.dev/en/latest/xla_flags.html>`__. Let us misspell a name, with the British
# ``maths`` for ``math``:
try:
    fresh.call(threads.usage, XLA_FLAGS="--xla_cpu_enable_fast_maths=true")
except fresh.FreshProcessError as error:
    print(str(error).partition("] ")[2])

# %%
# XLA ended the process at once, without an exception that the process could have handled. So if a
# release renames or drops a flag, programs that set it stop working. Many flags have a better
# place: :func:`jax.jit` `takes them for one function
# <https://docs.jax.dev/en/latest/201/controlling-xla.html>`__. There, an unknown flag raises an
# exception, which you can handle. The first flag below is misspelt again. The second is not a typo.
# When XLA's new runtime had made `some people's loops slow
# <https://github.com/jax-ml/jax/issues/26145>`__, setting this flag to ``False`` brought the old
# runtime back. Does this release still know the flag?
import jax

unknown = []
for name in ("xla_cpu_enable_fast_maths", "xla_cpu_use_thunk_runtime"):
    try:
        print(jax.jit(jax.nn.gelu, compiler_options={name: False})(1.0))
    except jax.errors.JaxRuntimeError as error:
        print(error)
        unknown.append(name)

# %%
# This release :measured:`still_known` the second flag, so that remedy :measured:`remedy`.
#
# What do the options change?
# ---------------------------
# Here are three options that people try. *Fast maths* lets the compiler `rearrange a calculation
# <https://llvm.org/docs/LangRef.html#fast-math-flags>`__ as if numbers had no rounding. The second
# turns off the `optimisations of LLVM
# <https://github.com/openxla/xla/blob/main/xla/xla.proto>`__, which writes the machine code. The
# third is the flag that was recommended for threads:
from jaxcap.experiments import compiler_options as experiments

for name, options in experiments.OPTIONS.items():
    print(f"{name:16} {options}")

# %%
# We compile three functions with each of them: ``gelu`` of many numbers, the gradient of a network
# with four layers, and a matrix product. Which option will make which function faster? The table
# compares each time with that of the same function without options:
results = experiments.COMPILER_OPTIONS.run(budget_s=0.03)
results.speedups(over=experiments.DEFAULT)

# %%
from jaxcap.experiments.compiler_options import DEFAULT, FAST_MATHS, GELU
from jaxcap.report import figures

of_gelu = results.select(work=GELU)
_ = figures.ratios(of_gelu, over=DEFAULT, title="gelu with other options")

# sphinx_gallery_thumbnail_number = 1

# %%
faster, moved = [], []
for result, speedup in results.paired_speedups(DEFAULT):
    work = str(result.parameters["work"])
    if speedup.verdict == "faster":
        faster.append(f"{work} with {result.variant}")
    differs = speedup.verdict in ("faster", "slower")
    if result.variant == experiments.ONE_THREAD and differs:
        moved.append(work)
nothing_pays = "None of the three options made a function measurably faster"
gain = f"There was a measurable gain for {listed(faster or ['none'])}"
what_pays = gain if faster else nothing_pays
by_flag = listed(moved or ["none of the three functions"])

# %%
# :measured:`what_pays`. The flag for threads, in the rows *one thread*, made a measurable
# difference to :measured:`by_flag`. Here are the other two options, for ``gelu``:
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
# Fast maths may cost digits, because it lets the compiler reorder sums and approximate. And with
# one more option, the compiler for CPUs takes it for granted that there is no NaN:
import jax.numpy as jnp

nan = jax.device_put(jnp.nan, jax.devices("cpu")[0])

trusting = {
    "xla_cpu_enable_fast_math": True,
    "xla_cpu_fast_math_honor_nans": False,
}
found = jax.jit(jnp.isnan, compiler_options=trusting)(nan)
print(jnp.isnan(nan), found)

# %%
# Compiled with this option, the test :measured:`did_or_did_not` find the NaN. A compiler that
# assumes that there is no NaN may remove a test for NaN. So a program that looks for NaN to find
# its own faults can't use this option.
#
# Takeaway
# --------
fast, unoptimised = fast_maths_pays.estimate, optimising_pays.estimate
did_or_did_not = "did" if found else "didn't"
has_expired = "xla_cpu_use_thunk_runtime" in unknown
still_known = "no longer knows" if has_expired else "still knows"
remedy = "has expired" if has_expired else "can still be tried"

# %%
# To leave cores to others on Linux, limit the process with ``sched_setaffinity`` or ``taskset``,
# because the operating system enforces that limit under any release. Do so before the process
# imports JAX, because threads that exist already keep their cores. Other limits may lose their
# effect without a word, so check how many cores your calls keep busy.
#
# Give flags to ``jax.jit``, as ``compiler_options``, where a wrong name raises an exception instead
# of ending the process. And measure what they do: on this page's machine, ``gelu`` with fast maths
# was :measured:`fast than by default`, and without LLVM's optimisations it was
# :measured:`unoptimised than by default`.
#
# Try it yourself in :doc:`exercise 11 </exercises/11_second_process>`. Next: :doc:`should a
# geometry library move to JAX? </tutorials/performance/geometry>`
