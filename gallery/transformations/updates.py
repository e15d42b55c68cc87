"""
Does changing one element copy the array?
=========================================

A JAX array can't be changed, so ``x.at[1].set(7)`` makes a new one. For one element among a
million, that sounds wasteful. JAX's documentation reassures you: inside a compiled function, such
updates `are guaranteed to be applied in-place
<https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html>`__. Yet you can lose that
guarantee without noticing. This page shows which updates copy the array, and what a copy costs.
"""

# %%
# A call copies its array unless you donate it
# --------------------------------------------
# Here is an array of a million numbers, four bytes each, and a function that changes one of them:
import jax
import jax.numpy as jnp
import numpy as np

x = jnp.arange(1_000_000.0)


def change(x, i, value):
    return x.at[i].set(value)


y = change(x, 1, 7.0)
print("old:", x[1], "new:", y[1])


# %%
# Both arrays exist now, so this call has copied. Would ``jit`` save the copy? You can find out before
# you run anything, because a copy shows as a line of the `compiled program
# <https://docs.jax.dev/en/latest/201/aot.html>`__:
def copies(program):
    lines = [line.strip() for line in program.splitlines()]
    return [s for s in lines if "f32[1000000]" in s and " copy(" in s]


compiled = jax.jit(change).lower(x, 1, 7.0).compile()
print(*copies(compiled.as_text()), sep="\n")

# %%
# The program copies its argument. The compiler sees who uses an array *inside* the function. But you
# might look at ``x`` after the call, so JAX must not overwrite it. If you don't need the old array any
# more, `donate it <https://docs.jax.dev/en/latest/201/jit.html#buffer-donation>`__:
donating = jax.jit(change, donate_argnums=0)
compiled = donating.lower(x, 1, 7.0).compile()
print("copies:", len(copies(compiled.as_text())))

# %%
# In return, you must not use the old array again. JAX sees to that:
z = donating(y, 2, 8.0)
print(z[:4], y.is_deleted())
try:
    y + 1
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %%
# If you don't want to hand an array in and out, use a *ref*, which a compiled function can `change in
# place <https://docs.jax.dev/en/latest/201/jit.html#in-place-updates-with-refs>`__ without donation.
#
# The time of a copy grows with the array
# ---------------------------------------
# An update in place writes one number, however large the array is, whereas a copy takes longer as the
# array grows. We timed NumPy's assignment, and JAX's update in three ways: not compiled, compiled, and
# compiled with its array donated. From what size on will the copy show?
from jaxcap.experiments import updates as experiments
from jaxcap.report import figures

results = experiments.UPDATES.run(budget_s=0.03)
element = results.subset(r for r in results if "of" not in r.parameters)
_ = figures.scaling(
    element,
    x="size",
    over=experiments.COMPILED,
    about=experiments.DONATED,
    title="Changing one element",
    xlabel="elements of the array",
)

# %%
# Each call of JAX has :doc:`a price of its own </tutorials/performance/dispatch_overhead>`, and beside
# that, the copy of a small array is too short to show. The larger the array is, the more of the time
# goes into the copy.
from jaxcap.report.claims import LARGEST, claim, speedup_of

donation_pays = claim(
    "changing an element of the largest array is faster if the array is "
    "donated",
    results,
    speedup_of(experiments.DONATED, over=experiments.COMPILED, size=LARGEST),
)
donation_pays

# %%
# In a loop, a second update can copy in each step
# ------------------------------------------------
# In a :func:`~jax.lax.fori_loop`, an array stays inside the compiled function from step to step. Does
# the guarantee hold there? Let each step swap two elements, either by a pair of updates or by a single
# update with two indices:
from jaxcap.kernels import updates
from jaxcap.report.source import Source

Source(updates.swap_in_turn, updates.swap_at_once, updates.swaps)


# %%
# In ``swap_in_turn``, the second update needs ``x[i]`` from the array before the first. A careful
# programmer might therefore read both elements before writing either:
def swap_read_first(x, i, j):
    first, second = x[i], x[j]
    return x.at[i].set(second).at[j].set(first)


# %%
# All three loops return what NumPy's swaps return. Which of them copy? In the text of the program, the
# body of the loop comes before the main function, which is marked ``ENTRY``:
from functools import partial

pairs = np.random.default_rng(0).integers(x.size, size=(100, 2))
right = updates.swaps_in_place(np.array(x), pairs)
for swap in (updates.swap_in_turn, swap_read_first, updates.swap_at_once):
    loop = jax.jit(partial(updates.swaps, swap)).lower(x, pairs).compile()
    assert np.array_equal(loop(x, pairs), right)
    body, _, main = loop.as_text().partition("ENTRY")
    in_body, in_main = len(copies(body)), len(copies(main))
    name = swap.__name__
    print(f"{name:16} copies in each step: {in_body}, outside: {in_main}")

# %%
# Outside the loop, one copy is due, because ``x`` isn't donated. A copy in each step is what the
# guarantee was meant to avoid. Saving the one number that the second update needs would be enough. But
# if the compiler reads it later, the whole old array has to stay until then.
#
# Reading first looks like a remedy, but the order of your lines doesn't bind the compiler: in both
# functions, both reads use the old ``x``, so the compiler may read as late as before. With a single
# update, no read is left for later.
#
# How much time do such copies take? Here are a hundred swaps by two updates and by one, beside NumPy's
# swaps in a Python loop. One update for each swap still copies ``x`` before the loop, so its time
# grows with the array, too:
swapping = results.select(of=experiments.SWAPS)
_ = figures.scaling(
    swapping,
    x="size",
    over=experiments.IN_TURN,
    about=experiments.AT_ONCE,
    title="A loop of a hundred swaps",
    xlabel="elements of the array",
)

# sphinx_gallery_thumbnail_number = 2

# %%
single_update_pays = claim(
    "a loop of swaps in the largest array is faster with one update for each "
    "swap than with two",
    results,
    speedup_of(experiments.AT_ONCE, over=experiments.IN_TURN, size=LARGEST),
)
single_update_pays

# %%
# The text of a program doesn't show every copy. On a CPU, JAX 0.11.1 `rewrote the whole array
# <https://github.com/jax-ml/jax/issues/40101>`__ in each step of a loop with a single update, although
# the compiled program was the same as before. Here is such a loop under many releases, measured on one
# machine:
from jaxcap.releases import figures as by_release
from jaxcap.releases.recorded import recorded

name = "fori_loop of 1,000 updates of an element"
_ = by_release.course_of(recorded(), name)

# %%
# Each dotted line marks a release that changed the time. So if such a loop matters to you, time it again
# after each upgrade. :doc:`JAX by release </releases/index>` has many more programs.
#
# Takeaway
# --------
donation = donation_pays.estimate
single_update = single_update_pays.estimate

# %%
# Without ``jit``, an update copies the array. In a compiled function, it can write in place
# if the function made the array itself or you donated it, and if nothing needs the old array after the
# write. So donate the arrays that you replace: for the largest array here, that was
# :measured:`donation than keeping it`. And if one change reads what another overwrites, as in a swap,
# make both in a single update: in a loop of swaps, that was :measured:`single_update than two`. Before
# you run a program, its ``as_text()`` can show you copies.
#
# Next: :doc:`many elements at once </tutorials/transformations/indexing>`, to read and to add.
