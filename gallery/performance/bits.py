"""
How few bits are enough?
========================

JAX stores a floating-point number in :doc:`four bytes </tutorials/basics/jnp_and_numpy>`, unless you
ask for something else. At two bytes each, twice as many fit into memory, and `some devices
<https://docs.jax.dev/en/latest/201/precision.html>`__ can compute with them faster. But if all numbers
of a network have two bytes, it may stop learning. This page finds out which numbers need four, and
whether giving two to the others saves time.
"""

# %%
# Sixteen bits buy digits or range
# --------------------------------
# A floating-point number spends one bit on its sign, some on an *exponent*, which sets its size,
# and the rest on a *fraction*, which holds its digits. Two formats divide 16 bits in different
# ways:
import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.experiments import bits as experiments
from jaxcap.experiments.bits import BFLOAT16, FLOAT16, FLOAT32, FORMATS, MIXED

rows = []
for name in FORMATS:
    info = jnp.finfo(name)
    extremes = [info.max, info.smallest_normal, info.eps]
    numbers = [f"{float(number):.1e}" for number in extremes]
    rows.append((name, f"{info.nexp}", f"{info.nmant}", *numbers))

# %%
from jaxcap.results.tables import Table

columns = "exponent", "fraction", "largest", "smallest", "gap at 1"
Table("Bits, and what they can represent", ("format", *columns), rows)

# %%
# float16 has more digits, and bfloat16 has the range of float32. The last column is the distance
# from 1 to the next number. Larger numbers are farther apart, roughly in proportion to their size.
# By *smallest*, we mean the smallest number with a full set of digits. Numbers below it have fewer
# digits, or become 0.
#
# A total that stops growing
# --------------------------
# Start at 0 and add 1, ten thousand times. Where do you expect each format to arrive?
from jaxcap.kernels import bits
from jaxcap.report.source import Source

Source(bits.count)

# %%
for name in (FLOAT32, FLOAT16, BFLOAT16):
    print(f"{name:8} {float(bits.count(10_000, name)):6.0f}")

# %%
# Between 256 and 512, bfloat16 has only every other integer. So 256 plus 1 lies halfway between two
# numbers, 256 and 258. A tie goes to the one whose last bit is 0, which is 256 again, and the total
# is stuck, without a warning. float16 has three more bits of fraction, which take it eight times as
# far.
#
# Any total that your own loop keeps is at risk: a counter, a running loss, a moving average.
# :func:`jax.numpy.sum` is safer, because it `adds numbers of 16 bits in a longer format
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.reduce_sum.html>`__, and rounds to 16 bits
# only at the end.
#
# Weights that stop learning
# --------------------------
# A weight in training is a total, too: of many small steps. So you might keep the weights in
# float32, as *master weights*, and compute each gradient in 16 bits, from a rounded copy. That is
# the usual remedy, from a `paper on mixed precision <https://arxiv.org/abs/1710.03740>`__. In our
# training step, the weights keep their format, and the gradient is computed in the format of ``x``
# and ``y``, the inputs and the targets:
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
# The narrow range of float16 causes another problem. Give the targets in metres instead of
# millimetres, and make the weights of the last layer a thousand times smaller, too. Now the
# gradient of the first layer is a million times smaller, and what is too small for float16 becomes
# 0. The remedy is to multiply the loss by a *scale*, which multiplies the whole gradient. How large
# should it be?
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
# it vanishes after all. With the range of float32, bfloat16 rarely needs a scale.
#
# Short inputs can have a long result
# -----------------------------------
# Sums and products can turn bfloat16 inputs into a float32 result. A sum does so if you pass
# ``dtype="float32"``, and a product if you pass ``preferred_element_type``:
a, b = bits.cast(experiments.inputs("product", 500), BFLOAT16)
print(jnp.matmul(a, b).dtype)
print(jnp.matmul(a, b, preferred_element_type=FLOAT32).dtype)

# %%
# Which costs more digits, short inputs or a short result? Add a million random numbers between 0
# and 1, and multiply two matrices of 500 rows of such numbers. We compare with the exact sum, by
# Python's `fsum <https://docs.python.org/3/library/math.html#math.fsum>`__, and with NumPy's
# product in float64, which is itself off in the last digits.
from math import fsum

(numbers,) = experiments.inputs("sum", 1_000_000)
left, right = experiments.inputs("product", 500)
exact = {"sum": fsum(numbers), "product": left @ right}
errors = {}
for task, size in {"sum": 1_000_000, "product": 500}.items():
    calls = experiments.prepare(task, size)
    for name in (*FORMATS, MIXED):
        errors[name, task] = experiments.error(calls[name](), exact[task])

# %%
names = (*FORMATS, MIXED)
rows = [
    (name, *(f"{errors[name, task]:.1g}" for task in exact)) for name in names
]
title = "Largest error, over the largest exact number"
Table(title, ("format", *exact), rows)

# %%
# Compare the last two rows, which have the same inputs and differ only in the format of the result.
# In these sums of many positive numbers, the errors of the inputs partly cancel. Rounding the result
# is a single error, which nothing cancels. The sum in float16 is infinite, because it should be about
# half a million, and the largest float16 is 65504.
#
# Even from float32 to float32, a product of matrices `may use fewer bits inside
# <https://docs.jax.dev/en/latest/201/precision.html>`__ on TPUs and recent GPUs, unless you pass
# ``precision="highest"``.
#
# Is it faster?
# -------------
# A number of 16 bits is half as many bytes to fetch as one of 32. But arithmetic with it is faster
# only if the device has instructions for that, and the compiler uses them. How do you expect the
# formats to rank?
results = experiments.BITS.run(budget_s=0.03)
tasks = ("sum", "product", "training step")
rows = []
for name in ("float64", FLOAT16, BFLOAT16, MIXED):
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
# The compiled program can tell you why a product is fast or slow. Count the conversions in it, and
# ask how much memory it sets aside for intermediate results:
from functools import partial

to_float32 = partial(jnp.matmul, preferred_element_type=FLOAT32)
for name, multiply in {BFLOAT16: jnp.matmul, MIXED: to_float32}.items():
    program = jax.jit(multiply).lower(a, b).compile()
    number = program.as_text().count(" convert(")
    size = program.memory_analysis().temp_size_in_bytes
    print(f"{name:20} {number} conversions, {size:9,} temporary bytes")

# %%
# Without conversions, the program passes the matrices to the product as they are. Three conversions
# mean that it makes float32 copies of both matrices, multiplies those, and rounds the result: all
# the work of float32, with the conversions on top, and more memory instead of less. In a training
# step whose gradient is computed in bfloat16, the products have results in bfloat16, too. So they
# may need the same conversions.
#
# Which numbers need how many bits
# --------------------------------
# - **float64**, where the answer has to be right to many digits, as in :doc:`a fit that must
#   converge </tutorials/applications/convergence>`. Set ``jax_enable_x64`` first.
# - **float32** for what adds up many small changes: sums, weights, averages.
# - **bfloat16** for what goes into a product or comes out of a gradient, if that saves time or
#   memory on your device.
# - **float16** for data whose range you know, and with a scale for gradients.
#
# Takeaway
# --------
product_16 = bfloat16_pays.estimate
long_result = results.speedup(MIXED, over=BFLOAT16, task="product")
step_mixed = mixed_pays.estimate
stuck = f"{histories[BFLOAT16][-1]:.1g}"
trained = f"{histories[MIXED][-1]:.1g}"

# %%
# Two bytes can be enough for inputs and gradients, but not for numbers that add up many small
# changes. The same training ended at a loss of :measured:`stuck` with everything in bfloat16, and
# of :measured:`trained` with the weights in float32 and the gradients in bfloat16. float16 has more
# digits than bfloat16 but less range, so its gradients may vanish unless you scale the loss.
#
# Whether two bytes save time depends on the device, and on what the compiler does with them. On this
# page's device, a product in bfloat16 was :measured:`product_16 than in float32`. With its result in
# float32, it was :measured:`long_result than with a bfloat16 result`. A training step with its
# gradient in bfloat16 was :measured:`step_mixed than one in float32`. To find out why, count the
# conversions in the compiled program.
#
# Try it yourself in :doc:`exercise 10 </exercises/10_bits>`. Next: :doc:`why JAX is slow on small
# arrays </tutorials/performance/dispatch_overhead>`.
