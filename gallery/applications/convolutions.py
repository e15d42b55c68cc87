"""
What makes a convolution slow?
==============================

:doc:`The page before </tutorials/applications/training_speed>` replaced the convolutions of a
network by equivalent ones, and timed whole training steps. Here we look inside a step to see which layers take the time. On a CPU, the gradients of convolutions can take a lot of it, and
far more in a compiled loop. We'll find out why, and try two remedies: to write the convolution as a
product of matrices, and to transpose arrays by hand.
"""

# %%
# Where does a step's time go?
# ----------------------------
# To find out, we cut a step of the network into its layers. Each layer becomes two programs: a
# *forward* one, which also stores what the gradient will need, and a *backward* one, which computes
# the gradient from that. The update of the weights is another program. We run them in four ways:
# with *XLA's* own convolutions, with *patches* (see the next section), with *Winograd's* algorithm
# (see :doc:`the next page </tutorials/applications/winograd>`), and in *PyTorch*. Which layer do
# you expect to take longest?
import numpy as np

from jaxcap.experiments.mnist import DEVICE
from jaxcap.experiments.mnist_changes import PATCHES, STEPS, WINOGRAD
from jaxcap.experiments.mnist_layers import ALL, BACKWARD, LAYERS

layer_times = LAYERS.run(processes=4, budget_s=0.03)

# %%
ways = {
    "XLA": STEPS,
    "patches": PATCHES,
    "Winograd": WINOGRAD,
    "PyTorch": DEVICE,
}


def spent(way, **part):
    """Return the milliseconds that a way to train spends in parts of a step."""
    chosen = layer_times.select(variant=ways[way], **part)
    return 1000 * sum(result.time.value for result in chosen)


sums = {way: spent(way) for way in ways}

# %%
layers = dict.fromkeys(part["layer"] for part in LAYERS.points)
by_layer_ms = {
    "new weights" if layer == ALL else layer: np.array(
        [spent(way, layer=layer) for way in ways]
    )
    for layer in layers
}
batch = LAYERS.points[0]["batch"]
finding = ", ".join(f"{way} {sum_ms:.0f}" for way, sum_ms in sums.items())
finding = f"Milliseconds in all: {finding}"

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3.4))
before_ms = np.zeros(len(ways))
for name, colour in figures.palette(by_layer_ms).items():
    add_ms = by_layer_ms[name]
    axes.barh(list(ways), add_ms, left=before_ms, color=colour, label=name)
    before_ms += add_ms
axes.invert_yaxis()
axes.set_xlabel(f"ms for a batch of {batch} images (lower is better)")
figures.headline(figure, finding, "Layers, forward and backward")
_ = figure.legend(loc="outside lower center", ncols=2)

# %%
longest = max(LAYERS.points, key=lambda part: spent("XLA", **part))
longest_part = f"{longest['layer']}, {longest['task']}"
its_share = f"{spent('XLA', **longest) / sums['XLA']:.0%}"
saved_ms = {name: ms[0] - ms[1] for name, ms in by_layer_ms.items()}
between_sums = f"{sum(saved_ms.values()):.1f} ms"
by_pool = f"{saved_ms['pool, dropout']:.1f} ms"
by_convolutions = f"{saved_ms['conv1'] + saved_ms['conv2']:.1f} ms"

# %%
# With XLA's own convolutions, the program that took longest was :measured:`longest_part`, with
# :measured:`its_share` of the sum. The other ways change more than the convolutions. *Patches* also
# has a pool of its own, which remembers where the largest pixel was, so that its backward pass
# needn't look for that pixel. *Winograd* has this pool, too. It also draws fewer random numbers for
# dropout, and takes a few images at a time through the second convolution and the pool.
#
# Of the :measured:`between_sums` between the sums of XLA and of patches, the layer with the pool
# accounts for :measured:`by_pool`, and the two convolutions for :measured:`by_convolutions`. The
# other layers are the same program both times, so their differences are noise. The bars have no
# intervals, so small differences between them mean nothing.
#
# Don't take a sum for the time of a whole step. A step also fetches its images and computes the
# loss, which makes it longer. But cutting it up costs time as well: in a step, XLA can fuse what
# belongs to two layers, and with Winograd's algorithm, a few images go through the convolution and
# the pool together, while they are in the cache. So the sum may come out longer than :doc:`the
# whole step </tutorials/applications/training_speed>`.
#
# A convolution as a product of matrices
# --------------------------------------
# For NVIDIA's GPUs, XLA calls NVIDIA's library for convolutions. On a CPU, it has fast code for one
# order of dimensions, and general code for others, which can be slow at gradients. But you can
# write a convolution as a product: cut out the patch around each pixel, make it a row of a matrix,
# and multiply that by the kernel. Products have fast code on every device, and their gradients are
# products again. The price is memory, and the time to fill it: with a kernel of three by three, the
# matrix holds each pixel up to nine times. And a gradient with respect to the images has to add up
# the patches again.
from jaxcap.kernels import convolution
from jaxcap.report.source import Source

Source(convolution.by_patches)

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
# Is the gradient as fast in a loop?
# ----------------------------------
# These functions take the gradient of the second convolution with respect to its kernel. The first
# handles all images at once. The second loops over parts of them, in a single compiled program.
# We'll give the second the same images in two halves. Will that take the same time?
Source(convolution.kernel_gradient, convolution.kernel_gradients)

# %%
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
    print(f"{convolve.__name__:10} {at_once:4.0f} ms, loop {in_loop:4.0f} ms")

# %%
# This is only a first look, with a few calls in one process, so compare orders of magnitude. Why may
# a gradient take longer in a loop? The compiled program tells. It labels
# the dimensions of the images, the kernel and the result by the part that each plays. A convolution
# slides along ``0`` and ``1``, adds up along ``f``, and treats the entries along ``b`` separately.
# In the kernel, ``i`` is the dimension that meets ``f``, and ``o`` becomes the ``f`` of the result.
# Are the labels the same in the loop?
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
# One convolution of each program is the forward pass. The other computes the gradient, which adds
# up over images. So images play the part of channels, and the dimensions start out in another
# order. On CPUs, the order of the fast code is ``b01f_01io->b01f``. (In this release, that is code
# of a library, YNNPACK.) To get to it, `a pass of the compiler
# <https://github.com/openxla/xla/blob/main/xla/service/cpu/conv_canonicalization.h>`__ transposes
# arrays, but only at the top level of a program, not in the body of a loop. At once,
# :measured:`once_in_order` convolutions have the fast order, and in the loop
# :measured:`loop_in_order`. If that is fewer, the loop falls back on the general code, which
# explains why it takes longer.
#
# If a gradient is slow in a loop of yours, look at the orders in its compiled program. Where one
# isn't ``b01f_01io->b01f``, you can transpose by hand. In the gradient with respect to the kernel,
# images play the part of channels, so swap these two axes. The gradient with respect to the output
# takes the place of the kernel:
def by_hand(images, kernel):
    by_output = 2 * convolution.by_xla(images, kernel)
    swapped = images.transpose(3, 1, 2, 0)
    window = by_output.transpose(1, 2, 0, 3)
    return convolution.by_xla(swapped, window).transpose(1, 2, 0, 3)


def gradients_by_hand(parts, kernel):
    return jax.lax.map(lambda part: by_hand(part, kernel), parts)


# %%
# Does it compute the same as :func:`jax.grad`, and how long does the loop take now?
by_grad = convolution.kernel_gradients(convolution.by_xla, halves, kernel)
difference = abs(gradients_by_hand(halves, kernel) - by_grad).max()
print(f"relative error: {difference / abs(by_grad).max():.0g}")
by_hand_ms = f"{milliseconds(gradients_by_hand, halves, kernel):.0f} ms"
print("by hand, loop:", by_hand_ms)

# %%
# To make :func:`jax.grad` use such a gradient, wrap the convolution in a :func:`jax.custom_vjp`. Or
# leave the order to XLA, and either compute the gradient outside of the loop, or write the
# convolution with patches, whose gradient is a product.
#
# Takeaway
# --------
backward = layer_times.select(layer="conv2", task=BACKWARD)
backward_to_xla = backward.speedup(PATCHES, over=STEPS)
xla_once, xla_loop = (f"{ms:.0f} ms" for ms in gradient_ms["by_xla"])
reorders = "doesn't" if loop_in_order != once_in_order else "does so, too"

# %%
# On a CPU, XLA's convolution is fast for one order of dimensions only. Outside loops, XLA reorders
# the gradient to fit; inside a loop, it :measured:`reorders`. In a first look, within one process,
# the gradient of the kernel took :measured:`xla_once` at once and :measured:`xla_loop` in a loop.
# With arrays transposed by hand, the loop took :measured:`by_hand_ms`.
#
# Written as a product of matrices, a convolution has no such order to get wrong. For
# :measured:`batch` images, outside loops, and with the gradient of the images included, the
# backward pass of the second convolution with patches was
# :measured:`backward_to_xla than with XLA's own`.
#
# Next: :doc:`does a convolution need all its multiplications?
# </tutorials/applications/winograd>`
