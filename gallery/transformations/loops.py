"""
What does a loop cost?
======================

While JAX traces a function, a loop in Python runs as always, and its body is recorded once for each
step. JAX has `loops of its own <https://docs.jax.dev/en/latest/201/control-flow.html>`__, which
stay loops in the program: ``fori_loop``, ``scan`` and ``while_loop``. What does each of them cost,
once to compile and then in every call? And which of them can you differentiate?
"""

# %%
# One step, four loops
# --------------------
# Let a pendulum swing. Its state is an angle and a speed, and gravity changes both, by one small
# step of time after another:
from jaxcap.experiments import loops as experiments
from jaxcap.kernels import pendulum
from jaxcap.report.source import Source

Source(pendulum.step)

# %%
# Four loops can take many such steps. Python's loop and ``fori_loop`` count, ``scan`` takes a
# length, and ``while_loop`` goes on for as long as its condition holds. If you give ``fori_loop`` a
# plain number of steps, `it becomes a scan
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html>`__, so don't expect these two
# to differ:
four = (
    pendulum.in_python,
    pendulum.in_fori_loop,
    pendulum.in_scan,
    pendulum.in_while_loop,
)
Source(*four)

# %%
# All four loops should end in the same state. So should a fifth variant, which we explain below: a
# scan with ten steps in its body. As a check, NumPy takes the same steps in 64 bits, for two
# pendulums. One starts almost straight down, and the other almost straight up:
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

start = experiments.start(2)
angle, speed = np.asarray(start, np.float64)
for _ in range(100):
    speed = speed - pendulum.STEP * np.sin(angle)
    angle = angle + pendulum.STEP * speed
for name, loop in experiments.WAYS.items():
    found, _ = jax.jit(partial(loop, steps=100))(start)
    print(f"{name:16} off by {abs(np.asarray(found) - angle).max():.1e}")


# %%
# :func:`~jax.lax.scan` also does what the other loops don't: it can read one element of an array in
# each step, and it collects in an array whatever a step returns besides the state. Here it reads
# numbers, and collects their running sums:
def add(total, number):
    total = total + number
    return total, total


total, sums = jax.lax.scan(add, 0.0, jnp.arange(1.0, 6.0))
print(sums)


# %%
# A pendulum has nothing to read, so its scan takes a length instead of an array. It collects the
# angles of five pendulums:
def swing(state, _):
    state = pendulum.step(state)
    return state, state[0]


last, course = jax.lax.scan(swing, experiments.start(5), length=1200)
print("angles:", course.shape)

# %%
import matplotlib.pyplot as plt

plt.plot(pendulum.STEP * np.arange(1200), course)
plt.title("The higher the start, the longer the period")
plt.xlabel("time")
_ = plt.ylabel("angle in radians")

# sphinx_gallery_thumbnail_number = 1

# %%
# Python's part is over before the loop begins
# --------------------------------------------
# A loop that stays a loop needs its body only once. What does this body print, then, in three
# steps?


def talkative(state, _):
    print("Python is here")
    jax.debug.print("the angle is {angle:.4f}", angle=state[0])
    return pendulum.step(state), None


_ = jax.lax.scan(talkative, (1.0, 0.0), length=3)
jax.effects_barrier()

# %%
# JAX traces a body even outside of ``jit``. Python's ``print`` runs during that trace, as an
# ``append`` to a list would, while :func:`jax.debug.print` becomes part of the program. Python can't
# decide when to stop, either, because there is no number to look at while tracing:


@jax.jit
def python_decides(state):
    while state[0] > 0:
        state = pendulum.step(state)
    return state


try:
    python_decides((1.0, 0.0))
except jax.errors.TracerBoolConversionError as error:
    print(str(error).splitlines()[0])

# %%
# An ``if`` on a traced number raises the same error, which :doc:`the page on static arguments
# </tutorials/transformations/static_arguments>` explains. :func:`~jax.lax.while_loop` can decide,
# because its condition is a function, which becomes part of the program like the body.
#
# The state keeps its shapes and types
# ------------------------------------
# Since one trace of the body serves all steps, it has to return a state like the one it takes: with
# `the same structure, shapes and types
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html>`__. This start has two mistakes:
# its two angles are integers, and they share one scalar speed:
from textwrap import fill

try:
    jax.lax.scan(swing, (jnp.arange(2), 0.0), length=3)
except TypeError as error:
    for line in str(error).splitlines():
        print(fill(line, 70))


# %%
# The *carry* is what one step hands on to the next. JAX names its parts after the body's argument,
# here ``state``, so ``state[1]`` is the speed. The error gives the type before a step and after
# it for each part that doesn't fit, so you can tell whether the start is wrong, as here, or the
# step. The start ``(jnp.arange(2.0), jnp.zeros(2))`` would fit.
#
# An unrolled program grows with its loop
# ---------------------------------------
# Count the operations that tracing records, for ten steps and for a hundred:
def operations(function, *args):
    """Return the names of the operations that a function is traced to."""
    jaxpr = jax.make_jaxpr(function)(*args)
    return [eqn.primitive.name for eqn in jaxpr.eqns]


one = 1.0, 0.0
for steps in (10, 100):
    unrolled = operations(partial(pendulum.in_python, steps=steps), one)
    rolled = operations(partial(pendulum.in_scan, steps=steps), one)
    print(f"{steps:3} steps: {len(unrolled)} operations, or {rolled}")

# %%
# The unrolled program has the same operations again for each step, and the scan is one operation,
# whatever its length. The first call has to trace, `lower and compile
# <https://docs.jax.dev/en/latest/201/aot.html>`__ each of them, so the more there are, the longer it
# takes.
#
# :func:`~jax.lax.scan` and :func:`~jax.lax.fori_loop` have a parameter ``unroll``, which asks for
# something in between: a loop with several steps in its body. How long does the first call take if
# there are ten steps in it? And does a loop with several times as many steps take several times as
# long? Fresh processes let two pendulums swing in all five loops, each with nothing compiled
# before:
from jaxcap.experiments.loops import PYTHON, SCAN, SCAN_UNROLLED
from jaxcap.report import figures

results = experiments.LOOPS.run(budget_s=0.03)
plain = results.subset(
    r for r in results if experiments.GRADIENT not in r.variant
)
longest = max(result.parameters["steps"] for result in plain)

# %%
_ = figures.scaling(
    plain,
    x="steps",
    value="first_call",
    label="time of the first call\n(lower is better)",
    title="What the first call takes",
)

# %%
growth = {}
for loop in (PYTHON, SCAN):
    few, many = (
        plain.only(loop, steps=steps).first_call.value
        for steps in (100, longest)
    )
    growth[loop] = f"{many / few:.1f} times as long"

grows_unrolled, grows_rolled = growth[PYTHON], growth[SCAN]

# %%
# With :measured:`longest` steps instead of a hundred, the first call took
# :measured:`grows_unrolled` with Python's loop, and :measured:`grows_rolled` with the scan.
#
# An unrolled loop needs no counter, but may move to another thread
# -----------------------------------------------------------------
# Now for all later calls. A loop has to count its rounds and to check whether it is done. An
# unrolled program needn't, and the compiler sees all of its steps at once. So is the longer program
# faster? Here are a hundred steps first, and then all lengths:
hundred = plain.select(steps=100)
hundred

# %%
_ = figures.scaling(
    plain,
    x="steps",
    over=SCAN,
    about=PYTHON,
    title="What later calls take",
)

# %%
from jaxcap.report.claims import claim, speedup_of

unrolling_pays = claim(
    "a hundred steps run faster if Python unrolls them than in a scan",
    results,
    speedup_of(PYTHON, over=SCAN, steps=100),
)
unrolling_pays

# %%
some_unrolling_pays = claim(
    "a hundred steps run faster in a scan with ten steps in its body than in "
    "a scan with one",
    results,
    speedup_of(SCAN_UNROLLED, over=SCAN, steps=100),
)
some_unrolling_pays

# %%
unrolled_at_most = plain.speedup(PYTHON, over=SCAN, steps=longest)
at_most_in_full = str(unrolled_at_most)


# %%
# At a hundred steps, the unrolled program was :measured:`unrolled than the scan`, and a scan with
# ten steps in its body was :measured:`some_unrolled than a plain scan`. At :measured:`longest`
# steps, the unrolled program was :measured:`at_most_in_full`.
#
# On a CPU, part of such a difference is where the program runs. :doc:`Small computations run inside
# the call </tutorials/transformations/asynchronous_dispatch>`, and those in which XLA counts a
# thousand floating-point operations are handed over to another thread, which takes time. XLA counts
# the body of a loop once, however often it runs, so a scan stays small:
for name in (PYTHON, SCAN):
    for steps in (100, longest):
        loop = jax.jit(partial(experiments.WAYS[name], steps=steps))
        cost = loop.lower(start).compile().cost_analysis()
        print(f"{name:11} {steps:5,} steps: {cost['flops']:6,.0f} flops")


# %%
# How loops are compiled changes with each release. In 2024, JAX 0.4.32 gave CPUs `a new runtime
# <https://github.com/jax-ml/jax/issues/26145>`__, and programs of many small kernels took longer.
# :doc:`/releases/topics/loops` shows how a scan of a thousand small steps, and eleven related
# programs, fared from release to release.
#
# A gradient needs to know how many steps
# ---------------------------------------
# How does the angle after a hundred steps depend on the start? To find out, :func:`jax.grad` has to
# go backwards through the loop. Which of the four loops allow that?
def last_angle(loop, start):
    return loop((start, 0.0), 100)[0]


for loop in four:
    try:
        slope = f"{jax.grad(partial(last_angle, loop))(1.0):.4f}"
    except ValueError as error:
        slope = fill(str(error).split(". ")[0], 70)
    print(f"{loop.__name__}: {slope}")

# %%
# The backward pass
# `needs values from each step <https://docs.jax.dev/en/latest/201/control-flow.html#while-loop>`__
# of the forward pass, and XLA has to know beforehand how much memory they will take. ``scan`` knows
# its length, and so does a ``fori_loop`` that becomes a scan. To
# differentiate forwards, JAX needs no values from earlier steps, which is why :func:`jax.jvp` works
# for ``while_loop`` as well:
_, slope = jax.jvp(
    partial(last_angle, pendulum.in_while_loop), (1.0,), (1.0,)
)
print(f"{slope:.4f}")

# %%
# What does a gradient cost? It goes through the loop forwards, where each step also computes a
# cosine and stores it for the way back, and then backwards, with a few products and sums in each
# step. So would you guess that it takes much longer than the loop alone? And does it pay to unroll
# here? This function differentiates each pendulum's last angle with respect to its first:
Source(pendulum.slopes)

# %%
gradients = results.subset(
    r for r in results.select(steps=100) if experiments.GRADIENT in r.variant
)
gradients

# %%
most_steps = max(result.parameters["steps"] for result in results)
backwards, backwards_at_most = (
    results.speedup(experiments.GRADIENT_SCAN, over=SCAN, steps=steps)
    for steps in (100, most_steps)
)
unrolled_gradient = gradients.speedup(
    experiments.GRADIENT_PYTHON, over=experiments.GRADIENT_SCAN
)
first_gradient, first_gradient_scan = (
    gradients.only(way).first_call
    for way in (experiments.GRADIENT_PYTHON, experiments.GRADIENT_SCAN)
)

# %%
slopes = partial(pendulum.slopes, pendulum.in_python)
program = jax.jit(partial(slopes, steps=100)).lower(start).compile()
gradient_flops = int(program.cost_analysis()["flops"])

# %%
# At a hundred steps, the gradient of the scan was :measured:`backwards than the scan alone`, and
# at :measured:`most_steps` steps :measured:`backwards_at_most than the scan`. Each of these times
# includes the price of a call, which hides much of the difference in a short loop.
#
# With Python's loop, the gradient of a hundred steps was
# :measured:`unrolled_gradient than with a scan`. XLA counts :measured:`gradient_flops`
# floating-point operations in that unrolled gradient. On a CPU, any program with more than a
# thousand is handed over, and waking the other thread takes time. The first call of the unrolled gradient took
# :measured:`first_gradient`, and that of the scan's gradient :measured:`first_gradient_scan`. So
# before you unroll a loop that you differentiate, compare first calls, too.
#
# Takeaway
# --------
first_python = hundred.only(PYTHON).first_call
first_scan = hundred.only(SCAN).first_call
unrolled, some_unrolled = (
    unrolling_pays.estimate,
    some_unrolling_pays.estimate,
)

# %%
# Start with ``scan``, which compiles its body once, can be differentiated and collects results.
# Take ``while_loop`` if the number of steps depends on the values and you don't need
# :func:`jax.grad`, which can't go through it. A Python loop suits a handful of steps that differ.
#
# Measure before you unroll. The first call of a hundred steps took :measured:`first_python` with
# Python's loop and :measured:`first_scan` with a scan. In later calls, a hundred unrolled steps
# were :measured:`unrolled than the scan`, and :measured:`longest` unrolled steps were
# :measured:`unrolled_at_most than the scan`. On a CPU, these times depend on whether the program is
# small enough to run inside the call.
#
# Next: what becomes of loops and branches
# :doc:`when a batch goes through them at once </tutorials/transformations/mapped_loops>`.
