"""
Do half the multiplications take half the time?
===============================================

Most of a network's work is multiplying and adding. Shmuel Winograd showed how to compute a
convolution with fewer multiplications, and :doc:`our training
</tutorials/applications/training_speed>` on a CPU uses his algorithm. This page shows how it works,
how accurate it is, and how much time it really saves.
"""

# %%
# Six products instead of twelve
# ------------------------------
# By the definition of a convolution, four neighbouring outputs of a kernel with three weights take
# twelve multiplications. Winograd's algorithm makes do with six, with the help of three small
# matrices. The first turns six pixels into six numbers, and the second turns the three weights into
# six. Multiply the six pairs, and the third matrix turns the products into the four outputs.
#
# The numbers in the matrices come from polynomials. If the weights are the coefficients of one, the
# rows of ``OF_KERNEL`` give its values at six points, up to a factor: at 0, ±1, ±2 and infinity,
# which stands for the last coefficient. The columns of ``OF_PRODUCT`` are powers of the same
# points, and ``OF_IMAGE`` follows from the other two. (`Lavin and Gray
# <https://arxiv.org/abs/1509.09308>`__ brought the algorithm to neural networks.)
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
# For four outputs alone this doesn't pay: applying the small matrices costs more than the six
# multiplications saved. It can pay in a layer, where that work is shared: rows are transformed once
# for all features, and weights once for all images. In the second convolution of our network, we
# apply the algorithm to the rows of the images.
#
# So now replace numbers by arrays. A pixel becomes a whole row of an image, with all its channels,
# a weight becomes a row of the kernel, and "times" becomes a product of matrices. Six rows are a
# *tile*, which gives four rows of output. In the code, ``tensordot`` multiplies a small matrix by
# what lies along the first axis, and the comments are shapes:
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
# than the transformations do. The training uses ``convolution.by_winograd``, which does the same
# for any number of rows. Its gradients use the small matrices again, some of them transposed, by
# :func:`jax.custom_vjp`. Applied along both axes, the algorithm needs only a quarter of the
# multiplications, but the extra additions may cost more than that saves.
#
# How exact is it?
# ----------------
# The constants in the small matrices magnify rounding errors. To see by how much, we compare each
# way to convolve with the result in 64-bit numbers:
from numpy.lib.stride_tricks import sliding_window_view

rng = np.random.default_rng(0)
images = rng.standard_normal((8, 26, 26, 32), np.float32)
kernel = rng.standard_normal((3, 3, 32, 64), np.float32)
windows = sliding_window_view(images.astype(float), (3, 3), axis=(1, 2))
exact = np.einsum("nijcab,abcf->nijf", windows, kernel, optimize=True)

# %%
ours = by_tiles, convolution.by_winograd
errors = {}
for convolve in convolution.by_xla, convolution.by_patches, *ours:
    result = np.asarray(convolve(images, kernel), float)
    errors[convolve.__name__] = abs(result - exact).max()
    print(f"{convolve.__name__:<11} {errors[convolve.__name__]:.1e}")

more_error = f"{errors['by_winograd'] / errors['by_patches']:.1f}"
largest = f"{abs(exact).max():.0f}"

# %%
# In outputs of up to :measured:`largest`, the largest error of ``by_winograd`` was
# :measured:`more_error` times that of patches. With more outputs at a time, Winograd's algorithm
# would save more multiplications, but the constants would grow, and the errors with them.
#
# Does it pay in the network?
# ---------------------------
# The page before cut a training step into layers. Here are the times of the second convolution,
# forward. *Winograd* is ``by_winograd``, applied to eight images at a time, and *Flax, steps on the
# device* is XLA's own convolution.
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
# The transformations read whole arrays and write new ones, and arrays for eight images are more
# likely to stay in the cache than arrays for all. So the difference isn't the algorithm's alone.
# :doc:`The page about training </tutorials/applications/training_speed>` tells the two apart, and
# :doc:`an experiment </results/experiments/mnist-search>` has the other sizes, layouts and number
# types that we tried.
#
# How much of that time goes into products?
# -----------------------------------------
# Winograd's algorithm halves the multiplications, and what surrounds them changes, too. To see how
# much of the time is multiplying, we time products of the same shapes on their own. For eight
# images, Winograd's algorithm makes six small ones, ``(1152, 96) @ (96, 64)``. With patches, 32
# images become a single big one, ``(18432, 288) @ (288, 64)``. For comparison, we add the fastest
# product of large square matrices that was measured on this device:
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
rate = f"{speeds['Winograd'] / speeds['patches']:.0%}"
part_saved = f"{1 - multiply_ms['Winograd'] / multiply_ms['patches']:.0%}"

# %%
# At the rates above, the products for a whole batch take :measured:`patches_ms` with patches, which
# is about :measured:`patches_share` of the forward pass, and :measured:`winograd_ms` with
# Winograd's algorithm, about :measured:`winograd_share`. (These shares are rough, because we took
# the shortest of many calls in one process for the products, and medians for the whole.) What is
# left, :measured:`patches_rest` and :measured:`winograd_rest`, is everything else: copying,
# transforming, adding the bias, cutting off what is negative, and storing what the gradient needs.
#
# At equal rates, Winograd's algorithm would save half of the products' time. Here, its small
# products ran at :measured:`rate` of the rate of the big one of patches, so it saved
# :measured:`part_saved`.
#
# What surrounds the products changes as well. Winograd's six matrices hold half as many numbers as
# the matrix of patches, which copies each pixel up to nine times. But the rows have to be
# transformed before the products, and the results afterwards. In all, the forward pass with
# Winograd's algorithm was :measured:`forward_to_patches than with patches`.
#
# It was :measured:`forward_to_torch than with PyTorch`, which calls another library for its
# convolutions.
#
# Takeaway
# --------
forward_to_patches = forward.speedup(WINOGRAD, over=PATCHES)
forward_to_torch = forward.speedup(WINOGRAD, over=DEVICE)

# %%
# In a first look, within one process, half the multiplications saved :measured:`part_saved` of the
# products' time. But the products account for only a part of the forward pass: about
# :measured:`patches_share` with patches, and :measured:`winograd_share` with Winograd's algorithm.
# In all, the pass with Winograd's algorithm was :measured:`forward_to_patches than with patches`,
# and :measured:`forward_to_torch than with PyTorch`.
#
# The largest error of Winograd's algorithm was :measured:`more_error` times that of patches.
# Whenever an algorithm promises fewer operations, ask what it adds in their place, and check that
# the results are still accurate enough.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
