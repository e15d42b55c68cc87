"""
Do half the multiplications take half the time?
===============================================

Shmuel Winograd showed how to compute a convolution with fewer multiplications. On a CPU, :doc:`our
training </tutorials/applications/training_speed>` uses his algorithm in the layer with the most
multiplications, and saves half of them. This page times that layer, builds the algorithm from six
numbers up, and then times its parts, to see what half the multiplications save.
"""

# %%
# One layer, with all the multiplications and with half
# -----------------------------------------------------
# :doc:`The page before </tutorials/applications/convolutions>` wrote a convolution as a product of
# *patches* and the kernel, which takes all multiplications of the definition. Here is the forward
# pass of the network's second convolution, with patches and with half the multiplications. Will the
# second be twice as fast?
from jaxcap.experiments.mnist_changes import PATCHES, WINOGRAD
from jaxcap.experiments.mnist_layers import FORWARD, LAYERS
from jaxcap.report import figures

layer_times = LAYERS.run(processes=4, budget_s=0.03)
forward = layer_times.select(layer="conv2", task=FORWARD)
_ = figures.bars(
    forward.select(variant=PATCHES) + forward.select(variant=WINOGRAD),
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
# The two ways differ in more than their multiplications, so this ratio doesn't show what those
# contributed. To find out, we'll see what the algorithm does, and then time its parts.
#
# Six products instead of twelve
# ------------------------------
# Slide a kernel of three weights over six pixels, and you get four outputs. Each is a sum of three
# products, which makes twelve multiplications. Winograd's algorithm needs only six, and three small,
# constant matrices:
from jaxcap.kernels import convolution

for name in ("OF_IMAGE", "OF_KERNEL", "OF_PRODUCT"):
    print(f"{name}:\n{getattr(convolution, name).round(3)}")

# %%
# The first matrix turns the six pixels into six other numbers, and the second turns the three
# weights into six. Multiply these pair by pair, and the third matrix turns the six products into
# the four outputs:
import numpy as np

pixels, weights = np.array([3, 1, 4, 1, 5, 9]), np.array([2, 7, 1])
products = (convolution.OF_IMAGE @ pixels) * (convolution.OF_KERNEL @ weights)
outputs = convolution.OF_PRODUCT @ products
print("from 12 products:", np.correlate(pixels, weights))
print(f"from {len(products)} products: ", outputs.round(9))

# %%
# For four outputs that doesn't pay: applying the matrices takes dozens of additions, and
# multiplications by their constants, too. In a layer it can, because pixels are transformed once
# for all features of the output, weights once for all images, and products only after they have been
# summed over the channels. `Lavin and Gray <https://arxiv.org/abs/1509.09308>`__ brought the
# algorithm to neural networks, along rows and columns at once. That leaves a quarter of the
# multiplications, but takes more additions. Our training uses it along one axis.
#
# From numbers to a layer
# -----------------------
# Now replace each pixel by a row of an image, each weight by a row of the kernel, and each
# multiplication by a product of matrices. Four rows of output then take six of these products
# instead of twelve. In the code, ``tensordot`` applies a small matrix along the first axis,
# ``shifted`` makes patches within each row, and the comments are shapes:
import jax.numpy as jnp


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
    return jnp.moveaxis(output, 0, 2).reshape(n, 4 * tiles, columns, features)


# %%
# The training uses ``convolution.by_winograd``, which does the same for images of any height, and
# has a gradient of its own. Are both still as accurate? Their constants can magnify rounding errors,
# so we compare with the result in 64-bit numbers:
from numpy.lib.stride_tricks import sliding_window_view

rng = np.random.default_rng(0)
images = rng.standard_normal((8, 26, 26, 32), np.float32)
kernel = rng.standard_normal((3, 3, 32, 64), np.float32)
windows = sliding_window_view(images.astype(float), (3, 3), axis=(1, 2))
exact = np.einsum("nijcab,abcf->nijf", windows, kernel, optimize=True)

# %%
errors = {}
for convolve in convolution.by_patches, by_tiles, convolution.by_winograd:
    result = np.asarray(convolve(images, kernel), float)
    errors[convolve.__name__] = abs(result - exact).max()
    print(f"{convolve.__name__:<11} {errors[convolve.__name__]:.1e}")

more_error = f"{errors['by_winograd'] / errors['by_patches']:.1f}"
largest = f"{abs(exact).max():.0f}"

# %%
# In outputs of up to :measured:`largest`, the largest error of ``by_winograd`` was
# :measured:`more_error` times that of patches. That is part of the price.
#
# What half the multiplications save
# ----------------------------------
# Now we can time the multiplications alone. For eight images, patches take one product of matrices,
# ``(4608, 288) @ (288, 64)``. Winograd's algorithm takes six, ``(1152, 96) @ (96, 64)``, with half
# as many multiplications in all. We'll time these products, and each convolution as a whole. Which
# of the two times do you expect to be halved?
import timeit

import jax


def milliseconds(function, *args):
    """Return the shortest of a thousand calls, the first of which compiles."""
    compiled = jax.jit(function)
    seconds = timeit.repeat(
        lambda: compiled(*args).block_until_ready(), number=1, repeat=1000
    )
    return 1000 * min(seconds)


# %%
shapes = {"by_patches": (1, 4608, 288), "by_winograd": (6, 1152, 96)}
layer = jax.device_put((images, kernel))
product_ms, whole_ms = {}, {}
for name, (number, rows, terms) in shapes.items():
    left = jnp.ones((number, rows, terms))
    right = jnp.ones((number, terms, 64))
    product_ms[name] = milliseconds(jnp.matmul, left, right)
    whole_ms[name] = milliseconds(getattr(convolution, name), *layer)
    print(f"{name:11} products: {product_ms[name]:.2f} ms, ", end="")
    print(f"convolution: {whole_ms[name]:.2f} ms")

# %%
batch = forward[0].parameters["batch"]
of_products, of_whole = (
    f"{ms['by_winograd'] / ms['by_patches']:.0%}"
    for ms in (product_ms, whole_ms)
)

# %%
# With Winograd's algorithm, the products took :measured:`of_products` of their time with patches.
# Halving the multiplications halves this time only if they run at the same rate, and a processor's
# rate can depend on the shapes of the matrices. Here, the matrices are smaller, and each sum has a
# third as many terms.
#
# The whole convolution took :measured:`of_whole` of its time with patches. That includes the work around
# the products, which has changed, too. Winograd's six matrices hold half as many numbers as the matrix
# of patches, so there is less to fill. But the rows have to be transformed before the products, and the
# results after them.
#
# The plot above timed the layer as a training runs it, with :measured:`batch` images, an activation, and
# what the backward pass will need. There, patches keep their whole matrix for the backward pass, where
# Winograd's algorithm keeps the images. It also gets eight images at a time, which
# :doc:`the page about training </tutorials/applications/training_speed>` measures as a change by itself.
#
# Takeaway
# --------
forward_to_patches = forward.speedup(WINOGRAD, over=PATCHES)

# %%
# Half the multiplications take half the time only if they run at the same rate, and a convolution does
# more than multiply. For eight images, in one process, the products of Winograd's algorithm took
# :measured:`of_products` of the time of those with patches, and the whole convolution
# :measured:`of_whole`. The layer's forward pass, as a training runs it on :measured:`batch` images, was
# :measured:`forward_to_patches than with patches`.
#
# The largest error of Winograd's algorithm was :measured:`more_error` times that of patches. When an
# algorithm promises fewer operations, measure how fast the remaining ones run, how long the work
# around them takes, and how accurate the result is.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
