"""
How few bits are enough?
========================

JAX stores a number in :doc:`four bytes </tutorials/basics/jnp_and_numpy>`, unless you ask for
something else. In two bytes, twice as many numbers fit into memory, and `some devices
<https://docs.jax.dev/en/latest/201/precision.html>`__ can compute with them far faster. This page
shows where formats of two bytes break, measures whether they save time on this machine, and finds
out what it takes to train a network with them.
"""

# %%
# Sixteen bits, divided in two ways
# ---------------------------------
# A floating-point number spends one bit on its sign, some on its size, the *exponent*, and the
# others on its digits, the *fraction*. With 16 bits in all, a longer exponent means a shorter
# fraction. float16 favours the fraction, and has about three decimal digits. bfloat16 keeps the
# exponent of float32, which leaves about two:
import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.experiments import bits as experiments
from jaxcap.results.tables import Table

rows = []
for name in experiments.FORMATS:
    info = jnp.finfo(name)
    extremes = [info.max, info.smallest_normal, info.eps]
    numbers = [f"{float(number):.1e}" for number in extremes]
    rows.append((name, f"{info.nexp}", f"{info.nmant}", *numbers))

# %%
headers = (
    "format",
    "exponent",
    "fraction",
    "largest",
    "smallest normal",
    "gap at 1",
)
Table("Bits, and what they can represent", headers, rows)

# %%
# The last column is the distance from 1 to the next number. Larger numbers are farther apart, in
# proportion to their size. The bits of the fraction set that proportion, and the bits of the
# exponent set the range in which it holds. Numbers below the smallest normal one are *subnormal*:
# the smaller they are, the fewer digits they have, so the lines in the figure bend upwards there.
# XLA may replace them by 0.
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3))
for name in experiments.FORMATS[1:]:
    info = jnp.finfo(name)
    smallest = float(info.smallest_subnormal)
    x = np.geomspace(smallest, float(info.max), 500)
    axes.loglog(x, np.maximum(float(info.eps), smallest / x), label=name)
axes.set(xlabel="number", ylabel="gap to the next,\nin proportion")
axes.set_xticks(10.0 ** np.arange(-40, 41, 20))
axes.set_title("Lower lines have more digits, longer ones more range")
figures.label_ends(axes)

# %%
# A sum that stops growing
# ------------------------
# Start at 0 and add 1, ten thousand times. Guess where each format arrives:
from jaxcap.kernels import bits
from jaxcap.report.source import Source

Source(bits.count)

# %%
for name in ("float32", "float16", "bfloat16"):
    print(f"{name:8} {float(bits.count(10_000, name)):6.0f}")

# %%
# From 256 to 512, bfloat16 has only every other integer. 257 lies halfway between its neighbours
# 256 and 258, and a tie goes to the number whose last bit of fraction is 0, which is 256 again. So
# the sum is stuck, and no warning tells you. float16 has three more bits of fraction, so it gets to
# 2048. Any total that your own loop keeps is at risk: a running loss, a counter, a moving average.
#
# :func:`jax.numpy.sum` is safer. It adds numbers of 16 bits in a longer format, as the notes on
# :func:`jax.lax.reduce_sum` say, and rounds to 16 bits only at the end, so small numbers don't get
# lost as soon. But that doesn't help if the sum itself is large. Add up a hundred thousand ones:
for name in ("float32", "float16", "bfloat16"):
    ones = jnp.ones(100_000, name)
    print(f"{name:8} {ones.sum()!s:8} or {ones.sum(dtype='float32')}")

# %%
# The largest float16 is 65504, and the sum is larger. So ask for a ``dtype`` that can hold the
# result. Overflow can also strike on the way to a modest result. The length of this vector is below
# a thousand:
x = jnp.full(10, 300, "float16")
print(jnp.linalg.norm(x), "or", jnp.linalg.norm(x.astype("float32")))

# %%
# The length would fit into float16, but the squares that it is computed from don't. bfloat16 has
# the range of float32, so it rarely overflows. What it lacks is digits.
#
# What a product loses, and where
# -------------------------------
# Multiply two matrices in bfloat16, and digits are lost twice: when the matrices are rounded, and
# when the result is. An argument, ``preferred_element_type``, avoids the second loss. It also
# matters in which format the device adds up. Added one by one in bfloat16, the products of a row
# and a column of ten thousand ones would come to only 256:
from jaxcap.experiments.bits import BFLOAT16, FLOAT16, FLOAT32, FORMATS, MIXED

matrices = experiments.inputs("product", 500)
a, b = bits.cast(matrices, BFLOAT16)
print(jnp.matmul(a, b).dtype)
print(jnp.matmul(a, b, preferred_element_type=FLOAT32).dtype)
ones = jnp.ones((1, 10_000), BFLOAT16)
added = (ones @ ones.T).item()
print("ten thousand ones:", added)

# %%
in_full = "with more bits, and rounds the sum to bfloat16 at the end"
adds_up = in_full if added > 9000 else "in bfloat16"

# %%
# So this device adds up :measured:`adds_up`.
#
# From here on, *bfloat16 and float32* stands for a mixture: bfloat16 for what is stored and
# multiplied, float32 for what is added up. A product takes bfloat16 matrices, and has a float32
# result. A sum adds bfloat16 numbers with ``dtype="float32"``. Later, a training step computes its
# gradient in bfloat16, and moves weights in float32 along it.
#
# In bfloat16, the inputs have only two digits. Is a float32 result still any use? For the sum of a
# million numbers, `math.fsum <https://docs.python.org/3/library/math.html#math.fsum>`__ gives the
# exact answer. For the product, NumPy's in float64 serves as the reference, so read the entry of
# float64 as an order of magnitude only.
from math import fsum

(numbers,) = experiments.inputs("sum", 1_000_000)
exact = {"sum": fsum(numbers), "product": matrices[0] @ matrices[1]}
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
# Compare *bfloat16* with *bfloat16 and float32*: the inputs are the same, and what differs is the
# rounding of the result. Rounding the inputs hurts the product more than the sum. With a few
# hundred terms instead of a million, fewer errors cancel, and the table shows the worst of 250,000
# elements of the product, but a single sum. Rounding the result is one error, which nothing
# averages out. The sum in float16 is infinite, because it is larger than 65504.
#
# Is bfloat16 faster here?
# ------------------------
# A format of 16 bits has half as many bytes to fetch. But arithmetic gets faster only if the device
# has instructions for 16 bits, and if the compiler uses them. How do you expect the formats to rank
# in a product of matrices, and what will a result in float32 cost?
results = experiments.BITS.run(budget_s=0.03)
products = results.select(task="product")
_ = figures.ratios(products, over=FLOAT32, title="Product of two matrices")

# %%
from jaxcap.report.claims import claim, speedup_of

bfloat16_pays = claim(
    "JAX multiplies matrices faster in bfloat16 than in float32",
    results,
    speedup_of(BFLOAT16, over=FLOAT32, task="product"),
)
bfloat16_pays

# %%
long_result_pays = claim(
    "JAX multiplies matrices of bfloat16 faster if the result is in float32 "
    "than if it is in bfloat16",
    results,
    speedup_of(MIXED, over=BFLOAT16, task="product"),
)
long_result_pays


# %%
# A float32 result means more bytes to write, but it can also save conversions. To see what the
# compiler made of each product, count the conversions, and ask how much memory the program sets
# aside for intermediate results:
def conversions(function, *args):
    program = jax.jit(function).lower(*args).compile()
    number = program.as_text().count(" convert(")
    size = program.memory_analysis().temp_size_in_bytes
    return f"{number:2} conversions, {size:9,} temporary bytes"


# %%
from functools import partial

to_float32 = partial(jnp.matmul, preferred_element_type=FLOAT32)
ways = {
    FLOAT32: (jnp.matmul, FLOAT32),
    FLOAT16: (jnp.matmul, FLOAT16),
    BFLOAT16: (jnp.matmul, BFLOAT16),
    MIXED: (to_float32, BFLOAT16),
}
for name, (multiply, stored) in ways.items():
    a, b = bits.cast(matrices, stored)
    print(f"{name:20} {conversions(multiply, a, b)}")

# %%
# Without conversions, the matrices are multiplied as they are. Three conversions mean that the
# compiler didn't multiply these types directly: it makes float32 copies of both matrices,
# multiplies the copies, and rounds the result to 16 bits. That is all the work of float32, with the
# conversions on top. The temporaries are the copies and the result in float32, so while it runs,
# such a program saves no memory. The conversions may be the compiler's choice, and not the
# processor's limit. So if you change a type, or the release of JAX, count again.
#
# Weights that stop moving
# ------------------------
# A training step changes each weight by a small part of its gradient, and you have seen what may
# become of small changes. The usual remedy comes from a `paper on mixed precision
# <https://arxiv.org/abs/1710.03740>`__: keep *master weights* in float32, and compute each gradient
# with a copy of them in 16 bits. The function ``step`` does that if its weights have more bits than
# its input:
Source(bits.network, bits.loss, bits.step)

# %%
# So the four ways to train differ in the formats of the weights and of the batch:
formats = {
    FLOAT32: (FLOAT32, FLOAT32),
    FLOAT16: (FLOAT16, FLOAT16),
    BFLOAT16: (BFLOAT16, BFLOAT16),
    MIXED: (FLOAT32, BFLOAT16),
}

# %%
# Let a network of 64 units learn what another network of that size computes, so that a solution
# exists. Which of the four will come close to it?
weights, x, y = bits.problem(64)
train = jax.jit(bits.losses, static_argnames="steps")
histories = {}
for name, (of_weights, of_batch) in formats.items():
    start = bits.cast(weights, of_weights)
    batch = bits.cast((x, y), of_batch)
    histories[name] = np.asarray(train(start, *batch, steps=2000))

# %%
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

# sphinx_gallery_thumbnail_number = 3

# %%
# Where a line levels off early, the steps have become smaller than half the gap to the next number
# of the format, and rounding undoes them. Master weights collect small steps until they show in the
# copy. The gradient may be coarse, but the weights may not: each gradient is computed afresh, from
# wherever the last step has led, so its errors don't pile up.
#
# Gradients that vanish
# ---------------------
# float16 has a problem of its own. Suppose that the targets are in metres instead of millimetres,
# and that the weights of the last layer are a thousand times smaller, too. Then the gradient of the
# first layer is a million times smaller, and what is below the range of float16 becomes 0. But if
# you multiply the loss by a *scale*, you multiply the whole gradient, because the chain rule passes
# the scale on. How large should the scale be?
weights, x, y = bits.cast(bits.problem(64, unit=1e-3), "float16")


def slopes(scale):
    """Return all elements of the gradient, multiplied by a scale."""
    tree = jax.grad(lambda weights: scale * bits.loss(weights, x, y))(weights)
    return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(tree)])


for scale in (1.0, 2.0**6, 2.0**12, 2.0**18):
    elements = np.asarray(slopes(scale), np.float32)
    zero, lost = np.mean(elements == 0), np.mean(~np.isfinite(elements))
    print(f"{scale:8,.0f}: {zero:4.0%} zero, {lost:4.0%} infinite or NaN")

# %%
# A scale that is too small leaves some of the gradient at zero. The largest scale here is itself
# beyond the range of float16, so it is infinite, and what it multiplies becomes infinite or NaN.
# With a smaller scale, large gradients can still overflow. Programs that train in float16 `adjust
# the scale as they go <https://github.com/google/flax/blob/main/flax/training/dynamic_scale.py>`__:
# down when they meet an infinity, and up again if none has come for a while. Convert the gradient
# to float32 *before* you divide by the scale, or it will vanish after all. bfloat16 has the range
# of float32 and rarely needs any of that.
#
# What each format saves, and what it loses
# -----------------------------------------
# Take float64 where the answer has to be right to many digits, as in :doc:`a fit that must converge
# </tutorials/applications/convergence>`, and set ``jax_enable_x64`` first. Take float32 for
# anything that accumulates, such as sums and weights. Do the rest in bfloat16 if that pays on your
# device, or if you run out of memory. And take float16 for data whose range you know. The table
# shows what each format loses, beside the time that it saves or costs:
tasks = ("sum", "product", "training step")
rows = []
for name in ("float16", BFLOAT16, MIXED):
    error = errors[name, "product"] / errors[FLOAT32, "product"]
    loss = histories[name][-1] / histories[FLOAT32][-1]
    row = [name, f"{error:,.0f}×", f"{loss:,.0f}×"]
    for task in tasks:
        ratio = results.speedup(name, over=FLOAT32, task=task)
        row.append(ratio.verdict_in_words)
    rows.append(row)
headers = ("format", "error", "loss", *tasks)
Table("Error of a product, loss and time, beside float32", headers, rows)

# %%
mixed_pays = claim(
    "a training step with weights in float32 is faster if its gradient is "
    "computed in bfloat16",
    results,
    speedup_of(MIXED, over=FLOAT32, task="training step"),
)
mixed_pays

# %%
# Do conversions play a part in this? Count them in a whole step:
weights, x, y = bits.problem(512)
for name, (of_weights, of_batch) in formats.items():
    args = bits.cast(weights, of_weights), *bits.cast((x, y), of_batch)
    print(f"{name:20} {conversions(bits.step, *args)}")

# %%
# The mixture has to convert its weights in each step, but that takes only a few conversions. If
# there are many more, XLA computes in float32 on this device, and rounds one result after another
# to 16 bits. Each product in ``network`` has a result in the format of its inputs, so it may need
# the same three conversions as above.
#
# Whatever you choose, check the dtype of what comes out, because a single float32 may silently turn
# the bfloat16 numbers that it meets into float32. Which of these will?
short = jnp.ones(3, BFLOAT16)
for other in (2.0, np.float32(2), jnp.ones(3)):
    print((short * other).dtype, "from", repr(other))

# %%
# A Python number has a `weak type
# <https://docs.jax.dev/en/latest/type_promotion.html#weak-types>`__, which gives way. NumPy's
# float32 doesn't, and neither do most arrays.
#
# Takeaway
# --------
product_16 = bfloat16_pays.estimate
long_result = long_result_pays.estimate
step_mixed = mixed_pays.estimate
stuck = f"{histories[BFLOAT16][-1]:.1g}"
trained = f"{histories[MIXED][-1]:.1g}"

# %%
# Two bytes are enough for most numbers, but not for those that collect many small changes, such as
# sums and weights. Keep sums and weights in float32: the same training ended at a loss of
# :measured:`stuck` with weights in bfloat16, and of :measured:`trained` with weights in float32 and
# gradients in bfloat16. float16 has more digits than bfloat16 but less range, so its gradients may
# vanish, unless you multiply the loss by a large number first.
#
# Don't take it for granted that two bytes save time over four, because that is up to the device and
# the compiler. On this page's device, a product in bfloat16 was
# :measured:`product_16 than in float32`. With its result in float32, it was
# :measured:`long_result than with a bfloat16 result`. A training step with its gradient in bfloat16
# was :measured:`step_mixed than one in float32`. If such a result surprises you, count the
# conversions in the compiled program.
#
# Try it yourself in :doc:`exercise 10 </exercises/10_bits>`. Next: :doc:`why JAX is slow on small
# arrays </tutorials/performance/dispatch_overhead>`.
