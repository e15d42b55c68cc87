"""
Is indexing slow?
=================

An index can be an array, and then a single line reads or changes many elements. Such a line jumps
about in memory, which no processor likes. So there is a trick for accelerators, which multiply
matrices faster than they do anything else: write the line as a product with a matrix of ones and
zeros. Is indexing so slow that this pays? And which library does it fastest, JAX, NumPy or PyTorch?
Before we measure, you should know what happens if an index comes up twice.
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
# <https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html>`__. (:doc:`The page on
# jax.numpy </tutorials/basics/jnp_and_numpy>` shows what becomes of an index out of bounds.)
#
# Gather, scatter, and sums by group
# ----------------------------------
# To read at many indices is to *gather*, and to write there is to *scatter*. To sum values by group,
# add each at the index of its group, which is a scatter as well. :func:`jax.ops.segment_sum` does
# that, and records the same operation, but it drops negative indices, which for ``.at`` count from
# the end:
from functools import partial

from jaxcap.kernels import updates

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
# Add at indices, or multiply by ones and zeros
# ---------------------------------------------
# Now for the trick. Take a matrix with a row for each value, and in each row a single one, in the
# column of the value's group. A product with that matrix adds up the groups:
from jaxcap.report.source import Source

Source(updates.sums_by_scatter, updates.sums_by_product)

# %%
# The scatter does one addition for each value, at a place that it has to look up. The product adds
# once for each value *and* group, nearly always a zero, and it has to build its matrix first. But
# it looks up no place. Up to how many groups might that pay? Each way sums ten thousand values.
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
# the group by one, and all others by zero. (Zero times infinity is NaN, so a single infinite number
# in the table would turn every result that reads another entry into NaN.)
Source(updates.read, updates.read_by_product)

# %%
# A scatter that adds has to read, add and write at each index. A gather only reads there, and it
# writes its results in order. Will the product come closer to a gather than it did to a scatter?
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
# With ten groups, indexing was :measured:`gather_ten than the product`, and with a thousand
# :measured:`by_gather than the product`. A product touches each entry of a matrix that has a row
# for each value and a column for each group. Neither a gather nor a scatter has such a matrix, so
# consider a product only where multiplying is far cheaper than indexing, and measure it there.
#
# Sorts and running sums depend on the library
# --------------------------------------------
# A gather treats each index by itself. Sorts and running sums can't: a number's place in sorted
# order depends on all the others, and a running sum on every number before it. Libraries solve this
# in different ways: JAX's sort is `an operation of XLA
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.sort.html>`__, while NumPy brings `a library
# <https://github.com/numpy/x86-simd-sort>`__ that sorts with the vector instructions of common
# processors. So where do you expect the libraries to differ more, in the functions that take
# indices or in those that sort? PyTorch takes part where it is installed. With indices, it reads,
# writes and adds like this::
#
#     torch.index_select(x, 0, places)
#     x.index_put_((places,), values)
#     torch.zeros(count).index_add_(0, places, values)
#
# All indices are in random order. To *set*, each library writes into an array of its own; JAX's is
# donated, so that JAX needn't copy it:
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
jax_to_numpy = partial(
    hundred_thousand.speedup, experiments.JAX, over=experiments.NUMPY
)
sort_in_jax = jax_to_numpy(function=experiments.SORT)
furthest = max(
    experiments.FUNCTIONS,
    key=lambda f: abs(np.log(jax_to_numpy(function=f).value)),
)

# %%
# JAX and NumPy were furthest apart in :measured:`furthest`. JAX's sort was
# :measured:`sort_in_jax than NumPy's`. By default, JAX's sorts are `stable
# <https://docs.jax.dev/en/latest/_autosummary/jax.numpy.argsort.html>`__: equal numbers keep their
# order. In sorted numbers, that hardly ever shows, and NumPy's default doesn't promise it. For
# ``argsort``, where ties do show, we asked NumPy and PyTorch for a stable sort as well, which may
# force NumPy to take a slower algorithm. (PyTorch's ``sort`` returns the indices in any case, and
# so has more to do than the others'.) Before you sort in JAX, ask whether you have to: sums by
# group don't need sorted values, and :func:`jax.lax.top_k` finds the few largest.
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
# Index, and try a product only where multiplying is far cheaper than indexing. For each value,
# indexing touches one place, and a product touches as many as there are groups. With ten groups,
# adding at indices was :measured:`with_ten than a product`, and with a thousand
# :measured:`by_scatter than a product`.
#
# Which library is fastest depends on the function. JAX and NumPy were furthest apart in
# :measured:`furthest`, and JAX's sort was :measured:`sort_in_jax than NumPy's`.
#
# Try it yourself in :doc:`exercise 7 </exercises/7_updates>`. Next:
# :doc:`how you should pack parameters </tutorials/transformations/pytrees>`.
