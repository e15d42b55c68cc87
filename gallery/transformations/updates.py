"""
Does changing one element copy the array?
=========================================

A JAX array can't be changed, so ``x.at[1].set(7)`` makes a new one. For one element among a
million, that sounds wasteful. JAX's documentation reassures you: inside a compiled function, such
updates `are guaranteed to be applied in-place
<https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html>`__. What is that guarantee
worth? This page finds out which updates copy the array, and which don't. Then it turns to many
elements at once: adding at repeated indices, sums by group, and sorts, with NumPy and PyTorch for
comparison.
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
# Both arrays exist now, so a call without ``jit`` has to copy. Would ``jit`` save the copy? You
# needn't run anything to find out, because XLA plans the memory of a program when it compiles, and
# `reports the plan <https://docs.jax.dev/en/latest/201/aot.html>`__. What counts is the memory that
# a call needs besides its arguments: for temporary arrays, and for those results that aren't
# written into an argument's memory.
def new_bytes(function, *args):
    memory = function.lower(*args).compile().memory_analysis()
    results = memory.output_size_in_bytes - memory.alias_size_in_bytes
    return results + memory.temp_size_in_bytes


# %%
# The result is as large as ``x``. How many of its bytes are new?
compiled = jax.jit(change)
print(f"{new_bytes(compiled, x, 1, 7.0):,}")

# %%
# All bytes of the result are new. The guarantee is about what happens *inside* the function, where
# the compiler sees who uses an array. The arguments come from outside: you might look at ``x``
# after the call, so its memory is off limits. If you don't need the old array any more,
# `donate it <https://docs.jax.dev/en/latest/201/jit.html#buffer-donation>`__:
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
# (JAX also has *refs*, arrays that a compiled function `changes in place
# <https://docs.jax.dev/en/latest/201/jit.html#in-place-updates-with-refs>`__ without donation.
# :doc:`The next page </tutorials/transformations/pytrees>` has one.)
#
# How long does an update take, as the array grows? An update in place, like NumPy's assignment, may
# take the same time at any size. A copy takes longer as the array grows. JAX's update comes in
# three kinds: not compiled, compiled, and compiled with its array donated. Which of them do you
# expect to copy, and from what size will it show?
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
# A line that rises belongs to an update that copies. A flat part proves less, because to copy a
# small array takes less time than to start a call. What a flat line of JAX shows is the price of a
# call, which NumPy's assignment doesn't pay;
# :doc:`another page </tutorials/performance/dispatch_overhead>` takes such a call apart.
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
# All three functions do the same. Does the guarantee cover all of them? Take a hundred swaps, and
# count the new bytes again. As many bytes as ``x`` has are for the result:
from functools import partial

pairs = np.random.default_rng(0).integers(x.size, size=(100, 2))
swapped, needed = [], {}
for swap in (updates.swap_in_turn, swap_read_first, updates.swap_at_once):
    loop = jax.jit(partial(updates.swaps, swap))
    swapped.append(loop(x, pairs))
    needed[swap.__name__] = new_bytes(loop, x, pairs)
    print(f"{swap.__name__:16} {needed[swap.__name__]:,}")
print("same result:", all(bool((s == swapped[0]).all()) for s in swapped))

# %%
holding_two = (
    ", ".join(n for n, size in needed.items() if size > 1.5 * x.nbytes)
    or "none of them"
)

# %%
# A loop that needs twice the bytes of ``x`` holds two arrays. Whether it also copies between them
# in each step, only its time can show. Of the three loops, these hold two:
# :measured:`holding_two`. ``swap_in_turn`` shows why a compiler might want a second array. Its
# first update makes a new array, but the second needs ``x[i]`` from the *old* one. Keeping that one
# number would be enough, but a compiler that doesn't see this keeps all of the old array.
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
# it. So only their speed gave it away.
#
# Add at the same place twice
# ---------------------------
# An index may be an array, and then one update changes many elements. What if it names a place
# twice? NumPy's ``+=`` reads all elements, adds, and writes them back. To a place that is named
# twice, it writes twice, each time the old number plus one addend, so only the last addition
# counts. :meth:`np.add.at <numpy.ufunc.at>` adds for each index:
places = np.array([0, 0, 2])
once, each = np.zeros(3), np.zeros(3)
once[places] += 1
np.add.at(each, places, 1)
print("NumPy's +=:", once)
print("np.add.at: ", each)

# %%
# So does JAX's ``.at[].add``:
jnp.zeros(3).at[places].add(1)

# %%
# With ``.set``, one of the values wins, and JAX `doesn't promise which
# <https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html>`__. (:doc:`The page on
# jax.numpy </tutorials/basics/jnp_and_numpy>` shows what becomes of an index out of bounds.)
#
# To sum values by group, add each at the index of its group. :func:`jax.ops.segment_sum` does that,
# and records the same operation, but it drops negative indices, which for ``.at`` count from the
# end. To read at many indices is to *gather*, and to write there is to *scatter*:
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
# A sum by group can also be written as a product of matrices. Take a matrix with a row for each
# value, and in each row a one, in the column of the value's group. A product with that matrix adds
# up the groups:
Source(updates.sums_by_scatter, updates.sums_by_product)

# %%
# The scatter does one addition for each value, at a place that it has to look up. The product adds
# once for each value *and* group, nearly always a zero, and it has to build its matrix first. But
# it looks up no place. Up to how many groups might that pay? All ways sum ten thousand values, and
# so do the two functions that you would use in NumPy, ``np.add.at`` and ``np.bincount``, which adds
# in 64 bits where the others use 32:
by_group = experiments.GROUPS.run(budget_s=0.03)
sums = by_group.subset(r for r in by_group if "of" not in r.parameters)
_ = figures.scaling(
    sums,
    x="groups",
    over=experiments.PRODUCT,
    about=experiments.SCATTER,
    title="Sums by group",
)

# %%
# The scatter does as many additions whatever the number of groups, and the product's work grows
# with that number. With ten groups, the scatter was :measured:`with_ten than the product`. With a
# thousand, it was :measured:`by_scatter than the product`, and
# :measured:`to_bincount than np.bincount`.
scatter_pays = claim(
    "for a thousand groups, adding at indices is faster than a product with "
    "a matrix of ones and zeros",
    sums,
    speedup_of(experiments.SCATTER, over=experiments.PRODUCT, groups=1000),
)
scatter_pays

# %%
# The same matrix turns a gather into a product: in each row, it multiplies the table's entry for
# the group by one, and all others by zero.
Source(updates.read, updates.read_by_product)

# %%
# A scatter that adds has to read, add and write at each index. A gather only reads there, and it
# writes its results in order. Will the product come closer to a gather than it did to a scatter?
# Ten thousand times, each way reads the entry of a random group:
reads = by_group.select(of=experiments.READ)
reads

# %%
gather_pays = claim(
    "from a table of a thousand groups, indexing reads faster than a product "
    "with a matrix of ones and zeros",
    by_group,
    speedup_of(
        experiments.INDEXING,
        over=experiments.PRODUCT,
        of=experiments.READ,
        groups=1000,
    ),
)
gather_pays

# %%
# With ten groups, indexing was :measured:`gather_ten than the product`, and with a thousand
# :measured:`by_gather than the product`. A product touches each entry of a matrix that has a row
# for each value and a column for each group. Neither a gather nor a scatter has such a matrix, so
# consider a product only where multiplying is far cheaper than indexing, and measure it there.
#
# Sorts and running sums depend on the library
# --------------------------------------------
# A gather treats each index by itself. A sort or a running sum can't, because the place of a number
# depends on all the others, and its running sum on all before it. Libraries solve this in different
# ways: JAX's sort is
# `an operation of XLA <https://docs.jax.dev/en/latest/_autosummary/jax.lax.sort.html>`__, while
# NumPy brings `a library <https://github.com/numpy/x86-simd-sort>`__ that sorts with the vector
# instructions of common processors. So where do you expect the libraries to differ more, in the
# functions that take indices or in those that sort? PyTorch takes part where it is installed. With
# indices, it reads, writes and adds like this::
#
#     torch.index_select(x, 0, places)
#     x.index_put_((places,), values)
#     torch.zeros(count).index_add_(0, places, values)
#
# All indices are in random order, and each library sets elements of an array of its own, which JAX
# gets as a donation:
from jaxcap.results.tables import Table

many = experiments.MANY.run(budget_s=0.03)
hundred_thousand = many.select(size=100_000)
libraries = sorted(hundred_thousand.variants)
rows = []
for function in experiments.FUNCTIONS:
    part = hundred_thousand.select(function=function)
    times = [part.only(library).time.short for library in libraries]
    ratio = part.speedup(experiments.JAX, over=experiments.NUMPY)
    rows.append((function, *times, ratio.words))
columns = ("function", *libraries, "JAX compared with NumPy")
Table("A hundred thousand numbers", columns, rows)

# %%
numpy_sorts_faster = claim(
    "NumPy sorts a hundred thousand numbers faster than JAX",
    many,
    speedup_of(
        experiments.NUMPY,
        over=experiments.JAX,
        function=experiments.SORT,
        size=100_000,
    ),
)
numpy_sorts_faster

# %%
apart = {
    function: abs(
        np.log(
            hundred_thousand.speedup(
                experiments.JAX, over=experiments.NUMPY, function=function
            ).value
        )
    )
    for function in experiments.FUNCTIONS
}
furthest = max(apart, key=apart.get)

# %%
# JAX and NumPy were furthest apart in :measured:`furthest`. JAX's sort was
# :measured:`sort_in_jax than NumPy's`. By default, JAX's sorts are
# `stable <https://docs.jax.dev/en/latest/_autosummary/jax.numpy.argsort.html>`__: equal numbers
# keep their order. In sorted numbers, that hardly ever shows, and NumPy's default doesn't promise
# it. For ``argsort``, which returns indices, we asked the other two to do the same, for which NumPy
# may have to take a slower algorithm. (PyTorch's ``sort`` returns the indices in any case, and so
# has more to do than the others'.) Before you sort in JAX, ask whether you have to: sums by group
# don't need sorted values, and :func:`jax.lax.top_k` finds the few largest.
#
# Takeaway
# --------
donation = donation_pays.estimate
single_update = single_update_pays.estimate
with_ten = sums.speedup(
    experiments.SCATTER, over=experiments.PRODUCT, groups=10
)
by_scatter = scatter_pays.estimate
to_bincount = sums.speedup(
    experiments.SCATTER, over=experiments.BINCOUNT, groups=1000
)

# %%
gather_ten = reads.speedup(
    experiments.INDEXING, over=experiments.PRODUCT, groups=10
)
by_gather = gather_pays.estimate
sort_in_jax = hundred_thousand.speedup(
    experiments.JAX, over=experiments.NUMPY, function=experiments.SORT
)

# %%
# Without ``jit``, an update copies the array. With it, the update can write in place if the
# function made the array itself or you donated it, and if nothing in the compiler's program needs
# the old array after the write. So donate the arrays that you replace. And if one change reads what
# another overwrites, as in a swap, make both in a single update, above all in a loop. For the
# largest array here, donating was :measured:`donation than keeping it`, and one update for each
# swap was :measured:`single_update than two`. ``memory_analysis`` shows a second array before you
# have run anything, but not what a kernel copies on its own.
#
# To sum by group, use ``.at[].add`` or ``segment_sum``: with a thousand groups, that was
# :measured:`by_scatter than a product`. To read by group, index: from a table of a thousand, that
# was :measured:`by_gather than a product`.
#
# Try it yourself in :doc:`exercise 7 </exercises/7_updates>`. Next:
# :doc:`how you should pack parameters </tutorials/transformations/pytrees>`.
