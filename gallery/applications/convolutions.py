"""
How fast can a convolution be?
==============================

:doc:`The page before </tutorials/applications/training_speed>` exchanged the convolutions of a
network for others with the same result, and timed whole training steps. Here we look inside a step.
Where does its time go? How can a convolution become a product of matrices, and how can it do with
half as many multiplications? We check how exact each way is and what it gained, and ask what sets
the limit. At the end is a list of what else we tried.
"""

# %%
# Where does a step's time go?
# ----------------------------
# You can save time only where the program spends it, so first find out where that is. We cut a step
# of the network into its layers. Each layer becomes two programs, one forward and one backward, and
# the update of the weights is another. Four ways to train take turns at each program: *XLA's* own
# convolutions, *patches* and *Winograd's* algorithm, which the next sections explain, and
# *PyTorch*. Where would you expect most of the time to go?
from jaxcap.experiments.mnist import DEVICE
from jaxcap.experiments.mnist_changes import PATCHES, STEPS, WINOGRAD
from jaxcap.experiments.mnist_layers import ALL, BACKWARD, FORWARD, LAYERS

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

# %%
# With XLA's own convolutions, the longest part here was :measured:`longest_part`, with
# :measured:`its_share` of the sum.
#
# These are medians of a few processes, so compare only numbers that are far apart. (The claims
# below compare calls within a process, so their ratios may differ from those of two numbers in the
# table.) And don't expect the sum to be the time of a whole step. Inside one program, XLA can fuse
# what belongs to two layers. A whole step also fetches its images and computes the loss.
#
# A convolution as a product of matrices
# --------------------------------------
# For NVIDIA's GPUs, XLA calls NVIDIA's library for convolutions. On a CPU it uses other code, whose
# gradients can be slow. But you can write a convolution as a product: cut out the patch around each
# pixel, make it a row of a matrix, and multiply that by the kernel. Products have fast code on
# every device, and their gradients are products again. The price is memory and its traffic: with a
# kernel of three by three, the matrix holds each pixel up to nine times, and for the gradient, the
# patches have to be added up again.
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
# The products aren't all of the work. The forward pass has kept the whole matrix of patches, which
# the backward pass has to read. And the gradients of the patches have to be added up, pixel by
# pixel.


# %%
def change(*layers):
    """Return what patches, with their pool, changed in some layers."""
    before_ms = sum(spent("XLA", layer=layer) for layer in layers)
    after_ms = sum(spent("patches", layer=layer) for layer in layers)
    return f"{after_ms - before_ms:+.1f} ms"


by_pool = change("pool, dropout")
by_convolutions = change("conv1", "conv2")

# %%
# What we call *patches* also replaces the pool, by one that remembers where the largest pixel was,
# so its backward pass needn't look for it. The table takes the two changes apart. From XLA to
# patches, the time of the two convolutions changed by :measured:`by_convolutions`, and that of the
# pool with dropout by :measured:`by_pool`.
#
# Half the multiplications
# ------------------------
# Does a convolution need all its multiplications? By its definition, four neighbouring outputs of a
# kernel with three weights take twelve. Shmuel Winograd found a way with six. One small matrix
# turns six pixels into six numbers, and another turns the three weights into six. Multiply these in
# pairs, and a third matrix turns the six products into the four outputs. These are the three:
for name in ("OF_IMAGE", "OF_KERNEL", "OF_PRODUCT"):
    print(f"{name}:\n{getattr(convolution, name).round(3)}")

# %%
pixels, weights = np.array([3, 1, 4, 1, 5, 9]), np.array([2, 7, 1])
products = (convolution.OF_IMAGE @ pixels) * (convolution.OF_KERNEL @ weights)
print("from 12 products:", np.correlate(pixels, weights))
print(
    f"from {len(products)} products: ",
    (convolution.OF_PRODUCT @ products).round(9),
)

# %%
# For a single kernel, that saves nothing, because the small matrices cost more than six
# multiplications. It pays because they are shared. In our second convolution, a whole row of pixels
# with all their channels takes the place of a pixel, and a matrix takes the place of a weight. Rows
# are transformed once for all features, and weights once for all images. (In the sums below, ``n``
# is an image, ``t`` a tile, ``x`` a column, ``p`` a product, ``c`` a channel, and ``f`` a feature.
# A row of a tile, of the kernel or of the output is ``i``, and a column of the kernel is ``j``.)
import jax.numpy as jnp


def by_tiles(images, kernel):
    """Convolve, by Winograd's algorithm, images of 4 * tiles + 2 rows."""
    n, height, width, _ = images.shape
    tiles, columns = height // 4, width - 2
    rows = jnp.stack([images[:, i::4][:, :tiles] for i in range(6)])
    rows = jnp.einsum("pi,intxc->pntxc", convolution.OF_IMAGE, rows)
    rows = jnp.stack([rows[..., j : j + columns, :] for j in range(3)])
    weights = jnp.einsum("pi,ijcf->pjcf", convolution.OF_KERNEL, kernel)
    products = jnp.einsum("jpntxc,pjcf->pntxf", rows, weights)
    output = jnp.einsum("ip,pntxf->ntixf", convolution.OF_PRODUCT, products)
    return output.reshape(n, 4 * tiles, columns, -1)


# %%
# Each of the six ``products`` is a product of matrices, and together they take far more operations
# than the transformations do. For the training, ``convolution.by_winograd`` does the same for any
# number of rows, and its gradients use the small matrices again, some of them transposed, by
# :func:`jax.custom_vjp`. (Along both axes, a quarter of the multiplications would do. But there are
# more additions then, which may cost more time than the multiplications would have.)
#
# The constants have a price, because they magnify rounding errors. How accurate is each way?
# Compare with 64-bit numbers:
from numpy.lib.stride_tricks import sliding_window_view

rng = np.random.default_rng(0)
images = rng.standard_normal((8, 26, 26, 32), np.float32)
kernel = rng.standard_normal((3, 3, 32, 64), np.float32)
windows = sliding_window_view(images.astype(float), (3, 3), axis=(1, 2))
exact = np.einsum("nijcab,abcf->nijf", windows, kernel, optimize=True)

# %%
errors = {}
for convolve in convolution.by_xla, convolution.by_patches, by_tiles:
    result = np.asarray(convolve(images, kernel), float)
    errors[convolve.__name__] = abs(result - exact).max()
    print(f"{convolve.__name__:<11} {errors[convolve.__name__]:.1e}")

more_error = f"{errors['by_tiles'] / errors['by_patches']:.1f}"
largest = f"{abs(exact).max():.0f}"

# %%
# In outputs of up to :measured:`largest`, the largest error of ``by_tiles`` was
# :measured:`more_error` times that of patches. More outputs at a time would save more
# multiplications, but the constants would grow, and the errors with them.
#
# Memory gets in the way, too. XLA fuses the additions of a transformation into a loop, but that
# loop still reads whole arrays, and writes new ones for the products. So the second convolution and
# the pool take a few images at a time, whose numbers can stay in the cache:
Source(convolution.in_parts)

# %%
# What we call *Winograd* makes two more changes to the training. In the forward pass, the first
# convolution needs no matrix product, because ``convolution.by_shifts`` lets XLA turn a sum of nine
# terms into one loop. And our ``Dropout`` cuts each random number into four bytes, which decide on
# four activations. Does the algorithm pay?

# %%
winograd_pays = claim(
    "the forward pass of the second convolution is faster with Winograd's "
    "algorithm than with patches",
    layer_times,
    speedup_of(WINOGRAD, over=PATCHES, layer="conv2", task=FORWARD),
)
winograd_pays

# %%
# What sets the limit?
# --------------------
# With fewer multiplications, are the products as fast? In the second convolution, Winograd's
# products are thin. For eight images, the forward pass multiplies six matrices of 1,152 rows, and
# each sum has 96 terms. With patches, it multiplies a single one of 4,608 rows, and each sum has
# 288. How fast are such products, beside the limit of this device?
import time

import jax


def milliseconds(function, *args):
    """Time one call, after one that compiles."""
    function(*args).block_until_ready()
    start = time.perf_counter()
    function(*args).block_until_ready()
    return 1000 * (time.perf_counter() - start)


# %%
products = {"Winograd": (6, 1152, 96), "patches": (1, 4608, 288)}
speeds, multiply = {}, jax.jit(jnp.matmul)
for name, (number, rows, terms) in products.items():
    left, right = (
        jnp.ones((number, rows, terms)),
        jnp.ones((number, terms, 64)),
    )
    times_ms = [milliseconds(multiply, left, right) for _ in range(100)]
    speeds[name] = 2e-6 * number * rows * terms * 64 / min(times_ms)

# %%
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.results.ceilings import Ceilings

limits = CEILINGS.run(budget_s=0.05)
ceilings = Ceilings.from_results(limits, layer_times[0].device)
speeds["the limit"] = ceilings.flops_per_s["float32"] / 1e9
for name, speed in speeds.items():
    print(f"{name:9} {speed:4.0f} GFLOP/s")

# %%
# The first two are the best of a hundred single calls. Winograd's algorithm halves the
# multiplications. But if they run at half of the limit or less, nothing is gained: a direct
# convolution at the limit would take no longer. A library can come close to it if it `makes code
# for each shape <https://oneapi-src.github.io/oneDNN/dev_guide_inspecting_jit.html>`__, as oneDNN
# does, which PyTorch calls for its convolutions on many CPUs.
#
# Is the gradient as fast in a loop?
# ----------------------------------
# On a CPU, there is another reason to know about patches. These functions take the gradient of the
# second convolution with respect to its kernel: for all images at once, and for one part of them
# after another, in a compiled loop.
Source(convolution.kernel_gradient, convolution.kernel_gradients)

# %%
from functools import partial

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
# These are single runs, so look at orders of magnitude only. Each convolution does the same work at
# once and in the loop. If its loop takes far longer, XLA compiled the gradient badly there, so keep
# it out of a scan.
#
# What else did we try?
# ---------------------
# Most ideas that should save time don't, and most write-ups leave out the ideas that failed. Here
# are ours for a CPU. Each row is the training with Winograd's algorithm, in a scan, with one
# change. Compiling so many programs takes minutes, so these numbers don't come from this build.
# They were recorded on the machine and on the day that the table names:
from jaxcap.experiments.mnist_search import BEST
from jaxcap.releases.recorded import recorded_results

search = recorded_results("mnist search")

# %%
machine = search.environment
rows = [
    (change.variant, change.parameters["kind"], ratio.short, ratio.range)
    for change, ratio in search.paired_speedups(BEST)
]
title = f"Recorded on {machine.device.name}, {machine.measured_at.date()}"
headers = "change", "group", "times as fast", "95% interval"
Table(title, headers, rows)

# %%
# Where the interval includes 1, the recording can't tell whether a change helps. For most changes,
# you can name a reason to try them and a reason why they may fail. Numbers of 16 bits help where a
# CPU multiplies them as they are; elsewhere, they are converted first. With fewer images at a time,
# the products get small, and with more, the arrays leave the cache. Recomputing what the gradient
# needs saves memory, but costs time. (*Channels first* is the order in which a patch's numbers lie.
# XNNPACK is a library of kernels. Where XLA gives its products to another library, as it may since
# YNNPACK replaced it, that row shows chance alone.)
#
# Takeaway
# --------
forward = layer_times.select(layer="conv2", task=FORWARD)
backward = layer_times.select(layer="conv2", task=BACKWARD)
forward_to_xla = forward.speedup(WINOGRAD, over=STEPS)
backward_to_xla = backward.speedup(WINOGRAD, over=STEPS)

# %%
# A convolution can be computed in several ways that differ only by rounding, and which is fastest
# depends on what a device has fast code for. With Winograd's algorithm, the forward pass of the
# second convolution was :measured:`forward_to_xla than with XLA's own convolution`, and its
# backward pass was :measured:`backward_to_xla than with XLA's`. Before you rewrite anything, find
# the part of your program in which the time goes. Afterwards, check that the results are still
# accurate enough.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
