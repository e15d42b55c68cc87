"""
Which limits on threads does JAX obey?
======================================

You share a machine with others, and want JAX to keep to one of its cores. There are variables and flags
that are said to see to that, and none of them complains if it does nothing. This page tries four limits,
and counts the threads that compute under each. Then it asks whether a timer, which is simpler, would have
told you the same.
"""

# %%
# Four ways to ask for one thread
# -------------------------------
# On a CPU, JAX can split a large operation among several threads, so that a single call keeps several
# cores busy. Here are four ways to ask for a single thread:
#
# - ``OMP_NUM_THREADS`` is a variable that many numerical libraries obey.
# - ``--xla_cpu_multi_thread_eigen`` is a flag of XLA's, which was `suggested in 2019
#   <https://github.com/jax-ml/jax/issues/743>`__.
# - ``PJRT_NPROC`` is a variable that `XLA reads
#   <https://github.com/openxla/xla/blob/main/xla/pjrt/utils.cc>`__ when it makes its pools of
#   threads.
# - ``sched_setaffinity`` asks Linux to keep the process on some of the machine's cores, here on
#   one.
#
# Count the threads that compute
# ------------------------------
# To find out which of them works, we count the threads that are at work. Linux records for how long each
# thread of a process has computed. ``at_work`` reads these times before and after it repeats a call,
# and counts the threads that did a good part of the work:
from jaxcap.measure import threads
from jaxcap.report.source import Source

Source(threads.at_work, threads.usage_on_one_core)

# %%
# A setting may be read only once, so each count needs a fresh process. It repeats a product of two
# matrices, and a ``tanh``, and gives the number of threads, or of busy cores if it is larger:
from jaxcap.measure import fresh

CALLS = "product", "tanh"


def count(function, **settings):
    """Count the threads of each call, in a fresh process with these settings."""
    for _ in fresh.rounds(2):  # a thread may be held up once
        used = fresh.call(function, JAX_PLATFORMS="cpu", **settings)
        # Of fifty threads, none does a twentieth of the work, so count cores, too.
        counts = [max(used[call][0], round(used[call][1])) for call in CALLS]
        if max(counts) > 1:
            break
    return counts


# %%
# Which of the four will keep both calls to one thread? The first count is without a limit:
FLAG = "--xla_cpu_multi_thread_eigen=false"
counts = {
    "none": count(threads.usage),
    "OMP_NUM_THREADS=1": count(threads.usage, OMP_NUM_THREADS="1"),
    FLAG: count(threads.usage, XLA_FLAGS=FLAG),
    "PJRT_NPROC=1": count(threads.usage, PJRT_NPROC="1"),
    "sched_setaffinity": count(threads.usage_on_one_core),
}

# %%
from jaxcap.results.tables import Table

can_tell = max(counts["none"]) > 1
rows = []
for name, both in counts.items():
    verdict = "can't tell"
    if can_tell:
        verdict = "no" if max(both) > 1 else "yes"
    rows.append((name, *map(str, both), "" if name == "none" else verdict))
headers = "limit", *(f"threads in {call}" for call in CALLS), "works?"
Table("Threads at work under each limit", headers, rows)

# %%
# Of the four limits, :measured:`outcome`.
#
# A variable works only in a program that reads it. ``OMP_NUM_THREADS`` is meant for programs that use
# `OpenMP <https://www.openmp.org/spec-html/5.1/openmpse59.html>`__. XLA reads ``PJRT_NPROC`` today, but
# a later release may read something else. And a flag that XLA knows may still leave these two calls as
# they are.
#
# Linux enforces its own limit
# ----------------------------
# Linux keeps a thread to the cores that ``sched_setaffinity`` allows, whatever JAX does, and XLA
# `counts these cores <https://github.com/jax-ml/jax/issues/1539>`__ when it makes its pools. The command
# `taskset <https://man7.org/linux/man-pages/man1/taskset.1.html>`__ sets the same limit without any
# change to your code, here to four cores:
#
# .. code-block:: console
#
#    $ taskset -c 0-3 python script.py
#
# From inside Python, call ``sched_setaffinity`` before you import JAX. It limits `the thread that
# calls it <https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html>`__ and those that this
# thread starts afterwards, but not the pools that XLA has already started.
#
# A timer needs a control
# -----------------------
# Would a timer have come to the same verdict on the flag? If a call loses all of its threads but one, it
# should take longer. In the variable ``XLA_FLAGS``, a flag holds for the `whole process
# <https://docs.jax.dev/en/latest/xla_flags.html>`__, but :func:`jax.jit` takes flags `for one function
# <https://docs.jax.dev/en/latest/201/controlling-xla.html>`__, too, as ``compiler_options``. So we can
# time a function with the flag and without it in one process.
#
# If both take the same time, the flag may do nothing, but it may also never have reached the compiler. So
# we time a control as well, an option that asks for no optimisation. A third option, *fast maths*, is
# meant to save time: the compiler may `rearrange a calculation
# <https://llvm.org/docs/LangRef.html#fast-math-flags>`__ as if arithmetic were exact.
from jaxcap.experiments import compiler_options as experiments
from jaxcap.experiments.compiler_options import ONE_THREAD, UNOPTIMISED

for name, options in experiments.OPTIONS.items():
    print(f"{name:16} compiler_options={options}")

# %%
# We time three functions with each: ``gelu`` of many numbers, the gradient of a network with four
# layers, and a matrix product. Which times will change?
from jaxcap.report import figures

results = experiments.COMPILER_OPTIONS.run(budget_s=0.03)
_ = figures.ratios(
    results,
    over=experiments.DEFAULT,
    title="Three functions, compiled with other options",
)

# %%
from jaxcap.experiments.compiler_options import FAST_MATHS, GELU
from jaxcap.report.claims import claim, speedup_of

flag_slows_down = claim(
    "gelu takes longer with the flag that asks for one thread",
    results,
    speedup_of(ONE_THREAD, over=experiments.DEFAULT, work=GELU),
    below=1,
)
flag_slows_down

# %%
by_default = experiments.DEFAULT
flagged = results.speedup(ONE_THREAD, over=by_default, work=GELU)
unoptimised = results.speedup(UNOPTIMISED, over=by_default, work=GELU)
fast = results.speedup(FAST_MATHS, over=by_default, work=GELU)
unoptimised_product = results.speedup(
    UNOPTIMISED, over=by_default, work=experiments.PRODUCT
)

# %%
# Without optimisation, ``gelu`` was :measured:`unoptimised than by default`, and with the flag
# :measured:`flagged than by default`. The first number tells you whether our options reach the
# compiler. Only if they do, and if several threads share ``gelu`` by default, does the second tell you
# anything about the flag. Choose a control to which your function responds: without optimisation, the
# product was :measured:`unoptimised_product than by default`. With fast maths, ``gelu`` was
# :measured:`fast than by default`. Test whether results with other rounding suit you.
#
# Takeaway
# --------
asked = [name for name in counts if name != "none"]
working = [name for name in asked if max(counts[name]) == 1]
outcome = "none kept both calls to one thread"
if working:
    names = " and ".join(filter(None, [", ".join(working[:-1]), working[-1]]))
    outcome = f"only {names} kept both calls to one thread"
if not can_tell:
    outcome = "none can be judged: without them, one thread was enough"

# %%
# On Linux, limit JAX to some cores with ``taskset``, because the operating system enforces it. Of the
# four limits that we tried, :measured:`outcome`.
#
# JAX may accept a setting that does nothing. To find out, count the threads at work, or time a function
# with the setting and without, beside a control that is known to change its time. On this page's machine,
# with the flag for one thread, ``gelu`` was :measured:`flagged than by default`. Without optimisation, it
# was :measured:`unoptimised than by default`.
#
# Try it yourself in :doc:`exercise 11 </exercises/11_second_process>`. Next: :doc:`should a
# geometry library move to JAX? </tutorials/performance/geometry>`
