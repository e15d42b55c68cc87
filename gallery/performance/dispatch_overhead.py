"""
Why is JAX slow on small arrays?
================================

A call costs something before anything is computed: *dispatch*. After this page you will know how
much that is, what it adds to wrap in each call, how :func:`jax.jit` pays it once instead of many
times, and from which size on it no longer matters.
"""

# %%
# Next to nothing to compute
# --------------------------
# The scalar product of two vectors of five numbers is nine operations. A CPU does those in a few
# nanoseconds, so the time of a call is nearly all something else. Both libraries get the same
# 32-bit numbers. Same answer first:
import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import dispatch

a, b = dispatch.inputs("dot", size=5)
a_jax, b_jax = jax.device_put((a, b))
print(np.dot(a, b), jnp.dot(a_jax, b_jax))

# %%
# What else is there? NumPy calls a C function. JAX finds the program that was compiled for these shapes
# and types, hands it to a runtime that can serve many devices, and wraps the result.
#
# The experiment
# --------------
# The authors of a geometry library, who thought of moving from NumPy to JAX, asked in a notebook what
# that costs. Their question, repeated here: three operations by NumPy, by autograd (JAX's predecessor,
# which wraps NumPy), by ``jnp``, compiled once, and with :func:`jax.jit` applied *in each call*, as the
# notebook did. Each library gets arrays of its own, and all of them get JAX's as well.
#
# The notebook gave NumPy 64-bit and JAX 32-bit numbers in half of its tables. Here all have 32
# bits.
from jaxcap.experiments import dispatch as experiments

results = experiments.DISPATCH.run(budget_s=0.02)

# %%
from jaxcap.results.tables import Table

VARIANTS = results.variants


def tabulate(operation):
    """Time by kind of array and by size; a column for each variant."""
    chosen = results.select(operation=operation)
    rows = []
    for point in (r.parameters for r in chosen.select(variant="jit").results):
        times = [chosen.only(v, **point).time.short for v in VARIANTS]
        rows.append((point["arrays"], f"{point['size']:,}", *times))
    return Table(f"Time of {operation}", ("arrays", "size", *VARIANTS), rows)


tabulate("dot")

# %%
# Read down a column. Where the time hardly grows with the size, it is dispatch. So how do the two
# compare on five numbers, each on its own arrays?
from jaxcap.report.claims import claim, speedup_of

small_is_slow = claim(
    "a scalar product of five numbers takes longer in JAX than in NumPy",
    results,
    speedup_of(
        "jnp", over="NumPy", operation="dot", arrays="its own", size=5
    ),
    below=1,
)
small_is_slow

# %%
# The column of ``dot``, drawn for JAX's arrays:
from jaxcap.report import figures

dot = results.select(operation="dot", arrays="JAX")
figure = figures.scaling(dot, x="size", title="dot on JAX's arrays")
_ = figure.axes[0].legend(loc="upper left", bbox_to_anchor=(1, 1))

# %%
# A habit that adds to it
# -----------------------
# ``jax.jit(f)`` makes a new wrapper. JAX remembers the compiled program, but each new wrapper has
# to find it again the long way. Wrap once, at the top level of a module:
hoisting_pays = claim(
    "wrapping once is faster than wrapping in each call",
    results,
    speedup_of(
        "jit", over="jit in each call", operation="dot", arrays="JAX", size=5
    ),
)
hoisting = hoisting_pays.estimate
hoisting_pays

# %%
# It can get worse. A program is remembered by the function that it came from, and a ``lambda`` or a
# ``partial`` made inside the call is a new function each time. So JAX traces and compiles each time.
# A ``print`` in the function runs only when it is traced, and counts:
from functools import partial

matrices = jax.device_put(dispatch.inputs("einsum", size=10))


def multiply(a, b):
    print("  traced")
    return jnp.einsum(dispatch.EINSUM, a, b)


print("the same function, three calls")
for _ in range(3):
    jax.jit(multiply)(*matrices)

print("a new function in each of three calls")
for _ in range(3):
    jax.jit(partial(multiply))(*matrices)

# %%
# What that costs in time is a mistake of its own, on
# :doc:`the page before </tutorials/performance/timing>`.
#
# Whose arrays?
# -------------
# Each library takes the other's arrays, and converts them in each call. This is what keeping to its
# own saves, at the smallest size:
for variant, own, other in ("NumPy", "NumPy", "JAX"), ("jit", "JAX", "NumPy"):
    ours, theirs = (
        results.only(variant, operation="dot", arrays=arrays, size=5).time
        for arrays in ("its own", other)
    )
    print(
        f"{variant} on {own} arrays {ours.short}, on {other}'s {theirs.short}"
    )

# %%
# einsum, and why it seemed not to compile
# ----------------------------------------
# The notebook left this column empty, because ``jit`` refuses a string:
try:
    jax.jit(jnp.einsum)(dispatch.EINSUM, *matrices)
except TypeError as error:
    print(str(error).partition(". ")[2].partition(" and ")[0])

# %%
# Arguments of a compiled function are arrays. What is no array belongs either into a closure, like
# the string in ``product`` below, or has to be declared static. Then a new program is compiled for each new value,
# as :doc:`the page on static arguments </tutorials/transformations/static_arguments>` shows.
product = jax.jit(partial(jnp.einsum, dispatch.EINSUM))
declared = jax.jit(jnp.einsum, static_argnums=0)
expected = np.einsum(dispatch.EINSUM, *matrices)
print(np.array_equal(product(*matrices), expected))
print(np.array_equal(declared(dispatch.EINSUM, *matrices), expected))

# %%
# ``jnp.einsum`` parses the string and plans the contraction in Python, each time. Compiled, that
# is done once:
tabulate("einsum")

# %%
# eig: LAPACK, whoever calls
# --------------------------
# Eigenvalues of a general matrix are real work. The more of it there is, the less does dispatch
# count. NumPy calls LAPACK for it. What does JAX call here?
import re

matrix = jnp.asarray(dispatch.inputs("eig", size=10)[0])
program = jax.jit(jnp.linalg.eig).lower(matrix).as_text()
solver = ", ".join(re.findall(r"custom_call @(\w+)", program))
print(f"on this {jax.default_backend()}: {solver}")

# %%
# Names with ``lapack`` run on the CPU. On a GPU, :func:`jax.lax.linalg.eig` knows three ways: to
# send the matrix to LAPACK on the CPU and back (``hybrid``), to use MAGMA, which is half on the
# CPU, or to use cuSOLVER (``cusolver``) where it is new enough. For years there was none: JAX raised
# an error. The result is complex whatever comes out, because a compiled program has to know the
# type beforehand:
vectors = jnp.linalg.eig(matrix)
residual = matrix @ vectors[1] - vectors[1] * vectors[0]
print(vectors[0].dtype, "residual", f"{float(abs(residual).max()):.1e}")

# %%
tabulate("eig")

# %%
# linalg.solve
# ------------
# The notebook also quotes `a question on Stack Overflow <https://stackoverflow.com/q/64517793>`_: a
# compiled function that solves a complex system was slower than NumPy. It gives no sizes. Here are
# systems of several sizes, with ten right-hand sides, in 64-bit complex numbers (two of 32 bits):
systems = experiments.SOLVE.run(budget_s=0.05)
systems

# %%
systems.speedups(over="NumPy")

# %%
# Both call the same kind of library for the one expensive step, so there should be little for
# ``jit`` to save, and its dispatch comes on top.
#
# Many small operations
# ---------------------
# What ``jit`` can save is dispatch. Take one sine after another, of ten numbers. Op by op, each
# sine is dispatched. Compiled, the chain is dispatched once, however long it is.
x = np.linspace(-1, 1, 10, dtype=np.float32)
by_numpy = dispatch.chain(np, x, 100)
by_jit = jax.jit(partial(dispatch.chain, jnp, length=100))(x)
float(abs(by_numpy - by_jit).max())

# %%
chains = experiments.CHAIN.run(budget_s=0.05)
figure = figures.scaling(
    chains, x="length", title="A chain of small operations"
)
_ = figure.axes[0].set_xlabel("operations in the chain")

# %%
# How many times as long does a hundred take as one?
for variant in chains.variants:
    one, hundred = (
        chains.only(variant, length=n).time.value for n in (1, 100)
    )
    print(f"{variant:6} {hundred / one:5.1f}")

# %%
chain_pays = claim(
    "a chain of a hundred sines is faster compiled than op by op",
    chains,
    speedup_of("jit", over="jnp", length=100),
)
chain_pays

# %%
# Where the time goes
# -------------------
# The longest chain, split at the moment when the call returned:
import matplotlib.pyplot as plt

longest = chains.select(length=100).results
names = [result.variant for result in longest]
until_return = np.array([r.dispatch.value for r in longest]) * 1e6
in_all = np.array([r.time.value for r in longest]) * 1e6
plt.barh(names, until_return, label="until it returns")
plt.barh(names, in_all - until_return, left=until_return, label="waiting")
plt.gca().invert_yaxis()
plt.xlabel("µs for a chain of a hundred sines")
plt.title("Dispatch, and the rest")
_ = plt.legend()

# %%
# On a CPU, JAX computes results as small as these before it returns. On a GPU, the call returns
# when the kernels are queued, and the rest is waiting.
#
# Where JAX overtakes NumPy
# -------------------------
# Dispatch is paid once for a call, work for each element. So what does more work on more elements
# should turn the balance: compare a scalar product, a polynomial of degree ten (elementwise, many
# passes for NumPy, one for ``jit``), and a product of square matrices.
growth = experiments.GROWTH.run(budget_s=0.03)

# %%
COMPUTATIONS = ("dot", "polynomial", "matrix product")
for computation, colour in figures.palette(COMPUTATIONS).items():
    for variant, style in ("NumPy", "--"), ("jit", "-"):
        line = growth.select(computation=computation, variant=variant).results
        sizes = [result.parameters["size"] for result in line]
        times = [result.time.value * 1e6 for result in line]
        label = computation if variant == "jit" else None
        plt.loglog(sizes, times, style, color=colour, label=label)
plt.xlabel("elements of an array")
plt.ylabel("µs for a call")
plt.title("Larger arrays: NumPy (dashed) and jit (solid)")
_ = plt.legend()

# sphinx_gallery_thumbnail_number = 4

# %%
# Where does the solid line go below the dashed one for good, that is, at all larger sizes that were
# measured, and by the whole interval?


def overtakes(computation):
    """Describe the size from which jit is faster."""
    some = growth.select(computation=computation)
    size = experiments.crossover(some, "jit", over="NumPy", x="size")
    return f"from {size:,} elements on" if size else "not within these sizes"


Table(
    "Where jit overtakes NumPy",
    ("computation", "overtakes"),
    [(computation, overtakes(computation)) for computation in COMPUTATIONS],
)

# %%
# Where the answer is *not within these sizes*, look at the lines before you conclude: they may still
# be approaching each other, or run side by side. On a CPU expect the latter of the matrix product:
# both libraries call code that was tuned by hand for it, and there is nothing to fuse.
#
# Takeaway
# --------
smallest = results.select(operation="dot", arrays="its own", size=5)
dispatch_jax = smallest.only("jit").time
dispatch_numpy = smallest.only("NumPy").time
einsum_compiled = results.speedup(
    "jit", over="jnp", operation="einsum", arrays="JAX", size=5
)
chain_compiled = chain_pays.estimate
polynomial = overtakes("polynomial")

# %%
# On this page's machine, a call of JAX on JAX's arrays took :measured:`dispatch_jax` where nothing
# was to compute, and one of NumPy :measured:`dispatch_numpy`. JAX asks that price for each call, so
# don't call it for small things one by one: put them into one compiled function. Compared with op by
# op, that came out :measured:`chain_compiled` for a hundred small operations, and
# :measured:`einsum_compiled` for an ``einsum``. Wrap it once: compared with wrapping in each call,
# that came out :measured:`hoisting`. With larger arrays the price counts less, which alone does not
# put JAX ahead: look in the last table for the computations in which ``jit`` overtook NumPy. For the
# polynomial, that was :measured:`polynomial`.
#
# JAX's own answer to the question is in
# `its FAQ <https://docs.jax.dev/en/latest/faq.html#is-jax-faster-than-numpy>`_. The tools of this
# page are :func:`jaxcap.measure.timing.compare` and :mod:`jaxcap.kernels.dispatch`. Before this page:
# :doc:`how to time JAX </tutorials/performance/timing>`. After it:
# :doc:`linear algebra </tutorials/performance/linear_algebra>`, where dispatch doesn't count.
