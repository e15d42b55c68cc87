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
# The ``cond`` is gone, because its condition is mapped, so it might differ from example to example.
# (Here it doesn't, but ``vmap`` never looks at values.) A batch `computes both branches
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html>`__ for all examples, and the last
# ``select_n`` picks a result for each. However rarely an expensive branch is chosen, every example
# pays for it. (If an example didn't choose a branch, its input reaches that branch
# through ``stop_gradient``, which passes on the value but no gradient.)
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
from jaxcap.experiments.loops import ALIKE, MAP, ONE_UPRIGHT, VMAP
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
# far less than a hundred steps of one. Which of the two will be ahead in each set? A ``batch_size``
# is a compromise: it maps whole batches, and of ten batches only one has to wait for the last
# pendulum:
jax.lax.map(
    pendulum.steps_to_bottom, jnp.linspace(0.5, 1.5, 20), batch_size=10
)

# %%
results = experiments.MAPPED.run(budget_s=0.05)
results

# %%
from jaxcap.report.claims import claim, speedup_of

mapping_pays = claim(
    "vmap counts the steps of a hundred pendulums faster than lax.map, even "
    "if one pendulum takes several times as many as the rest",
    results,
    speedup_of(VMAP, over=MAP, starts=ONE_UPRIGHT),
)
mapping_pays

# %%
in_tens = needed[ALIKE].reshape(10, 10)
tens_useful = f"{in_tens.sum() / (10 * in_tens.max(axis=1).sum()):.0%}"
all_alike = results.speedup(VMAP, over=MAP, starts=ALIKE)
one_upright = mapping_pays.estimate
alike_in_batches = results.speedup(
    experiments.MAP_OF_BATCHES, over=VMAP, starts=ALIKE
)
in_batches = results.speedup(
    experiments.MAP_OF_BATCHES, over=MAP, starts=ONE_UPRIGHT
)

# %%
# With a hundred similar loops, ``vmap`` was :measured:`all_alike than lax.map`, and batches of ten
# were :measured:`alike_in_batches than vmap`. With one loop among them that takes far longer,
# ``vmap`` was :measured:`one_upright than lax.map`, and batches of ten were
# :measured:`in_batches than lax.map`.
#
# Two things decide which is better: the useful share of the rectangle, and how much cheaper one
# step of the whole batch is than a separate step for each example. The second depends on the
# device. A GPU works on many examples at once, and a single one leaves most of it idle. To a CPU,
# the loop of a single pendulum is so small that XLA makes one kernel of it, whereas each round of
# the mapped loop starts several.
#
# Batches of ten get something of both. Ten pendulums take each step together, but on a CPU their
# loop still fits into one kernel. And they wait only for the last of ten neighbours: in the first
# set, :measured:`tens_useful` of their work is useful, compared with :measured:`alike_useful` of
# the whole rectangle.
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
# taking them together. Measure it with and without a ``batch_size``. With similar examples,
# ``vmap`` was :measured:`all_alike than lax.map` on this page's machine, and batches of ten were
# :measured:`alike_in_batches than vmap`. With one example that takes far longer than the others,
# ``vmap`` was :measured:`one_upright than lax.map`.
#
# Try it yourself in :doc:`exercise 7 </exercises/7_loops>`. Next:
# :doc:`which updates copy their array </tutorials/transformations/updates>`.
