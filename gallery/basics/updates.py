"""
Does changing one element copy the array?
=========================================

A JAX array can't be changed, so ``x.at[1].set(7)`` makes a new one. For one element among a million,
that sounds wasteful. JAX's documentation reassures you: inside a compiled function, such updates `are
guaranteed to be applied in-place
<https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html>`__. What is that guarantee
worth? This page finds out which updates copy and which don't, and then changes many elements at once:
by adding at repeated indices, by summing groups, and by sorting.
"""

# %%
# What a single update needs
# --------------------------
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
# Both exist, so without compiling there has to be a copy. Would ``jit`` save it? XLA plans the memory of
# a program before the program runs, and tells you. What matters is the memory that a call needs besides
# its arguments: for its results, unless these may take an argument's place, and for temporary arrays.
def new_bytes(function, *args):
    memory = function.lower(*args).compile().memory_analysis()
    results = memory.output_size_in_bytes - memory.alias_size_in_bytes
    return results + memory.temp_size_in_bytes


# %%
# The result has four million bytes. How many of them are new?
compiled = jax.jit(change)
print(f"{new_bytes(compiled, x, 1, 7.0):,}")

# %%
# All of them. The guarantee is about what happens *inside* the function, where the compiler sees who
# uses an array. The arguments come from outside. You could look at ``x`` after the call, so its memory is
# off limits. To give it up, `donate
# <https://docs.jax.dev/en/latest/buffer_donation.html>`__ the argument:
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
# How long does it take, in growing arrays? To change one element, NumPy needs the same time in each. An
# update that copies has to depend on the size. Guess which of the three ways in JAX do, and from which
# size on. For the donated one, each call gets the array that the last call returned:
from jaxcap.experiments import updates as experiments
from jaxcap.kernels import updates
from jaxcap.report import figures
from jaxcap.report.source import Source

Source(updates.keeping)

# %%
results = experiments.UPDATES.run(budget_s=0.05)
element = results.subset(r for r in results if "of" not in r.parameters)
_ = figures.scaling(
    element,
    x="size",
    over=experiments.COMPILED,
    title="Changing one element",
    xlabel="elements of the array",
)

# %%
# Where a line rises, the array is copied. Where it is flat, a call takes its time whatever the array's
# size, and :doc:`another page </tutorials/performance/dispatch_overhead>` shows why a call of JAX has a price
# of its own, which NumPy's assignment doesn't pay.
from jaxcap.report.claims import LARGEST, claim, speedup_of

donation_pays = claim(
    "changing an element of the largest array is faster if the array is "
    "donated",
    results,
    speedup_of(experiments.DONATED, over=experiments.COMPILED, size=LARGEST),
)
donation_pays

# %%
# Inside a loop, it depends on who still looks
# --------------------------------------------
# Inside a compiled function, the arrays belong to the compiler. A loop with :func:`jax.lax.fori_loop`
# runs on the device and passes its array on from step to step. Here it swaps two elements in each
# step, by a pair of updates, or by a single update with two indices:
Source(updates.swap_in_turn, updates.swap_at_once, updates.swaps)


# %%
# A careful programmer might prefer a third, and read both elements before anything is written:
def swap_read_first(x, i, j):
    first, second = x[i], x[j]
    return x.at[i].set(second).at[j].set(first)


# %%
# All three do the same. Does the guarantee cover all three? Take a hundred swaps, and count again what
# a call needs. Four million bytes are for the result.
from functools import partial

pairs = np.random.default_rng(0).integers(x.size, size=(100, 2))
swapped = []
for swap in (updates.swap_in_turn, swap_read_first, updates.swap_at_once):
    loop = jax.jit(partial(updates.swaps, swap))
    swapped.append(loop(x, pairs))
    print(f"{swap.__name__:16} {new_bytes(loop, x, pairs):,}")
print("same result:", all(bool((s == swapped[0]).all()) for s in swapped))

# %%
# If a loop needs another four million bytes, it holds two arrays, and in each step it copies the one to
# the other. Look at ``swap_in_turn`` again: after the first update has made a new array, ``x[i]`` is read
# from the *old* one. You know that a single number would have to be kept. To the compiler, the old
# array is still in use. If reading first didn't help either, that is because the order of your lines
# doesn't count: a recorded program consists of operations that wait for one another's results, and
# nothing says that the reading must come before the writing.
#
# Even a loop with one array copies once in each call, since ``x`` isn't donated. How much do the copies in
# each step add to that?
swapping = results.select(of=experiments.SWAPS)
_ = figures.scaling(
    swapping,
    x="size",
    over=experiments.IN_TURN,
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
# The compiler has to find out that it may write in place, and how well it does that changes from release to
# release. Here is a loop that updates one element after another, a thousand of ten thousand. It ran under :doc:`each
# release of JAX </releases/index>`, on one machine:
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
# The slowest release is :measured:`slowest`, with :measured:`slowest_time` for the loop. The newest takes
# :measured:`newest_time`. For 0.11.1, users found that `each step rewrote the whole array
# <https://github.com/jax-ml/jax/issues/40101>`__. The program was right all the time, so only a clock
# could tell.
#
# Add at the same place twice
# ---------------------------
# An index may be an array, and then one update changes many elements. What if it names a place
# twice? NumPy's ``+=`` reads all elements, adds, and writes them back, so the place is
# written twice with the same number:
places = np.array([0, 0, 2])
once, each = np.zeros(3), np.zeros(3)
once[places] += 1
np.add.at(each, places, 1)
print("NumPy's +=:", once)
print("np.add.at: ", each)

# %%
# ``np.add.at`` adds for each index, and so does JAX's ``.at[].add``:
jnp.zeros(3).at[places].add(1)

# %%
# With ``.set``, one of the values wins, and `nothing says which
# <https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html>`__. (:doc:`The page on
# jax.numpy </tutorials/basics/jnp_and_numpy>` shows what becomes of an index out of bounds.)
#
# To sum values by group, add each at the index of its group. :func:`jax.ops.segment_sum` is a name
# for that, and records the same operation. To read at many indices is to *gather*, and to write
# there is to *scatter*:
values, groups = jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 0, 2])
ways = {
    "values[groups]": lambda v, g: v[g],
    ".at[groups].add": partial(updates.sums_by_scatter, count=3),
    "segment_sum": partial(jax.ops.segment_sum, num_segments=3),
}
for name, way in ways.items():
    last = jax.make_jaxpr(way)(values, groups).eqns[-1]
    print(f"{name:16} {way(values, groups)} {last.primitive}")

# %%
# You may have read that accelerators prefer products of matrices. There is one for this: a matrix
# that has a row for each value, and in it a one in the column of the value's group. A product with that
# matrix adds up the groups:
Source(updates.sums_by_scatter, updates.sums_by_product)

# %%
# The scatter does one addition for each value. The product does one for each value and group, but without
# any indices. Up to which number of groups would you choose the product? NumPy has two ways of its own,
# ``np.add.at`` and ``np.bincount``. All of them sum ten thousand values:
sums = experiments.SUMS.run(budget_s=0.05)
_ = figures.scaling(
    sums, x="groups", over=experiments.PRODUCT, title="Sums by group"
)

# %%
# Look for the place where JAX's two lines cross. There, the product's extra additions cost as much as the
# scatter's indices. If they don't cross, one of the two is ahead for all numbers of groups here.
scatter_pays = claim(
    "for a thousand groups, adding at indices is faster than a product with "
    "a matrix of ones and zeros",
    sums,
    speedup_of(experiments.SCATTER, over=experiments.PRODUCT, groups=1000),
)
scatter_pays

# %%
# Where the order matters, ask the clock
# --------------------------------------
# In a gather, no element has to wait for another. Sorting and running sums are different, because
# where a number goes, or what it adds to, depends on the others. JAX leaves both to XLA. NumPy has `a library
# <https://github.com/numpy/x86-simd-sort>`__ that sorts with the vector instructions of common processors.
# Who is ahead, with a hundred thousand numbers?
from jaxcap.results.tables import Table

ordering = experiments.ORDERING.run(budget_s=0.05)
rows = []
for name in experiments.FUNCTIONS:
    by_numpy, by_jax = f"np.{name}", f"jnp.{name}"
    times = [ordering.only(way).time.short for way in (by_numpy, by_jax)]
    ratio = ordering.speedup(by_jax, over=by_numpy)
    rows.append((name, *times, ratio.words))
columns = ("function", "NumPy", "JAX", "JAX compared with NumPy")
Table("A hundred thousand numbers", columns, rows)

# %%
numpy_sorts_faster = claim(
    "NumPy sorts a hundred thousand numbers faster than JAX",
    ordering,
    speedup_of("np.sort", over="jnp.sort"),
)
numpy_sorts_faster

# %%
# ``argsort`` returns indices, and there it matters what happens to equal numbers. `JAX's
# <https://docs.jax.dev/en/latest/_autosummary/jax.numpy.argsort.html>`__ keeps them in their order
# by default, and we asked NumPy's to do the same. Before you sort in JAX, ask whether you have to: sums
# by group need no sorted values, and :func:`jax.lax.top_k` finds the few largest.
#
# Takeaway
# --------
donation = donation_pays.estimate
single_update = single_update_pays.estimate
by_scatter = scatter_pays.estimate
sort_in_jax = ordering.speedup("jnp.sort", over="np.sort")

# %%
# JAX writes in place where it compiles and where nobody can look at the old array any more; elsewhere, an
# update copies. So donate the arrays that you replace, and in a loop, change an array by a single update that
# takes all it needs from the old one. ``memory_analysis`` shows a copy before you have run anything.
#
# For the largest array here, donating it was :measured:`donation than keeping it`. One update for
# each swap was :measured:`single_update than two`. For sums by group, say what you mean with
# ``.at[].add`` or ``segment_sum``: with a thousand groups, that was
# :measured:`by_scatter than a product`. And JAX's sort of a hundred thousand numbers was
# :measured:`sort_in_jax than NumPy's`.
#
# Try it yourself in :doc:`exercise 7 </exercises/7_updates>`. Next:
# :doc:`random numbers </tutorials/basics/random_numbers>`.
