"""A gradient through a stack of layers, by what it keeps of the forward pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxcap.kernels.memory import Weights, layer, loss, random_stack
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

EVERYTHING, WHOLE = "keep everything", "checkpoint the whole"
PRODUCTS, INPUTS = "checkpoint layers, keep products", "checkpoint layers"


def losses() -> dict[str, Callable[[Weights, Array], Array]]:
    """Return the same loss four times, by what its gradient keeps."""
    products = jax.checkpoint_policies.save_only_these_names("product")
    return {
        EVERYTHING: loss,
        WHOLE: jax.checkpoint(loss),
        PRODUCTS: partial(loss, apply=jax.checkpoint(layer, policy=products)),
        INPUTS: partial(loss, apply=jax.checkpoint(layer)),
    }


def prepare(layers: int, width: int, batch: int) -> Variants:
    """Prepare gradients of the loss of a random float32 batch with respect to all weights."""
    # JAX's own random numbers would take longer to compile than the gradients to run.
    normal = np.random.default_rng(0).normal
    like = jax.eval_shape(lambda: random_stack(layers, width))
    stack = jax.tree.map(lambda w: jnp.asarray(normal(scale=0.01, size=w.shape), w.dtype), like)
    x = jnp.asarray(normal(size=(batch, width)), "float32")
    return {
        name: partial(jax.jit(jax.grad(function)), stack, x) for name, function in losses().items()
    }


#: What is recomputed needs no memory in between, but time. Memory takes time, too, when malloc gives it
#: back after each call, so malloc decides about that.
CHECKPOINTS = Experiment(
    name="checkpoints",
    title="A gradient that keeps less",
    prepare=prepare,
    quick=grid(layers=(32,), width=(64,), batch=(512,)),
    full=grid(layers=(32,), width=(512,), batch=(8192,)),
    allocator="default",
    empty_caches=False,  # the variants share no compiled function
)
