"""
Which settings do what they promise?
====================================

You set a variable that is said to limit threads, or a flag that is said to save time, and nothing
complains. That doesn't prove that JAX takes any notice. This page tries four limits on threads and
three options of the compiler, and checks whether each does what it is there for.
"""

# %%
# Four ways to ask for one thread
# -------------------------------
# On a CPU, JAX can split a large operation among several threads, so that a single call keeps several
# cores busy. If others need these cores, you may want to limit it to one thread. Here are four ways to
# ask for that:
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
# To find out which of them works, we count the threads that compute. Linux records for how long each
# thread of a process has computed. ``at_work`` reads these times before and after it repeats a call,
# and counts the threads that did at least a twentieth of the work. It also says how many cores they
# kept busy on average.
from jaxcap.measure import threads
from jaxcap.report.source import Source

Source(threads.at_work, threads.usage_on_one_core)

# %%
# A setting may be read only once, so each count needs a fresh process, which repeats a product of two
# matrices and a ``tanh``. A process that uses several threads refutes a limit. In one that uses a
# single thread, the others may only have been held up, so we then try a second process. If more than
# twenty cores share the work, no thread may have a twentieth of it, so each busy core counts as a
# thread, too:
from jaxcap.measure import fresh

CALLS = "product", "tanh"


def count(function, **settings):
    """Count the threads of each call, in a fresh process with these settings."""
    for _ in fresh.rounds(2):
        used = fresh.call(function, JAX_PLATFORMS="cpu", **settings)
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
# a later release may read something else. XLA accepted the flag without complaint, whether or not the
# flag did anything. Linux itself keeps a process to the cores that ``sched_setaffinity`` allows, and XLA
# `counts these cores <https://github.com/jax-ml/jax/issues/1539>`__ when it makes its pools. The command
# ``taskset`` sets the same limit without any change to your code, here to four cores:
#
# .. code-block:: console
#
#    $ taskset -c 0-3 python script.py
#
# From inside Python, call ``sched_setaffinity`` before you import JAX. It limits `the thread that
# calls it <https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html>`__ and those that this
# thread starts afterwards, but not the pools that XLA has already started.
#
# A promise of speed needs a timer
# --------------------------------
# Other flags change how XLA compiles. In the variable ``XLA_FLAGS``, a flag holds for the `whole process
# <https://docs.jax.dev/en/latest/xla_flags.html>`__, while :func:`jax.jit` takes such flags `for one
# function <https://docs.jax.dev/en/latest/201/controlling-xla.html>`__, as ``compiler_options``. We try
# three:
from jaxcap.experiments import compiler_options as experiments

for name, options in experiments.OPTIONS.items():
    print(f"{name:16} {options}")

# %%
# *Fast maths* lets the compiler `rearrange a calculation
# <https://llvm.org/docs/LangRef.html#fast-math-flags>`__ as if arithmetic were exact. *No
# optimisation* turns off the optimisations of LLVM, which writes the machine code, and so shows
# what they are worth. *One thread* is the flag from the table above.
#
# We compile three functions with each option: ``gelu`` of many numbers, the gradient of a network
# with four layers, and a matrix product. Does fast maths make ``gelu`` faster, and which function
# suffers most without LLVM's optimisations?
from jaxcap.report import figures

results = experiments.COMPILER_OPTIONS.run(budget_s=0.03)
_ = figures.ratios(
    results,
    over=experiments.DEFAULT,
    title="Three functions, compiled with other options",
)

# %%
# For fast maths, the claim weighs all the processes:
from jaxcap.experiments.compiler_options import DEFAULT, FAST_MATHS, GELU
from jaxcap.report.claims import claim, speedup_of

fast_maths_pays = claim(
    "gelu is computed faster with fast maths",
    results,
    speedup_of(FAST_MATHS, over=DEFAULT, work=GELU),
)
fast_maths_pays

# %%
UNOPTIMISED, PRODUCT = experiments.UNOPTIMISED, experiments.PRODUCT
gelu_slow = results.speedup(UNOPTIMISED, over=DEFAULT, work=GELU)
product_slow = results.speedup(UNOPTIMISED, over=DEFAULT, work=PRODUCT)

# %%
# The same option can matter to one function and not to another. Without LLVM's optimisations,
# ``gelu`` was :measured:`gelu_slow than by default`, and the product
# :measured:`product_slow than by default`. LLVM writes the code of ``gelu`` when you compile it. For a
# product, XLA may call a library that was compiled before JAX was installed, out of reach of this
# option.
#
# A setting may do more than it promises
# --------------------------------------
# Fast maths may change results, too. Can you still rely on a NaN to tell you of a fault?
import jax

x = jax.numpy.array([1, jax.numpy.nan], device=jax.devices("cpu")[0])
for name in DEFAULT, FAST_MATHS:
    options = experiments.OPTIONS[name]
    print(name, jax.jit(lambda x: x - x, compiler_options=options)(x))

# %%
# In exact arithmetic, ``x - x`` is 0, so with fast maths the compiler may replace it by 0, without
# looking at ``x``.
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

fast = fast_maths_pays.estimate

# %%
# Check that a setting does what it promises. For a limit, count threads: of the four that we tried,
# :measured:`outcome`. On Linux, ``taskset`` sets a limit that the operating system enforces.
#
# For speed, time your own function with the setting and without. On this page's machine, ``gelu`` with
# fast maths was :measured:`fast than by default`. Where a NaN must stay a NaN, leave fast maths off.
#
# Try it yourself in :doc:`exercise 11 </exercises/11_second_process>`. Next: :doc:`should a
# geometry library move to JAX? </tutorials/performance/geometry>`
