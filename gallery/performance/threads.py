"""
Which settings limit threads, and which save time?
==================================================

Two things are often decided before a program computes anything: how many threads may share the
work, and how hard the compiler tries. Advice on both usually takes the form of an environment
variable or a flag, and it often outlives the code for which it was written. This page tries four
ways to limit threads, gives XLA a flag that it doesn't know, and measures what the compiler's
options change.
"""

# %%
# How many threads compute?
# -------------------------
# On a CPU, JAX spreads large operations over several threads. If you share the cores with other
# people, or with other processes of yours, you may want it to take only one. To see how many a call
# takes, ``at_work`` repeats it, and compares the CPU time that Linux noted for each thread before
# and after. The CPU time of all threads, divided by the time that passed, is the number of cores
# that they kept busy:
from jaxcap.measure import threads
from jaxcap.report.source import Source

Source(threads.at_work, threads.usage_on_one_core)

# %%
# ``usage`` applies ``at_work`` to a matrix product and to ``tanh``. We call it in fresh processes,
# with one limit at a time:
#
# - ``sched_setaffinity``, in the second function above, ties the process to one core. It exists on
#   Linux, as does the command ``taskset``, which does the same.
# - ``PJRT_NPROC`` is a variable that `XLA reads
#   <https://github.com/openxla/xla/blob/main/xla/pjrt/utils.cc>`__ when it makes its pools of
#   threads.
# - ``--xla_cpu_multi_thread_eigen`` is a flag that has been `recommended since 2019
#   <https://github.com/jax-ml/jax/issues/743>`__.
# - ``OMP_NUM_THREADS`` is a variable that many numerical libraries obey.
#
# Which of the four will work?
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
# Whatever else runs on the machine takes cores away from these processes. So we start each of them
# a few times, and keep the run in which a call had the most cores:
used = {name: [] for name in limits}
for _ in fresh.rounds(3):
    for name, (function, settings) in limits.items():
        found = fresh.call(function, JAX_PLATFORMS="cpu", **settings)
        used[name].append(found)


# %%
def busiest(name, task):
    """Return the threads that shared a call, and the cores they had."""
    return max((run[task] for run in used[name]), key=lambda run: run[1])


def verdict(name):
    """Say whether a limit keeps both calls to one core."""
    unlimited, limited = (
        max(busiest(some, task)[1] for task in ("product", "tanh"))
        for some in ("none", name)
    )
    if unlimited < 1.2:
        return "can't tell"
    return "yes" if limited < 1.2 else "no"


# %%
import os

from jaxcap.results.tables import Table

rows = []
for name in limits:
    shared = [busiest(name, task) for task in ("product", "tanh")]
    texts = [f"{at_work} on {cores:.1f} cores" for at_work, cores in shared]
    rows.append((name, *texts, "" if name == "none" else verdict(name)))
title = f"Threads at work, on a machine with {os.cpu_count()} cores"
Table(title, ("limit", "in the product", "in tanh", "limits?"), rows)

# %%
# A limit works if it keeps a call to about one core, however many threads share that core, and if
# the same call takes more without a limit. If even the unlimited call had no more, the last column
# says *can't tell*: the machine has only one core, or others kept the rest of them busy.
#
# A limit that works in one release may do nothing in the next. The flag, for example, was
# recommended for XLA's old runtime, which `jaxlib 0.4.32
# <https://docs.jax.dev/en/latest/changelog.html#jaxlib-0-4-32-september-11-2024>`__ replaced. Of
# the four limits, only ``sched_setaffinity`` needs nobody's cooperation, because the operating
# system enforces it. With ``taskset``, you can limit any program on Linux without touching its
# code, here to the first core:
#
# .. code-block:: console
#
#    $ taskset -c 0 python script.py
#
# A wrong flag ends the process
# -----------------------------
# ``XLA_FLAGS`` holds flags for a whole process, and XLA `reads them when it starts
# <https://docs.jax.dev/en/latest/xla_flags.html>`__. Let's give it two, one after the other. The
# first is misspelt, with the British ``maths`` for ``math``. The second used to work: when XLA's
# new runtime had made `some people's loops slow <https://github.com/jax-ml/jax/issues/26145>`__,
# setting it to ``false`` brought the old runtime back.
old_flags = ("xla_cpu_enable_fast_maths", "xla_cpu_use_thunk_runtime")
for name in old_flags:
    try:
        fresh.call(threads.usage, XLA_FLAGS=f"--{name}=false")
        print("The process went on, with", name)
    except fresh.FreshProcessError as error:
        print(str(error).partition("] ")[2])

# %%
# If XLA doesn't know a name, it ends the process, without an exception that the process could
# catch. XLA may keep the name of a retired flag for a while, and only print a warning. Once the
# name is gone, programs that still set it stop working.
#
# Many flags have a better place: :func:`jax.jit` `takes them for one function
# <https://docs.jax.dev/en/latest/201/controlling-xla.html>`__. There, an unknown name raises an
# exception, which you can catch. How will it treat the same two names?
import jax

for name in old_flags:
    try:
        print(jax.jit(jax.nn.gelu, compiler_options={name: False})(1.0))
    except jax.errors.JaxRuntimeError as error:
        print(error)

# %%
# What do the options change?
# ---------------------------
# Here are three options that people try. *Fast maths* lets the compiler `rearrange a calculation
# <https://llvm.org/docs/LangRef.html#fast-math-flags>`__ as if arithmetic were exact. *No
# optimisation* turns off the optimisations of LLVM, which writes the machine code. *One thread* is
# the flag that was recommended for limiting threads:
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
# The same option can matter to one function and not to another. For a matrix product, XLA may call
# a library that was compiled long before your program, and LLVM's options don't reach into that.
# ``gelu`` is compiled from scratch, so look at it more closely:
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
# Whatever fast maths saves, it may cost digits, because it lets the compiler reorder sums and
# approximate. And with one more option, the compiler for CPUs takes it for granted that there is no
# NaN. Will a program that is compiled like that find one?
import jax.numpy as jnp

nan = jax.device_put(jnp.nan, jax.devices("cpu")[0])

trusting = {
    "xla_cpu_enable_fast_math": True,
    "xla_cpu_fast_math_honor_nans": False,
}
found = jax.jit(jnp.isnan, compiler_options=trusting)(nan)
print("by default:", jnp.isnan(nan), " trusting:", found)

# %%
# A compiler that assumes that there is no NaN may remove the test for it. So if your program looks
# for NaN to notice its own faults, don't use this option.
#
# Takeaway
# --------
fast, unoptimised = fast_maths_pays.estimate, optimising_pays.estimate

# %%
# To leave cores to others on Linux, limit the process with ``sched_setaffinity`` or ``taskset``,
# because the operating system applies that limit, so that it depends on no release. Do so before
# the process imports JAX, because threads that exist already keep their cores. Other limits may
# silently stop working. To check one, count the cores that your calls keep busy on an idle machine,
# with the limit and without.
#
# Give flags to ``jax.jit``, as ``compiler_options``, where a wrong name raises an exception instead
# of ending the process. And measure what they do: on this page's machine, ``gelu`` with fast maths
# was :measured:`fast than by default`, and without LLVM's optimisations it was
# :measured:`unoptimised than by default`.
#
# Try it yourself in :doc:`exercise 11 </exercises/11_second_process>`. Next: :doc:`should a
# geometry library move to JAX? </tutorials/performance/geometry>`
