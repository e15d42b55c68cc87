"""
Do half the multiplications take half the time?
===============================================

Most of a network's work is multiplying and adding. Shmuel Winograd showed how to compute a
convolution with fewer multiplications, and :doc:`our training
</tutorials/applications/training_speed>` on a CPU uses his algorithm. This page shows how it works,
how exact it is, and how much of what it saves you can see on a clock.
"""

# %%
# Six products instead of twelve
# ------------------------------
# By the definition of a convolution, four neighbouring outputs of a kernel with three weights take
# twelve multiplications. Winograd's algorithm makes do with six, with the help of three small
# matrices. The first turns six pixels into six numbers, and the second turns the three weights into
# six. Multiply the six pairs, and the third matrix turns the products into the four outputs:
from jaxcap.kernels import convolution

for name in ("OF_IMAGE", "OF_KERNEL", "OF_PRODUCT"):
    print(f"{name}:\n{getattr(convolution, name).round(3)}")

# %%
import jax.numpy as jnp
import numpy as np

pixels, weights = np.array([3, 1, 4, 1, 5, 9]), np.array([2, 7, 1])
products = (convolution.OF_IMAGE @ pixels) * (convolution.OF_KERNEL @ weights)
print("from 12 products:", np.correlate(pixels, weights))
print(
    f"from {len(products)} products: ",
    (convolution.OF_PRODUCT @ products).round(9),
)


# %%
# For four outputs, that saves nothing, because the small matrices cost more than six
# multiplications. It can pay in a layer, where their work is shared: rows are transformed once for
# all features, and weights once for all images. In the second convolution of our network, we apply
# the algorithm to the rows of the images. Each of the six pixels becomes *a row of pixels with all
# their channels*, and each of the three weights *a row of the kernel, used as a matrix*. Six rows
# are a *tile*, which gives four rows of output. ``tensordot`` multiplies the small matrix by what
# lies along the first axis, and the comments are shapes.
def by_tiles(images, kernel):
    n, height, width, _ = images.shape  # height: 4 * tiles + 2
    tiles, columns, features = height // 4, width - 2, kernel.shape[-1]
    rows = jnp.stack([images[:, i::4][:, :tiles] for i in range(6)])
    rows = jnp.tensordot(convolution.OF_IMAGE, rows, 1)  # 6, n, tiles, ...
    shifted = [rows[..., j : j + columns, :] for j in range(3)]
    weights = jnp.tensordot(convolution.OF_KERNEL, kernel, 1)  # 6, 3, ...
    weights = weights.reshape(6, 1, 1, -1, features)
    products = jnp.concatenate(shifted, axis=-1) @ weights
    output = jnp.tensordot(convolution.OF_PRODUCT, products, 1)  # 4, n, ...
    output = jnp.moveaxis(output, 0, 2)  # n, tiles, 4, ...
    return output.reshape(n, 4 * tiles, columns, features)


# %%
# Each of the six ``products`` is a product of matrices, and together they take far more operations
# than the transformations do. For the training, ``convolution.by_winograd`` does the same for any
# number of rows, and its gradients use the small matrices again, some of them transposed, by
# :func:`jax.custom_vjp`. Along both axes, a quarter of the multiplications would do, but the extra
# additions may cost more than that saves.
#
# How exact is it?
# ----------------
# The constants in the small matrices magnify rounding errors. To see by how much, compare each way
# to convolve with the result in 64-bit numbers:
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
# forward. *Flax, steps on the device* uses XLA's own convolution. Ratios are taken within each
# round, so they can differ from the quotient of two bars.
from jaxcap.experiments.mnist import DEVICE
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
# Our Winograd version also takes a few images at a time. Its transformations read whole arrays and
# write new ones, and small arrays are more likely to stay in the cache. How much the algorithm and
# the few images each contribute to the training is on :doc:`the page about training
# </tutorials/applications/training_speed>`.
#
# How much of that time goes into products?
# -----------------------------------------
# Winograd's algorithm halves the work of the products, and of nothing else. To see how much that
# can save, we time products of the same shapes on their own. Winograd's are thin: for eight images,
# six matrices of 1,152 rows, and each sum has 96 terms. Patches of 32 images are a single matrix of
# 18,432 rows, and each sum has 288. For comparison, we take the fastest product of large square
# matrices that was measured on this device:
import timeit

import jax


def milliseconds(function, *args):
    """Return the shortest of a hundred calls, the first of which compiles."""
    compiled = jax.jit(function)
    seconds = timeit.repeat(
        lambda: compiled(*args).block_until_ready(), number=1, repeat=100
    )
    return 1000 * min(seconds)


# %%
products = {"Winograd": (6, 1152, 96), "patches": (1, 18432, 288)}
speeds = {}
for name, (number, rows, terms) in products.items():
    left = jnp.ones((number, rows, terms))
    right = jnp.ones((number, terms, 64))
    took_ms = milliseconds(jnp.matmul, left, right)
    speeds[name] = 2e-6 * number * rows * terms * 64 / took_ms

# %%
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.results.ceilings import Ceilings

limits = CEILINGS.run(budget_s=0.05)
ceilings = Ceilings.from_results(limits, layer_times[0].device)
speeds["square"] = ceilings.flops_per_s["float32"] / 1e9
for name, speed in speeds.items():
    print(f"{name:9} {speed:4.0f} GFLOP/s")

# %%
images_in_batch = forward[0].parameters["batch"]
multiply_ms = {}
for name, (number, rows, terms) in products.items():
    at_a_time = 8 if name == "Winograd" else 32
    work = 2 * number * rows * terms * 64 * images_in_batch / at_a_time
    multiply_ms[name] = work / speeds[name] / 1e6

# %%
whole_ms = {
    name: 1000 * forward.only(way).time.value
    for name, way in (("Winograd", WINOGRAD), ("patches", PATCHES))
}
rest_ms = {name: ms - multiply_ms[name] for name, ms in whole_ms.items()}
winograd_share, patches_share = (
    f"{multiply_ms[name] / ms:.0%}" for name, ms in whole_ms.items()
)
winograd_ms, patches_ms = (f"{ms:.1f} ms" for ms in multiply_ms.values())
winograd_rest, patches_rest = (f"{ms:.1f} ms" for ms in rest_ms.values())
of_square = f"{speeds['Winograd'] / speeds['square']:.0%}"

# %%
# Winograd's products ran at :measured:`of_square` of the rate of square ones. At the rates above,
# the products for a whole batch take :measured:`winograd_ms` with Winograd's algorithm, which is
# :measured:`winograd_share` of the forward pass, and :measured:`patches_ms` with patches, which is
# :measured:`patches_share`. The remaining :measured:`winograd_rest` with Winograd's algorithm and
# :measured:`patches_rest` with patches go into copying, transforming, and storing what the gradient
# will need.
#
# So half the multiplications alone can't halve the time: they save at most half of the products'
# part, and less if they run at a lower rate. The rest changes as well. Winograd's six matrices hold
# half as many numbers as the matrix of patches, which copies each pixel up to nine times. But the
# rows have to be transformed before the products, and the results afterwards. In all, the forward
# pass with Winograd's algorithm was :measured:`forward_to_patches than with patches`.
#
# It was :measured:`forward_to_torch than with PyTorch`, which on many CPUs calls oneDNN. That
# library `makes code for each shape
# <https://oneapi-src.github.io/oneDNN/dev_guide_inspecting_jit.html>`__.
#
# What else did we try?
# ---------------------
# Each row compares our training on a CPU, with Winograd's algorithm in a scan, with the same
# training after one change. Below 1, the change made the training slower. Compiling so many
# programs takes minutes, so these numbers were recorded earlier, on the machine and on the day that
# the table names. What we tried with the pool, dropout, threads and options of XLA is on :doc:`the
# experiment's own page </results/experiments/mnist-search>`.
from jaxcap.experiments.mnist_search import BEST
from jaxcap.releases.recorded import recorded_results

search = recorded_results("mnist search")

# %%
instead_of = {
    "patches": "Winograd's algorithm",
    "patches, channels first": "Winograd's algorithm",
    "all images at once": "8 images at a time",
    "16 images at a time": "8 images at a time",
    "4 images at a time": "8 images at a time",
    "computed again for the gradient": "stored for the gradient",
    "bfloat16": "float32",
}

# %%
from jaxcap.results.tables import Table

ratios = {
    change.variant: ratio for change, ratio in search.paired_speedups(BEST)
}
rows = [
    (change, before, ratios[change].short, ratios[change].range)
    for change, before in instead_of.items()
]
machine = search.environment
title = f"Recorded on {machine.device.name}, {machine.measured_at.date()}"
headers = "change", "instead of", "times as fast", "95% interval"
Table(title, headers, rows)

# %%
# Where the interval includes 1, the recording can't tell whether a change matters. With *channels
# first*, a patch is a column of the matrix instead of a row. With fewer images at a time, the
# products get smaller, and with more, the arrays may outgrow the cache. Computing again what the
# gradient needs saves memory, but takes time. *bfloat16* can help if the CPU multiplies such
# numbers as they are and the results are in float32. Here, the results are in bfloat16 as well, so
# XLA :doc:`converts the operands to float32 </tutorials/performance/bits>`, computes in float32,
# and rounds each result back.
#
# Takeaway
# --------
forward_to_patches = forward.speedup(WINOGRAD, over=PATCHES)
forward_to_torch = forward.speedup(WINOGRAD, over=DEVICE)

# %%
# Half the multiplications take half the time only if they run at the same rate and nothing else
# takes time. In the forward pass of the second convolution, the products account for
# :measured:`patches_share` of the time with patches, and for :measured:`winograd_share` with
# Winograd's algorithm. In all, the pass with Winograd's algorithm was
# :measured:`forward_to_patches than with patches`, and
# :measured:`forward_to_torch than with PyTorch`.
#
# The largest error of our short version of the algorithm was :measured:`more_error` times that of
# patches. Whenever an algorithm promises fewer operations, ask what it adds in their place, and
# check that the results are still accurate enough.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
