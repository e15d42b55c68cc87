"""
What happens to a loop under vmap?
==================================

:func:`jax.vmap` turns a function of one example into a function of a batch. But what if one example
needs ten rounds of a loop, and another ten thousand? The results are right all the same, but every
example waits for the slowest, so taking one example after another may be faster. This page shows
why they wait, how much of the work is wasted, and what the alternatives cost.
"""

# %%
# A mapped loop runs until its last example is done
# -------------------------------------------------
# Let go of a pendulum of :doc:`the previous page </tutorials/transformations/loops>`. A
# :func:`~jax.lax.while_loop` counts the steps that it takes to reach the bottom:
from jaxcap.kernels import pendulum
from jaxcap.report.source import Source

Source(pendulum.steps_to_bottom)

# %%
# The higher a pendulum starts, the longer it takes. Can ``vmap`` count for three of them at once?
import jax
import jax.numpy as jnp

mapped = jax.jit(jax.vmap(pendulum.steps_to_bottom))
three = jnp.array([0.5, 1.5, 3.0])
print("one by one:", *(pendulum.steps_to_bottom(angle) for angle in three))
print("as a batch:", *mapped(three))

# %%
# The counts are the same, although each pendulum stops at a different moment. The program shows how:
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
# The device computes the whole rectangle, as wide as the batch and as high as its longest loop. A
# single pendulum brings the useful share down from :measured:`alike_useful` to
# :measured:`upright_useful`. A loop with a fixed number of steps, such as a :func:`~jax.lax.scan`,
# wastes nothing in this way, since all examples end together.
#
# One after the other, nobody waits
# ---------------------------------
# :func:`jax.lax.map` takes one pendulum after another, so each takes its own number of steps. But each
# step then moves a single pendulum. A ``batch_size`` of ten is a compromise: ten pendulums move
# together, and only nine have to wait for the upright one. All three ways count the same steps:
one = pendulum.steps_to_bottom
angles = experiments.angles(ONE_UPRIGHT)
by_vmap = jax.vmap(one)(angles)
by_map = jax.lax.map(one, angles)
by_map_of_batches = jax.lax.map(one, angles, batch_size=10)
print((by_vmap == by_map).all(), (by_vmap == by_map_of_batches).all())

# %%
# When a hundred pendulums move together, or ten, or one, what share of the steps is useful?
for starts, steps in needed.items():
    for together in (100, 10, 1):
        batches = np.split(steps, steps.size // together)
        computed = sum(batch.size * batch.max() for batch in batches)
        share = steps.sum() / computed
        print(f"{starts:11}  {together:3} together: {share:4.0%} useful")

# %%
# With the upright pendulum, the smallest share is that of a hundred together, which is ``vmap``. Will
# its time be the longest? We compile all three ways, and time them:
results = experiments.MAPPED.run(budget_s=0.05)

# %%
from jaxcap.experiments.loops import MAP, MAP_OF_BATCHES, VMAP
from jaxcap.results.tables import Table

rows = [
    (way, *(results.only(way, starts=starts).time.short for starts in needed))
    for way in (VMAP, MAP_OF_BATCHES, MAP)
]
Table("Time of a call", ("way", *needed), rows)

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
# many examples at once, and a single pendulum leaves most of it idle.
#
# If you can guess which examples will take long, sort them by that guess, as ours are sorted by
# angle, before you cut them into batches. Then each batch has examples of about the same length.
#
# A mapped cond runs both branches
# --------------------------------
# A loop decides in each round whether to go on. :func:`jax.lax.cond` decides once which of two
# functions to run. Here, ``choose`` returns a number as it is, unless it is negative, and the branch for
# negative numbers says when it runs:
def rare(x):
    jax.debug.print("the rare branch runs for {}", x)
    return jnp.exp(x)


def choose(x):
    return jax.lax.cond(x < 0, rare, lambda x: x, x)


# %%
# None of these three numbers is negative. Will ``lax.map`` print anything, or ``vmap``?
numbers = jnp.array([1.0, 2.0, 3.0])
in_turn = jax.lax.map(choose, numbers)
jax.effects_barrier()  # waits for the prints
print("lax.map:", in_turn)
at_once = jax.vmap(choose)(numbers)
jax.effects_barrier()
print("vmap:", at_once)

# %%
# Under ``vmap``, the rare branch ran for all three numbers, and its results were thrown away. ``vmap``
# doesn't look at values, so it has to allow for conditions that differ from example to example. As in
# the loop, there is a `selection <https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html>`__: the
# program computes both branches for the whole batch, then picks a result for each example.
#
# Takeaway
# --------
# Under ``vmap``, a ``while_loop`` runs until the last example is done, and the others wait. In the same
# way, a ``cond`` whose condition depends on the example runs both branches for all. A loop of fixed
# length has no such cost.
#
# Where the lengths of loops differ widely, try ``lax.map``, with and without a ``batch_size``. With
# one slow pendulum among a hundred, ``vmap`` was :measured:`one_upright than lax.map` on this
# page's machine. With a hundred similar ones, it was :measured:`all_alike than lax.map`.
#
# Try it yourself in :doc:`exercise 7 </exercises/7_loops>`. Next:
# :doc:`which updates copy their array </tutorials/transformations/updates>`.
