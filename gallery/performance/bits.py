"""
How few bits are enough?
========================

JAX stores a floating-point number in :doc:`four bytes </tutorials/basics/jnp_and_numpy>`, unless you
ask for something else. With two bytes each, twice as many fit into memory, and `some devices
<https://docs.jax.dev/en/latest/201/precision.html>`__ can compute with them faster. But a network whose
numbers all have two bytes may stop learning. Which of them need four? We start with a count that gets
stuck, find the same in training, and ask in the end whether two bytes for all other numbers save time.
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
# them, which widen as the numbers grow. How wide they are depends on how a format divides its bits
# between an *exponent*, which sets the size of a number, and a *fraction*, which holds its digits:
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
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.reduce_sum.html>`__, and rounds only at the end.
# To have the total itself in float32, pass ``dtype`` to a sum, or ``preferred_element_type`` to
# :func:`jax.numpy.matmul`, whose results are sums, too.
#
# Weights that stop learning
# --------------------------
# A weight is such a total as well, because training adds many small steps to it. So a `paper on mixed
# precision <https://arxiv.org/abs/1710.03740>`__ keeps the weights in float32, as *master weights*, and
# computes each gradient in 16 bits, from a rounded copy. Our training step can do the same. The
# weights keep their format, and the gradient is computed in that of ``x`` and ``y``, the inputs and the
# targets:
Source(bits.step)

# %%
# We train a network of 64 units to compute what another of that size computes, so a solution exists.
# Here are four pairs of formats, for the weights and for the gradient. Which will bring the loss close
# to zero?
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
# this happens, so weights in bfloat16 are the first to stop. In float32, the same steps add up. A
# coarse gradient does less harm, because each is computed afresh, from wherever the last step has led.
#
# Gradients that vanish
# ---------------------
# In float16, the weights learn for longer, because it has more bits of fraction. But that leaves fewer
# for its exponent, so a gradient may be too small for it. Ours is, if the targets and the weights of
# the last layer are a thousand times smaller: the gradient of the first layer contains both factors, and
# gets a million times smaller. The remedy is to multiply the loss by a *scale*, and thereby the whole
# gradient. How large should the scale be?
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
# it vanishes after all. bfloat16 has the exponent of float32, and needs no scale for such gradients.
#
# Is the step faster, too?
# ------------------------
# Does a training step take less time if its gradient has two bytes? Here is one of a larger network:
from jaxcap.experiments import bits as experiments

results = experiments.BITS.run(budget_s=0.03)
steps = results.select(task="training step")
steps.speedups(over=FLOAT32)

# %%
from jaxcap.report.claims import claim, speedup_of

mixed_pays = claim(
    "a training step with weights in float32 is faster if its gradient is "
    "computed in bfloat16",
    results,
    speedup_of(MIXED, over=FLOAT32, task="training step"),
)
mixed_pays

# %%
# What could slow down a step in 16 bits? We count how often it converts numbers from one format to
# another, as we wrote it and as it was compiled:
weights, x, y = bits.problem(64)
for name, (of_weights, of_batch) in formats.items():
    arguments = bits.cast(weights, of_weights), *bits.cast((x, y), of_batch)
    lowered = jax.jit(bits.step).lower(*arguments)
    written = lowered.as_text().count("stablehlo.convert")
    compiled = lowered.compile().as_text().count(" convert(")
    print(f"{name:20} {written} written, {compiled:2} compiled")

# %%
# Without master weights, what is written comes from the mean in the loss, which JAX takes in float32.
# Master weights need a few more, of the weights to 16 bits and of the gradient back. Any further ones
# are the compiler's. For an operation that it can't do in 16 bits, it converts the operands to float32,
# computes, and rounds the result. Such an operation takes all the work of float32, and the conversions
# come on top.
#
# Takeaway
# --------
step_mixed = mixed_pays.estimate
stuck = f"{histories[BFLOAT16][-1]:.1g}"
trained = f"{histories[MIXED][-1]:.1g}"

# %%
# Keep four bytes for what adds up many small changes, such as weights, sums and averages. Two can be
# enough for inputs and gradients. The same training ended at a loss of :measured:`stuck` with
# everything in bfloat16, and of :measured:`trained` with the weights in float32 and the gradients in
# bfloat16. In float16, with its narrow range, gradients may vanish unless you scale the loss.
#
# Whether two bytes save time depends on the device, and on how often the compiler has to convert. On
# this page's device, a training step with its gradient in bfloat16 was
# :measured:`step_mixed than one in float32`.
#
# Try it yourself in :doc:`exercise 10 </exercises/10_bits>`. Next: :doc:`why JAX is slow on small
# arrays </tutorials/performance/dispatch_overhead>`.
