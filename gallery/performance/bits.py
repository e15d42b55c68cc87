"""
How few bits are enough?
========================

JAX stores a floating-point number in :doc:`four bytes </tutorials/basics/jnp_and_numpy>`, unless you
ask for something else. With two bytes each, twice as many fit into memory, and `some devices
<https://docs.jax.dev/en/latest/201/precision.html>`__ can compute with them faster. But if all numbers
of a network have two bytes, it may stop learning. This page finds out which numbers need four, and
whether giving two to the others saves time.
"""

# %%
# A total that stops growing
# --------------------------
# Start at 0 and add 1, ten thousand times, in float32 and in the two formats of 16 bits. Where do you
# expect each to arrive?
import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.experiments.bits import BFLOAT16, FLOAT16, FLOAT32, MIXED
from jaxcap.kernels import bits
from jaxcap.report.source import Source

Source(bits.count)

# %%
for name in (FLOAT32, FLOAT16, BFLOAT16):
    print(f"{name:8} {float(bits.count(10_000, name)):6.0f}")

# %%
# In 16 bits, the total gets stuck without a warning, because the numbers of a format have gaps between
# them, which widen as the numbers grow. A floating-point number spends one bit on its sign, some on an
# *exponent*, which sets its size, and the rest on a *fraction*, which holds its digits:
rows = []
for name in (FLOAT32, FLOAT16, BFLOAT16):
    info = jnp.finfo(name)
    extremes = [info.eps, info.max, info.smallest_normal]
    numbers = [f"{float(number):.1e}" for number in extremes]
    rows.append((name, f"{info.nexp}", f"{info.nmant}", *numbers))

# %%
from jaxcap.results.tables import Table

columns = "exponent", "fraction", "gap at 1", "largest", "smallest normal"
Table("Bits, and what they can represent", ("format", *columns), rows)

# %%
# With seven bits of fraction, bfloat16 has only every other integer between 256 and 512. So 256 plus 1
# lies halfway between two numbers, 256 and 258. A tie goes to the one whose last bit is 0, which is 256
# again. float16 has three more bits of fraction, which take it eight times as far.
#
# Any 16-bit total that your own loop keeps is at risk: a counter, a running loss, a moving average.
# :func:`jax.numpy.sum` is safer, because it `adds numbers of 16 bits in a longer format
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.reduce_sum.html>`__, and rounds to 16 bits
# only at the end.
#
# Weights that stop learning
# --------------------------
# A weight is such a total as well, because training adds many small steps to it. The usual remedy is
# from a `paper on mixed precision <https://arxiv.org/abs/1710.03740>`__: keep the weights in float32,
# as *master weights*, and compute each gradient in 16 bits, from a rounded copy. In our training
# step, the weights keep their format, and the gradient is computed in the format of ``x`` and ``y``,
# the inputs and the targets:
Source(bits.step)

# %%
# We train a network of 64 units to compute what another of that size computes, so a solution
# exists. For each of four ways to train, here are the formats of the weights and of the gradient.
# Which of them will come close to the solution?
formats = {
    FLOAT32: (FLOAT32, FLOAT32),
    FLOAT16: (FLOAT16, FLOAT16),
    BFLOAT16: (BFLOAT16, BFLOAT16),
    MIXED: (FLOAT32, BFLOAT16),  # master weights
}

# %%
weights, x, y = bits.problem(64)
train = jax.jit(bits.losses, static_argnames="steps")
histories = {}
for name, (of_weights, of_batch) in formats.items():
    batch = bits.cast((x, y), of_batch)
    start = bits.cast(weights, of_weights)
    histories[name] = np.asarray(train(start, *batch, steps=2000))

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3.4))
for (name, history), style in zip(histories.items(), ("-", ":", "-", "--")):
    axes.semilogy(history, style, label=name)
axes.set(xlabel="steps", ylabel="loss in float32\n(lower is better)")
short, mixed = (f"{histories[name][-1]:.0e}" for name in (BFLOAT16, MIXED))
finding = (
    f"The loss in bfloat16 ends at {short}, with float32 weights at {mixed}"
)
figures.headline(figure, finding, "The same training in four formats")
figures.label_ends(axes)

# %%
# As training goes on, its steps get smaller. Once a step is smaller than half the gap between a
# weight and the next number, rounding undoes the step. The wider the gaps of a format, the sooner
# this happens to its weights, so those in bfloat16 are the first to stop. Master weights collect
# such steps until they add up to a gap. Coarse gradients do less harm: each is computed afresh,
# from wherever the last step has led, so their errors don't pile up.
#
# Gradients that vanish
# ---------------------
# In float16, the weights learn for longer, but its exponent has fewer bits, so it has less range. Suppose
# that the targets are in metres instead of millimetres, and the weights of the last layer a thousand
# times smaller, too. Then the gradient of the first layer is a million times smaller. Below the smallest
# normal number, numbers in float16 lose digits, until only 0 is left. The remedy is to multiply the loss
# by a *scale*, which multiplies the whole gradient. How large should it be?
weights, x, y = bits.cast(bits.problem(64, unit=1e-3), FLOAT16)


def slopes(scale):
    """Return all elements of the gradient, multiplied by a scale."""
    tree = jax.grad(lambda weights: scale * bits.loss(weights, x, y))(weights)
    return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(tree)])


for scale in (1.0, 2.0**6, 2.0**12, 2.0**18):
    elements = np.asarray(slopes(scale), np.float32)
    zero, lost = np.mean(elements == 0), np.mean(~np.isfinite(elements))
    print(f"{scale:8,.0f}: {zero:4.0%} zero, {lost:4.0%} infinite or NaN")

# %%
# A small scale leaves some of the gradient at zero, and the last of these scales is itself too
# large for float16. Because gradients change as the network learns, libraries such as Flax `adjust
# the scale as they go <https://github.com/google/flax/blob/main/flax/training/dynamic_scale.py>`__.
# If you choose one yourself, convert the gradient to float32 *before* you divide by the scale, or
# it vanishes after all. In bfloat16, which has the range of float32, such small gradients don't vanish.
#
# Is it faster?
# -------------
# A number of 16 bits is half as many bytes to fetch as one of 32. But arithmetic with it is faster only
# if the device has instructions for that, and the compiler uses them. We time a sum, a product of two
# matrices, and a training step. In the row of two formats, the inputs are bfloat16, and the sum, the
# product and the weights are float32. How do you expect the formats to rank?
from jaxcap.experiments import bits as experiments

results = experiments.BITS.run(budget_s=0.03)
tasks = ("sum", "product", "training step")
rows = []
for name in (FLOAT16, BFLOAT16, MIXED):
    speedups = (
        results.speedup(name, over=FLOAT32, task=task) for task in tasks
    )
    rows.append((name, *(speedup.verdict_in_words for speedup in speedups)))

# %%
Table("Time, beside that of float32", ("format", *tasks), rows)

# %%
from jaxcap.report.claims import claim, speedup_of

bfloat16_pays = claim(
    "JAX multiplies matrices faster in bfloat16 than in float32",
    results,
    speedup_of(BFLOAT16, over=FLOAT32, task="product"),
)
bfloat16_pays

# %%
mixed_pays = claim(
    "a training step with weights in float32 is faster if its gradient is "
    "computed in bfloat16",
    results,
    speedup_of(MIXED, over=FLOAT32, task="training step"),
)
mixed_pays

# %%
# The compiled program can tell you why a product is fast or slow. We count its conversions, ask how much
# memory it sets aside for intermediate results, and compare what it returns with NumPy's product in
# float64. ``preferred_element_type`` makes the result float32:
from functools import partial

left, right = experiments.inputs("product", 500)
a, b = bits.cast((left, right), BFLOAT16)
to_float32 = partial(jnp.matmul, preferred_element_type=FLOAT32)
for name, multiply in {BFLOAT16: jnp.matmul, MIXED: to_float32}.items():
    program = jax.jit(multiply).lower(a, b).compile()
    number = program.as_text().count(" convert(")
    size = program.memory_analysis().temp_size_in_bytes
    print(f"{name}: {number} conversions, {size:,} temporary bytes,")
    error = experiments.error(program(a, b), left @ right)
    print(f"  off by {error:.1g} of the largest number")

# %%
# Without conversions, the program passes the matrices to the product as they are. Three conversions
# mean that it makes float32 copies of both matrices, multiplies those, and rounds the result: all the
# work of float32, with the conversions on top. The training step computes its gradient with products
# whose results are in bfloat16, too, so it may need the same conversions.
#
# The last rounding also costs digits. Each number of this product is a sum of many positive numbers, in
# which the errors of the inputs partly cancel, but nothing cancels an error of the result.
#
# Takeaway
# --------
product_16 = bfloat16_pays.estimate
long_result = results.speedup(MIXED, over=BFLOAT16, task="product")
step_mixed = mixed_pays.estimate
stuck = f"{histories[BFLOAT16][-1]:.1g}"
trained = f"{histories[MIXED][-1]:.1g}"

# %%
# Keep four bytes for what adds up many small changes, such as weights, sums and averages. Two can be
# enough for inputs and gradients. The same training ended at a loss of :measured:`stuck` with
# everything in bfloat16, and of :measured:`trained` with the weights in float32 and the gradients in
# bfloat16. In float16, with its narrow range, gradients may vanish unless you scale the loss.
#
# Whether two bytes save time depends on the device, and on what the compiler does with them. On this
# page's device, a product in bfloat16 was :measured:`product_16 than in float32`. With its result in
# float32, it was :measured:`long_result than with a bfloat16 result`. A training step with its
# gradient in bfloat16 was :measured:`step_mixed than one in float32`. Conversions in the
# compiled program can explain a slow product.
#
# Try it yourself in :doc:`exercise 10 </exercises/10_bits>`. Next: :doc:`why JAX is slow on small
# arrays </tutorials/performance/dispatch_overhead>`.
