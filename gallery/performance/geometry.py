"""
Should a geometry library move to JAX?
======================================

The authors of geomstats, a library for geometry, once asked this in a notebook. They timed single
operations on small arrays, and in most of them NumPy was far ahead. Then comes the heading
*Conclusion*, with nothing below it. This page measures their operations again, finds out where the
time goes, tests gradients, and writes the conclusion.
"""

# %%
# What the library would gain, and what it would pay
# --------------------------------------------------
# The library took its gradients from autograd, which wraps NumPy and records what it does. The
# notebook gives good reasons to leave autograd: its authors had moved on to JAX, it never learned
# to use a GPU, and it computes at NumPy's speed at best. JAX compiles, maps and differentiates, on
# whatever device there is. The case against JAX is :doc:`the price of a call
# </tutorials/performance/dispatch_overhead>`, which you pay for five numbers as for a million. On a
# CPU, there is a second price: if XLA counts a thousand operations or more in a program, it hands
# the program to another thread.
#
# We reuse the experiment of the page on :doc:`small arrays
# </tutorials/performance/dispatch_overhead>`, with all four of its operations: ``dot``, ``einsum``,
# ``eig`` and ``svd``. We time NumPy, autograd, ``jnp``, ``jit``, and ``jit`` wrapped anew in each
# call.
#
# All arrays have 32 bits, but the work isn't quite the same: for ``eig``, ``svd`` and ``solve``,
# ``numpy.linalg`` converts them to 64 bits, computes, and converts the result back, whereas JAX
# computes in 32 bits. So part of any difference between the times of these three may be due to
# fewer bits.
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.experiments import dispatch as experiments
from jaxcap.kernels import dispatch
from jaxcap.report import figures

results = experiments.DISPATCH.run(budget_s=0.012)

# %%
# How often a single operation would gain
# ---------------------------------------
# If the library moved from autograd to JAX, how many single operations would become faster, and how
# many slower? Each library gets arrays of its own, and each size counts separately:
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

# %%
figure, axes = plt.subplots(figsize=(6, 3.6))
for row, moved in enumerate(cases.values()):
    for variant, colour in figures.palette(("jnp", "jit")).items():
        ratio = moved[variant]
        axes.plot([ratio.low, ratio.high], [row, row], color=colour)
        axes.plot(ratio.value, row, "o", color=colour)
axes.axvline(1, color=figures.INK, linestyle="--")
axes.set_yticks(range(len(cases)), [f"{name}, {n:,}" for name, n in cases])
axes.invert_yaxis()
axes.set(xscale="log", xlabel=f"times as fast as {today} (higher is better)")
axes.xaxis.set_major_formatter("{x:g}")
finding = f"With jit, {gained} of {compared} cases gain, and {lost} lose"
figures.headline(figure, finding, "Moved to jnp or to jit, with intervals")
for variant, colour in figures.palette(("jnp", "jit")).items():
    axes.plot([], [], "o-", color=colour, label=variant)
_ = figure.legend(loc="outside lower center", ncols=2)

# sphinx_gallery_thumbnail_number = 1

# %%
# After the move to ``jit``, :measured:`gained` of these :measured:`compared` cases would take
# measurably less time, and :measured:`lost` measurably more. Called one at a time, every operation
# pays for dispatch, so the authors had reason to hesitate. But a single operation is the worst case
# for JAX, with nothing to fuse. Algorithms are chains of operations, and if you compile a whole
# chain, you pay for one call.
#
# ``einsum``, ``eig`` and ``svd`` need a closer look, each for a different reason.
#
# einsum, and why it seemed not to compile
# ----------------------------------------
# In the notebook's tables, one column of ``einsum`` is empty, because ``jit`` wouldn't take the
# function. The culprit is the string that says what to multiply. Here, ``ni,ni->ni`` multiplies two
# matrices element by element:
from textwrap import fill

matrices = jax.device_put(dispatch.inputs("einsum", size=10))
try:
    jax.jit(jnp.einsum)(dispatch.EINSUM, *matrices)
except TypeError as error:
    print(fill(str(error), 75))

# %%
# The arguments of a compiled function are arrays, or trees of arrays, and a string is neither.
# There are two ways to get one past ``jit``. You can bind it before you compile, as ``partial``
# does here. Or you can declare it static, and then each new string compiles another program, as
# :doc:`the page on static arguments </tutorials/transformations/static_arguments>` shows. Both give
# what NumPy gives:
from functools import partial

bound = jax.jit(partial(jnp.einsum, dispatch.EINSUM))
declared = jax.jit(jnp.einsum, static_argnums=0)
expected = np.einsum(dispatch.EINSUM, *matrices)
print(np.array_equal(bound(*matrices), expected))
print(np.array_equal(declared(dispatch.EINSUM, *matrices), expected))

# %%
# Without ``jit``, ``jnp.einsum`` parses the string and plans the computation in Python, in every
# call. Compiled, it does so only while it is traced. Compare the columns ``jnp`` and ``jit``. (The
# first column says whether the functions were given arrays of their own library or JAX's.)
experiments.tabulate(results, "einsum")

# %%
# For two matrices of five rows, the compiled ``einsum`` was :measured:`einsum_compiled than jnp's`.
#
# eig, where LAPACK does the work
# -------------------------------
# Finding the eigenvalues of a general matrix is real work, so the larger the matrix, the less
# dispatch should count. NumPy calls LAPACK for this. JAX's program names the routines that JAX
# calls:
import re


def routines(function, *arrays):
    program = jax.jit(function).lower(*arrays).as_text()
    return re.findall(r"custom_call @(\w+)", program)


matrix = jnp.asarray(dispatch.inputs("eig", size=10)[0])
print(jax.default_backend(), routines(jnp.linalg.eig, matrix))

# %%
# A name with ``lapack`` stands for a routine of the library that NumPy uses, too, called from
# within XLA. On a GPU, :func:`jax.lax.linalg.eig` has three implementations to choose from:
# cuSOLVER, where the installed version is new enough; MAGMA, if you install it; and LAPACK on the
# host, with the matrix sent there and back. Do the libraries come closer as the matrix grows?
eig = results.select(operation="eig", arrays="its own")
_ = figures.scaling(
    eig,
    x="size",
    over=experiments.NUMPY,
    about=experiments.JIT,
    xlabel="rows of the matrix",
    title="eig on each library's own arrays",
)

# %%
# With five rows, the compiled ``eig`` was :measured:`eig_of_five than NumPy's`. With fifty, it was
# :measured:`eig_of_fifty than NumPy's`. NumPy's ``eig`` also spends time outside LAPACK, on checks
# and conversions, so a call of it isn't cheap either. On large matrices, LAPACK takes nearly all
# the time, and it has less to do for JAX's 32 bits than for NumPy's 64.
#
# ``svd``, four times quicker?
# ----------------------------
# The notebook closes with a sentence about a larger series of tests, but without its table: for
# ``dot``, ``svd`` and ``eig`` of matrices, it gives JAX a factor of four over NumPy and autograd.
# We test that for ``svd``. The singular value decomposition writes a matrix as two orthogonal
# matrices (rotations or reflections) with a stretch in between, and geometry is full of it: means
# of rotations, nearest orthogonal frames, principal components.
#
# On a CPU, JAX calls LAPACK's ``gesdd`` for it, and so does NumPy. What differs is dispatch, the
# number of bits, and the build of LAPACK with its threads: NumPy's wheels for Linux bring their own
# as part of OpenBLAS, and JAX borrows SciPy's. Do these differences come to a factor of four?
experiments.tabulate(results, "svd")

# %%
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
# Our measurement doesn't settle whether the notebook was right, because its sentence names neither
# device nor size, and may hold for another device or other sizes.
#
# ``solve``, and a thread that has to wake
# ----------------------------------------
# The notebook also quotes `a question on Stack Overflow <https://stackoverflow.com/q/64517793>`_.
# Why are these lines slower in JAX than in NumPy, although they are compiled? ::
#
#     w = jnp.linalg.solve(c, m)
#     return w, -0.5 * (m.conj() * w).sum(0)
#
# All that ``jit`` can fuse is the second line, which is cheap compared with solving the system. To
# solve it, NumPy calls a single routine of LAPACK, ``gesv``. What does JAX call?
system = dispatch.complex_system(30, 10)
print(jax.default_backend(), routines(jnp.linalg.solve, *system))

# %%
# On a CPU, JAX factorises the matrix with ``getrf``, turns the resulting swaps of rows into a
# permutation, and calls ``trsm`` for each of the two triangular factors. The question gives no
# sizes, so we try several, with ten right-hand sides in complex64:
systems = experiments.SOLVE.run(budget_s=0.05)
systems.speedups(over="NumPy")

# %%
# ``jit`` can't speed up routines that were compiled long ago. If JAX were slow because it makes
# three calls where NumPy makes one, the smallest systems would suffer most. There is another
# candidate, the thread that XLA wakes. How many operations does XLA count, without those of LAPACK,
# which it doesn't see?
solve = jax.jit(partial(dispatch.solve_and_reduce, jnp))
for size in (10, 30, 100):
    program = solve.lower(*dispatch.complex_system(size, 10)).compile()
    flops = program.cost_analysis()["flops"]
    print(f"{size:3} equations: {flops:6,.0f} operations")


# %%
# On a CPU, XLA runs a program with a count below a thousand in the thread that calls it, and hands
# the others to another thread. For a system of middling size, waking that thread can take as long
# as solving the system. For a large one, it no longer matters.
#
# Gradients need a test of their own
# ----------------------------------
# The library lives on gradients. This function finds the orthogonal matrix nearest to a given one,
# by multiplying the two outer factors of its ``svd``. We differentiate one element of the result,
# at a matrix that is orthogonal already:
def by_svd(matrix):
    left, _, right = jnp.linalg.svd(matrix)
    return left @ right


print(jax.grad(lambda m: by_svd(m)[0, 1])(jnp.eye(3)))


# %%
# This gradient exists, but JAX's formula for ``svd`` divides by differences between squares of
# singular values, and those of an orthogonal matrix are all 1. If they come out exactly equal, as
# here, you get NaN. If rounding separates them, you may get finite numbers that are wrong.
# `Autograd's formula <https://github.com/HIPS/autograd/blob/master/autograd/numpy/linalg.py>`__
# divides by the same differences if ``full_matrices`` is false. Otherwise, autograd raises an error.
#
# The remedy is to tell JAX the derivative of the whole function. It has a formula that divides by
# sums of singular values, where the one for ``svd`` divides by differences:
@jax.custom_jvp
def nearest_orthogonal(matrix):
    return by_svd(matrix)


@nearest_orthogonal.defjvp
def derivative(matrices, tangents):
    (matrix,), (tangent,) = matrices, tangents
    left, stretch, right = jnp.linalg.svd(matrix)
    turned = left.T @ tangent @ right.T
    turn = (turned - turned.T) / (stretch[:, None] + stretch)
    return left @ right, left @ turn @ right


# %%
# That such a formula gives finite numbers doesn't make it right. ``check_grads`` compares it with
# difference quotients, and raises an error where they disagree. In 64 bits, the test is strict:
from jax.test_util import check_grads

rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
with jax.enable_x64(True):
    for special in jnp.eye(3), jnp.asarray(rotation):
        check_grads(nearest_orthogonal, (special,), order=1)

print(jax.grad(lambda m: nearest_orthogonal(m)[0, 1])(jnp.eye(3)))


# %%
# There was no error, and the NaN are gone. Only singular matrices remain without a gradient, and
# rightly, because they have more than one nearest orthogonal matrix. (For a second derivative, JAX
# would differentiate ``svd`` after all, with the same trouble.)
#
# The gradient of eigenvectors doesn't exist for every matrix, either. Autograd computes it unasked,
# while :func:`jax.numpy.linalg.eig` refuses. By ``enable_eigvec_derivs``, you promise that your
# matrices are suitable. Is the one from above?
def sizes_in_eigenvectors(matrix):
    options = {
        "compute_left_eigenvectors": False,
        "enable_eigvec_derivs": True,
    }
    return abs(jax.lax.linalg.eig(matrix, **options)[1])


with jax.enable_x64(True):
    exact = jnp.asarray(matrix, "float64")
    check_grads(sizes_in_eigenvectors, (exact,), order=1, modes=["rev"])


# %%
# It is. Eigenvalues alone, from :func:`jax.numpy.linalg.eigvals`, have gradients without a promise.
# So before you move, test gradients at your users' matrices, and above all at the special ones.
#
# The missing conclusion: move the loops, not the calls
# -----------------------------------------------------
# If your users call one function on one small matrix at a time, the price of a call is all that
# they will notice. Look up your operation and size above, and let the figure decide.
#
# If they run long loops over many small matrices, such as a mean of thousands of rotations, one
# call can do the work of a thousand: ``vmap`` maps a function that was written for a single matrix.
# NumPy's ``svd`` takes a stack of matrices, too, so it belongs in the comparison:
def by_numpy(matrices):
    left, _, right = np.linalg.svd(matrices)
    return left @ right


shape = (1000, 3, 3)
many = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
all_nearest = partial(
    jax.jit(jax.vmap(nearest_orthogonal)), jnp.asarray(many)
)
off = abs(all_nearest() - by_numpy(many)).max()
print(f"JAX and NumPy differ by {off:.0e} at most")

# %%
# How long do they take? This is a first look, with the median of twenty calls in a single process:
import timeit

ways = {
    "NumPy, one by one": lambda: [by_numpy(matrix) for matrix in many],
    "NumPy, as a stack": lambda: by_numpy(many),
    "jit and vmap": lambda: all_nearest().block_until_ready(),
}
for name, way in ways.items():
    way()
    seconds = timeit.repeat(way, number=1, repeat=20)
    print(f"{name:17} {1e3 * np.median(seconds):5.2f} ms")

# %%
# A fair comparison is that of the last two lines. But NumPy takes stacks only where somebody wrote
# a version for them. JAX makes one from any function, such as your own or its gradient: ``vmap``
# over the matrices and ``jit`` around the loop turn all of it into one call.
#
# So move the loops, time the longest one before you decide, and leave single calls alone. If you
# can't tell which kind of user you have, write against NumPy's interface, and let them choose the
# library.
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
# We timed four operations, in :measured:`compared` cases of operation and size. Moving geomstats
# from autograd to ``jit`` would speed up :measured:`gained` of these cases, and slow down
# :measured:`lost`. ``svd`` of two hundred rows was :measured:`svd_compiled than NumPy's`. But don't
# judge JAX by single operations if your program chains them: time the longest function that you can
# compile as a whole. And test gradients at the special matrices of your field. Where singular
# values coincide, a gradient through the factors of ``svd`` is NaN or, after rounding, possibly
# finite and wrong. Then give JAX the derivative of the whole function.
#
# Next: :doc:`linear algebra </tutorials/performance/linear_algebra>` on matrices so large that
# dispatch no longer counts.
