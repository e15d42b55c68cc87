"""
Why is JAX slow on small arrays?
================================

You rewrite a NumPy function with ``jax.numpy``, try it on five numbers, and it takes longer. Every
call of JAX has to find its compiled program, hand it to the device and make an array for the result,
which is called *dispatch*. This page measures the price of that, and shows how to pay it once instead
of a hundred times.
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
# A notebook asked what dispatch would cost geomstats, :doc:`a geometry library
# </tutorials/performance/geometry>`. We repeat its test in 32 bits, with each library on its own arrays.
# *autograd* is JAX's predecessor, which wraps NumPy. ``jnp`` is :func:`jax.numpy.dot` as it comes, and
# for ``jit`` we wrap it in :func:`jax.jit`, once or in each call. How far apart do you expect them to be?
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
# call has to make a new wrapper first. Wrapping once was
# :measured:`wrapped_once than wrapping in each call`, so wrap your functions at the top level of a
# module. With a ``lambda`` in place of ``jnp.dot``, JAX would :doc:`even compile in each call
# </tutorials/performance/timing>`.
#
# The second habit is to hand one library the other's arrays. Both accept them without a word. What
# does that cost?
for way in ("NumPy", "jit"):
    for arrays in ("NumPy", "JAX"):
        time = of_five.only(way, arrays=arrays).time
        print(f"{way:5} on arrays of {arrays:5} {time.short}")

# %%
# In each library, the difference between the two lines is the price of being given the other's arrays.
# The notebook noticed it, too. If a loop calls the function, convert once, before it.
#
# One call can do a hundred operations
# ------------------------------------
# With ``jit``, so the notebook says, you pay once, however many operations are inside. We test that on
# the sine of ten numbers, the sine of that, and so on:
from jaxcap.report.source import Source

Source(dispatch.chain)

# %%
# Op by op, each sine is a call of its own, and compiled, the whole chain is one call. Guess for NumPy,
# for JAX op by op, and for JAX compiled: how much longer will a hundred sines take than one?
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
# Here are the factors:
for variant in chains.variants:
    one = chains.only(variant, length=1).time.value
    hundred = chains.only(variant, length=100).time.value
    print(f"{variant:6} {hundred / one:5.1f}")

# %%
# Even compiled, a hundred sines have to be computed, but one call starts them all. How much does that
# save?
chain_pays = claim(
    "a chain of a hundred sines is faster compiled than op by op",
    chains,
    speedup_of("jit", over="jnp", length=100),
)
chain_pays

# %%
# Does the price depend on the size?
# ----------------------------------
# The notebook says that it doesn't. Here is the scalar product again, compiled, with more numbers:
dot = results.select(operation="dot", arrays="JAX", variant="jit")
_ = figures.returns(dot, x="size", xlabel="numbers in each array")

# %%
# From a hundred numbers to a thousand, the time until the result was ready changed by a factor of
# :measured:`jit_grew`, and from a thousand to ten thousand by :measured:`later`. :measured:`cause`.
#
# On a CPU, a larger program has to pay for a thread. JAX runs small programs in the thread that calls
# them, and :doc:`hands larger ones to another </tutorials/transformations/asynchronous_dispatch>`, which
# has to be woken. The border is at about a thousand floating-point operations, as XLA counts them:
for size in (100, 1000):
    program = compiled.lower(*dispatch.inputs("dot", size))
    flops = program.cost_analysis()["flops"]
    print(f"{size:5,} numbers: {flops:5,.0f} operations")

# %%
# :doc:`What does a loop cost? </tutorials/transformations/loops>` turns that thread off and shows its
# price by itself.
#
# Does JAX overtake NumPy as arrays grow?
# ---------------------------------------
# The notebook's other hope was scale: the more there is to compute, the less the price of a call
# counts. We try a scalar product, a product of square matrices, and this polynomial. Will JAX win
# with all three?
Source(dispatch.polynomial)

# %%
growth = experiments.GROWTH.run(budget_s=0.03)
_ = figures.panels(
    growth, title="Larger arrays", xlabel="elements of an array"
)

# %%
# On the largest arrays, JAX was :measured:`dot_at_last than NumPy` at the scalar product,
# :measured:`product_at_last than NumPy` at the matrix product, and
# :measured:`polynomial_at_last than NumPy` at the polynomial. The polynomial isn't a single operation, as
# the other two are. What does the compiler make of it?
traced = jax.jit(dispatch.polynomial).trace(jnp.ones(1000))
program = traced.lower().compile().as_text()
print("operations that JAX traced:   ", len(traced.jaxpr.eqns))
print("loops that XLA fused them into:", program.count(" fusion("))

# %%
# NumPy passes over the array for each operation, and JAX goes over it once. The scalar product and the
# matrix product leave nothing to fuse, so there it matters whose routine is better on your device.
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
at_100, at_1000, at_10000 = (
    dot.only(size=size).time.value for size in (100, 1000, 10_000)
)
jit_grew, later = f"{at_1000 / at_100:.1f}", f"{at_10000 / at_1000:.1f}"
jumps = at_1000 / at_100 > 1.5 * at_10000 / at_1000
cause = (
    "More arithmetic can't explain the first step, because the second adds more of it"
    if jumps
    else "So there is no jump here"
)

# %%
largest = max(result.parameters["size"] for result in growth)
dot_at_last, product_at_last, polynomial_at_last = (
    growth.speedup("jit", over="NumPy", computation=computation, size=largest)
    for computation in ("dot", "matrix product", "polynomial")
)

chain_numpy = chains.speedup("jit", over="NumPy", length=100)

# %%
# With almost nothing to compute, a call of NumPy took :measured:`dispatch_numpy` on this page's
# machine, and a call of JAX :measured:`dispatch_jax`, because JAX does more for each call. So put more
# work into each call: for a hundred small operations, one compiled call was
# :measured:`chain_compiled than a call for each`, and :measured:`chain_numpy than NumPy`. Wrap the
# function once, and convert your arrays once. Which library is ahead on large arrays depends on the
# computation.
#
# JAX answers the same question in `its FAQ
# <https://docs.jax.dev/en/latest/faq.html#is-jax-faster-than-numpy>`_. Has the price of a call
# fallen over the years? :doc:`JAX by release </releases/index>` shows what a call took under each
# release. Next: :doc:`What does a program pay before its first result?
# </tutorials/performance/second_process>`
