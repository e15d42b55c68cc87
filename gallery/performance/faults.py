"""
Where does a NaN come from?
===========================

A loss is suddenly NaN, and you want to look inside the step that returned it. But Python's debugger
can't step through a compiled function, and Python's ``print`` sees none of its numbers. JAX has
`tools that look inside <https://docs.jax.dev/en/latest/201/debugging.html>`__. This page follows a
NaN back to the line that is to blame, mends that line, and measures what the tools cost, so that you
know which of them you could leave on.
"""

# %%
# A step that returns NaN
# -----------------------
# We place a hundred points on a plane so that the distances between them match a given table. The
# loss, called ``stress``, measures the mismatch, and ``step`` lowers it by one step of gradient
# descent. :doc:`Where does the time go </tutorials/performance/profiling>` shows their code without
# the fault, which is in these distances:
from jaxcap.kernels import placement
from jaxcap.report.source import Source

Source(placement.distances)

# %%
# With these distances, the loss soon is NaN:
from functools import partial

import jax
import jax.numpy as jnp

start, table = placement.random_table(100)
faulty = partial(placement.stress, distances=placement.distances)
step = jax.jit(partial(placement.step, stress=faulty))
positions = start
for _ in range(3):
    positions, value = step(positions, table)
    print(value)


# %%
# One kind of print sees the numbers
# ----------------------------------
# Here, two prints watch the value of the step. Which of them will show the NaN? A program may still
# be running after its call returns, so the last line waits until it has printed everything.
@jax.jit
def watched(positions, table):
    moved, value = step(positions, table)
    print("Python has", value)
    jax.debug.print("the device has {}", value)
    return moved, value


positions = start
for _ in range(3):
    positions, _ = watched(positions, table)
jax.effects_barrier()

# %%
# Python's ``print`` runs once, while JAX traces, and sees only a stand-in. :func:`jax.debug.print`
# becomes part of the program, and prints in every call. The first value is finite, and the second
# isn't. So the loss was fine at the starting points, and the step then moved the points to NaN. In
# between lies the gradient.
#
# Checks find where a NaN begins
# ------------------------------
# Under :obj:`jax.debug_nans`, JAX looks for NaN in whatever a compiled function returns. When it
# finds one, it `runs the function again, operation by operation
# <https://docs.jax.dev/en/latest/debugging/flags.html>`__, and raises an error at the first that
# returns NaN. We switch this on for a single step. From the long traceback, ``blame`` prints the
# message and the last line that isn't JAX's own. Which line will that be?
import traceback


def blame(infinities):
    """Take a step with checks, and print what they find in which line."""
    try:
        with jax.debug_nans(True), jax.debug_infs(infinities):
            step(start, table)
    except FloatingPointError as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = [frame for frame in frames if "_src" not in frame.filename][-1]
        print(f"{error}, in {last.name}:\n    {last.line}")


blame(infinities=False)

# %%
# The failing operation is a multiplication that isn't in our source: it belongs to the backward
# pass, so the traceback can only show the line that asks for the gradient. But a NaN often starts
# out as an infinity, so let :obj:`jax.debug_infs` look for infinities as well:
blame(infinities=True)


# %%
# Now we have the line to fix. Each point is at a distance of zero from itself, and the derivative of a
# square root divides by the root. So this derivative is infinite, and JAX computes it in the forward
# pass already. In the backward pass, it is multiplied by zero, and infinity times zero is NaN.
#
# It took both checks to find the line. On its own, ``debug_infs`` wouldn't have noticed anything,
# because what the step returns contains NaN, but no infinity.
#
# ``where`` selects too late
# --------------------------
# The obvious repair is to keep the roots only of numbers above zero, as ``with_where`` does. Will
# that be enough, or does it take a second ``where``, as in ``safe_distances``?
def with_where(positions):
    offsets = positions[:, None] - positions
    squares = (offsets**2).sum(axis=-1)
    return jnp.where(squares > 0, jnp.sqrt(squares), 0)


Source(placement.safe_distances)

# %%
for distances in (placement.distances, with_where, placement.safe_distances):
    stress = partial(placement.stress, table=table, distances=distances)
    value, slope = jax.value_and_grad(stress)(start)
    bad = int(jnp.isnan(slope).sum())
    print(
        f"{distances.__name__:15} {value:.4f}, NaN in {bad} of {slope.size}"
    )

# %%
# ``where`` computes both sides and then selects. In the backward pass, the side that wasn't
# selected gets a zero, which is multiplied by the infinite derivative all the same. That is why
# ``safe_distances`` puts a harmless number under the root first, so that no infinity arises. JAX's
# FAQ has `the same trick for a logarithm
# <https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where>`__.
#
# A NaN can vanish before the result
# ----------------------------------
# ``debug_nans`` inspects results. :func:`~jax.experimental.checkify.checkify` makes another program,
# with `checks inside <https://docs.jax.dev/en/latest/debugging/checkify_guide.html>`__, and returns
# what they found as an error beside the result. With ``errors=checkify.nan_checks``, they look for NaN
# in each operation. Here is a function that computes a NaN and then selects another value. Which of
# the two tools will notice?
from jax.experimental import checkify


def selects_another(x):
    return jnp.where(x > 0, jnp.log(x), 0)


with jax.debug_nans(True):
    print("under debug_nans:", jax.jit(selects_another)(-1.0))
check = checkify.checkify(selects_another, errors=checkify.nan_checks)
error, value = jax.jit(check)(-1.0)
print("with checkify:", value, "and the error:", error.get())

# %%
# When ``debug_nans`` inspects what the function returns, the NaN is gone. ``checkify`` sees the NaN
# where it arises.
#
# What do the tools cost?
# -----------------------
# We compare the mended step with two that are watched. One prints its loss, and we wait for the text.
# The other runs under ``debug_nans``, which is switched on and off in each call. A print `calls back
# into Python <https://docs.jax.dev/en/latest/201/callbacks.html>`__, and ``debug_nans`` looks at each
# result. Both take time even if the step computes next to nothing. So do you expect the lines of the
# plot to be farther apart for few points or for many?
from jaxcap.experiments import faults as experiments
from jaxcap.report import figures

results = experiments.TOOLS.run(budget_s=0.03)

# %%
unchecked = results.subset(
    result
    for result in results.select(tools=experiments.EACH_STEP)
    if result.variant != experiments.CHECKED
)
_ = figures.scaling(
    unchecked,
    x="points",
    over=experiments.PLAIN,
    title="A step, watched",
    xlabel="points to move",
)

# %%
# With :measured:`points_in_longest`, the step with a print was
# :measured:`printed_in_longest than the plain one`, and the step under ``debug_nans`` was
# :measured:`nans_in_longest than without`. For ten points, we also timed the step with ``checkify``,
# which includes a look at the error that it returns:
left_end = {"points": 10, "tools": experiments.EACH_STEP}
ten = results.select(**left_end)
ten

# %%
from jaxcap.report.claims import claim, speedup_of

printing_costs = claim(
    "moving ten points takes more than twice as long with a jax.debug.print",
    results,
    speedup_of(experiments.PRINTED, over=experiments.PLAIN, **left_end),
    below=0.5,
)
printing_costs

# %%
# ``checkify`` has a check to do for each operation, and ``debug_nans`` has results to wait for. Which
# is cheaper?
checks_cost = claim(
    "moving ten points takes longer with checks by checkify than under "
    "jax.debug_nans",
    results,
    speedup_of(experiments.CHECKED, over=experiments.NANS, **left_end),
    below=1,
)
checks_cost

# %%
# Takeaway
# --------
printed = printing_costs.estimate
under_nans = ten.speedup(experiments.NANS, over=experiments.PLAIN)
checked = ten.speedup(experiments.CHECKED, over=experiments.PLAIN)
most = max(result.parameters["points"] for result in unchecked)
longest = unchecked.select(points=most)
printed_in_longest = longest.speedup(
    experiments.PRINTED, over=experiments.PLAIN
)
nans_in_longest = longest.speedup(experiments.NANS, over=experiments.PLAIN)
points_in_longest = f"{most:,} points"

# %%
# To see numbers inside a compiled function, use :func:`jax.debug.print`. To find where a NaN
# begins, use ``debug_nans``. If the error points into a gradient, add ``debug_infs``, because a NaN
# there often begins as an infinity. To mend a ``where``, make the *argument* of the root safe, and not
# only its result.
#
# Before you leave a tool on, time your step with it. On this page's machine, moving ten points with a
# print was :measured:`printed than without`. Under ``debug_nans``, it was
# :measured:`under_nans than without`, and with ``checkify``, :measured:`checked than without`.
#
# Try it yourself in :doc:`exercise 13 </exercises/13_faults>`, which also has a profile to read.
# Next: :doc:`has JAX become faster </tutorials/performance/releases>`?
