"""
What does a loop cost?
======================

Python runs a compiled function only while JAX traces it. By the time XLA compiles the program, a
loop that you wrote with ``for`` is gone, and each of its steps has become a copy of the loop's body.
JAX also has `loops of its own <https://docs.jax.dev/en/latest/201/control-flow.html>`__, which stay
loops. This page asks what the copies cost, whether they are worth it, and what you give up for a loop
of JAX's.
"""

# %%
# A Python loop becomes as many copies as it has steps
# ----------------------------------------------------
# Let a pendulum swing. Its state is an angle and a speed, and a small step of time changes both. You
# can take many steps in a Python loop, or hand a single one to :func:`jax.lax.fori_loop` or
# :func:`jax.lax.scan` and say how often to repeat it:
from jaxcap.experiments import loops as experiments
from jaxcap.kernels import pendulum
from jaxcap.report.source import Source

three = pendulum.in_python, pendulum.in_fori_loop, pendulum.in_scan
Source(pendulum.step, *three)

# %%
# Each step hands a state on to the next, which JAX calls the *carry*. Its `structure, shapes and types
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html>`__ have to stay the same. How many
# operations do these functions leave in the program? Count them for ten steps and for a hundred:
from functools import partial

import jax


def operations(loop, steps):
    jaxpr = jax.make_jaxpr(partial(loop, steps=steps))((1.0, 0.0))
    return [operation.primitive.name for operation in jaxpr.eqns]


for loop in three:
    for steps in (10, 100):
        found = operations(loop, steps)
        kinds = " ".join(sorted(set(found)))
        print(f"{loop.__name__:12} {steps:3} steps: {len(found):3} ({kinds})")

# %%
# Python's loop was *unrolled*: the five operations of a step are in the program again for every step.
# The scan is one operation, whatever its length, and holds the body once. So does the ``fori_loop``,
# which `becomes a scan <https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html>`__ here,
# because the number of steps is known during tracing.
#
# The compiler works on every copy
# --------------------------------
# The first call of a function traces and compiles it. We timed first calls of these three loops and of
# two more: a ``while_loop``, which goes on for as long as a condition holds, and a scan with
# ``unroll=10``, which takes ten steps in each round. Which of the five will take longer to compile if
# there are more steps?
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
# :measured:`grows_unrolled` with Python's loop, and :measured:`grows_rolled` with the scan. However
# long JAX's own loops are, there is one body to compile.
#
# Do the copies pay in later calls?
# ---------------------------------
# Slow compiling may be worth it if all later calls are faster, and copies have something to offer: a
# loop has to count its rounds, and they don't. Would you expect a hundred unrolled steps to beat a
# scan? And what about :measured:`longest`?
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
unrolled_at_most = plain.speedup(PYTHON, over=SCAN, steps=longest)
some_unrolled = plain.speedup(SCAN_UNROLLED, over=SCAN, steps=100)

# %%
# With :measured:`longest` steps, the unrolled program was :measured:`unrolled_at_most than the scan`.
# You can also ask for a few copies only: a hundred steps in a scan with ``unroll=10`` were
# :measured:`some_unrolled than in a plain one`.
#
# On a CPU, copies have a price even after they are compiled. If XLA counts more than about a thousand
# floating-point operations (flops) in a program, JAX :doc:`hands it to another thread
# </tutorials/transformations/asynchronous_dispatch>`, which has to be woken. How does XLA count a loop?
start = experiments.start(2)
for name in (PYTHON, SCAN):
    for steps in (100, 300):
        loop = jax.jit(partial(experiments.WAYS[name], steps=steps))
        cost = loop.lower(start).compile().cost_analysis()
        print(f"{name:11} {steps} steps: {cost['flops']:5,.0f} flops")

# %%
# XLA counts every copy, but the body of a scan only once, however often it runs. So this scan looks
# small at any length, and enough copies don't. An option of JAX turns the hand-over off. It has to be
# set before JAX looks for devices, so we time 300 steps in new processes, which compute on the CPU even
# if this page was measured on a GPU. What will be left of the difference?
from jaxcap.report.virtual_devices import run_python

PROGRAM = """
import sys, jax
jax.config.update("jax_cpu_enable_async_dispatch", sys.argv[1] == "on")
from jaxcap.experiments.loops import PYTHON, SCAN, prepare
from jaxcap.measure.timing import compare
calls = prepare(steps=300)
for way in compare({name: calls[name] for name in (PYTHON, SCAN)}):
    print(f"hand-over {sys.argv[1]:3}  {way.variant:11}  {way.time.short}")
"""
for switch in ("on", "off"):
    print(run_python("-c", PROGRAM, switch, devices=1), end="")

# %%
# The option changes nothing but the thread. So the time that Python's loop saves without the hand-over
# is the price of waking that thread. The scan doesn't pay it in either case.
#
# A scan keeps only what each step returns
# ----------------------------------------
# For one body in place of a hundred copies, you give something up. Python runs that body while JAX
# traces it, and leaves the steps to the compiled program. So what will the list hold after three steps?
seen = []


def body(state, _):
    seen.append(state[0])
    state = pendulum.step(state)
    return state, state[0]


last, angles = jax.lax.scan(body, (1.0, 0.0), length=3)
print("appended: ", seen)
print("collected:", angles)


# %%
# JAX traces the body even outside of ``jit``, and ``append`` ran during that trace. So the list holds
# a single *tracer*, which stands for the angle of any step, and is of no use after the trace. To keep
# something of each step, return it after the state, and ``scan`` collects it in an array. To print in
# each step, call :func:`jax.debug.print`.
#
# A while_loop can stop at any step, but grad can't go back through it
# --------------------------------------------------------------------
# Suppose that the pendulum should swing until it reaches the bottom. During tracing, the angle :doc:`has
# no value yet </tutorials/transformations/static_arguments>`, so Python's ``while`` can't tell when that
# is. A :func:`~jax.lax.while_loop` takes the condition as a function, which becomes part of the program
# like the body:
def is_above(state):
    return state[0] > 0


angle, speed = jax.lax.while_loop(is_above, pendulum.step, (1.0, 0.0))
print(f"speed at the bottom: {speed:.4f}")

# %%
# How much does the end of a swing depend on where you let go? For such a question, :func:`jax.grad` has
# to go backwards through the loop. Ask for the angle after a hundred steps. With which of the five
# loops will that work?
from textwrap import fill


def last_angle(loop, angle):
    return loop((angle, 0.0), steps=100)[0]


for name, loop in experiments.WAYS.items():
    try:
        slope = f"{jax.grad(partial(last_angle, loop))(1.0):.4f}"
    except ValueError as error:
        slope = fill(str(error).split(". ")[0], 70)
    print(f"{name}: {slope}")


# %%
# The backward pass needs values from each step of the forward pass, and XLA `has to know beforehand
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html>`__ how much memory they will
# take. A scan knows how many steps there are, and a ``while_loop`` doesn't.
#
# All of this was measured under one release of JAX, and another may compile a loop in another way. Here is
# a scan of a thousand small steps under many releases, on one machine:
from jaxcap.releases import figures as by_release
from jaxcap.releases.recorded import recorded

_ = by_release.course_of(recorded(), "scan of 1,000 small steps")

# %%
# :doc:`Loops by release </releases/topics/loops>` shows the other kinds. If the time of a loop matters to
# you, repeat its comparison after an upgrade.
#
# Takeaway
# --------
hundred = plain.select(steps=100)
first_python = hundred.only(PYTHON).first_call
first_scan = hundred.only(SCAN).first_call
unrolled = unrolling_pays.estimate

# %%
# Each step of a Python loop becomes a copy of the body, and the compiler works on all of them. A loop of
# JAX's has one body, however long it is. So the first call of a hundred steps took
# :measured:`first_python` with Python's loop and :measured:`first_scan` with a scan. In later calls, the
# unrolled steps were :measured:`unrolled than the scan`.
#
# So start with ``scan``, which also collects results and lets ``grad`` go backwards. Take ``while_loop``
# if a value decides when to stop and ``grad`` needn't go back through it. A Python loop suits a few steps,
# above all if they differ from one another.
#
# Next: what becomes of loops and branches
# :doc:`when a batch goes through them at once </tutorials/transformations/mapped_loops>`.
