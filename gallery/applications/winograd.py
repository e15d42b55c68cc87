"""
Do half the multiplications take half the time?
===============================================

Most of what a network does is to multiply and to add. Shmuel Winograd showed how a convolution can
do with fewer multiplications, and :doc:`the fastest training </tutorials/applications/training_speed>` on a
CPU uses his algorithm. How does it work, how exact is it, and how much of what it saves can you see
on a clock? At the end is a list of what else we tried.
"""

# %%
# Six products instead of twelve
# ------------------------------
# By the definition of a convolution, four neighbouring outputs of a kernel with three weights take
# twelve multiplications. Winograd's algorithm makes do with six. One small matrix turns six pixels
# into six numbers, and another turns the three weights into six. Multiply these in pairs, and a
# third matrix turns the six products into the four outputs. These are the three:
from jaxcap.kernels import convolution

for name in ("OF_IMAGE", "OF_KERNEL", "OF_PRODUCT"):
    print(f"{name}:\n{getattr(convolution, name).round(3)}")

# %%
import numpy as np

pixels, weights = np.array([3, 1, 4, 1, 5, 9]), np.array([2, 7, 1])
products = (convolution.OF_IMAGE @ pixels) * (convolution.OF_KERNEL @ weights)
print("from 12 products:", np.correlate(pixels, weights))
print(
    f"from {len(products)} products: ",
    (convolution.OF_PRODUCT @ products).round(9),
)

# %%
# For a single kernel, that saves nothing, because the small matrices cost more than six
# multiplications. It can pay in a layer, where their work is shared. In the second convolution of
# our network, a whole row of pixels with all their channels takes the place of a pixel, and a matrix
# takes the place of a weight. Rows are transformed once for all features, and weights once for all
# images. (In the sums below, ``n`` is an image, ``t`` a tile, ``x`` a column, ``p`` a product, ``c``
# a channel, and ``f`` a feature. A row of a tile, of the kernel or of the output is ``i``, and a
# column of the kernel is ``j``.)
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
# How exact is it?
# ----------------
# The constants of the small matrices have a price, because they magnify rounding errors. Compare
# each way to convolve with 64-bit numbers:
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
# Does it pay in the network?
# ---------------------------
# The page before cut a training step into layers. Here are the times of the second convolution,
# forward:
from jaxcap.experiments.mnist_changes import PATCHES, WINOGRAD
from jaxcap.experiments.mnist_layers import FORWARD, LAYERS
from jaxcap.report import figures

layer_times = LAYERS.run(processes=4, budget_s=0.03)
forward = layer_times.select(layer="conv2", task=FORWARD)
_ = figures.bars(
    forward,
    about=WINOGRAD,
    over=PATCHES,
    title="The second convolution, forward",
)

# %%
from jaxcap.report.claims import claim, speedup_of

winograd_pays = claim(
    "the forward pass of the second convolution is faster with Winograd's "
    "algorithm than with patches",
    layer_times,
    speedup_of(WINOGRAD, over=PATCHES, layer="conv2", task=FORWARD),
)
winograd_pays

# %%
# That way also works on fewer images at a time, because memory gets in the way of the algorithm. XLA
# fuses the additions of a transformation into a loop, but that loop still reads whole arrays, and
# writes new ones for the products. So the second convolution and the pool take a few images at a
# time, whose numbers can stay in the cache:
from jaxcap.report.source import Source

Source(convolution.in_parts)

# %%
# The fastest training makes two more changes. In the forward pass, its first convolution needs no
# matrix product, because ``convolution.by_shifts`` lets XLA turn a sum of nine terms into one loop.
# And our ``Dropout`` cuts each random number into four bytes, which decide on four activations. What
# each change does to the training by itself is on :doc:`the page about training
# </tutorials/applications/training_speed>`.
#
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
from jaxcap.results.tables import Table

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
forward_to_patches = forward.speedup(WINOGRAD, over=PATCHES)

# %%
# Half the multiplications take half the time only if they run at the same rate and the additions
# cost nothing. With Winograd's algorithm, the forward pass of the second convolution was
# :measured:`forward_to_patches than with patches`, and its largest error was
# :measured:`more_error` times that of patches. Whenever an algorithm promises fewer operations, ask what it
# does more of instead, and check that the results are still accurate enough.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
