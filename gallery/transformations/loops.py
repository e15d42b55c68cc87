"""
What does a loop cost?
======================

A Python loop inside a traced function is *unrolled*: JAX records its body once for every step. JAX
also has `loops of its own <https://docs.jax.dev/en/latest/201/control-flow.html>`__, ``fori_loop``,
``scan`` and ``while_loop``, which stay loops in the program. This page measures what each of them
costs, once to compile and then in every call, and shows which of them you can differentiate.
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
# to differ. With its parameter ``unroll``, a scan takes several steps in each round. That gives us
# a fifth variant, with ten steps in its body:
four = (
    pendulum.in_python,
    pendulum.in_fori_loop,
    pendulum.in_scan,
    pendulum.in_while_loop,
)
Source(*four)

# %%
# All five should end in the same state. As a check, NumPy takes the same steps in 64 bits, for two
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
# :func:`~jax.lax.scan` also does for you what you would have to write yourself in the other loops:
# it reads one element of an array in each step, and collects in an array whatever a step returns
# besides the state. Here it reads numbers, and collects their running sums:
def add(total, number):
    total = total + number
    return total, total


total, sums = jax.lax.scan(add, 0.0, jnp.arange(1.0, 6.0))
print(sums)


# %%
# A pendulum has nothing to read, which is why ``in_scan`` passes ``None`` and a length instead.
#
# Python's part is over before the loop begins
# --------------------------------------------
# A loop that stays a loop needs to trace its body only once. So what does this body print in three
# steps?


def talkative(state, _):
    print("Python is here")
    jax.debug.print("the angle is {angle:.4f}", angle=state[0])
    return pendulum.step(state), None


_ = jax.lax.scan(talkative, (1.0, 0.0), length=3)
jax.effects_barrier()

# %%
# JAX traces a body even outside of ``jit``. Python's ``print`` runs during that trace, as an
# ``append`` to a list would, while :func:`jax.debug.print` becomes part of the program. Nor can
# Python decide when to stop, because there is no number to look at while tracing:


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
# Since one trace of the body serves all steps, the body has to return a state like the one it
# takes, with `the same structure, shapes and types
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html>`__. JAX calls this state the
# *carry*. A common mistake is to start a sum of floats at an integer. A plain ``0`` would do,
# because JAX turns it into a float for you, but a ``0`` with a type keeps it:
from textwrap import fill

try:
    jax.lax.scan(add, jnp.int32(0), jnp.arange(1.0, 6.0))
except TypeError as error:
    for line in str(error).splitlines():
        print(fill(line, 70))


# %%
# The error names the carry after the body's argument, here ``total``, and gives its type before a
# step and after it. So you can tell whether the start is wrong, as here, or the step.
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
# The unrolled program has all operations again for each step, while the scan is one operation,
# whatever its length. The first call traces, lowers and compiles every operation, so the more steps
# you unroll, the longer it should take. To see how much longer, fresh
# processes let two pendulums swing in all five loops, each with nothing compiled before:
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

# sphinx_gallery_thumbnail_number = 1

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
# Now for all later calls. A loop has to count its rounds and to check whether it is done, which an
# unrolled program needn't. The compiler also sees all steps of an unrolled program at once. Does
# that make it faster? Here are a hundred steps first, and then all lengths:
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
# On a CPU, most of such a difference comes from a change of thread. :doc:`A small program runs
# inside the call </tutorials/transformations/asynchronous_dispatch>`, if XLA counts fewer than a
# thousand floating-point operations (flops) in it. Any other is handed to another thread, which has
# to be woken. XLA counts the body of a loop once, however often it runs, so a scan stays small:
for name in (PYTHON, SCAN):
    for steps in (100, longest):
        loop = jax.jit(partial(experiments.WAYS[name], steps=steps))
        cost = loop.lower(start).compile().cost_analysis()
        print(f"{name:11} {steps:5,} steps: {cost['flops']:6,.0f} flops")


# %%
# Each unrolled step adds eight: two products, a difference and a sum, for two pendulums. XLA counts
# sines apart from flops. We also tried three hundred steps on a CPU with the hand-over turned off,
# and there the unrolled program took little more time than the scan. So a large difference above is
# mostly the price of the other thread, and says little about loops. Such prices can change with
# each release of JAX: :doc:`/releases/topics/loops` shows how scans and other loops fared from one
# to the next.
#
# Going backwards needs a known number of steps
# ---------------------------------------------
# How does the angle after a hundred steps depend on the start? To find out, :func:`jax.grad` has to
# go backwards through the loop, which not all of the four allow:
def last_angle(loop, start):
    return loop((start, 0.0), 100)[0]


for loop in four:
    try:
        slope = f"{jax.grad(partial(last_angle, loop))(1.0):.4f}"
    except ValueError as error:
        slope = fill(str(error).split(". ")[0], 70)
    print(f"{loop.__name__}: {slope}")


# %%
# The backward pass `needs values from each step
# <https://docs.jax.dev/en/latest/201/control-flow.html#while-loop>`__ of the forward pass, and XLA
# has to know beforehand how much memory they will take. ``scan`` knows its length, and so does a
# ``fori_loop`` that becomes a scan. If these values fill the memory in a long loop, :doc:`let the
# gradient remember less </tutorials/performance/memory>`. To differentiate forwards, JAX needs no
# values from earlier steps, so :func:`jax.jvp` works for ``while_loop`` as well.
#
# But what if a value decides when to stop, and you need :func:`jax.grad`? Then scan up to the
# largest number of steps that you allow, and let the state stand still once it is done. Here is the
# speed of a pendulum at the bottom, and its slope with respect to the angle at the start. For a
# start at 1, theory says :math:`2 \sin(1/2)`, or 0.9589, and :math:`\cos(1/2)`, or 0.8776:
def step_until_bottom(state, _):
    is_up, moved = state[0] > 0, pendulum.step(state)
    return jax.tree.map(partial(jnp.where, is_up), moved, state), None


def speed_at_bottom(angle):
    (_, speed), _ = jax.lax.scan(step_until_bottom, (angle, 0.0), length=500)
    return -speed


value, slope = jax.value_and_grad(speed_at_bottom)(1.0)
print(f"{value:.4f}, slope {slope:.4f}")

# %%
# The price is that the scan always goes on to its last step.
#
# Unrolling a gradient takes long to compile
# ------------------------------------------
# A gradient goes through the loop forwards, where each step also computes a cosine and stores it,
# and then backwards, with a few products and sums in each step. How much longer than the loop alone
# does that take? This function differentiates each pendulum's last angle with respect to its first:
Source(pendulum.slopes)

# %%
gradients = results.subset(
    r for r in results.select(steps=100) if experiments.GRADIENT in r.variant
)
gradients

# %%
backwards, backwards_at_most = (
    results.speedup(experiments.GRADIENT_SCAN, over=SCAN, steps=steps)
    for steps in (100, longest)
)
unrolled_gradient = gradients.speedup(
    experiments.GRADIENT_PYTHON, over=experiments.GRADIENT_SCAN
)
first_gradient, first_gradient_scan = (
    gradients.only(way).first_call
    for way in (experiments.GRADIENT_PYTHON, experiments.GRADIENT_SCAN)
)

# %%
# At a hundred steps, the gradient of the scan was :measured:`backwards than the scan alone`, and
# at :measured:`longest` steps :measured:`backwards_at_most than the scan`. Each of these times
# includes the price of a call, which hides much of the difference in a short loop.
#
# With Python's loop, the gradient of a hundred steps was
# :measured:`unrolled_gradient than with a scan`. On a CPU, that again includes a change of thread,
# because the unrolled gradient has more than a thousand flops. (With the hand-over off, it took a
# little less time than the scan's.) But look at the first calls: :measured:`first_gradient` for the
# unrolled gradient, and :measured:`first_gradient_scan` for the scan's. How does the compiler's
# share grow with two and three times as many steps?
import time

compiled_after = {}
for steps in (100, 200, 300):
    slopes = partial(pendulum.slopes, pendulum.in_python, steps=steps)
    lowered = jax.jit(slopes).lower(start)
    begin = time.perf_counter()
    lowered.compile()
    compiled_after[steps] = time.perf_counter() - begin
    print(f"{steps} steps: {compiled_after[steps]:.2f} s")

# %%
# Three times as many steps took the compiler :measured:`compiling_grows`. So don't unroll a long
# loop that you want to differentiate.
#
# Takeaway
# --------
first_python = hundred.only(PYTHON).first_call
first_scan = hundred.only(SCAN).first_call
growth_factor = compiled_after[300] / compiled_after[100]
compiling_grows = f"{growth_factor:.1f} times as long"
unrolled, some_unrolled = (
    unrolling_pays.estimate,
    some_unrolling_pays.estimate,
)

# %%
# Start with ``scan``, which compiles its body once, can be differentiated and collects results.
# Take ``while_loop`` if the number of steps depends on the values and you don't need
# :func:`jax.grad`, which can't go through it. If you need a gradient as well, scan up to the largest
# number of steps that you allow. A Python loop suits a handful of steps that differ.
#
# Measure before you unroll. The first call of a hundred steps took :measured:`first_python` with
# Python's loop and :measured:`first_scan` with a scan. In later calls, a hundred unrolled steps
# were :measured:`unrolled than the scan`, and :measured:`longest` unrolled steps were
# :measured:`unrolled_at_most than the scan`. A large difference on a CPU is mostly the price of
# handing a larger program to another thread.
#
# Next: what becomes of loops and branches
# :doc:`when a batch goes through them at once </tutorials/transformations/mapped_loops>`.
