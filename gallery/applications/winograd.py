"""
Do half the multiplications take half the time?
===============================================

Shmuel Winograd showed how to compute a convolution with fewer multiplications. On a CPU, :doc:`our
training </tutorials/applications/training_speed>` uses his algorithm in the layer with the most
multiplications, and saves half of them. This page times that layer, builds the algorithm from six
numbers up, and then looks for what else decides how long a convolution takes.
"""

# %%
# One layer, with all the multiplications and with half
# -----------------------------------------------------
# :doc:`The page before </tutorials/applications/convolutions>` wrote a convolution as a product of
# *patches* and the kernel, which takes all multiplications of the definition. Here is the forward
# pass of the network's second convolution, as a training runs it, with patches and with half the
# multiplications. Will the second be twice as fast?
from jaxcap.experiments.mnist_changes import PATCHES, WINOGRAD
from jaxcap.experiments.mnist_layers import FORWARD, LAYERS
from jaxcap.report import figures

layer_times = LAYERS.run(budget_s=0.03)
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
# Six products instead of twelve
# ------------------------------
# How does the algorithm save them? Begin with one row of numbers. Slide a kernel of three weights
# over six pixels, and you get four outputs. Each is a sum of three products, which makes twelve
# multiplications. Winograd's algorithm needs only six, and three small, constant matrices:
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
# For four outputs that doesn't pay, because to apply the matrices takes more operations than the six
# products save. In a layer it can, because pixels are transformed once for all features of the output,
# weights once for all images, and products only after they have been summed over the channels. `Lavin and
# Gray <https://arxiv.org/abs/1509.09308>`__ brought the algorithm to neural networks.
#
# From numbers to a layer
# -----------------------
# Now replace each pixel by a row of an image, each weight by a row of the kernel, and each
# multiplication by a product of matrices. Four rows of output then take six of these products
# instead of twelve. In the code of the layer, ``_transform`` and ``_transform_images`` apply small
# matrices, and ``_join`` makes patches that are one pixel high:
from jaxcap.report.source import Source

Source(convolution._winograd)

# %%
# Half the multiplications, and other matrices
# --------------------------------------------
# Both ways write matrices to memory before they multiply them. So the algorithm changes more than the
# number of multiplications. We count both for one batch of the training:
import jax
import jax.numpy as jnp

batch = forward[0].parameters["batch"]
shapes = {  # how many products, and the rows and terms of each
    "patches": (1, batch * 24 * 24, 3 * 3 * 32),
    "Winograd": (6, batch * 6 * 24, 3 * 32),
}
for name, (number, rows, terms) in shapes.items():
    millions = number * rows * terms / 1e6
    mb = 4 * millions
    print(f"{name:8} {number} x ({rows}, {terms}) @ ({terms}, 64): ", end="")
    print(f"{64 * millions:.0f} million multiplications, {mb:.1f} MB")

# %%
# Winograd's matrices hold half as many numbers as the matrix of all patches. But their products hold half
# as many again as the one product with patches, and have to be transformed.
#
# Which part takes half the time?
# -------------------------------
# We time the products alone, with matrices that are ready, and then the whole convolution, first of all
# images at once. For the last comparison, :func:`~jaxcap.kernels.convolution.in_parts` takes eight images
# at a time, so that their matrices may fit into a cache. In which of the three do you expect Winograd's
# algorithm to take half the time?
rng = np.random.default_rng(0)
images = rng.standard_normal((batch, 26, 26, 32), np.float32)
kernel = rng.standard_normal((3, 3, 32, 64), np.float32)
ways = {
    "patches": convolution.by_patches,
    "Winograd": convolution.by_winograd,
}


def by_eights(convolve):
    return lambda images, kernel: convolution.in_parts(
        lambda few: convolve(few, kernel), images
    )


# %%
# All calls take turns, and we print their medians:
from functools import partial

from jaxcap.measure.timing import compare

layer = jax.device_put((images, kernel))
calls = {}
for name, (number, rows, terms) in shapes.items():
    left = jnp.ones((number, rows, terms))
    right = jnp.ones((number, terms, 64))
    convolve, by_parts = ways[name], by_eights(ways[name])
    calls[f"products, {name}"] = partial(jax.jit(jnp.matmul), left, right)
    calls[f"at once, {name}"] = partial(jax.jit(convolve), *layer)
    calls[f"by eights, {name}"] = partial(jax.jit(by_parts), *layer)

# %%
ms = {
    result.variant: 1000 * result.time.value
    for result in compare(calls, budget_s=0.1, empty_caches=False)
}
shares = {}
for part in ("products", "at once", "by eights"):
    of_patches, of_winograd = ms[f"{part}, patches"], ms[f"{part}, Winograd"]
    shares[part] = f"{of_winograd / of_patches:.0%}"
    print(f"{part:9} patches {of_patches:5.2f} ms, ", end="")
    print(f"Winograd {of_winograd:5.2f} ms: {shares[part]}")

# %%
of_products, of_whole, of_eights = shares.values()
changed = ms["by eights, Winograd"] / ms["at once, patches"]
from_patches = f"{changed:.0%}"
forward_to_patches = forward.speedup(WINOGRAD, over=PATCHES)

# %%
# Alone, the products took :measured:`of_products` of their time with patches. Halving the multiplications
# halves this time only if they run at the same rate, which can depend on the shapes of the matrices. Of
# its time with patches, the whole convolution took :measured:`of_whole` with all images at once, and
# :measured:`of_eights` with eight at a time. These two comparisons have the same multiplications, but
# matrices of other sizes.
#
# In the figure, patches convolve all images at once, and Winograd's algorithm works by eights. Compared
# in this way, the convolution took :measured:`from_patches` of the time here. There, the layer was
# :measured:`forward_to_patches than with patches`. It also keeps what its backward pass will need: with
# patches, that is their whole matrix, and with Winograd's algorithm, the images.
#
# The price is accuracy
# ---------------------
# The constants in the small matrices can magnify rounding errors. We compare both results with that of
# patches in 64-bit numbers:
with jax.enable_x64(True):
    exact = np.asarray(
        convolution.by_patches(images.astype(float), kernel.astype(float))
    )

errors = {}
for name, convolve in ways.items():
    errors[name] = abs(np.asarray(convolve(images, kernel)) - exact).max()
    print(f"{name:8} largest error {errors[name]:.1e}")

print(f"largest output: {abs(exact).max():.0f}")
more_error = f"{errors['Winograd'] / errors['patches']:.1f}"

# %%
# Takeaway
# --------
# Half the multiplications take half the time only if they run at the same rate, and a convolution does
# more than multiply. On one batch, in one process, the products of Winograd's algorithm took
# :measured:`of_products` of the time of those with patches. The whole convolution took :measured:`of_whole` with
# all images at once, and :measured:`of_eights` with eight at a time. As a training runs it, the layer's
# forward pass was :measured:`forward_to_patches than with patches`. The largest error was
# :measured:`more_error` times that of patches.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
