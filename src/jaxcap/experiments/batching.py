"""A loss or a gradient for each example of a batch: by loops, by ``jax.vmap``, and by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxcap.kernels.batching import (
    logistic_gradients,
    logistic_loss,
    logistic_losses,
    logistic_losses_in_turn,
    losses_by_loop,
)
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

LOOP, COMPILED_LOOP, VMAP, BY_HAND = "Python loop", "compiled loop", "vmap", "by hand"
LOSSES, GRADIENTS = "losses", "gradients"
GRADIENT_LOOP, GRADIENT_VMAP, GRADIENT_BY_HAND = (
    f"{GRADIENTS}, {name}" for name in (LOOP, VMAP, BY_HAND)
)
FEATURES = 64
PER_EXAMPLE = (None, 0, 0)  # the axes of weights, features and labels that are mapped
MAX_LOOPED = 1000  # for larger batches, a call of either loop would take seconds


def prepare(batch: int, of: str = LOSSES) -> Variants:
    """Prepare the losses of a random float32 batch, or its gradients, by loops, by `vmap` and by hand.

    The Python loop gets separate examples and returns separate results, so that neither slicing nor
    stacking is counted.
    """
    rng = np.random.default_rng(0)
    features = rng.standard_normal((batch, FEATURES), dtype=np.float32)
    labels = rng.integers(2, size=batch).astype(np.float32)
    weights = jax.device_put(rng.standard_normal(FEATURES, dtype=np.float32))
    inputs = (weights, *jax.device_put((features, labels)))
    if of == GRADIENTS:
        examples = jax.device_put(list(zip(features, labels, strict=True)))
        gradient = jax.grad(logistic_loss)
        return {
            GRADIENT_LOOP: partial(losses_by_loop, jax.jit(gradient), weights, examples),
            GRADIENT_VMAP: partial(jax.jit(jax.vmap(gradient, PER_EXAMPLE)), *inputs),
            GRADIENT_BY_HAND: partial(jax.jit(logistic_gradients), *inputs),
        }
    variants: dict[str, Callable[[], Any]] = {
        VMAP: partial(jax.jit(jax.vmap(logistic_loss, PER_EXAMPLE)), *inputs),
        BY_HAND: partial(jax.jit(logistic_losses), *inputs),
    }
    if batch <= MAX_LOOPED:
        examples = jax.device_put(list(zip(features, labels, strict=True)))
        variants[COMPILED_LOOP] = partial(jax.jit(logistic_losses_in_turn), *inputs)
        variants[LOOP] = partial(losses_by_loop, jax.jit(logistic_loss), weights, examples)
    return variants


_GRADIENTS = grid(batch=(1000,), of=(GRADIENTS,))
#: Losses by all variants up to a thousand examples, and beyond that by those without a loop; and a
#: thousand gradients.
BATCHING = Experiment(
    name="batching",
    title="A batch by loops, by vmap and by hand",
    prepare=prepare,
    quick=[*grid(batch=(1, 100, 1000, 10_000)), *_GRADIENTS],
    full=[*grid(batch=(1, 100, 1000, 10_000, 1_000_000)), *_GRADIENTS],
)
