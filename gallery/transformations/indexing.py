"""
Is indexing slow?
=================

An index can be an array: ``x[places]`` reads many elements in one line, and
``x.at[places].add(values)`` adds to many. A user of TensorFlow found reads of this kind `slow on TPUs
<https://github.com/tensorflow/tensorflow/issues/80253>`__, along with a common substitute, a product
with a matrix of ones and zeros. Is that product any faster than an index in JAX, on this page's device?
And is JAX's indexing as fast as NumPy's?
"""

# %%
# JAX counts every index, even a repeated one
# -------------------------------------------
# To read at many indices is to *gather*, and to write or add there is to *scatter*. A sum by group is
# a scatter, because it adds each value at the index of its group. Of the three values here, the last
# two belong to group 0. Which of these four ways will add both of them?
import jax
import jax.numpy as jnp
import numpy as np

values, groups = np.array([1.0, 2.0, 4.0]), np.array([2, 0, 0])
once, each = np.zeros(3), np.zeros(3)
once[groups] += values
np.add.at(each, groups, values)
print("NumPy's +=  ", once)
print("np.add.at   ", each)
print(".at[].add   ", jnp.zeros(3).at[groups].add(values))
print("segment_sum ", jax.ops.segment_sum(values, groups, 3))

# %%
# All but one. NumPy's ``+=`` keeps only one value of group 0, because it `reads at all indices, adds,
# and only then writes
# <https://numpy.org/doc/stable/user/basics.indexing.html#assigning-values-to-indexed-arrays>`__, so
# that the last write remains. To add for each index, as JAX's ``.at`` and :func:`jax.ops.segment_sum`
# do, NumPy has :meth:`np.add.at <numpy.ufunc.at>`.
#
# A product pays for every group
# ------------------------------
# The substitute for indices is a matrix with a row for each value: a one in the column of the
# value's group, and zeros elsewhere. This is called a *one-hot* matrix. The values times this matrix
# are the sums by group:
from jaxcap.kernels import updates
from jaxcap.report.source import Source

Source(updates.sums_by_scatter, updates.sums_by_product)

# %%
# The product looks nothing up, but multiplies each value by a one or a zero for every group, while the
# scatter adds each value once. The fewer the groups, then, the better for the product. Will it win with
# ten? Each way sums ten thousand values, and so do two functions of NumPy:
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
from jaxcap.report.claims import claim, speedup_of

scatter_pays = claim(
    "for a thousand groups, adding at indices is faster than a product with "
    "a matrix of ones and zeros",
    sums,
    speedup_of(experiments.SCATTER, over=experiments.PRODUCT, groups=1000),
)
scatter_pays

# %%
with_ten = sums.speedup(
    experiments.SCATTER, over=experiments.PRODUCT, groups=10
)
by_scatter = scatter_pays.estimate
by_numpy = sums.speedup(
    experiments.ADD_AT, over=experiments.SCATTER, groups=1000
)
by_gather = by_group.select(of=experiments.READ).speedup(
    experiments.INDEXING, over=experiments.PRODUCT, groups=1000
)


# %%
# With ten groups, adding at indices was :measured:`with_ten than the product`, and with a thousand,
# :measured:`by_scatter`.
#
# What about reads, which were the user's complaint? The same matrix, times a table, picks one entry
# for each value, but multiplies all of the others by zero. From a table of a thousand entries, reading
# at indices was :measured:`by_gather than by a product`.
#
# Is it as fast as in NumPy?
# --------------------------
# With a thousand groups, NumPy's ``np.add.at``, which is also in the figure, was
# :measured:`by_numpy than JAX's scatter`. But ten thousand additions take so little time that the fixed
# :doc:`price of a call </tutorials/performance/dispatch_overhead>` may matter. In the table, each library
# reads, sets and adds ten times as many elements, at all places of an array in random order:
from jaxcap.results.tables import Table

many = experiments.MANY.run(budget_s=0.03).select(size=100_000)
rows = []
for function in (experiments.GATHER, experiments.SET, experiments.ADD):
    part = many.select(function=function)
    times = [
        part.only(library).time.short for library in sorted(part.variants)
    ]
    ratio = part.speedup(experiments.NUMPY, over=experiments.JAX)
    rows.append((function, *times, ratio.words))
columns = ("", *sorted(part.variants), "NumPy compared with JAX")
Table("A hundred thousand float32 numbers", columns, rows)

# %%
in_numpy = {
    function: many.select(function=function).speedup(
        experiments.NUMPY, over=experiments.JAX
    )
    for function in (experiments.GATHER, experiments.ADD, experiments.SORT)
}
gather_in_numpy = in_numpy[experiments.GATHER]
add_in_numpy = in_numpy[experiments.ADD]
sort_in_numpy = in_numpy[experiments.SORT]

# %%
# To add as many numbers, NumPy was :measured:`add_in_numpy than JAX`, and to read them,
# :measured:`gather_in_numpy`. For comparison, take a function without any index: to sort as many
# numbers, NumPy was :measured:`sort_in_numpy than JAX`.
#
# Takeaway
# --------
# Whether indexing is slow depends on what you compare it with. A product with a matrix of ones and
# zeros multiplies each value once for every group. With ten groups, adding at indices was
# :measured:`with_ten than that product`, and with a thousand, :measured:`by_scatter`. So index
# directly, unless you have measured on your device that a product is faster.
#
# To read a hundred thousand numbers at indices, NumPy was :measured:`gather_in_numpy than JAX`. To sort
# as many, without any index, it was :measured:`sort_in_numpy`. If your program sorts a lot, time that
# in both libraries.
#
# Try it yourself in :doc:`exercise 8 </exercises/8_updates>`. Next:
# :doc:`how you should pack parameters </tutorials/transformations/pytrees>`.
