"""
Do half the multiplications take half the time?
===============================================

Most of what a network does is to multiply and to add. Shmuel Winograd showed how a convolution can
do with fewer multiplications, and :doc:`our training </tutorials/applications/training_speed>` on a
CPU uses his algorithm. How does it work, how exact is it, and how much of what it saves can you see
on a clock? At the end is a list of what else we tried.
"""

# %%
# Six products instead of twelve
# ------------------------------
# By the definition of a convolution, four neighbouring outputs of a kernel with three weights take
# twelve multiplications. Winograd's algorithm makes do with six, and with three small matrices. The
# first turns six pixels into six numbers, and the second turns the three weights into six. Multiply
# the six pairs, and the third matrix turns the six products into the four outputs. The matrices
# are:
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
# multiplications. It can pay in a layer, where their work is shared. In the second convolution of
# our network, we apply the algorithm to the rows of the images. In the example, six pixels and
# three weights were numbers. Here, each of the six pixels becomes *a row of pixels with all their
# channels*, and each of the three weights *a row of the kernel, used as a matrix*. Rows are
# transformed once for all features, and weights once for all images. Six rows are a *tile*, which
# gives four rows of output. ``tensordot`` multiplies the small matrix by what lies along the first
# axis, and the comments are shapes.
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
# forward. Ratios are taken within each round, so they can differ from the quotient of two bars.
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
# Our Winograd version also takes fewer images at a time, because traffic to memory would otherwise
# eat up a part of what the algorithm saves. In ``by_winograd``, a transformation is a few
# additions, which XLA fuses into a loop, but that loop still reads whole arrays, and writes new
# ones for the products. So the second convolution and the pool take a few images at a time, whose
# numbers can stay in the cache. With ``by_tiles``, that looks like this:
from jax import lax


def in_parts(function, images, size):
    parts = images.reshape(-1, size, *images.shape[1:])
    results = lax.map(function, parts)
    return results.reshape(-1, *results.shape[2:])


by_four = in_parts(lambda part: by_tiles(part, kernel), images, size=4)
print("equal:", jnp.allclose(by_four, by_tiles(images, kernel), atol=1e-3))

# %%
# Our training makes two more changes. In the forward pass, its first convolution needs no matrix
# product, because ``convolution.by_shifts`` lets XLA turn a sum of nine terms into one loop. And
# our ``Dropout`` cuts each random number into four bytes, which decide on four activations. What
# each change does to the training by itself is on :doc:`the page about training
# </tutorials/applications/training_speed>`.
#
# What sets the limit?
# --------------------
# With fewer multiplications, are the products as fast? In the second convolution, Winograd's
# products are thin. For eight images, the forward pass multiplies six matrices of 1,152 rows, and
# each sum has 96 terms. With patches, which take the whole batch at once, it multiplies a single
# one of 18,432 rows, and each sum has 288. How fast are such products, and how large a part of the
# forward pass are they? For comparison, we take the fastest product of large square matrices that
# was measured on this device:
import time

import jax


def milliseconds(function, *args):
    """Time one call, after one that compiles."""
    function(*args).block_until_ready()
    start = time.perf_counter()
    function(*args).block_until_ready()
    return 1000 * (time.perf_counter() - start)


# %%
products = {"Winograd": (6, 1152, 96), "patches": (1, 18432, 288)}
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

shares = [
    multiply_ms[name] / (1000 * forward.only(way).time.value)
    for name, way in (("Winograd", WINOGRAD), ("patches", PATCHES))
]
winograd_share, patches_share = (f"{share:.0%}" for share in shares)
winograd_ms, patches_ms = (f"{ms:.1f} ms" for ms in multiply_ms.values())

# %%
# The first two rates are the best of a hundred single calls. At these rates, the products for a
# whole batch should take :measured:`winograd_ms` with Winograd's algorithm, and
# :measured:`patches_ms` with patches. That is only a part of the forward pass:
# :measured:`winograd_share` of its time with Winograd's algorithm, and :measured:`patches_share`
# with patches. The rest goes into copying, transforming, and storing what the gradient will need.
# Patches copy each pixel up to nine times into memory, and Winograd's transformations read and
# write arrays, too. So half the multiplications can save at most half of that part. Measured, the
# forward pass with Winograd's algorithm was :measured:`forward_to_patches than with patches`.
#
# A library can do better on both counts. oneDNN, which PyTorch calls for its convolutions on many
# CPUs, `makes code for each shape
# <https://oneapi-src.github.io/oneDNN/dev_guide_inspecting_jit.html>`__. Here, Winograd's forward
# pass was :measured:`forward_to_torch than PyTorch's`.
#
# What else did we try?
# ---------------------
# Each row compares our training on a CPU, with Winograd's algorithm in a scan, with the same
# training after one change. Some rows go *back to* what a part of it had replaced, and others *try*
# something new. Below 1, the change made the training slower. Compiling so many programs takes
# minutes, so these numbers were recorded earlier, on the machine and on the day that the table
# names:
from jaxcap.experiments.mnist_search import BEST
from jaxcap.releases.recorded import recorded_results

search = recorded_results("mnist search")

# %%
from jaxcap.results.tables import Table

plain = "patches", "all images at once", "XLA's pool", "Flax's dropout"
before = (*plain, "a pool with JAX's gradient", "one core")
rows = []
for change, ratio in search.paired_speedups(BEST):
    does = "back to" if change.variant in before else "try"
    rows.append((does, change.variant, ratio.short, ratio.range))
rows.sort(key=lambda row: row[0])
machine = search.environment
title = f"Recorded on {machine.device.name}, {machine.measured_at.date()}"
headers = "what we do", "change", "times as fast", "95% interval"
Table(title, headers, rows)

# %%
# Where the interval includes 1, the recording can't tell whether a change matters. *bfloat16* can
# help if the CPU multiplies such numbers as they are and the results are in float32. Here, the
# results are in bfloat16 as well. XLA then :doc:`converts the operands to float32
# </tutorials/performance/bits>`, computes in float32, and rounds each result back. With fewer
# images at a time, the products get small, and with more, the arrays leave the cache. Recomputing
# what the gradient needs saves memory, but costs time. With *channels first*, a patch is a column
# of the matrix instead of a row. XNNPACK is a library of kernels. Newer versions of XLA may call
# YNNPACK instead, and then the row without XNNPACK shows only noise.
#
# Takeaway
# --------
forward_to_patches = forward.speedup(WINOGRAD, over=PATCHES)
forward_to_torch = forward.speedup(WINOGRAD, over=DEVICE)

# %%
# Half the multiplications take half the time only if they run at the same rate and the additions
# cost nothing. With Winograd's algorithm, the forward pass of the second convolution was
# :measured:`forward_to_patches than with patches`, and
# :measured:`forward_to_torch than with PyTorch`. In tiles, its largest error was
# :measured:`more_error` times that of patches. Whenever an algorithm promises fewer operations, ask
# what it adds in their place, and check that the results are still accurate enough.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
