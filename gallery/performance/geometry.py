"""
Should a geometry library move to JAX?
======================================

The library geomstats took its gradients from autograd, and a notebook asked whether JAX would serve it
better. The notebook timed single operations on small arrays, and ends with the heading *Conclusion*
and nothing below. We time such operations again, then the gradients of a thousand small matrices, and
write the conclusion.
"""

# %%
# Which single operations would gain?
# -----------------------------------
# Autograd wraps NumPy and records what it does. The notebook objects that autograd is no longer
# developed actively, that it never learned to use a GPU, and that it can't be faster than NumPy.
# But with JAX, you pay :doc:`the price of a call </tutorials/performance/dispatch_overhead>`, however few
# numbers you compute with.
#
# We time the notebook's four operations in 32 bits, with autograd, with ``jax.numpy``, called ``jnp``
# here, and with ``jit``. In the figure, each row is an operation with the size of its arrays. Where a
# mark lies to the right of the dashed line, the move would save time. For which rows do you expect that?
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.experiments import dispatch as experiments
from jaxcap.kernels import dispatch
from jaxcap.report import figures

results = experiments.DISPATCH.run(budget_s=0.012)

# %%
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
# time, and :measured:`lost` measurably more. A ``dot`` of five numbers takes nine additions and
# multiplications, so there is little to save, and the price of the call has to be paid all the same.
#
# ``jnp.einsum`` does some work in Python in each call, such as parsing its string, and ``jit`` spares you
# that. The notebook has no times for a compiled ``einsum``, because, says a comment, strings can't be
# passed to compiled functions. They needn't be: bind the string with ``partial``, and compile a function
# of the matrices alone.
multiply = jax.jit(partial(jnp.einsum, dispatch.EINSUM))
matrices = dispatch.inputs("einsum", size=5)
print(dispatch.EINSUM, multiply(*matrices).shape)

# %%
# For these matrices of five rows, the compiled ``einsum`` was :measured:`einsum_compiled than jnp's`.
#
# ``jit`` can't speed up LAPACK
# -----------------------------
# For ``eig`` and ``svd``, NumPy calls a library named LAPACK. What does JAX do? The program that ``jit``
# makes names the routines that it will call:
import re


def routines(function, *arrays):
    program = jax.jit(function).lower(*arrays).as_text()
    return re.findall(r"custom_call @(\w+)", program)


matrix = jnp.asarray(dispatch.inputs("eig", size=10)[0])
print("eig:  ", routines(jnp.linalg.eig, matrix))
print("svd:  ", routines(jnp.linalg.svd, matrix))
print("solve:", routines(jnp.linalg.solve, matrix, matrix))

# %%
# A name with ``lapack`` means that JAX calls LAPACK, too. Such routines were compiled long before your
# program, so ``jit`` can only call them as they are, and all that JAX does around them comes on top.
# That is our answer to `a question on Stack Overflow <https://stackoverflow.com/q/64517793>`__ that the
# notebook quotes: why was a compiled function that :doc:`solves a system of equations
# </results/experiments/dispatch-solve>` slower than NumPy's?
#
# Yet a remark in the notebook gives JAX a factor of four for ``dot``, ``svd`` and ``eig`` of matrices,
# without a size or a device. In ``svd``, JAX may have less to do: it computes in 32 bits, whereas NumPy
# `converts the matrix <https://github.com/numpy/numpy/blob/main/numpy/linalg/_linalg.py>`__ to 64 bits
# first. Is that worth a factor of four?
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
# Gradients in a loop are another matter
# --------------------------------------
# Geometry takes gradients, and for many matrices. Rotations that were measured, for example, are rarely
# exact, so each is replaced by the nearest orthogonal matrix, the product of the outer factors of its
# ``svd``. We differentiate one element of that:
import autograd
import autograd.numpy as anp


def corner(xp, matrix):
    left, _, right = xp.linalg.svd(matrix, full_matrices=False)
    return (left @ right)[..., 0, 1].sum()


by_autograd = autograd.grad(partial(corner, anp))
by_jax = jax.grad(partial(corner, jnp))
one = jax.jit(by_jax)
all_at_once = jax.jit(jax.vmap(by_jax))

# %%
# ``one`` takes a single matrix, and ``all_at_once`` a whole stack. Autograd can take a stack as well:
# ``corner`` adds up the elements, and the gradient of that sum holds the gradient for each matrix. Of
# these four ways to get a thousand gradients, how far apart are the slowest and the fastest?
import timeit

shape = (1000, 3, 3)
stack = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
in_jax = jnp.asarray(stack)
apart = list(in_jax)
ways = {
    "autograd, one by one": lambda: [by_autograd(matrix) for matrix in stack],
    "jit, one by one": lambda: [one(matrix) for matrix in apart],
    "autograd, as a stack": lambda: by_autograd(stack),
    "jit, with vmap": lambda: all_at_once(in_jax),
}


# %%
def wait(way):
    jax.block_until_ready(way())


for name, way in ways.items():
    wait(way)  # compiles
    seconds = timeit.repeat(partial(wait, way), number=1, repeat=10)
    print(f"{name:20} {1000 * np.median(seconds):6.1f} ms")

# %%
# These are medians of ten repeats in one process, good enough for a first look. Autograd's rule for
# ``svd`` turns the gradients into 64 bits, and JAX's stay in 32. In each call, autograd wraps the
# matrix, records what the function does with it, and goes through the record backwards, all in Python.
# JAX does this once, while it traces, and then calls what it has compiled. A stack needs one call for
# all matrices, in either library. But autograd needs a function that was written for stacks, and
# ``vmap`` takes the one for a single matrix.
#
# At a special matrix, the gradient may fail
# ------------------------------------------
# Are the gradients right? At the thousand random matrices, the libraries should agree. Then we try the
# identity, which is orthogonal already:
difference = np.abs(by_autograd(stack) - all_at_once(in_jax))
print(f"at random matrices, at most {difference.max():.0e} apart")
print(one(jnp.eye(3)))

step = 1e-3 * np.outer([1, 0, 0], [0, 1, 0])
up, down = corner(np, np.eye(3) + step), corner(np, np.eye(3) - step)
print(f"difference quotient for one element: {(up - down) / 2e-3:.2f}")

# %%
# Around the identity, the nearest orthogonal matrix changes smoothly, so a gradient exists, and the
# difference quotient comes close to one of its elements. But the singular values are all 1 here, and
# JAX's rule for ``svd`` divides by differences of their squares. `Autograd's rule
# <https://github.com/HIPS/autograd/blob/master/autograd/numpy/linalg.py>`__ divides by the same
# differences, so this is no reason to stay with autograd. The remedy is to write :doc:`a rule of your
# own </tutorials/transformations/grad>` for the whole function.
#
# Takeaway
# --------
einsum_compiled = results.speedup(
    "jit", over="jnp", operation="einsum", arrays="JAX", size=5
)
svd_compiled = four_times_quicker.estimate

# %%
# The missing conclusion: judge the move by loops of gradients, rather than by single values. Of
# :measured:`compared` cases of single operations, a move from autograd to ``jit`` would speed up
# :measured:`gained` and slow down :measured:`lost`, and the ``svd`` of two hundred rows was
# :measured:`svd_compiled than NumPy's`. But autograd derives a gradient anew in each call, whereas JAX
# does so once, while it traces, and ``vmap`` turns a loop of gradients into one call. So time the
# longest function that you can compile as a whole, and compare its gradients with difference quotients
# at the special matrices of your field.
#
# Next: :doc:`linear algebra </tutorials/performance/linear_algebra>` on matrices so large that
# the price of a call no longer counts.
