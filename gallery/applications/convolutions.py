"""
How fast can a convolution be?
==============================

:doc:`The page before </tutorials/applications/training_speed>` exchanged the convolutions of a
network for others that compute the same, and timed whole training steps. Here we look inside a
step. Where does its time go? How can a convolution become a product of matrices, and how can it do
with half as many multiplications? We check how exact each way is and what it gained, and end with
a list of everything else that we tried.
"""

# %%
# Where does a step's time go?
# ----------------------------
# Much can be saved only where much is spent, so begin there. We cut a step of the network into its
# layers. Each layer becomes two programs, one forward and one backward, and the update of the
# weights is another. Four ways to train take turns at each program: *XLA's* own convolutions,
# *patches* and *Winograd's* algorithm, which the next sections explain, and *PyTorch*. Where would
# you expect most of the time to go?
from jaxcap.experiments.mnist import DEVICE, PATCHES, STEPS, WINOGRAD
from jaxcap.experiments.mnist_layers import BACKWARD, FORWARD, LAYERS

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
    layer: np.array([spent(way, layer=layer) for way in ways])
    for layer in layers
}
batch = LAYERS.points[0]["batch"]
least = min(sums, key=sums.get)
finding = f"The least time in all: {least}, {sums[least]:.1f} ms"

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3.4))
before_ms = np.zeros(len(ways))
for name, colour in figures.palette(layers).items():
    add_ms = by_layer_ms[name]
    axes.barh(list(ways), add_ms, left=before_ms, color=colour, label=name)
    before_ms += add_ms
axes.invert_yaxis()
axes.set_xlabel(f"ms for a batch of {batch} images (lower is better)")
axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=3)
figures.headline(figure, finding, "Layers, forward and backward")

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

# %%
# With XLA's own convolutions, the longest part here was :measured:`longest_part`, with
# :measured:`its_share` of the sum.
#
# These are medians of a few processes, so compare only numbers that are far apart. And don't expect
# the sum to be the time of a whole step. Inside one program, XLA can fuse what belongs to two
# layers. A whole step also fetches its images and computes the loss.
#
# A convolution as a product of matrices
# --------------------------------------
# For NVIDIA's GPUs, XLA calls NVIDIA's library for convolutions. On a CPU it uses other code, whose
# gradients can be slow. But you can write a convolution as a product: cut out the patch around each
# pixel, make it a row of a matrix, and multiply that by the kernel. Products have fast code on
# every device, and their gradients are products again. What it costs is memory: with nine weights
# in a kernel, the matrix holds each pixel up to nine times.
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
def change(*layers):
    """Return what patches, with their pool, changed in some layers."""
    before_ms = sum(spent("XLA", layer=layer) for layer in layers)
    after_ms = sum(spent("patches", layer=layer) for layer in layers)
    return f"{after_ms - before_ms:+.1f} ms"


by_pool = change("pool, dropout")
by_convolutions = change("conv1", "conv2")

# %%
# The way to train that we call *patches* also has a pool of its own, which remembers where the
# largest pixel was, so that its backward pass needn't look for it. The table takes the two changes
# apart. From XLA to patches, the time of the two convolutions changed by
# :measured:`by_convolutions`, and that of the pool with dropout by :measured:`by_pool`.
#
# There is a second reason to know about patches. These functions take the gradient of the second
# convolution with respect to its kernel: for all images at once, and for one part of them after
# another, in a compiled loop.
Source(convolution.kernel_gradient, convolution.kernel_gradients)

# %%
import time
from functools import partial

import jax
import jax.numpy as jnp


def milliseconds(function, *args):
    """Time one call, after one that compiles."""
    function(*args).block_until_ready()
    start = time.perf_counter()
    function(*args).block_until_ready()
    return 1000 * (time.perf_counter() - start)


# %%
images = jnp.ones((8, 26, 26, 32))
halves = images.reshape(2, 4, 26, 26, 32)
kernel = jnp.ones((3, 3, 32, 64))
for convolve in (convolution.by_xla, convolution.by_patches):
    gradient = jax.jit(partial(convolution.kernel_gradient, convolve))
    looped = jax.jit(partial(convolution.kernel_gradients, convolve))
    print(convolve.__name__)
    print(f"  at once   {milliseconds(gradient, images, kernel):4.0f} ms")
    print(f"  in a loop {milliseconds(looped, halves, kernel):4.0f} ms")

# %%
# These are single runs, so look at orders of magnitude only. Both times of a pair are for the same
# work. If they are far apart, XLA compiles the gradient in another way because it belongs to a
# loop. So keep that convolution out of a scan.
#
# Half the multiplications
# ------------------------
# Does a convolution need all its multiplications? By its definition, four neighbouring outputs of a
# kernel with three weights take twelve. Shmuel Winograd found a way with six: multiply the pixels
# by one small matrix, the weights by another and the six products by a third. The numbers in these
# matrices are small constants, so the extra cost is mostly additions.
pixels, weights = np.array([3, 1, 4, 1, 5, 9]), np.array([2, 7, 1])
products = (convolution.OF_IMAGE @ pixels) * (convolution.OF_KERNEL @ weights)
print("from 12 products:", np.correlate(pixels, weights))
print(
    f"from {len(products)} products: ",
    (convolution.OF_PRODUCT @ products).round(9),
)

# %%
# Our second convolution is a larger version of this. In place of each pixel, it has a row of pixels
# with all their channels, and in place of each weight a matrix. So the six products are products of
# matrices, and the additions are few beside the multiplications that they save. Both gradients use
# the small matrices again, some of them transposed, by :func:`jax.custom_vjp`.
#
# The constants have a price, because they magnify rounding errors. How exact is each way? Compare
# with 64-bit numbers:
from numpy.lib.stride_tricks import sliding_window_view

rng = np.random.default_rng(0)
images = rng.standard_normal((8, 26, 26, 32), np.float32)
kernel = rng.standard_normal((3, 3, 32, 64), np.float32)
windows = sliding_window_view(images.astype(float), (3, 3), axis=(1, 2))
exact = np.einsum("nijcab,abcf->nijf", windows, kernel, optimize=True)

# %%
errors = {}
for convolve in (
    convolution.by_xla,
    convolution.by_patches,
    convolution.by_winograd,
):
    result = np.asarray(convolve(images, kernel), float)
    errors[convolve.__name__] = abs(result - exact).max()
    print(f"{convolve.__name__:<11} {errors[convolve.__name__]:.1e}")

more_error = f"{errors['by_winograd'] / errors['by_patches']:.1f}"
largest = f"{abs(exact).max():.0f}"

# %%
# In outputs of up to :measured:`largest`, Winograd's largest error was :measured:`more_error` times
# that of patches. More outputs at a time would save more multiplications, but the constants would
# grow, and the errors with them.
#
# The other limit is memory. All these additions have to read and write it. So the second
# convolution and the pool take a few images at a time, whose numbers can stay in the cache. The way
# to train that we call *Winograd* makes two more changes. In the forward pass, the first
# convolution needs no matrix product, because XLA can turn a sum of nine terms into one loop. And
# for dropout, each random number is cut into four bytes, which decide on four activations:
from jaxcap.mnist import model

Source(convolution.in_parts, convolution.by_shifts, model.Dropout)

# %%
winograd_pays = claim(
    "the forward pass of the second convolution is faster with Winograd's "
    "algorithm than with patches",
    layer_times,
    speedup_of(WINOGRAD, over=PATCHES, layer="conv2", task=FORWARD),
)
winograd_pays

# %%
# What else did we try?
# ---------------------
# A list of what makes a program faster leaves out most of the work, which is to try what doesn't.
# So here is our search on a CPU. Each row is the training with Winograd's algorithm, in a scan,
# with one change. To compile so many programs takes minutes, so these numbers weren't measured in
# this build. They were recorded on the machine and on the day that the table names:
from jaxcap.experiments.mnist_search import BEST
from jaxcap.releases.recorded import recorded_results

search = recorded_results("mnist search")

# %%
of_no_effect = "XNNPACK", "another scheduler"
rows = [
    (change.variant, change.parameters["kind"], ratio.short, ratio.range)
    for change, ratio in search.paired_speedups(BEST)
    if change.variant not in of_no_effect
]
machine = search.environment
title = f"Recorded on {machine.device.name}, {machine.measured_at.date()}"
headers = "change", "of", "times as fast", "95 % interval"
Table(title, headers, rows)

# %%
# (We left out two options that were recorded as well, of XNNPACK and of the scheduler. They turned
# out to set what this XLA does by default.) Where the interval includes 1, we found no difference.
# Each kind of change could help for one reason, and fail for another:
#
# - *Options of XLA* change how loops are compiled and how exact their arithmetic is, how many
#   threads share a product, or which library computes it. The one for oneDNN, Intel's library,
#   needs an XLA that was `built with it
#   <https://github.com/openxla/xla/blob/main/xla/service/cpu/onednn_contraction_rewriter.cc>`__.
# - *Types and layout.* Numbers of 16 bits help where products take them as they are. Otherwise,
#   they are converted first.
# - *The convolutions.* Few images at a time make small products, and many make arrays that leave
#   the cache. What is computed again is multiplied again.
# - *Pool and dropout.* The alternatives keep other numbers for the gradient, or draw random numbers
#   in another way, in a part of the step whose share the table of layers shows.
# - *Threads* that are bound to cores stay there. That helps only if the system would move them.
#
# What sets the limit?
# --------------------
# Most of these changes leave the products as they are. In the second convolution, Winograd's
# algorithm multiplies by small matrices. In its forward pass, each sum has 96 terms, and there is a
# column for each of the 64 features. How fast are such products, beside those of large squares?


def product_speed(rows, terms, columns, times=10):
    """Return the speed of products, one after another, in GFLOP/s."""
    left = jnp.ones((times, rows, terms))
    right = jnp.ones((terms, columns))
    nothing = jnp.zeros((rows, columns))
    loop = partial(jax.lax.fori_loop, 0, times)
    multiply = jax.jit(lambda a, b: loop(lambda i, _: a[i] @ b, nothing))
    shortest = min(milliseconds(multiply, left, right) for _ in range(5))
    return 2e-6 * times * rows * terms * columns / shortest


# %%
of_convolution = product_speed(8 * 6 * 24, 3 * 32, 64)
of_squares = product_speed(1000, 1000, 1000)
print(f"the second convolution, forward: {of_convolution:4.0f} GFLOP/s")
print(f"large squares:                   {of_squares:4.0f} GFLOP/s")

# %%
# These are the best of a few runs. Where the first number is far below the second, the products
# keep a step below the device's limit, though Winograd's algorithm needs only half as many of them.
# To do better, a library can `make code for each shape
# <https://oneapi-src.github.io/oneDNN/dev_guide_inspecting_jit.html>`__, as oneDNN does.
#
# Takeaway
# --------
second = layer_times.select(layer="conv2", task=BACKWARD)
backward_to_xla = second.speedup(WINOGRAD, over=STEPS)
backward_to_torch = second.speedup(WINOGRAD, over=DEVICE)

# %%
# A convolution can be computed in several ways that differ only by rounding, and which is fastest
# depends on what a device has fast code for. Here, the backward pass of the second convolution with
# Winograd's algorithm was :measured:`backward_to_xla than with XLA's convolution` and
# :measured:`backward_to_torch than PyTorch's`. Before you rewrite anything, find the part of your
# program in which the time goes. After it, check that the results are still exact enough.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
