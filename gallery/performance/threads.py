"""
Which settings limit threads, and which save time?
==================================================

Perhaps you share a machine and want JAX to leave some cores to others, or you have read about a
flag that is said to make programs faster. Will the setting do anything? It may have been meant for
an older JAX, or for other programs. This page tries four limits on threads and three options of the
compiler, and shows how to check any others.
"""

# %%
# A call on a CPU may take several threads
# ----------------------------------------
# On a CPU, JAX can split a large operation among several threads, so a single call may keep several
# cores busy. Before you limit that, you need a way to see it. Linux records how long each thread of a
# process has computed. ``at_work`` reads these times before and after it repeats a call, and counts
# the threads that did at least a twentieth of the work. It also says how many cores they kept busy on
# average:
from jaxcap.measure import threads
from jaxcap.report.source import Source

Source(threads.at_work)

# %%
# Four ways to ask for one thread
# -------------------------------
# A limit of one thread is the easiest to check. These are four ways to ask for it:
#
# - ``OMP_NUM_THREADS`` is a variable that many numerical libraries obey.
# - ``--xla_cpu_multi_thread_eigen`` is a flag of XLA's, which was `suggested in 2019
#   <https://github.com/jax-ml/jax/issues/743>`__.
# - ``PJRT_NPROC`` is a variable that `XLA reads
#   <https://github.com/openxla/xla/blob/main/xla/pjrt/utils.cc>`__ when it makes its pools of
#   threads.
# - ``sched_setaffinity`` asks Linux to keep the process on some of the machine's cores, here on
#   one:
Source(threads.usage_on_one_core)

# %%
# Which of the four will work? Each is set in fresh processes of its own, and the first line sets no
# limit:
from jaxcap.measure import fresh

FLAG = "--xla_cpu_multi_thread_eigen=false"
limits = {
    "none": (threads.usage, {}),
    "OMP_NUM_THREADS=1": (threads.usage, {"OMP_NUM_THREADS": "1"}),
    FLAG: (threads.usage, {"XLA_FLAGS": FLAG}),
    "PJRT_NPROC=1": (threads.usage, {"PJRT_NPROC": "1"}),
    "sched_setaffinity": (threads.usage_on_one_core, {}),
}

# %%
# In each process we count the threads of two calls, a product of two matrices and a ``tanh``. A busy
# machine may give a thread no time to work, so the table keeps the largest count of a few processes,
# and counts at least one thread for each busy core:
CALLS = "product", "tanh"
used = {name: [] for name in limits}
for _ in fresh.rounds(3):
    for name, (function, settings) in limits.items():
        found = fresh.call(function, JAX_PLATFORMS="cpu", **settings)
        used[name].append(found)


# %%
def count(name, call):
    """Count the threads of a call: at least one for each core that was busy."""
    return max(max(run[call][0], round(run[call][1])) for run in used[name])


# %%
from jaxcap.results.tables import Table

counts = {name: [count(name, call) for call in CALLS] for name in limits}
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
# A variable or a flag works only if the program reads it. ``OMP_NUM_THREADS`` is meant for programs
# that use `OpenMP <https://www.openmp.org/spec-html/5.1/openmpse59.html>`__. XLA reads
# ``PJRT_NPROC`` today, but a later release may read something else. The cores that
# ``sched_setaffinity`` allows are enforced by Linux, and XLA `counts them
# <https://github.com/jax-ml/jax/issues/1539>`__ when it makes its pools. The command ``taskset``
# sets the same limit without any change to your code, here to four cores:
#
# .. code-block:: console
#
#    $ taskset -c 0-3 python script.py
#
# From inside Python, call ``sched_setaffinity`` before you import JAX. It limits `the thread that
# calls it <https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html>`__ and those that this
# thread starts afterwards, but no thread that already runs, and even ``jax.devices()`` starts XLA's
# pools.
#
# Options of the compiler can change the speed
# --------------------------------------------
# Other flags decide how XLA compiles. You needn't set them for the whole process: :func:`jax.jit`
# takes them `for one function <https://docs.jax.dev/en/latest/201/controlling-xla.html>`__, as
# ``compiler_options``. We try three:
from jaxcap.experiments import compiler_options as experiments

for name, options in experiments.OPTIONS.items():
    print(f"{name:16} {options}")

# %%
# *Fast maths* lets the compiler `rearrange a calculation
# <https://llvm.org/docs/LangRef.html#fast-math-flags>`__ as if arithmetic were exact. *No
# optimisation* turns off the optimisations of LLVM, which writes the machine code, and so shows
# what they are worth. *One thread* is the flag that you have just met.
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
# Now you can check your guesses. For fast maths, the claim weighs all the processes:
from jaxcap.experiments.compiler_options import DEFAULT, FAST_MATHS, GELU
from jaxcap.report.claims import claim, speedup_of

fast_maths_pays = claim(
    "gelu is computed faster with fast maths",
    results,
    speedup_of(FAST_MATHS, over=DEFAULT, work=GELU),
)
fast_maths_pays

# %%
# The price may be more than the last digits of a result. Fast maths also lets the compiler assume
# that no number is a NaN. Can you still rely on a NaN to tell you of a fault?
import jax

x = jax.numpy.array([1, jax.numpy.nan], device=jax.devices("cpu")[0])
for name in DEFAULT, FAST_MATHS:
    options = experiments.OPTIONS[name]
    print(name, jax.jit(lambda x: x - x, compiler_options=options)(x))

# %%
UNOPTIMISED, PRODUCT = experiments.UNOPTIMISED, experiments.PRODUCT
ONE_THREAD = experiments.ONE_THREAD
gelu_slow = results.speedup(UNOPTIMISED, over=DEFAULT, work=GELU)
product_slow = results.speedup(UNOPTIMISED, over=DEFAULT, work=PRODUCT)
product_alone = results.speedup(ONE_THREAD, over=DEFAULT, work=PRODUCT)

# %%
# A compiler that assumes there are no NaNs may replace ``x - x`` by 0, without looking at ``x``.
#
# The same option can matter to one function and not to another. Without LLVM's optimisations,
# ``gelu`` was :measured:`gelu_slow than by default`, and the product
# :measured:`product_slow than by default`. LLVM writes the code of ``gelu`` when you compile it. For a
# product, XLA may call a library that was compiled before JAX was installed, out of reach of this
# option. With *one thread*, the product was :measured:`product_alone than by default`. So measure an
# option on your own function.
#
# A wrong name may end the process
# --------------------------------
# The variable ``XLA_FLAGS`` sets flags for a `whole process
# <https://docs.jax.dev/en/latest/xla_flags.html>`__. What if there is no such flag? We try two
# names. The first is misspelt, with the British ``maths`` for ``math``. The second is out of date:
# it once `brought back an older implementation
# <https://github.com/jax-ml/jax/issues/26145>`__.
wrong_names = "xla_cpu_enable_fast_maths", "xla_cpu_use_thunk_runtime"
for name in wrong_names:
    try:
        fresh.call(threads.usage, XLA_FLAGS=f"--{name}=false")
        print("The process went on, with", name)
    except fresh.FreshProcessError as error:
        print(str(error).partition("] ")[2])

# %%
# XLA ends a process whose flags contain a name that it doesn't know, and there is no exception to
# catch. A flag that has lost its effect may still be accepted, with no more than a warning in the log,
# so a program that runs doesn't prove that its flags do anything. Now give the same names to
# ``jax.jit``, as options of one function:
for name in wrong_names:
    try:
        print(jax.jit(jax.nn.gelu, compiler_options={name: False})(1.0))
    except jax.errors.JaxRuntimeError as error:
        print(error)

# %%
# The exception says which name is wrong, and your program can decide what to do about it.
#
# Takeaway
# --------
asked = [name for name in limits if name != "none"]
working = [name for name in asked if max(counts[name]) == 1]
outcome = "none kept both calls to one thread"
if working:
    names = " and ".join(filter(None, [", ".join(working[:-1]), working[-1]]))
    outcome = f"only {names} kept both calls to one thread"
if not can_tell:
    outcome = "none can be judged: without them, one thread was enough"

fast = fast_maths_pays.estimate

# %%
# To leave cores to others on Linux, start Python with ``taskset``: Linux enforces that limit, and
# XLA heeds it. Of the four limits that we tried, :measured:`outcome`. Count threads before you trust
# a limit.
#
# Give the compiler's options to ``jax.jit``, where a wrong name raises an exception instead of
# ending the process, and time your function with them and without. On this page's machine, ``gelu``
# with fast maths was :measured:`fast than by default`. Where a NaN must stay a NaN, leave fast maths
# off.
#
# Try it yourself in :doc:`exercise 11 </exercises/11_second_process>`. Next: :doc:`should a
# geometry library move to JAX? </tutorials/performance/geometry>`
