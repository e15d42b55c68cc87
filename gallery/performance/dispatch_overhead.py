"""
Why is JAX slow on small arrays?
================================

You rewrite a NumPy function with ``jax.numpy``, try it on five numbers, and it takes longer. What
is JAX doing all that time? Every call has to find its program, hand it to the device and make an
array for the result. This is called *dispatch*. This page measures its price, tests three habits
that change it, and looks for the size from which it no longer matters.
"""

# %%
# Next to nothing to compute
# --------------------------
# The scalar product of two vectors of five numbers takes nine operations, which a CPU finishes in a
# few nanoseconds. Almost all the time of such a call must go to something else, and that is what we
# are after. Both libraries get the same 32-bit numbers, and should agree on the answer:
import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import dispatch

a, b = dispatch.inputs("dot", size=5)
a_jax, b_jax = jax.device_put((a, b))
print(np.dot(a, b), jnp.dot(a_jax, b_jax))

# %%
# Besides the nine operations, NumPy checks the arguments and calls a C function. JAX looks up the
# program that it compiled for these shapes and dtypes, hands it to a runtime that could just as
# well drive eight GPUs, and wraps what comes back in a new array.
#
# Five ways to make the same call
# -------------------------------
# The authors of geomstats, :doc:`a geometry library </tutorials/performance/geometry>`, once
# measured in a notebook what a move to JAX would cost them. We ask again, with a column for each
# way to make the call:
#
# - *NumPy*, the opponent.
# - *autograd*, JAX's predecessor, which wraps NumPy.
# - ``jnp``, which is ``jax.numpy`` as it comes.
# - ``jit``, which compiles the function once.
# - ``jit in each call``, which wraps the function in :func:`jax.jit` anew for each call. This is
#   how the notebook did it.
#
# For ``dot``, the last three look like this:
compiled = jax.jit(jnp.dot)


def jit_in_each_call(a, b):
    return jax.jit(jnp.dot)(a, b)


for way in (jnp.dot, compiled, jit_in_each_call):
    print(way(a_jax, b_jax))

# %%
# All five use 32 bits here. How long do you think each of them takes for five numbers? Guess before
# you look:
from jaxcap.experiments import dispatch as experiments

results = experiments.DISPATCH.run(budget_s=0.012)

# %%
experiments.tabulate(results, "dot")

# %%
# *Its own* means NumPy arrays for NumPy, and JAX arrays for JAX. With five numbers each, NumPy took
# :measured:`dispatch_numpy`, and the compiled function :measured:`dispatch_jax`.
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
# Now compare ``jnp`` with ``jit``. You might expect compiling to help. But JAX itself has decorated
# :func:`jax.numpy.dot` with ``jit``, so ``jnp`` already makes a compiled call here, and another
# ``jit`` around it has nothing left to save. That changes where there is more than one operation,
# as we will see below.
#
# When does another thread take over?
# -----------------------------------
# Now read down a column. Where the time hardly changes with the size, it isn't arithmetic. Here are
# the rows with JAX's arrays as a figure. NumPy has to convert these arrays in each call, which its
# times include.
from jaxcap.report import figures

dot = results.select(operation="dot", arrays="JAX")
_ = figures.scaling(
    dot,
    x="size",
    over=experiments.NUMPY,
    about=experiments.JIT,
    title="dot on JAX's arrays",
    xlabel="numbers in each array",
)

# %%
# From a hundred numbers to a thousand, NumPy's time changed by a factor of :measured:`numpy_grew`,
# and that of ``jit`` by a factor of :measured:`jit_grew`. :measured:`cause`. To see what happens in
# ``jit``, compare when its call returns with when its result is ready. Until it returns, JAX looks
# the program up, passes it to the runtime, and makes the array for the result. What follows is the
# wait for the numbers in that array. The second column has the operations that XLA counts in the
# program:
rows = [
    (
        f"{result.parameters['size']:,}",
        f"{result.flops:,.0f}",
        result.dispatch.short,
        result.time.short,
    )
    for result in dot.select(variant="jit")
]

# %%
from jaxcap.results.tables import Table

headers = ("size", "operations", "until it returns", "until it is ready")
Table("A compiled dot, from call to result", headers, rows)

# %%
# On a CPU, a program in which XLA counts fewer than a thousand floating-point operations runs in
# the thread that called it, if its inputs are ready. So the result is ready when the call returns.
# The small gap in the first row is mostly the time that it takes Python to ask whether the result is
# ready. A larger program is handed to another thread, which lets Python run ahead. But waking a
# thread takes time, some of it before the call returns. Here the count passes a thousand between
# the rows of 100 and 1,000 numbers.
#
# The thousand is a rule of thumb in XLA's source, and may change. :doc:`Asynchronous dispatch
# </tutorials/transformations/asynchronous_dispatch>` has the details, and an option that turns the
# handing over off, ``jax_cpu_enable_async_dispatch``.
#
# Don't wrap in each call
# -----------------------
# To make a new wrapper, ``jax.jit(f)`` inspects ``f``. The wrapper then finds the program that JAX
# has compiled for ``f``, but inspecting takes time in every call. Wrap once instead, at the top
# level of a module:
hoisting_pays = claim(
    "wrapping once is faster than wrapping in each call",
    results,
    speedup_of(
        "jit", over="jit in each call", operation="dot", arrays="JAX", size=5
    ),
)
hoisting_pays

# %%
# A wrapper in each call can cost more still. JAX remembers a program by the function it came from,
# so where a ``lambda`` or a ``partial`` is made anew inside the call, JAX finds nothing. How often
# will JAX trace in each of these loops? A ``print`` in a traced function runs once for each trace,
# so it counts for us:
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
# The first loop traced once, and the second three times, because a new function is traced in each
# call, and compiled after each trace. The fifth mistake of
# :doc:`how to time JAX </tutorials/performance/timing>` measures what that costs.
#
# Don't mix kinds of arrays
# -------------------------
# NumPy and JAX accept each other's arrays, and silently convert them in each call. For five
# numbers, NumPy took :measured:`dispatch_numpy` with arrays of its own, and
# :measured:`numpy_converting` with JAX's. The compiled function took :measured:`dispatch_jax` with
# JAX's arrays, and :measured:`jax_converting` with NumPy's. The difference in each pair is the
# price of conversion. Don't pay it in a loop: convert once, before the loop.
#
# Put many operations into one call
# ---------------------------------
# If each call has a price, make fewer calls. As an example, we take the sine of ten numbers, the
# sine of that, and so on:
from jaxcap.report.source import Source

Source(dispatch.chain)

# %%
# Op by op, each sine is a call of its own. Compiled, the whole chain is one call, however long it
# is. Do both give the same answer?
x = np.linspace(-1, 1, 10, dtype=np.float32)
by_numpy = dispatch.chain(np, x, 100)
by_jit = jax.jit(partial(dispatch.chain, jnp, length=100))(x)
print("largest difference:", float(abs(by_numpy - by_jit).max()))

# %%
# Both answers agree, apart from rounding. Now guess, for NumPy, for JAX op by op, and for JAX
# compiled: how much longer will a hundred sines take than one?
chains = experiments.CHAIN.run(budget_s=0.05)
_ = figures.scaling(
    chains,
    x="length",
    over="jnp",
    about="jit",
    title="A chain of small operations",
    xlabel="operations in the chain",
)

# %%
for variant in chains.variants:
    one = chains.only(variant, length=1).time.value
    hundred = chains.only(variant, length=100).time.value
    print(f"{variant:6} {hundred / one:5.1f}")

# %%
# A ratio near a hundred means that you pay for each sine, and one near 1 that you pay once, for the
# call. A ratio in between means that even one sine
# pays fixed costs, such as calling ``chain`` and waiting for the result.
chain_pays = claim(
    "a chain of a hundred sines is faster compiled than op by op",
    chains,
    speedup_of("jit", over="jnp", length=100),
)
chain_pays

# %%
# Does JAX overtake NumPy as arrays grow?
# ---------------------------------------
# Apart from the step at a thousand operations, the price of a call hardly grows with the arrays.
# The work does, so for large arrays it should decide. We try three computations, from little work
# for each element to much: a scalar product; a polynomial of degree ten, for which NumPy passes
# over the array many times and ``jit`` once; and a product of square matrices.
Source(dispatch.polynomial)

# %%
growth = experiments.GROWTH.run(budget_s=0.03)

# %%
_ = figures.panels(
    growth, title="Larger arrays", xlabel="elements of an array"
)

# sphinx_gallery_thumbnail_number = 3

# %%
# JAX overtakes NumPy at the size from which the line of *jit* stays below NumPy's. A size counts
# only if the whole interval of the ratio is on JAX's side, there and at all larger sizes. For a
# function of several operations, JAX may lead on a few elements, because it makes one call where
# NumPy makes many, and lose that lead where the call is handed to another thread.
largest = max(result.parameters["size"] for result in growth)
rows = []
for computation in ("dot", "polynomial", "matrix product"):
    some = growth.select(computation=computation)
    size = experiments.crossover(some, "jit", over="NumPy", x="size")
    there = f"from {size:,} elements on" if size else "not within these sizes"
    at_largest = some.speedup("jit", over="NumPy", size=largest)
    rows.append((computation, there, at_largest.verdict_in_words))

# %%
headers = ("computation", "overtakes", f"jit at {largest:,} elements")
Table("Where jit overtakes NumPy", headers, rows)

# %%
# *Not within these sizes* means that no lead was measured at the largest size. If the lines are
# still closing there, larger arrays may help. If they run side by side, the times differ by a
# constant factor, and larger arrays won't. A single operation leaves nothing to fuse, and for a
# matrix product on a CPU, both sides call code that was tuned for this purpose.
#
# On a CPU, XLA may also split the work of a call over several threads, which can cost more than it
# saves for arrays of middling size. To find out, run the program on a single core, as the
# :doc:`page on threads </tutorials/performance/threads>` shows.
#
# Takeaway
# --------
smallest = results.select(operation="dot", arrays="its own", size=5)
dispatch_jax = smallest.only("jit").time
dispatch_numpy = smallest.only("NumPy").time
of_five = results.select(operation="dot", size=5)
numpy_converting = of_five.only("NumPy", arrays="JAX").time
jax_converting = of_five.only("jit", arrays="NumPy").time
chain_compiled = chain_pays.estimate

# %%
growth_of = {}
for variant in ("NumPy", "jit"):
    at_100, at_1000 = (dot.only(variant, size=n) for n in (100, 1000))
    growth_of[variant] = at_1000.time.value / at_100.time.value
numpy_grew, jit_grew = (f"{factor:.1f}" for factor in growth_of.values())
jumps = growth_of["jit"] > 1.5 * growth_of["NumPy"]
same_work = "NumPy does the same arithmetic, so that doesn't explain the jump"
cause = same_work if jumps else "So there is no jump to explain here"

# %%
# With almost nothing to compute, a call of NumPy took :measured:`dispatch_numpy` on this page's
# machine, and a call of JAX :measured:`dispatch_jax`. Every call of JAX has a price of that order,
# and a higher one if it is handed to another thread. So put more work into each call: for a hundred
# small operations, one compiled call was :measured:`chain_compiled than a call for each`. Wrap the
# function once, and convert your arrays once. Don't count on size alone, though. With larger
# arrays, the price of a call matters less, and which library is ahead depends on the computation.
#
# JAX answers the same question in `its FAQ
# <https://docs.jax.dev/en/latest/faq.html#is-jax-faster-than-numpy>`_. Has the price of a call
# fallen over the years? :doc:`JAX by release </releases/index>` shows what a call took under each
# release. Next: what comes before all calls. :doc:`What does a program pay before its first result?
# </tutorials/performance/second_process>`
