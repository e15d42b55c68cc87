"""
What makes a convolution slow?
==============================

JAX can leave a convolution to XLA, or you can write it yourself as a product of matrices. This page
compares the two, and finds that on a CPU, the gradient of XLA's convolution can take many times longer
inside a compiled loop. If you compile your training loop, you will want to recognise that, so we look
for the reason in the compiled program, and then remove it.
"""

# %%
# A convolution can be a product of matrices
# ------------------------------------------
# :doc:`The page before </tutorials/applications/training_speed>` replaced the convolutions of a network
# with *patches*, an idea also known as im2col. For each pixel of the output, cut out the patch of the
# image that the kernel sees there, and make it a row of a matrix. This matrix times the kernel is the
# convolution.
from jaxcap.kernels import convolution
from jaxcap.report.source import Source

Source(convolution.by_patches)

# %%
# CPUs and GPUs have fast code for products of matrices, and the gradient with respect to the kernel
# is another product. The price is memory: a kernel of three by three sees each pixel up to nine
# times, and the matrix repeats the pixel as often.
#
# Is that a good bargain? We measured each layer of our network as a program of its own. Take the
# backward pass of the second convolution, which computes the gradients with respect to the kernel and
# to the images. Which way will be faster?
from jaxcap.experiments.mnist_changes import PATCHES, STEPS
from jaxcap.experiments.mnist_layers import BACKWARD, LAYERS

layer_times = LAYERS.run(processes=4, budget_s=0.03)

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
# Multiplying is only part of the work with patches. The matrix has to be filled first, and the
# gradient with respect to the images has to add up all patches that share a pixel. Whether a fast
# product makes up for that depends on the device.
#
# The same gradient in a loop
# ---------------------------
# So far, the layer was a program of its own. A training program often has it inside a loop, such as
# a :func:`jax.lax.scan` over steps, or over small batches whose gradients are added up. These
# functions take the gradient with respect to the kernel, for all images at once, and for one part
# of the images after another:
Source(convolution.kernel_gradient, convolution.kernel_gradients)

# %%
# We'll split eight images into two halves. The arithmetic stays the same, so how much longer do you
# expect the loop to take?
import timeit
from functools import partial

import jax


def milliseconds(function, *args):
    """Return the shortest of six calls, the first of which compiles."""
    compiled = jax.jit(function)
    seconds = timeit.repeat(
        lambda: compiled(*args).block_until_ready(), number=1, repeat=6
    )
    return 1000 * min(seconds)


# %%
of_images, of_kernel = jax.random.split(jax.random.key(0))
images = jax.random.normal(of_images, (8, 26, 26, 32))
halves = images.reshape(2, 4, 26, 26, 32)
kernel = jax.random.normal(of_kernel, (3, 3, 32, 64))
gradient_ms = {}
for convolve in (convolution.by_xla, convolution.by_patches):
    gradient = partial(convolution.kernel_gradient, convolve)
    gradients = partial(convolution.kernel_gradients, convolve)
    at_once = milliseconds(gradient, images, kernel)
    in_loop = milliseconds(gradients, halves, kernel)
    gradient_ms[convolve.__name__] = at_once, in_loop

# %%
xla_once, xla_loop = (f"{ms:.0f} ms" for ms in gradient_ms["by_xla"])
finding = f"XLA's gradient: {xla_once} at once, {xla_loop} in a loop"

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3))
colours = figures.palette(gradient_ms)
for name, both in gradient_ms.items():
    rows = [f"{name}, at once", f"{name}, in a loop"]
    drawn = axes.barh(rows, both, color=colours[name])
    axes.bar_label(drawn, fmt="%.0f ms", padding=3)
axes.margins(x=0.15)
axes.invert_yaxis()
axes.set_xlabel("time in ms (lower is better)")
figures.headline(figure, finding, "Gradient with respect to the kernel")

# %%
# These are a few calls in one process, so look at orders of magnitude. On a CPU, the loop around
# ``by_xla`` can take more than ten times as long as the gradient at once. The arithmetic can't
# explain that, so the compiler must have made different programs of the two. Let's read them.
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
    "at once": (convolution.kernel_gradient, images),
    "in the loop": (convolution.kernel_gradients, halves),
}
orders = {}
for name, (function, examples) in programs.items():
    gradient = jax.jit(partial(function, convolution.by_xla))
    program = gradient.lower(examples, kernel).compile().as_text()
    orders[name] = re.findall(r"dim_labels=([\w>-]+)", program)
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
# one level below, so a convolution there keeps its order. If that is another one, as in a gradient, it
# misses the fast code. A user `reported such a loop
# <https://github.com/jax-ml/jax/issues/12868>`__ in 2022, around a convolution with channels first.
#
# In the program for all images at once, :measured:`once_in_order` convolutions had the order
# ``b01f_01io->b01f``, and in the loop :measured:`loop_in_order`. If a loop of yours is slow, search
# its compiled program for ``dim_labels`` in the same way.
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


def gradients_by_hand(parts, kernel):
    return jax.lax.map(lambda part: by_hand(part, kernel), parts)


# %%
# Is the result the same gradient, and how long does the loop take now?
by_grad = convolution.kernel_gradients(convolution.by_xla, halves, kernel)
difference = abs(gradients_by_hand(halves, kernel) - by_grad).max()
by_hand_ms = f"{milliseconds(gradients_by_hand, halves, kernel):.0f} ms"
print(f"relative error: {difference / abs(by_grad).max():.0g}")
print("by hand, loop:", by_hand_ms)

# %%
# Apart from its transposes, this loop computes what the one with :func:`jax.grad` did, so a difference
# in time comes from the order. In a network, you would wrap the convolution in a
# :func:`jax.custom_vjp`, so that :func:`jax.grad` uses such a gradient. Two other ways are easier:
# leave the loop to Python, which keeps each gradient at the top level of its program, or write the
# convolution with patches.
#
# Takeaway
# --------
backward = layer_times.select(layer="conv2", task=BACKWARD)
backward_to_xla = backward.speedup(PATCHES, over=STEPS)
patches_loop = f"{gradient_ms['by_patches'][1]:.0f} ms"

# %%
# On a CPU, XLA's fast code for convolutions takes the dimensions in only one order. Gradients come in
# another, and XLA transposes their arrays to fit, but not inside a loop. In a few calls, the gradient
# with respect to the kernel took :measured:`xla_once` for all images at once, and :measured:`xla_loop` in
# a loop over two halves. With arrays transposed by hand, the loop took :measured:`by_hand_ms`, and with
# patches :measured:`patches_loop`.
#
# Patches replace XLA's convolution with a product of matrices, but they take memory. Outside of a loop,
# the backward pass of the second convolution with patches was
# :measured:`backward_to_xla than with XLA's convolution`.
#
# Next: :doc:`does a convolution need all its multiplications?
# </tutorials/applications/winograd>`
