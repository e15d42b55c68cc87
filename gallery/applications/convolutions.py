"""
What makes a convolution slow?
==============================

:doc:`The page before </tutorials/applications/training_speed>` exchanged the convolutions of a
network for others with the same result, and timed whole training steps. Here we look inside a step.
Which layer takes the time? What do you gain by writing a convolution as a product of matrices? And
why can a gradient that is fast on its own be slow in a loop?
"""

# %%
# Where does a step's time go?
# ----------------------------
# You can save time only where the program spends it, so first find out where that is. We cut a step
# of the network into its layers. Each layer becomes two programs, one forward and one backward, and
# the update of the weights is another. We run each program in four ways: with *XLA's* own
# convolutions, with *patches* (see the next section), with *Winograd's* algorithm (see :doc:`the
# next page </tutorials/applications/winograd>`), and in *PyTorch*. Where would you expect most of
# the time to go?
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
import numpy as np

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
# And here are the two directions of each layer:
from jaxcap.results.tables import Table

rows = []
for part in LAYERS.points:
    times_ms = [f"{spent(way, **part):.2f}" for way in ways]
    rows.append((f"{part['layer']}, {part['task']}", *times_ms))
rows.append(("sum", *(f"{sum_ms:.1f}" for sum_ms in sums.values())))
title = f"Milliseconds for a batch of {batch} images"
Table(title, ("part of a step", *ways), rows)

# %%
longest = max(LAYERS.points, key=lambda part: spent("XLA", **part))
longest_part = f"{longest['layer']}, {longest['task']}"
its_share = f"{spent('XLA', **longest) / sums['XLA']:.0%}"
saved_ms = {name: ms[0] - ms[1] for name, ms in by_layer_ms.items()}
between_sums = f"{sum(saved_ms.values()):.1f} ms"
by_pool = f"{saved_ms['pool, dropout']:.1f} ms"
by_convolutions = f"{saved_ms['conv1'] + saved_ms['conv2']:.1f} ms"

# %%
# With XLA's own convolutions, the longest part here was :measured:`longest_part`, with
# :measured:`its_share` of the sum. *Patches* and *Winograd* change more than the convolutions: they
# also have a pool of their own, which remembers where the largest pixel was, so that its backward
# pass needn't look for that pixel. Between the sums of XLA and of patches lie
# :measured:`between_sums`. The layer with the pool accounts for :measured:`by_pool` of these, and
# the two convolutions for :measured:`by_convolutions`.
#
# The table has no intervals, so the small differences in it mean nothing. And don't expect the sum
# to be the time of a whole step. A step also fetches its images and computes the loss, and XLA can
# fuse what belongs to two of its layers.
#
# A convolution as a product of matrices
# --------------------------------------
# For NVIDIA's GPUs, XLA calls NVIDIA's library for convolutions. On a CPU it uses other code, whose
# gradients can be slow. But you can write a convolution as a product: cut out the patch around each
# pixel, make it a row of a matrix, and multiply that by the kernel. Products have fast code on
# every device, and their gradients are products again. The price is memory and its traffic: with a
# kernel of three by three, the matrix holds each pixel up to nine times, and a gradient with
# respect to the images has to add up the patches again.
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
# On a CPU, there is another reason to know about patches. These functions take the gradient of the
# second convolution with respect to its kernel: the first function for all images at once, and the
# second for one part of them after another, in a compiled loop. Will they take the same time?
Source(convolution.kernel_gradient, convolution.kernel_gradients)

# %%
import time
from functools import partial

import jax
import jax.numpy as jnp


def milliseconds(function, *args):
    """Return the shortest of five calls, after one that compiles."""
    times = []
    for _ in range(6):
        start = time.perf_counter()
        function(*args).block_until_ready()
        times.append(time.perf_counter() - start)
    return 1000 * min(times[1:])


# %%
images = jnp.ones((8, 26, 26, 32))
halves = images.reshape(2, 4, 26, 26, 32)
kernel = jnp.ones((3, 3, 32, 64))
gradient_ms = {}
for convolve in (convolution.by_xla, convolution.by_patches):
    gradient = jax.jit(partial(convolution.kernel_gradient, convolve))
    looped = jax.jit(partial(convolution.kernel_gradients, convolve))
    at_once = milliseconds(gradient, images, kernel)
    in_loop = milliseconds(looped, halves, kernel)
    gradient_ms[convolve.__name__] = at_once, in_loop
    print(f"{convolve.__name__:10} {at_once:4.0f} ms, loop {in_loop:4.0f} ms")

# %%
# These calls come from a single process, so look at orders of magnitude only. If XLA's own
# convolution takes much longer in the loop, the compiled program may say why. It notes the order of
# the dimensions of the images, the kernel and the result: ``b`` is the batch, ``0`` and ``1`` are
# rows and columns, and ``f`` is the channels. In the kernel, ``i`` and ``o`` are the channels of
# the images and of the result. Does the loop change these orders?
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
at_once, in_loop = gradient_ms["by_xla"]
conclusion = {
    (True, True): "That is why the gradient is slow there",
    (True, False): "Even so, the loop isn't slow here",
    (False, True): "So the loop must be slow for another reason",
    (False, False): "So here, the loop isn't slow either",
}[loop_in_order != once_in_order, in_loop > 3 * at_once]

# %%
outside = "At the top level of a program, XLA reorders a gradient to match"
as_often = "Here, the loop had that order as often as the other program"
cause = {
    (True, True): f"{outside}, but in a loop it doesn't, which is slow",
    (
        True,
        False,
    ): f"{outside}, but in a loop it doesn't, which wasn't slow here",
    (False, True): f"{as_often}, so it was slow for another reason",
    (False, False): f"{as_often}, and wasn't slow",
}[loop_in_order != once_in_order, in_loop > 3 * at_once]

# %%
# One convolution of each program is the forward pass. The other computes the gradient. It adds up
# over images instead of channels, so its dimensions start out in another order. On CPUs, XLA has
# fast code for the order ``b01f_01io->b01f``. To get there, `a pass of the compiler
# <https://github.com/openxla/xla/blob/main/xla/service/cpu/conv_canonicalization.h>`__ transposes
# arrays, but only at the top level of a program, not in the body of a loop. At once,
# :measured:`once_in_order` convolutions have the fast order, and in the loop
# :measured:`loop_in_order`. :measured:`conclusion`. If a gradient is slow in a loop of yours, look
# at the orders in its compiled program. Where one isn't ``b01f_01io->b01f``, compute the gradient
# outside of the loop, or write the convolution with patches, whose gradient is a product.
#
# Takeaway
# --------
backward = layer_times.select(layer="conv2", task=BACKWARD)
backward_to_xla = backward.speedup(PATCHES, over=STEPS)
xla_once, xla_loop = (f"{ms:.0f} ms" for ms in gradient_ms["by_xla"])
patches_once, patches_loop = (
    f"{ms:.0f} ms" for ms in gradient_ms["by_patches"]
)

# %%
# On a CPU, XLA's fast code for convolutions accepts only one order of dimensions.
# :measured:`cause`: the gradient of XLA's own convolution took :measured:`xla_once` for all images
# at once, and :measured:`xla_loop` in a compiled loop. Written as a product of matrices, for which
# every device has fast code, the same gradient took :measured:`patches_once` and
# :measured:`patches_loop`.
#
# By itself and outside of a loop, the backward pass of the second convolution with patches was
# :measured:`backward_to_xla than with XLA's own`. Before you rewrite anything, find out where
# the time goes: with XLA's own convolutions, the longest part was :measured:`longest_part`, with
# :measured:`its_share` of the sum.
#
# Next: :doc:`does a convolution need all its multiplications?
# </tutorials/applications/winograd>`
