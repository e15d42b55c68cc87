"""
Why is JAX slow on small arrays?
================================

You rewrite a NumPy function with ``jax.numpy``, try it on five numbers, and it takes longer. What
is JAX doing all that time? Every call has to find its program, hand it to the device and make an
array for the result. This is called *dispatch*. This page measures its price, checks what a notebook
about geomstats says about it, and shows how to pay it once instead of a hundred times.
"""

# %%
# With five numbers, you pay for the call
# ---------------------------------------
# The scalar product of two vectors of five numbers takes nine operations, which is next to nothing.
# Almost all the time of such a call must go to something else:
import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import dispatch

a, b = dispatch.inputs("dot", size=5)
a_jax, b_jax = jax.device_put((a, b))
print(np.dot(a, b), jnp.dot(a_jax, b_jax))

# %%
# NumPy checks the arguments and calls a C function. JAX looks up the program that it compiled for
# these shapes and dtypes, hands it to the device's runtime, and wraps what comes back in a new array.
#
# The notebook asks what this would cost geomstats, :doc:`a geometry library
# </tutorials/performance/geometry>`. We repeat its test with 32 bits everywhere, and each
# library on its own arrays. *autograd* is JAX's predecessor, which wraps NumPy. ``jnp`` is
# :func:`jax.numpy.dot` as it comes. For ``jit``, we wrap it in :func:`jax.jit` once, and for *jit in
# each call* anew each time. How far apart do you expect them to be?
from jaxcap.experiments import dispatch as experiments
from jaxcap.report import figures

results = experiments.DISPATCH.run(budget_s=0.012)
of_five = results.select(operation="dot", size=5)
_ = figures.bars(
    of_five.select(arrays="its own"),
    over=experiments.NUMPY,
    about=experiments.JIT,
    title="The scalar product of five numbers",
)

# sphinx_gallery_thumbnail_number = 1

# %%
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
# You might expect ``jit`` to save something over ``jnp``. Ask both functions what they are:
compiled = jax.jit(jnp.dot)
print(type(jnp.dot))
print(type(compiled))


# %%
# JAX's own ``dot`` is a compiled function already, so another ``jit`` around it has nothing to save.
#
# Two habits raise the price
# --------------------------
# The first is to call ``jax.jit`` anew in each call. The notebook wrote
# ``jax.jit(jnp.dot)(c, d)`` inside the loop that it timed:
def jit_in_each_call(a, b):
    return jax.jit(jnp.dot)(a, b)


print(compiled(a_jax, b_jax), jit_in_each_call(a_jax, b_jax))

# %%
# JAX remembers the program that it compiled for ``jnp.dot``, so nothing is compiled twice. But each
# time, it has to inspect the function and make a new wrapper. Wrapping once was
# :measured:`wrapped_once than wrapping in each call`. So wrap your functions at the top level of a
# module. If the function itself is new each time, such as a ``lambda``, JAX does compile again, which
# is the fifth mistake of :doc:`how to time JAX </tutorials/performance/timing>`.
#
# The second habit is to hand one library the other's arrays. Both accept them without a word. What
# does that cost?
for way in ("NumPy", "jit"):
    for arrays in ("NumPy", "JAX"):
        time = of_five.only(way, arrays=arrays).time
        print(f"{way:5} on arrays of {arrays:5} {time.short}")

# %%
# In each library, the difference between the two lines is the price of turning one kind of array into
# the other, which the notebook noticed, too. If a loop calls the function, convert once, before it.
#
# Does the price depend on the size?
# ----------------------------------
# The notebook says that it doesn't. In the figure, the lower line is when a compiled call returns,
# and the upper one when Python has found the result ready. Asking for the result takes a little time,
# too, so the two lines never quite meet:
dot = results.select(operation="dot", arrays="JAX", variant="jit")
_ = figures.returns(dot, x="size", xlabel="numbers in each array")

# %%
# From five numbers to a hundred, the time until the result was ready changed by a factor of
# :measured:`few_grew`, and from a hundred to a thousand by a factor of :measured:`jit_grew`.
# :measured:`cause`.
#
# On a CPU, what changes is the thread. JAX runs a small program in the thread that calls it, if the
# program's inputs are ready. It hands any other to another thread, which lets Python go on in the
# meantime, but waking a thread takes time. A program is small if XLA counts fewer than a thousand
# floating-point operations in it:
for size in (100, 1000):
    program = compiled.lower(*dispatch.inputs("dot", size))
    flops = program.cost_analysis()["flops"]
    print(f"{size:5,} numbers: {flops:5,.0f} operations")

# %%
# Functions such as a sine aren't in this count, so the chain below stays small, however long it gets.
# The border may move with a release of JAX. :doc:`The page on asynchronous dispatch
# </tutorials/transformations/asynchronous_dispatch>` says more about it.
#
# One call can do a hundred operations
# ------------------------------------
# If each call has a price, make fewer calls. The notebook quotes the rule: with ``jit``, you pay once,
# however many operations are inside. We test it on the sine of ten numbers, the sine of that, and so
# on:
from jaxcap.report.source import Source

Source(dispatch.chain)

# %%
# Op by op, each sine is a call of its own. Compiled, the whole chain is one call, and should give the
# same answer:
from functools import partial

x = np.linspace(-1, 1, 10, dtype=np.float32)
by_numpy = dispatch.chain(np, x, 100)
by_jit = jax.jit(partial(dispatch.chain, jnp, length=100))(x)
print("largest difference:", float(abs(by_numpy - by_jit).max()))

# %%
# The difference is rounding. Now guess, for NumPy, for JAX op by op, and for JAX compiled: how much
# longer will a hundred sines take than one?
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
# A number near a hundred means that you pay for each sine, and one near 1 that you pay for the call.
chain_pays = claim(
    "a chain of a hundred sines is faster compiled than op by op",
    chains,
    speedup_of("jit", over="jnp", length=100),
)
chain_pays

# %%
# Does JAX overtake NumPy as arrays grow?
# ---------------------------------------
# The notebook's other hope was scale: the more there is to compute, the less a fixed price counts. We
# try a scalar product, a product of square matrices, and this polynomial:
Source(dispatch.polynomial)

# %%
growth = experiments.GROWTH.run(budget_s=0.03)
_ = figures.panels(
    growth, title="Larger arrays", xlabel="elements of an array"
)

# %%
# On the largest arrays, JAX was :measured:`dot_at_last than NumPy` at the scalar product,
# :measured:`product_at_last than NumPy` at the matrix product, and
# :measured:`polynomial_at_last than NumPy` at the polynomial. At the polynomial, JAX's lead was
# measurable with :measured:`ahead`.
#
# The polynomial has 19 operations on each element. NumPy makes a call for each of them, whose price
# counts most on small arrays, and passes over the array in each call, which counts most on large ones.
# JAX makes one call, and fuses the operations into a single pass. On a CPU, it pays for the other thread
# on all arrays but the smallest, and the larger the array, the less that counts. The scalar product and
# the matrix product are single operations, which leave nothing to fuse, so there it matters whose
# routine is better on your device.
#
# Takeaway
# --------
dispatch_jax = of_five.only("jit", arrays="its own").time
dispatch_numpy = of_five.only("NumPy", arrays="its own").time
wrapped_once = results.speedup(
    "jit", over="jit in each call", operation="dot", arrays="JAX", size=5
)
chain_compiled = chain_pays.estimate

# %%
at_5, at_100, at_1000 = (
    dot.only(size=size).time.value for size in (5, 100, 1000)
)
few_grew, jit_grew = f"{at_100 / at_5:.1f}", f"{at_1000 / at_100:.1f}"
later = dot.only(size=10_000).time.value / at_1000
jump = (
    "The arithmetic alone cannot be the reason, because from a thousand numbers "
    f"to ten thousand, the factor was {later:.1f}"
)
cause = jump if at_1000 / at_100 > 1.5 * later else "So there is no jump here"

# %%
largest = max(result.parameters["size"] for result in growth)
dot_at_last, product_at_last, polynomial_at_last = (
    growth.speedup("jit", over="NumPy", computation=computation, size=largest)
    for computation in ("dot", "matrix product", "polynomial")
)

# %%
polynomial = growth.select(computation="polynomial")
leads = [
    f"{result.parameters['size']:,}"
    for result, speedup in polynomial.paired_speedups("NumPy")
    if speedup.verdict == "faster"
]
ahead = f"{' or '.join(leads) or 'none of these numbers of'} elements"
chain_numpy = chains.speedup("jit", over="NumPy", length=100)

# %%
# With almost nothing to compute, a call of NumPy took :measured:`dispatch_numpy` on this page's
# machine, and a call of JAX :measured:`dispatch_jax`. You pay that again in each call, and more if the
# call is handed to another thread. So put more work into each call: for a hundred
# small operations, one compiled call was :measured:`chain_compiled than a call for each`, and
# :measured:`chain_numpy than NumPy`. Wrap the function once, and convert your arrays once. Don't count
# on size alone, though: which library is ahead on large arrays depends on the computation.
#
# JAX answers the same question in `its FAQ
# <https://docs.jax.dev/en/latest/faq.html#is-jax-faster-than-numpy>`_. Has the price of a call
# fallen over the years? :doc:`JAX by release </releases/index>` shows what a call took under each
# release. Next: what comes before all calls. :doc:`What does a program pay before its first result?
# </tutorials/performance/second_process>`
