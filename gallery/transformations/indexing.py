"""
Is indexing slow?
=================

An index can be an array: ``x[places]`` reads many elements in one line, and
``x.at[places].add(values)`` adds to many. A user of TensorFlow found reads of this kind `slow on TPUs
<https://github.com/tensorflow/tensorflow/issues/80253>`__, along with a common substitute, a product
with a matrix of ones and zeros. Is that product any faster in JAX, on this page's device? We time
both, and then compare JAX's indexing, and its sort, with NumPy's.
"""

# %%
# A gather reads, and a scatter writes
# ------------------------------------
# To read at many indices is to *gather*, and to write or add there is to *scatter*. So a sum by
# group is a scatter: it adds each value at the index of its group. You can write it with ``.at``, or
# call :func:`jax.ops.segment_sum`. Of these three values, the last two belong to group 0:
import jax
import jax.numpy as jnp
import numpy as np

values, groups = np.array([1.0, 2.0, 4.0]), np.array([2, 0, 0])
ways = {
    "values[groups]": lambda v, g: v[g],
    ".at[groups].add": lambda v, g: jnp.zeros(3).at[g].add(v),
    "segment_sum": lambda v, g: jax.ops.segment_sum(v, g, 3),
}

# %%
for name, way in ways.items():
    last = jax.make_jaxpr(way)(values, groups).eqns[-1]
    print(f"{name:16} {jax.jit(way)(values, groups)} {last.primitive}")

# %%
# JAX traces both sums to the same operation, a ``scatter-add``, and group 0 gets both of its values.
# NumPy's ``+=`` keeps only one of them, because it `reads at all indices, adds, and only then writes
# <https://numpy.org/doc/stable/user/basics.indexing.html#assigning-values-to-indexed-arrays>`__, so
# at a repeated index, the last write remains. To add for each index, as JAX does, NumPy has
# :meth:`np.add.at <numpy.ufunc.at>`:
once, each = np.zeros(3), np.zeros(3)
once[groups] += values
np.add.at(each, groups, values)
print("NumPy's +=:", once)
print("np.add.at: ", each)

# %%
# A product pays for every group
# ------------------------------
# The substitute for indices is a matrix with a row for each value: a one in the column of the
# value's group, and zeros elsewhere. This is called a *one-hot* matrix. The values times this matrix
# are the sums by group:
from jaxcap.kernels import updates
from jaxcap.report.source import Source

Source(updates.sums_by_scatter, updates.sums_by_product)

# %%
# The product needs no look-ups, but it multiplies each value by a one or a zero for every group. So
# its work grows with the number of groups, while the scatter always adds each value once. The fewer
# the groups, then, the better for the product: will it win with ten? Here, each way sums ten thousand
# values, and so do two functions of NumPy:
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
# How does NumPy's indexing compare?
# ----------------------------------
# With a thousand groups, NumPy's ``np.add.at`` was :measured:`by_numpy than JAX's scatter`. What about
# reads? The table has the times for a hundred thousand random ``float32`` numbers, which are read,
# set, or added at indices in random order. Its other three functions use no index. PyTorch's ``sort``
# returns indices, too. In which row will JAX and NumPy differ most?
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
gather = hundred_thousand.select(function=experiments.GATHER)
argsort = hundred_thousand.select(function=experiments.ARGSORT)
gather_in_numpy = gather.speedup(experiments.NUMPY, over=experiments.JAX)
argsort_in_numpy = argsort.speedup(experiments.NUMPY, over=experiments.JAX)

# %%
# NumPy's gather was :measured:`gather_in_numpy than JAX's`. For its sort, NumPy has `a library
# <https://github.com/numpy/x86-simd-sort>`__ that uses the vector instructions of x86 processors with
# AVX2 or AVX-512:
numpy_sorts_faster = claim(
    "NumPy sorts a hundred thousand float32 numbers faster than JAX",
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
# In 2022, a user `reported <https://github.com/jax-ml/jax/issues/10434>`__ that JAX's ``argsort``
# took several times as long as NumPy's on a CPU. Here both are stable, so NumPy's can't use that
# library, and was :measured:`argsort_in_numpy than JAX's`.
#
# Takeaway
# --------
sort_in_numpy = numpy_sorts_faster.estimate

# %%
# Whether indexing is slow depends on what you compare it with. A product with a matrix of ones and
# zeros multiplies each value once for every group. With ten groups, adding at indices was
# :measured:`with_ten than that product`, and with a thousand, :measured:`by_scatter`. So index
# directly, unless you have measured on your device that a product is faster.
#
# To read a hundred thousand numbers at indices, NumPy was :measured:`gather_in_numpy than JAX`, and to
# sort as many, :measured:`sort_in_numpy`. If your program sorts a lot, time that in both libraries.
#
# Try it yourself in :doc:`exercise 8 </exercises/8_updates>`. Next:
# :doc:`how you should pack parameters </tutorials/transformations/pytrees>`.
