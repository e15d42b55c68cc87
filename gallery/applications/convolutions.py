"""
What makes a convolution slow?
==============================

On a CPU, the gradient of a convolution can take many times longer inside a compiled loop than outside,
although the arithmetic is the same. If you compile your training loop, you will want to recognise that.
This page times such a loop, finds the reason in the compiled program, and shows three ways around it.
"""

# %%
# The same gradient is slow in a compiled loop
# --------------------------------------------
# The first of these functions takes the gradient with respect to the kernel of a convolution. The
# second has a loop, which JAX compiles, and takes the gradient for one part of the images after another.
from jaxcap.kernels import convolution
from jaxcap.report.source import Source

Source(convolution.kernel_gradient, convolution.kernel_gradients)

# %%
# Let's convolve with ``by_xla``, which calls :func:`jax.lax.conv_general_dilated`. Eight images are
# split into two halves, for a compiled loop and for a loop in Python, which calls the compiled gradient
# twice. How much longer than all images at once will each loop take?
from functools import partial

import jax

of_images, of_kernel = jax.random.split(jax.random.key(0))
images = jax.random.normal(of_images, (8, 26, 26, 32))
halves = images.reshape(2, 4, 26, 26, 32)
kernel = jax.random.normal(of_kernel, (3, 3, 32, 64))

gradient = jax.jit(partial(convolution.kernel_gradient, convolution.by_xla))
in_loop = jax.jit(partial(convolution.kernel_gradients, convolution.by_xla))

# %%
import timeit


def milliseconds(function):
    """Return the shortest of six calls, the first of which compiles."""
    seconds = timeit.repeat(
        lambda: jax.block_until_ready(function()), number=1, repeat=6
    )
    return 1000 * min(seconds)


# %%
gradient_ms = {
    "all at once": milliseconds(lambda: gradient(images, kernel)),
    "loop in Python": milliseconds(
        lambda: [gradient(half, kernel) for half in halves]
    ),
    "compiled loop": milliseconds(lambda: in_loop(halves, kernel)),
}

# %%
once_ms, python_ms, loop_ms = (f"{ms:.0f} ms" for ms in gradient_ms.values())
finding = f"Compiled loop {loop_ms}, loop in Python {python_ms}"

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 2.4))
drawn = axes.barh(list(gradient_ms), list(gradient_ms.values()))
axes.bar_label(drawn, fmt="%.2g ms", padding=3)
axes.margins(x=0.15)
axes.invert_yaxis()
axes.set_xlabel("time in ms (lower is better)")
figures.headline(figure, finding, "Gradient with respect to the kernel")

# %%
# These are a few calls in one process, so look at orders of magnitude. On a CPU, the compiled loop can
# take more than ten times as long as either of the others. Both loops do the same arithmetic, so the
# compiler must have made different programs of it. Let's read them.
#
# The compiled program names the order of dimensions
# --------------------------------------------------
# XLA labels each convolution with the order of its dimensions. In ``b01f_01io->b01f``, the images
# come first: ``b`` is the batch, ``0`` and ``1`` are rows and columns, and ``f`` stands for
# features, or channels. Then comes the kernel, with ``i`` for input channels, over which the
# convolution sums, and ``o`` for output channels, and after the arrow the result. Which labels do
# the two programs have?
import re

programs = {
    "all at once": gradient.lower(images, kernel).compile(),
    "compiled loop": in_loop.lower(halves, kernel).compile(),
}
orders = {}
for name, program in programs.items():
    orders[name] = re.findall(r"dim_labels=([\w>-]+)", program.as_text())
    print(f"{name}:", *orders[name])

# %%
FAST = "b01f_01io->b01f"
once_in_order, loop_in_order = (
    f"{found.count(FAST)} of {len(found)}" for found in orders.values()
)

# %%
# Each program has two convolutions: the forward pass, and the gradient, which is a convolution as
# well. The gradient sums over the images, so they play the part of channels, and JAX asks for a
# convolution in which ``f`` and ``b`` have changed places.
#
# On a CPU, XLA has fast code for the order ``b01f_01io->b01f``. To use it for other orders, too,
# `a pass of the compiler
# <https://github.com/openxla/xla/blob/main/xla/service/cpu/conv_canonicalization.h>`__ transposes
# the arrays, but only around convolutions at the top level of a program. The body of a loop lies
# one level below, so a convolution there keeps its order, and a gradient misses the fast code. With
# channels first, a convolution in a loop misses it even without a gradient, as a user `reported
# <https://github.com/jax-ml/jax/issues/12868>`__ in 2022.
#
# In the program for all images at once, :measured:`once_in_order` convolutions had the order
# ``b01f_01io->b01f``, and in the loop :measured:`loop_in_order`. If a loop of yours is slow, search
# its compiled program for ``dim_labels`` in the same way. The loop in Python keeps each gradient at the
# top level of its program. To keep a compiled loop, there are two other ways.
#
# Put the dimensions in order by hand
# -----------------------------------
# If the order is to blame, the loop should become fast once we transpose the arrays ourselves. Swap
# images and channels, and let the gradient with respect to the output, which for a sum of squares
# is twice the output, take the place of the kernel:


def by_hand(images, kernel):
    by_output = 2 * convolution.by_xla(images, kernel)
    swapped = images.transpose(3, 1, 2, 0)
    window = by_output.transpose(1, 2, 0, 3)
    return convolution.by_xla(swapped, window).transpose(1, 2, 0, 3)


@jax.jit
def in_loop_by_hand(parts, kernel):
    return jax.lax.map(lambda part: by_hand(part, kernel), parts)


# %%
# Is the result the same gradient, and how long does the loop take now?
by_grad = in_loop(halves, kernel)
difference = abs(in_loop_by_hand(halves, kernel) - by_grad).max()
by_hand_ms = f"{milliseconds(lambda: in_loop_by_hand(halves, kernel)):.0f} ms"
print(f"relative error: {difference / abs(by_grad).max():.0g}")
print("compiled loop, by hand:", by_hand_ms)

# %%
# Apart from its transposes, this loop computes what the one with :func:`jax.grad` did, so a difference
# in time comes from the order. In a network, you would wrap the convolution in a
# :func:`jax.custom_vjp`, so that :func:`jax.grad` uses such a gradient.
#
# A product of matrices avoids the convolution
# --------------------------------------------
# The other way is to write the convolution as a product of matrices, as :doc:`the page before
# </tutorials/applications/training_speed>` did. For each pixel of the output, cut out the *patch* of the
# image that the kernel sees there, and make it a row of a matrix. This idea is also known as im2col.
Source(convolution.by_patches)

# %%
# The price is memory, because a kernel of three by three sees each pixel up to nine times, and the
# matrix repeats the pixel as often. Here is our compiled loop with patches, and the memory that it and
# XLA's convolution need for arrays in between:
with_patches = jax.jit(
    partial(convolution.kernel_gradients, convolution.by_patches)
)
patches_ms = f"{milliseconds(lambda: with_patches(halves, kernel)):.0f} ms"
print("compiled loop, with patches:", patches_ms)
programs["with patches"] = with_patches.lower(halves, kernel).compile()
for name in ("compiled loop", "with patches"):
    memory = programs[name].memory_analysis().temp_size_in_bytes
    print(f"{name}: {memory / 1e6:.1f} MB")

# %%
# Are patches worth their memory outside of a loop, too? We measured the layers of our network as programs
# of their own. The backward pass of the second convolution computes the gradients with respect to the
# kernel and to the images:
from jaxcap.experiments.mnist_changes import PATCHES, STEPS
from jaxcap.experiments.mnist_layers import BACKWARD, LAYERS

layer_times = LAYERS.run(budget_s=0.03)

# %%
from jaxcap.report.claims import claim, speedup_of

patches_pay = claim(
    "the backward pass of the second convolution is faster with patches than "
    "with XLA's convolution",
    layer_times,
    speedup_of(PATCHES, over=STEPS, layer="conv2", task=BACKWARD),
)
patches_pay

# %%
# Multiplying is only part of the work with patches: the matrix has to be filled first, and the gradient
# with respect to the images has to add up all patches that share a pixel.
#
# Takeaway
# --------
backward = layer_times.select(layer="conv2", task=BACKWARD)
backward_to_xla = backward.speedup(PATCHES, over=STEPS)

# %%
# On a CPU, XLA's fast code for convolutions takes the dimensions in only one order. Gradients come in
# others, and XLA transposes their arrays to fit, but not inside a compiled loop. In a few calls, the
# gradient with respect to the kernel took :measured:`once_ms` for all images at once,
# :measured:`python_ms` in a loop in Python over two halves, and :measured:`loop_ms` in a compiled loop.
# With arrays transposed by hand, the compiled loop took :measured:`by_hand_ms`, and with patches
# :measured:`patches_ms`.
#
# Patches replace XLA's convolution with a product of matrices, but they take memory. Outside of a loop,
# the backward pass of the second convolution with patches was
# :measured:`backward_to_xla than with XLA's convolution`.
#
# Next: :doc:`does a convolution need all its multiplications?
# </tutorials/applications/winograd>`
