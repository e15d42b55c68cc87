"""
Should a geometry library move to JAX?
======================================

A notebook once asked this of geomstats, a library for geometry that took its gradients from
autograd. It timed single operations on small arrays, found NumPy far ahead in most of them, and
ends with the heading *Conclusion* and nothing below. We measure these operations again, time a
gradient as well, turn a loop of a thousand calls into a single one, and write the conclusion.
"""

# %%
# The case for a move, and the case against
# -----------------------------------------
# Autograd wraps NumPy and records what it does. The notebook objects that it is no longer developed
# actively, that it never learned to use a GPU, and that it can't be faster than NumPy. JAX computes
# gradients, too, but it also compiles functions, maps them over stacks of arrays, and runs on a
# GPU. The case against it is :doc:`the price of a call
# </tutorials/performance/dispatch_overhead>`, which you pay however few numbers you compute with.
#
# So whether the move pays depends on how much work there is in each call. The notebook names four
# operations: ``dot``, ``einsum``, ``eig`` and ``svd``. We time them in 32 bits, with autograd, with
# ``jax.numpy``, called ``jnp`` here, and with ``jit``, which compiles them.
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.experiments import dispatch as experiments
from jaxcap.kernels import dispatch
from jaxcap.report import figures

results = experiments.DISPATCH.run(budget_s=0.012)

# %%
# Which single operations would gain?
# -----------------------------------
# Each row of the figure is an operation with the size of its arrays. Where a mark lies to the right
# of the dashed line, the move would save time. For which rows do you expect that?
own = results.select(arrays="its own")
today = "autograd" if "autograd" in results.variants else "NumPy"
cases = {}
for result, speedup in own.paired_speedups(today):
    case = result.parameters["operation"], result.parameters["size"]
    cases.setdefault(case, {})[result.variant] = speedup

# %%
verdicts = [moved["jit"].verdict for moved in cases.values()]
gained, lost = (
    f"{verdicts.count(word) or 'none'}" for word in ("faster", "slower")
)
compared = f"{len(verdicts)}"
colours = figures.palette(("jnp", "jit"))

# %%
figure, axes = plt.subplots(figsize=(6, 4.2))
for row, moved in enumerate(cases.values()):
    for (variant, colour), shift in zip(colours.items(), (-0.16, 0.16)):
        ratio, place = moved[variant], row + shift
        axes.plot([ratio.low, ratio.high], [place, place], color=colour)
        axes.plot(ratio.value, place, "o", color=colour)
axes.axvline(1, color=figures.INK, linestyle="--")
axes.set_yticks(range(len(cases)), [f"{name}, {n:,}" for name, n in cases])
axes.invert_yaxis()
axes.set(xscale="log", xlabel=f"times as fast as {today} (higher is better)")
axes.xaxis.set_major_formatter("{x:g}")
finding = f"With jit, {gained} of {compared} cases gain, and {lost} lose"
figures.headline(figure, finding, "Moved to jnp or to jit, with intervals")
for variant, colour in colours.items():
    axes.plot([], [], "o-", color=colour, label=variant)
_ = figure.legend(loc="outside lower center", ncols=2)

# sphinx_gallery_thumbnail_number = 1

# %%
# With ``jit``, :measured:`gained` of these :measured:`compared` cases would take measurably less
# time, and :measured:`lost` measurably more. What decides is how much computing there is to make up
# for the price of a call: a ``dot`` of five numbers takes nine additions and multiplications, and the
# ``svd`` of two hundred rows takes millions.
#
# A gradient has a price of its own
# ---------------------------------
# Those were values, but geomstats needs gradients, too. How does the gradient of a ``dot`` of five
# numbers compare with its value, in each library? ``microseconds`` takes the median of twenty repeats
# in this process, which is good enough for a first look:
import timeit


def microseconds(call, number):
    def wait():
        jax.block_until_ready(call())

    wait()
    seconds = timeit.repeat(wait, number=number, repeat=20)
    return 1e6 * np.median(seconds) / number


# %%
from functools import partial

import autograd
import autograd.numpy as anp

five = dispatch.inputs("dot", size=5)
on_device = jax.device_put(five)
calls = {
    "autograd, value": partial(anp.dot, *five),
    "autograd, gradient": partial(autograd.grad(anp.dot), *five),
    "jit, value": partial(jax.jit(jnp.dot), *on_device),
    "jit, gradient": partial(jax.jit(jax.grad(jnp.dot)), *on_device),
}

# %%
for name, call in calls.items():
    print(f"{name:18} {microseconds(call, 1000):5.1f} µs")

# %%
# In each call, autograd wraps the arrays, records what the function does with them, and goes through
# the record backwards, all in Python. JAX does this once, while it traces. What it compiles is a
# program like any other, so that a gradient costs one call, as its value does.
#
# ``einsum`` compiles once its string is bound
# --------------------------------------------
# The notebook has no times for a compiled ``einsum``, because, says a comment, strings can't be
# passed to compiled functions. Its string is ``ni,ni->ni``, which multiplies two matrices element by
# element:
from textwrap import fill

matrices = jax.device_put(dispatch.inputs("einsum", size=10))
try:
    jax.jit(jnp.einsum)(dispatch.EINSUM, *matrices)
except TypeError as error:
    print(fill(str(error), 75))

# %%
# The arguments of a compiled function are arrays, numbers, or trees of these, and a string is none of
# them. So bind the string first, with ``partial``, and compile a function of the matrices alone:
multiply = jax.jit(partial(jnp.einsum, dispatch.EINSUM))
expected = np.einsum(dispatch.EINSUM, *matrices)
print(np.array_equal(multiply(*matrices), expected))

# %%
# Declaring the string :doc:`static </tutorials/transformations/static_arguments>`, as the error
# suggests, works as well. ``jnp.einsum`` parses its string and plans the computation in Python, anew in
# each call, whereas a compiled function does so only while it is traced. For two matrices of five rows,
# the compiled ``einsum`` was :measured:`einsum_compiled than jnp's`.
#
# ``jit`` can't speed up LAPACK
# -----------------------------
# Finding eigenvalues or singular values takes more work, which NumPy leaves to a library called
# LAPACK. And JAX? The program that ``jit`` makes names the routines that it will call:
import re


def routines(function, *arrays):
    program = jax.jit(function).lower(*arrays).as_text()
    return re.findall(r"custom_call @(\w+)", program)


matrix = jnp.asarray(dispatch.inputs("eig", size=10)[0])
print("eig:  ", routines(jnp.linalg.eig, matrix))
print("svd:  ", routines(jnp.linalg.svd, matrix))
print("solve:", routines(jnp.linalg.solve, matrix, matrix))

# %%
# A name with ``lapack`` means that JAX leaves the work to LAPACK, too. Such routines were compiled
# long before your program, so ``jit`` can only call them as they are. The larger the matrix, the
# longer they take, and the less the price of the call matters. With five rows, the compiled ``eig`` was
# :measured:`eig_of_five than NumPy's`, and with fifty, it was :measured:`eig_of_fifty than NumPy's`.
#
# The notebook, however, ends with a remark that gives JAX a factor of four for ``dot``, ``svd`` and
# ``eig`` of matrices. It doesn't say on which device or at which size. For ``svd`` and ``eig``, JAX may
# indeed have less to do: it computes in 32 bits, whereas NumPy `converts the matrix
# <https://github.com/numpy/numpy/blob/main/numpy/linalg/_linalg.py>`__ to 64 bits first. Is that worth
# a factor of four?
from jaxcap.report.claims import claim, speedup_of

four_times_quicker = claim(
    "the singular value decomposition of a matrix of 200 rows is more than "
    "four times faster in JAX than in NumPy",
    results,
    speedup_of(
        "jit", over="NumPy", operation="svd", arrays="its own", size=200
    ),
    above=4,
)
four_times_quicker


# %%
# One size on one machine can't settle whether the remark was right about others. The notebook also
# quotes `a question on Stack Overflow <https://stackoverflow.com/q/64517793>`__: why is a compiled
# function that :doc:`solves a system of equations </results/experiments/dispatch-solve>` slower in
# JAX than in NumPy? The notebook's answer is also ours. Both libraries leave the solving to LAPACK, so
# ``jit`` has little to improve, and on small arrays the price of JAX's call shows.
#
# A thousand matrices in one call
# -------------------------------
# So far, each call had one matrix, but geometry is full of loops over many. Rotations that were
# measured, for example, are rarely exact, so each of them has to be replaced by the orthogonal
# matrix nearest to it, which is the product of the outer factors of its ``svd``:
def nearest(xp, matrix):
    left, _, right = xp.linalg.svd(matrix)
    return left @ right


by_jax = partial(nearest, jnp)
one = jax.jit(by_jax)
all_at_once = jax.jit(jax.vmap(by_jax))

# %%
# ``one`` takes a single matrix, and ``all_at_once`` a whole stack, because ``vmap`` maps the
# function over it. NumPy's ``svd`` accepts stacks, too, so each library has two ways to treat a
# thousand matrices. Which of the four would you bet on?
shape = (1000, 3, 3)
stack = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
in_jax = jnp.asarray(stack)
apart = list(in_jax)
ways = {
    "NumPy, one by one": lambda: [nearest(np, matrix) for matrix in stack],
    "jit, one by one": lambda: [one(matrix) for matrix in apart],
    "NumPy, as a stack": lambda: nearest(np, stack),
    "jit, with vmap": lambda: all_at_once(in_jax),
}

# %%
for name, way in ways.items():
    print(f"{name:17} {microseconds(way, 1) / 1000:6.2f} ms")


# %%
# In a loop, you pay for a thousand calls, and with a stack for one, whichever library you use. NumPy's
# ``svd`` takes a stack because its authors provided for that. ``vmap`` makes a function for stacks out
# of one for a single matrix, which helps where nobody has written the stacked version, such as for the
# gradient of your own function.
#
# At a special matrix, the gradient may fail
# ------------------------------------------
# We differentiate one element of the nearest orthogonal matrix, for all thousand matrices in one call.
# Then we do the same for a special matrix, the identity, which is orthogonal already:
def corner(matrix):
    return nearest(jnp, matrix)[0, 1]


slopes = jax.jit(jax.vmap(jax.grad(corner)))(in_jax)
print(slopes.shape, "all finite:", bool(jnp.isfinite(slopes).all()))
print(jax.grad(corner)(jnp.eye(3)))

# %%
# Mathematically, the gradient at the identity exists. But JAX's rule for ``svd`` divides by
# differences of squared singular values, and all singular values of an orthogonal matrix are 1. Where
# rounding happens to separate them, the gradient can even be finite and wrong. `Autograd's rule
# <https://github.com/HIPS/autograd/blob/master/autograd/numpy/linalg.py>`__ divides by the same
# differences, so this is no reason to stay with autograd. The remedy is to write :doc:`a rule of your
# own </tutorials/transformations/grad>` for the whole function.
#
# Not all rules are the same in both libraries: autograd differentiates the eigenvectors of ``eig``,
# whereas JAX raises an error unless you set ``enable_eigvec_derivs`` in :func:`jax.lax.linalg.eig`. So
# before you move, compare the gradients that your users need with difference quotients, above all at
# special matrices.
#
# Takeaway
# --------
einsum_compiled = results.speedup(
    "jit", over="jnp", operation="einsum", arrays="JAX", size=5
)
svd_compiled = four_times_quicker.estimate
eig_of_five, eig_of_fifty = (
    results.speedup(
        "jit", over="NumPy", operation="eig", arrays="its own", size=size
    )
    for size in (5, 50)
)

# %%
# The missing conclusion: judge the move by loops and gradients, rather than by single calls. Of four
# operations, timed in :measured:`compared` cases, a move from autograd to ``jit`` would speed up
# :measured:`gained` and slow down :measured:`lost`. The ``svd`` of two hundred rows was
# :measured:`svd_compiled than NumPy's`. If your users only compute values, one small matrix at a time,
# such figures are all that they will notice. But autograd builds a gradient anew in each call, and
# compiled JAX once. And a loop over many matrices, or over their gradients, becomes one call by
# ``vmap`` and ``jit``. So time the longest function that you can compile as a whole, and check its
# gradients at the special matrices of your field.
#
# Next: :doc:`linear algebra </tutorials/performance/linear_algebra>` on matrices so large that
# the price of a call no longer counts.
