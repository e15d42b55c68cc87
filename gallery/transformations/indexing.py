"""
Is indexing slow?
=================

An index can be an array: ``x[places]`` reads many elements in one line, and
``x.at[places].add(values)`` adds to many. On TPUs, TensorFlow's reads of this kind `were found to be
slow <https://github.com/tensorflow/tensorflow/issues/80253>`__, and some programs multiply by a
matrix of ones and zeros instead. Another way round is to sort first. This page measures whether
either detour is faster than plain indexing in JAX, and how JAX compares with NumPy and PyTorch.
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
# NumPy's ``+=`` drops one of them, because it `reads at all indices, adds, and only then writes
# <https://numpy.org/doc/stable/user/basics.indexing.html#assigning-values-to-indexed-arrays>`__. At
# a repeated index, only the last write remains. To add for each index, as JAX does, NumPy has
# :meth:`np.add.at <numpy.ufunc.at>`:
once, each = np.zeros(3), np.zeros(3)
once[groups] += values
np.add.at(each, groups, values)
print("NumPy's +=:", once)
print("np.add.at: ", each)

# %%
# A product works through all groups for each value
# -------------------------------------------------
# For the first detour, build a matrix with a row for each value: a one in the column of the value's
# group, and zeros elsewhere. This is called a *one-hot* matrix. The values times this matrix are
# the sums by group:
from jaxcap.kernels import updates
from jaxcap.report.source import Source

Source(updates.sums_by_scatter, updates.sums_by_product)

# %%
# The product needs no look-ups, but it multiplies each value by a one or a zero for every group. So
# its work grows with the number of groups, while the scatter always adds each value once. Are ten
# groups few enough for the product to be faster? Each way sums ten thousand values, and NumPy's
# ``np.add.at`` and ``np.bincount`` are drawn beside them:
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
by_gather = by_group.select(of=experiments.READ).speedup(
    experiments.INDEXING, over=experiments.PRODUCT, groups=1000
)


# %%
# With ten groups, adding at indices was :measured:`with_ten than the product`. With a thousand, it
# was :measured:`by_scatter`.
#
# The same matrix can also replace a gather. Multiplied by a table, it picks one entry for each
# value, but goes through all of the others as well. From a table of a thousand entries, reading at
# indices was :measured:`by_gather than by a product`.
#
# Sorting first adds the price of a sort
# --------------------------------------
# The second detour puts the values of each group side by side, and tells JAX so:
def sums_by_sorting(values, groups, count):
    order = jnp.argsort(groups)
    return jax.ops.segment_sum(
        values[order], groups[order], count, indices_are_sorted=True
    )


sums_by_sorting(values, groups, 3)

# %%
# The scatter may now be quicker, but it goes through the values only once anyway. A sort has to look at
# each of them several times, because a value's place depends on all the others.
#
# To find out, we time such functions with a hundred thousand random ``float32`` numbers in JAX and
# NumPy, and in PyTorch if that is installed. The indices are in random order, and *set* is allowed
# to overwrite its array. PyTorch's ``sort`` returns the indices as well, and ``argsort`` keeps
# equal numbers in their order in all three libraries:
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
in_jax, apart = {}, {}
for function in experiments.FUNCTIONS:
    part = hundred_thousand.select(function=function)
    in_jax[function] = part.only(experiments.JAX).time
    ratio = part.speedup(experiments.NUMPY, over=experiments.JAX)
    apart[function] = abs(np.log(ratio.value))
slowest = max(in_jax, key=lambda function: in_jax[function].value)
furthest = max(apart, key=apart.get)
add_time, argsort_time = in_jax[experiments.ADD], in_jax[experiments.ARGSORT]

# %%
# In JAX, :measured:`slowest` took longest. Adding at indices took :measured:`add_time`, and the
# ``argsort`` that would come before it :measured:`argsort_time`. (The groups of the detour are integers,
# whose sort may take another time than that of ``float32`` numbers.)
#
# JAX and NumPy were furthest apart in :measured:`furthest`. The two have different algorithms for
# sorting: JAX compiles `XLA's sort <https://docs.jax.dev/en/latest/_autosummary/jax.lax.sort.html>`__, while
# NumPy brings `a library <https://github.com/numpy/x86-simd-sort>`__ that sorts with the vector
# instructions of x86 processors. In 2022, a user of JAX `reported
# <https://github.com/jax-ml/jax/issues/10434>`__ that an ``argsort`` on a CPU took several times as
# long as NumPy's. Does NumPy still sort faster?
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
# Takeaway
# --------
sort_in_numpy = numpy_sorts_faster.estimate

# %%
# Index directly, and take a detour only if you have measured that it is faster on your device.
# Indexing touches one place for each value. A product with a matrix of ones and zeros works through
# all groups for each value. With ten groups, adding at indices was
# :measured:`with_ten than the product`, and with a thousand, :measured:`by_scatter`.
#
# If you sort first, you pay for the sort as well. With a hundred thousand numbers, JAX took
# :measured:`add_time` to add at indices, and :measured:`argsort_time` for an ``argsort``. What a sort
# costs also depends on the library: for ``float32`` numbers on this page's machine, NumPy's was
# :measured:`sort_in_numpy than JAX's`.
#
# Try it yourself in :doc:`exercise 8 </exercises/8_updates>`. Next:
# :doc:`how you should pack parameters </tutorials/transformations/pytrees>`.
