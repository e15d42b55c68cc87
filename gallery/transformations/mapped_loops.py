"""
What happens to a loop under vmap?
==================================

:func:`jax.vmap` turns a function of one example into a function of a batch. But what if one example
needs ten rounds of a loop, and another ten thousand? The results are right all the same, but every
example waits for the slowest, so taking one example after another may be faster. This page shows
why they wait, how much of the work is wasted, and what the alternatives cost.
"""

# %%
# Where examples may disagree, both branches run
# ----------------------------------------------
# A loop decides in each round whether to go on. Begin with a single decision: :func:`jax.lax.cond`
# runs one of two functions, and its first argument decides which. Here, ``choose`` returns a number as
# it is, unless it is negative, which is rare. The branch for negative numbers says when it runs:
import jax
import jax.numpy as jnp


def rare(x):
    jax.debug.print("the rare branch runs for {}", x)
    return jnp.exp(x)


def usual(x):
    return x


def choose(negative, x):
    return jax.lax.cond(negative, rare, usual, x)


# %%
# None of these three numbers is negative, so one by one, they shouldn't print anything. Will they
# as a batch?
numbers = jnp.array([1.0, 2.0, 3.0])
print("one by one:")
for x in numbers:
    choose(x < 0, x)
print("as a batch:")
result = jax.vmap(choose)(numbers < 0, numbers)
jax.effects_barrier()  # waits for the prints
print("result:", result)

# %%
# The rare branch ran for all three numbers, and its results were thrown away. ``vmap`` doesn't look
# at values, so it has to allow for conditions that differ from example to example. It replaces the
# ``cond`` by a `selection <https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html>`__: the
# program computes both branches for the whole batch, then picks a result for each example. However
# rarely an expensive branch is needed, every example pays for it.
#
# If one condition serves the whole batch, there is nothing to pick. The ``cond`` remains, and the
# rare branch stays silent:
result = jax.vmap(choose, in_axes=(None, 0))(False, numbers)
jax.effects_barrier()
print("result:", result)

# %%
# A mapped loop runs until its last example is done
# -------------------------------------------------
# A :func:`jax.lax.while_loop` has a condition, too. Here, a pendulum of
# :doc:`the previous page </tutorials/transformations/loops>` is let go, and the loop counts the
# steps that it takes to reach the bottom:
from jaxcap.kernels import pendulum
from jaxcap.report.source import Source

Source(pendulum.steps_to_bottom)

# %%
# The higher a pendulum starts, the longer it takes. Can one loop count for three pendulums at once?
mapped = jax.jit(jax.vmap(pendulum.steps_to_bottom))
three = jnp.array([0.5, 1.5, 3.0])
print("one by one:", *(pendulum.steps_to_bottom(angle) for angle in three))
print("as a batch:", *mapped(three))

# %%
# The counts are the same, although each pendulum stops at another moment. The program shows how:
program = mapped.lower(three).as_text()
for operation in ("while", "or", "select"):
    print(program.count(f"stablehlo.{operation}"), operation)

# %%
# There is one ``while`` for the batch. The ``or`` lets it go on as long as any pendulum is above
# the bottom. Each round then computes a step of all three, and keeps it only for those that haven't
# arrived: there is a ``select`` for the angle, one for the speed, and one for the count.
#
# How much of that work is useful depends on how alike the examples are. Take two sets of a hundred
# pendulums. In the first, all start at similar angles. In the second, the last one starts almost
# upright, where it falls slowly at first:
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.experiments import loops as experiments
from jaxcap.experiments.loops import ALIKE, ONE_UPRIGHT
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
# The device computes the whole rectangle, as wide as the batch and as high as its longest loop. Of
# the first rectangle, :measured:`alike_useful` is useful, and of the second
# :measured:`upright_useful`. A single pendulum makes that difference.
#
# A loop with a fixed number of steps, such as a :func:`~jax.lax.scan`, wastes nothing in this way,
# since all examples end together.
#
# One after the other, nobody waits
# ---------------------------------
# :func:`jax.lax.map` takes one pendulum after another, so each has a loop of its own, and takes its
# own number of steps. But each step then moves a single pendulum. A ``batch_size`` of ten is a
# compromise: ten pendulums move together, and only nine have to wait for the upright one. All three
# ways count the same steps:
one = pendulum.steps_to_bottom
angles = experiments.angles(ONE_UPRIGHT)
by_vmap = jax.vmap(one)(angles)
by_map = jax.lax.map(one, angles)
by_map_of_batches = jax.lax.map(one, angles, batch_size=10)
print((by_vmap == by_map).all(), (by_vmap == by_map_of_batches).all())

# %%
# Before you look at their times, count again. When a hundred pendulums move together, or ten, or one,
# which share of the steps is useful?
for starts, steps in needed.items():
    for together in (100, 10, 1):
        longest = steps.reshape(-1, together).max(axis=1)
        share = steps.sum() / (together * longest.sum())
        print(f"{starts:11}  {together:3} together: {share:4.0%} useful")

# %%
# With the upright pendulum, the smallest share is that of a hundred together, which is ``vmap``. Will
# its time be the longest? We compile each way, and time it:
results = experiments.MAPPED.run(budget_s=0.05)
results

# %%
from jaxcap.experiments.loops import MAP, MAP_OF_BATCHES, VMAP
from jaxcap.report.claims import claim, speedup_of

mapping_pays = claim(
    "vmap counts the steps of a hundred pendulums faster than lax.map when "
    "one of them takes several times as many steps as any other",
    results,
    speedup_of(VMAP, over=MAP, starts=ONE_UPRIGHT),
)
mapping_pays

# %%
all_alike = results.speedup(VMAP, over=MAP, starts=ALIKE)
one_upright = mapping_pays.estimate
alike_in_batches = results.speedup(MAP_OF_BATCHES, over=VMAP, starts=ALIKE)
in_batches = results.speedup(MAP_OF_BATCHES, over=MAP, starts=ONE_UPRIGHT)

# %%
# With the upright pendulum, ``vmap`` was :measured:`one_upright than lax.map`, and batches of ten
# were :measured:`in_batches than lax.map`. With a hundred similar pendulums, where every way does
# mostly useful work, ``vmap`` was :measured:`all_alike than lax.map`, and batches of ten were
# :measured:`alike_in_batches than vmap`.
#
# The useful share alone doesn't decide. What also counts is how much cheaper a step of the whole
# batch is than a separate step for each example, and that depends on the device. A GPU computes on
# many examples at once, and a single pendulum leaves most of it idle. A CPU has less to lose by
# taking them one by one.
#
# If you can guess which examples will take long, sort them by that guess before you cut them into
# batches, so that each batch has examples of about the same length.
#
# Takeaway
# --------
# Under ``vmap``, an example pays for what the others need. If conditions differ from example to
# example, both branches of a ``cond`` run for all of them, and a ``while_loop`` runs until the last
# one is done. A loop of fixed length has no such cost.
#
# Where the lengths of loops differ widely, try ``lax.map``, with and without a ``batch_size``. With
# one slow pendulum among a hundred, ``vmap`` was :measured:`one_upright than lax.map` on this
# page's machine. With a hundred similar ones, it was :measured:`all_alike than lax.map`.
#
# Try it yourself in :doc:`exercise 7 </exercises/7_loops>`. Next:
# :doc:`which updates copy their array </tutorials/transformations/updates>`.
