"""
Is indexing slow?
=================

An index can be an array, and then a single line reads or changes many elements. Such a line jumps
about in memory, which is slow once the array is too large for the processor's caches. One way round
it, meant for accelerators that excel at matrix products, is to multiply by a matrix of ones and
zeros. Another is to sort first, so that what belongs together lies together. Is indexing so slow
that either of them pays? And does the answer depend on the library?
"""

# %%
# Add at the same place twice
# ---------------------------
# NumPy's ``+=`` reads the elements at all indices, adds, and then writes. A repeated index is
# written repeatedly, each time as the *old* number plus one addend, so only the last addition
# survives. :meth:`np.add.at <numpy.ufunc.at>` adds for each index:
import numpy as np

places = np.array([0, 0, 2])
once, each = np.zeros(3), np.zeros(3)
once[places] += 1
np.add.at(each, places, 1)
print("NumPy's +=:", once)
print("np.add.at: ", each)

# %%
# So does JAX's ``.at[].add``:
import jax
import jax.numpy as jnp

jnp.zeros(3).at[places].add(1)

# %%
# With ``.set``, one of the values wins, and JAX `doesn't promise which
# <https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html>`__.
#
# Gather, scatter, and sums by group
# ----------------------------------
# To read at many indices is to *gather*, and to write there is to *scatter*. To sum values by
# group, add each at the index of its group, which is a scatter as well. :func:`jax.ops.segment_sum`
# does that, and is traced to the same operation. The two differ in one point: ``segment_sum`` drops
# negative indices, while ``.at`` counts them from the end.
from functools import partial

from jaxcap.kernels import updates

values, groups = jnp.array([1.0, 2.0, 4.0]), jnp.array([2, 0, 0])
ways = {
    "values[groups]": lambda v, g: v[g],
    ".at[groups].add": partial(updates.sums_by_scatter, count=3),
    "segment_sum": partial(jax.ops.segment_sum, num_segments=3),
}
for name, way in ways.items():
    last = jax.make_jaxpr(way)(values, groups).eqns[-1]
    print(f"{name:16} {way(values, groups)} {last.primitive}")

# %%
# Add at indices, or multiply by ones and zeros
# ---------------------------------------------
# Now for the first way round indexing. Take a matrix with a row for each value, and in each row a
# single one, in the column of the value's group. A product with that matrix adds up the groups:
from jaxcap.report.source import Source

Source(updates.sums_by_scatter, updates.sums_by_product)

# %%
# The scatter does one addition for each value, at a place that it has to look up. The product adds
# once for each value *and* group, nearly always a zero, and it has to build its matrix first. But
# it needs no look-ups. Up to how many groups might that pay? Each way sums ten thousand values.
# NumPy's ``np.add.at`` and ``np.bincount`` do the same for comparison; only ``np.bincount`` adds in
# 64 bits, and the rest in 32:
from jaxcap.experiments import updates as experiments
from jaxcap.report import figures

by_group = experiments.GROUPS.run(budget_s=0.03)
sums = by_group.subset(r for r in by_group if "of" not in r.parameters)
_ = figures.scaling(
    sums,
    x="groups",
    over=experiments.PRODUCT,
    about=experiments.SCATTER,
    title="Sums by group",
)

# sphinx_gallery_thumbnail_number = 1

# %%
# The scatter does as many additions whatever the number of groups, and the product's work grows
# with that number. With ten groups, the scatter was :measured:`with_ten than the product`. With a
# thousand, it was :measured:`by_scatter than the product`, and
# :measured:`to_bincount than np.bincount`.
from jaxcap.report.claims import claim, speedup_of

scatter_pays = claim(
    "for a thousand groups, adding at indices is faster than a product with "
    "a matrix of ones and zeros",
    sums,
    speedup_of(experiments.SCATTER, over=experiments.PRODUCT, groups=1000),
)
scatter_pays

# %%
# Read at indices, or multiply again
# ----------------------------------
# The same matrix turns a gather into a product: in each row, it multiplies the table's entry for
# the group by one, and all others by zero. Beware of infinite numbers in the table: zero times
# infinity is NaN, so one infinite entry spoils every result that doesn't read it.
Source(updates.read, updates.read_by_product)

# %%
# A scatter that adds has to read, add and write at each index. A gather only reads there, and it
# writes its results in order. Will the product fall further behind a gather than behind a scatter?
# Each way reads ten thousand entries, at random indices:
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
behind = {"gather": gather_pays.estimate, "scatter": scatter_pays.estimate}
near, far = sorted(behind, key=lambda name: behind[name].value)
further_behind = (
    f"the product fell further behind the {far} than behind the {near}"
    if behind[near].high < behind[far].low
    else "our measurements don't settle it"
)


# %%
# With ten groups, reading at indices was :measured:`gather_ten than the product`, and with a
# thousand :measured:`by_gather than the product`. Did the product fall further behind a gather than
# behind a scatter? With a thousand groups, :measured:`further_behind`. In both cases, the product
# works through a whole matrix, with a row for each value and a column for each group, while
# indexing goes straight to one entry for each value. So consider a product only where multiplying
# is far cheaper than indexing, and measure it there.
#
# Sort first, and a running sum adds up the groups
# ------------------------------------------------
# The second way round puts each group's values side by side. A running sum then passes through one
# group after another. A group's sum is the difference between the running sum where the next group
# starts and where this one does:
def sums_by_sorting(values, groups, count):
    order = jnp.argsort(groups)
    starts = jnp.searchsorted(groups[order], jnp.arange(count + 1))
    running = jnp.cumsum(values[order])
    return jnp.diff(jnp.append(0, running)[starts])


sums_by_sorting(values, groups, 3)

# %%
# No scatter is left. In its place are an ``argsort``, a binary search, gathers and a ``cumsum``.
# That has a price in accuracy, because the difference of two long running sums has lost digits. It
# may also have a price in time. A scatter treats each index by itself. A sort can't, since a
# number's place depends on all the others, so it has to look at each number several times.
#
# Each library sorts in a way of its own. JAX's sort is `an operation of XLA
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.sort.html>`__, while NumPy brings `a library
# <https://github.com/numpy/x86-simd-sort>`__ that sorts with the vector instructions of common
# processors. Where do you expect the libraries to differ more, in the functions that take indices
# or in those that sort? If PyTorch is installed, it takes part, too. All indices are in random
# order, and *set* writes into an array that the library may change, so JAX's is donated:
from jaxcap.results.tables import Table

many = experiments.MANY.run(budget_s=0.03)
hundred_thousand = many.select(size=100_000)
libraries = sorted(hundred_thousand.variants)
rows = []
for function in experiments.FUNCTIONS:
    part = hundred_thousand.select(function=function)
    times = [part.only(library).time.short for library in libraries]
    ratio = part.speedup(experiments.NUMPY, over=experiments.JAX)
    rows.append((function, *times, ratio.words))
columns = ("function", *libraries, "NumPy compared with JAX")
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
numpy_to_jax = partial(
    hundred_thousand.speedup, experiments.NUMPY, over=experiments.JAX
)
sort_in_numpy = numpy_sorts_faster.estimate
add_time, argsort_time = (
    hundred_thousand.select(function=function).only(experiments.JAX).time
    for function in (experiments.ADD, experiments.ARGSORT)
)

# %%
furthest = max(
    experiments.FUNCTIONS,
    key=lambda f: abs(np.log(numpy_to_jax(function=f).value)),
)
sorting_first = (
    "doesn't pay, unless one sort serves many sums"
    if argsort_time.low > add_time.high
    else "might pay"
)

# %%
# In JAX, adding at a hundred thousand indices took :measured:`add_time`. Sorting first begins with
# an ``argsort``, which alone took :measured:`argsort_time`, so sorting first
# :measured:`sorting_first`. Nor do you have to sort to find the few largest numbers, because
# :func:`jax.lax.top_k` does that.
#
# JAX and NumPy were furthest apart in :measured:`furthest`. NumPy's sort was
# :measured:`sort_in_numpy than JAX's`. By default, JAX's sorts are `stable
# <https://docs.jax.dev/en/latest/_autosummary/jax.numpy.argsort.html>`__: equal numbers keep their
# order. For ``argsort``, where that shows, we asked NumPy and PyTorch for a stable sort, too.
# PyTorch's ``sort`` always returns the indices as well, so it has more to do than the others'.
#
# Takeaway
# --------
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

# %%
# Use indexing unless multiplying is far cheaper on your device. For each value, indexing touches
# one place, whereas a product with a matrix of ones and zeros touches one for every group. With ten
# groups, adding at indices was :measured:`with_ten than such a product`. With a thousand groups, it
# was :measured:`by_scatter`.
#
# Don't sort just to avoid a scatter, unless you have measured that it pays. To add at a hundred
# thousand indices, JAX took :measured:`add_time`, and ``argsort``, the first step of sorting, took
# :measured:`argsort_time`. What a sort costs depends on the library: NumPy's was
# :measured:`sort_in_numpy than JAX's`.
#
# Try it yourself in :doc:`exercise 8 </exercises/8_updates>`. Next:
# :doc:`how you should pack parameters </tutorials/transformations/pytrees>`.
