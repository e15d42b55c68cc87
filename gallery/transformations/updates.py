"""
Does changing one element copy the array?
=========================================

A JAX array can't be changed, so ``x.at[1].set(7)`` makes a new one. For one element among a
million, that sounds wasteful. JAX's documentation reassures you: inside a compiled function, such
updates `are guaranteed to be applied in-place
<https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html>`__. What is that guarantee
worth? This page finds out which updates copy the array and which don't, what a copy costs, and how
to see one before you run anything.
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
# Both arrays exist now, so a call without ``jit`` has to copy. Would ``jit`` save the copy? You
# needn't run anything to find out, because XLA plans the memory of a program when it compiles, and
# `reports the plan <https://docs.jax.dev/en/latest/201/aot.html>`__:
compiled = jax.jit(change)
plan = compiled.lower(x, 1, 7.0).compile().memory_analysis()
for part in ("argument", "output", "alias", "temp"):
    size = getattr(plan, part + "_size_in_bytes")
    print(f"{part:8} {size:9,} bytes")


# %%
# The result is as large as ``x``, and the arguments have eight bytes more, for ``i`` and ``value``.
# An *alias* is a part of the results that is written into an argument's memory, and *temp* counts
# temporary arrays. So the memory that a call needs besides its arguments is this:
def new_bytes(function, *args):
    memory = function.lower(*args).compile().memory_analysis()
    results = memory.output_size_in_bytes - memory.alias_size_in_bytes
    return results + memory.temp_size_in_bytes


print(f"{new_bytes(compiled, x, 1, 7.0):,}")

# %%
# All bytes of the result are new. The guarantee is about what happens *inside* the function, where
# the compiler sees who uses an array. The arguments come from outside: you might look at ``x``
# after the call, so JAX must not overwrite it. If you don't need the old array any more, `donate it
# <https://docs.jax.dev/en/latest/201/jit.html#buffer-donation>`__:
donating = jax.jit(change, donate_argnums=0)
print(f"{new_bytes(donating, x, 1, 7.0):,}")

# %%
# In return, you must not use the old array again. JAX sees to that:
z = donating(y, 2, 8.0)
print(z[:4], y.is_deleted())
try:
    y + 1
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %%
# A ref can change without donation
# ---------------------------------
# JAX's *refs* are arrays that a compiled function can `change in place
# <https://docs.jax.dev/en/latest/201/jit.html#in-place-updates-with-refs>`__ without donation, even
# if it reaches them only as global variables. In return, they come with `restrictions
# <https://docs.jax.dev/en/latest/101/state.html#ref-restrictions>`__: for instance, a compiled
# function can't return one. Make a ref of a million numbers, and count the new bytes again:
numbers = jax.new_ref(jnp.zeros(1_000_000))


@jax.jit
def change_ref(i, value):
    numbers[i] = value


change_ref(1, 7.0)
print(numbers[:3], f"{new_bytes(change_ref, 1, 7.0):,}")

# %%
# The time of a copy grows with the array
# ---------------------------------------
# An update in place, like NumPy's assignment, writes one number, however large the array is. A copy
# takes longer as the array grows. JAX's update comes in three kinds: not compiled, compiled, and
# compiled with its array donated. Which of them do you expect to copy, and from what size will it
# show? (We have run this page on CPUs only so far.)
#
# A call that donates its array uses it up, so to time many calls, we give each the array that the
# last one returned:
from jaxcap.experiments import updates as experiments
from jaxcap.kernels import updates
from jaxcap.report import figures
from jaxcap.report.source import Source

Source(updates.keeping)

# %%
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
# A line that rises belongs to an update that copies. A flat part proves less, because copying a
# small array takes less time than starting a call. JAX's flat lines show the price of that call,
# which NumPy's assignment doesn't pay, and which :doc:`another page
# </tutorials/performance/dispatch_overhead>` takes apart. The update that isn't compiled pays it
# several times: it prepares its index and its value in Python, and runs small programs for both
# before the one that copies.
from jaxcap.report.claims import LARGEST, claim, speedup_of

donation_pays = claim(
    "changing an element of the largest array is faster if the array is "
    "donated",
    results,
    speedup_of(experiments.DONATED, over=experiments.COMPILED, size=LARGEST),
)
donation_pays

# %%
# In a loop, a second update can cost copies in each step
# -------------------------------------------------------
# Inside a compiled function, the compiler decides where arrays lie. Take a
# :func:`~jax.lax.fori_loop`, which passes an array on from step to step. Each step swaps two
# elements, either by a pair of updates or by a single update with two indices:
Source(updates.swap_in_turn, updates.swap_at_once, updates.swaps)


# %%
# A careful programmer might write a third version, which reads both elements before it writes
# either:
def swap_read_first(x, i, j):
    first, second = x[i], x[j]
    return x.at[i].set(second).at[j].set(first)


# %%
# All three functions should return the same array as NumPy's swaps. Does the guarantee cover all of
# them? Take a hundred swaps, and count the new bytes again. The result alone takes four million
# bytes, so a loop that needs twice as many holds a second array:
from functools import partial

pairs = np.random.default_rng(0).integers(x.size, size=(100, 2))
right = updates.swaps_in_place(np.array(x), pairs)
needed = {}
for swap in (updates.swap_in_turn, swap_read_first, updates.swap_at_once):
    loop = jax.jit(partial(updates.swaps, swap))
    needed[swap.__name__] = new_bytes(loop, x, pairs)
    as_numpy = np.array_equal(loop(x, pairs), right)
    print(f"{swap.__name__:16} {needed[swap.__name__]:,} bytes", end="")
    print(", as NumPy:", as_numpy)

# %%
heavy = [name for name, size in needed.items() if size > 1.5 * x.nbytes]
subject = " and ".join(heavy) or "None of the loops"
holding_two = f"{subject} {'need' if len(heavy) > 1 else 'needs'}"

# %%
# :measured:`holding_two` twice the bytes of ``x``. The guarantee doesn't cover a loop that holds
# two arrays. Does such a loop also copy one into the other in each step? The plan of its memory
# doesn't say, but its time will.
#
# ``swap_in_turn`` shows why a compiler might want a second array. Its first update makes a new
# array, but the second needs ``x[i]`` from the *old* one. Keeping that one number would be enough,
# but a compiler that doesn't see this keeps all of the old array.
#
# Reading both elements first looks like a remedy. But the compiler doesn't see the order of your
# lines, only which operation uses which result. Both reads use the old ``x`` in both functions, so
# to the compiler, they are the same.
#
# Even a loop that holds a single array copies ``x`` once in each call, because ``x`` isn't donated.
# How much time do copies in each step add? For comparison, NumPy swaps in a Python loop, with no
# copy at all:
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
# A new release may copy again
# ----------------------------
# Whether the compiler finds a way to write in place can change from release to release. Here is a
# loop that updates a thousand of ten thousand elements, one after another, under
# :doc:`many releases of JAX </releases/index>`, on one machine:
from jaxcap.releases.figures import course
from jaxcap.releases.recorded import recorded

releases = recorded()
name = "fori_loop of 1,000 updates of an element"
recorded_loop = {s.benchmark: s for s in releases.of_jax()}[name]
changes = [step for step in releases.changes if step.series is recorded_loop]
_ = course(recorded_loop, changes, releases.names)
times = recorded_loop.estimates
slowest = max(recorded_loop.releases, key=lambda name: times[name].value)
slowest_time, newest_time = times[slowest].short, times[releases.newest].short

# %%
# The loop took longest under :measured:`slowest`, where it needed :measured:`slowest_time`. Under
# the newest release, it needs :measured:`newest_time`. Users of 0.11.1 found that `each step
# rewrote the whole array <https://github.com/jax-ml/jax/issues/40101>`__. Their programs still gave
# the right results, and the copying took place inside a kernel, where no plan of the memory lists
# it. So only their speed gave it away. If a loop of updates matters to you, time it again after
# each upgrade.
#
# Takeaway
# --------
donation = donation_pays.estimate
single_update = single_update_pays.estimate

# %%
# Without ``jit``, an update copies the array. In a compiled function, an update can write in place
# if the function made the array itself or you donated it, and if nothing in the compiler's program
# needs the old array after the write. So donate the arrays that you replace. And if one change
# reads what another overwrites, as in a swap, make both in a single update, above all in a loop.
#
# For the largest array here, donating was :measured:`donation than keeping it`, and one update for
# each swap was :measured:`single_update than two`. ``memory_analysis`` shows a second array before
# you have run anything, but not what a kernel copies on its own.
#
# Next: :doc:`many elements at once </tutorials/transformations/indexing>`, to add, read and sort.
