"""The gradient of a convolution by XLA and by patches, at once and in a compiled loop."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from jaxcap.kernels import convolution
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

XLA, PATCHES = "XLA", "patches"
AT_ONCE, IN_A_LOOP = "at once", "in a loop"
PARTS = 2


def prepare(images: int) -> Variants:
    """Prepare gradients by the kernel of the second convolution of the network for MNIST.

    In the loop, half of the images follow the other half.
    """
    parts = jnp.ones((PARTS, images // PARTS, 26, 26, 32))
    kernel = jnp.ones((3, 3, 32, 64))
    variants = {}
    for name, convolve in ((XLA, convolution.by_xla), (PATCHES, convolution.by_patches)):
        at_once = jax.jit(partial(convolution.kernel_gradient, convolve))
        in_a_loop = jax.jit(partial(convolution.kernel_gradients, convolve))
        variants[f"{name}, {AT_ONCE}"] = partial(at_once, parts.reshape(-1, 26, 26, 32), kernel)
        variants[f"{name}, {IN_A_LOOP}"] = partial(in_a_loop, parts, kernel)
    return variants


#: A few images, because in a loop XLA's own operation may take long on a CPU.
CONVOLUTION = Experiment(
    name="mnist convolution",
    title="The gradient of a convolution",
    prepare=prepare,
    quick=grid(images=(8,)),
    full=grid(images=(128,)),
    empty_caches=False,  # each variant is its own program
)
