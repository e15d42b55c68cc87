"""
What happens to a loop under vmap?
==================================

:func:`jax.vmap` turns a function of one example into a function of a batch. But what if the
examples disagree? One of them takes the left branch and another the right, or one needs ten rounds
of a loop and another ten thousand. A program for the whole batch can only do one thing at a time.
This page shows what it does instead, what that costs, and when ``lax.map`` is the better choice.
"""

# %%
# A loop of fixed length takes the batch along
# --------------------------------------------
# Here are the pendulum of :doc:`the previous page </tutorials/transformations/loops>`, and a scan
# that lets it swing for ten steps:
from jaxcap.kernels import pendulum
from jaxcap.report.source import Source

Source(pendulum.step, pendulum.in_scan)

# %%
# If you map such a scan over a hundred pendulums, is the result a hundred scans, a scan of a
# hundred times as many steps, or something else? Tracing tells, and needs no measurement. ``vmap``
# has a rule for each kind of operation, or *primitive*. Here is what its rule for ``scan`` makes:
from functools import partial

import jax
import jax.numpy as jnp


def operations(function, *args):
    """Return the operations that a function is traced to."""
    return jax.make_jaxpr(function)(*args).eqns


hundred = jnp.linspace(0.5, 1.5, 100), jnp.zeros(100)
swing = partial(pendulum.in_scan, steps=10)
for operation in operations(jax.vmap(swing), hundred):
    print(operation.primitive, operation.params["length"], "steps")
    print(*(result.aval for result in operation.outvars))

# %%
# It is still a single scan of ten steps, whose state is now the angles and speeds of all pendulums.
# Since all of them take the same number of steps, nobody has to wait. Disagreement begins where a
# *value* decides what to do.
#
# With a mapped condition, both branches run
# ------------------------------------------
# :func:`jax.lax.cond` runs one of two functions, and its first argument decides which. What does
# ``vmap`` make of it, if some examples need the first function and some the second?
from textwrap import fill


def branch(x):
    return jax.lax.cond(x > 0, jnp.sin, jnp.exp, x)


def names(function, *args):
    return [o.primitive.name for o in operations(function, *args)]


print("one:  ", *names(branch, 1.0))
batch = " ".join(names(jax.vmap(branch), jnp.ones(100)))
print(fill("batch: " + batch, 70))


# %%
# The ``cond`` is gone. Its condition is mapped, so it might differ from example to example, and
# ``vmap`` never looks at values, which happen to agree here. Instead, a batch `computes both
# branches <https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html>`__ for all examples, and
# the last ``select_n`` picks a result for each. However rarely an expensive branch is chosen, every
# example pays for it. Before each branch, a ``stop_gradient`` and a ``select_n`` see to it that a
# branch which an example didn't choose adds nothing to the gradient of this example, because what
# comes back from that branch might be NaN.
#
# If the condition isn't mapped, all examples agree, and the choice remains a choice:
def branch_for_all(positive, x):
    return jax.lax.cond(positive, jnp.sin, jnp.exp, x)


agreed = jax.vmap(branch_for_all, in_axes=(None, 0))
print(*names(agreed, True, jnp.ones(100)))

# %%
# A mapped loop waits for the last example
# ----------------------------------------
# A ``while_loop`` has a condition, too. Let a pendulum go, and count the steps that it takes to
# reach the bottom:
Source(pendulum.steps_to_bottom)

# %%
# Some pendulums arrive earlier than others. In the program of the mapped loop, an ``or`` over the
# batch decides whether to go on. For each part of the state, a ``select`` keeps the values of the
# pendulums that have arrived:
mapped = jax.jit(jax.vmap(pendulum.steps_to_bottom))
program = mapped.lower(jnp.ones(100)).as_text()
for operation in ("or", "select"):
    print(program.count(f"stablehlo.{operation} "), operation)

# %%
# So the loop ends when the last pendulum has arrived, and until then every round computes a step of
# all hundred. How much of that is wasted depends on how alike the examples are. Take two sets of a
# hundred pendulums. In the first, all start at similar angles. In the second, the last one starts
# almost upright, where it falls slowly at first:
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.experiments import loops as experiments
from jaxcap.experiments.loops import ALIKE, ONE_UPRIGHT
from jaxcap.experiments.loops import MAP, MAP_OF_BATCHES, VMAP
from jaxcap.report import figures

needed = {
    starts: np.asarray(mapped(experiments.angles(starts)))
    for starts in (ALIKE, ONE_UPRIGHT)
}

# %%
alike_useful, upright_useful = (
    f"{needed[starts].mean() / needed[starts].max():.0%}"
    for starts in (ALIKE, ONE_UPRIGHT)
)

# %%
figure, panels = plt.subplots(1, 2, figsize=(6.5, 3.2), sharey=True)
for axes, (starts, steps) in zip(panels, needed.items()):
    rounds = np.full(steps.size, steps.max())
    axes.stairs(rounds, fill=True, color=figures.GRID, label="waits")
    axes.stairs(steps, fill=True, label="takes steps")
    axes.set(title=starts, xlabel="pendulum")
panels[0].set_ylabel("rounds of the loop")
panels[0].legend(loc="upper left")
finding = f"With one slow pendulum, {upright_useful} of the work is useful"
_ = figures.headline(figure, finding, "A mapped loop")

# sphinx_gallery_thumbnail_number = 1

# %%
# A mapped loop computes the whole rectangle, as wide as the batch and as high as its longest loop.
# With similar pendulums, :measured:`alike_useful` of it is useful, and with the upright one
# :measured:`upright_useful`.
#
# One after the other, nobody waits
# ---------------------------------
# :func:`jax.lax.map` takes one pendulum after another, so each needs only its own steps, and the
# second set is hardly more work than the first. But a step of a hundred pendulums at once may cost
# far less than a hundred steps of one. A ``batch_size`` of ten is a compromise: ten pendulums take
# each step together, and only one of the ten batches waits for the upright pendulum. Here are the
# three ways:
one = pendulum.steps_to_bottom
ways = {
    VMAP: jax.vmap(one),
    MAP: partial(jax.lax.map, one),
    MAP_OF_BATCHES: partial(jax.lax.map, one, batch_size=10),
}

# %%
# Which of them will be ahead in each set?
results = experiments.MAPPED.run(budget_s=0.05)
results

# %%
from jaxcap.report.claims import claim, speedup_of

mapping_pays = claim(
    "vmap counts the steps of a hundred pendulums faster than lax.map when "
    "one of them takes several times as many steps as any other",
    results,
    speedup_of(VMAP, over=MAP, starts=ONE_UPRIGHT),
)
mapping_pays

# %%
in_tens = needed[ALIKE].reshape(10, 10)
tens_useful = f"{in_tens.sum() / (10 * in_tens.max(axis=1).sum()):.0%}"
all_alike = results.speedup(VMAP, over=MAP, starts=ALIKE)
one_upright = mapping_pays.estimate
alike_in_batches = results.speedup(MAP_OF_BATCHES, over=VMAP, starts=ALIKE)
in_batches = results.speedup(MAP_OF_BATCHES, over=MAP, starts=ONE_UPRIGHT)

# %%
# With a hundred similar loops, ``vmap`` was :measured:`all_alike than lax.map`, and batches of ten
# were :measured:`alike_in_batches than vmap`. With one loop among them that takes far longer,
# ``vmap`` was :measured:`one_upright than lax.map`, and batches of ten were
# :measured:`in_batches than lax.map`.
#
# Three things decide which way is ahead. The first is the useful share of the work. It matters most
# in the second set. In the first, :measured:`alike_useful` of the rectangle is useful, and
# :measured:`tens_useful` of what batches of ten compute.
#
# The second is how much cheaper one step of a whole batch is than a separate step for each example,
# which depends on the device. A GPU works on many examples at once, and a single one leaves most of
# it idle. On a CPU, XLA makes one kernel of the loop of one pendulum, and even of ten, whereas each
# round of all hundred starts several.
#
# The third is where the program runs. A CPU :doc:`hands large computations over
# </tutorials/transformations/asynchronous_dispatch>` to another thread, which takes time. The
# border, in XLA's source, is a thousand floating-point operations, and the body of a loop counts
# once, however often it runs:
for name, way in ways.items():
    program = jax.jit(way).lower(experiments.angles(ALIKE)).compile()
    print(f"{name:22} {program.cost_analysis()['flops']:6,.0f} flops")

# %%
vmap_s, batches_s = (
    results.only(way, starts=ALIKE).time.value
    for way in (VMAP, MAP_OF_BATCHES)
)
difference = f"{1e6 * abs(vmap_s - batches_s):.2g} µs"

# %%
# Only ``vmap`` is over that border. In the first set, where little of the work is wasted, the times
# of ``vmap`` and of batches of ten differ by :measured:`difference`. A hand-over by itself can cost
# that much.
#
# If you can guess which examples will take long, sort them by that guess, and only then cut them
# into batches. The examples of a batch are then done at about the same time.
#
# Takeaway
# --------
# Under ``vmap``, a loop of fixed length stays one loop. But where each example has a condition of
# its own, all of them pay: both branches of a ``cond`` run for every example, even if all agree,
# and a ``while_loop`` runs until the last one is done.
#
# So ``lax.map`` is worth a try where examples differ widely, or where the device gains little from
# taking them together. Measure it with and without a ``batch_size``. For a hundred similar loops,
# ``vmap`` was :measured:`all_alike than lax.map` on this page's machine, and ``lax.map`` in batches
# of ten was :measured:`alike_in_batches than vmap`. With one loop among them that takes far longer,
# ``vmap`` was :measured:`one_upright than lax.map`.
#
# Try it yourself in :doc:`exercise 7 </exercises/7_loops>`. Next:
# :doc:`which updates copy their array </tutorials/transformations/updates>`.
