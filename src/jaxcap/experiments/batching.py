"""A loss for each example of a batch: by loops, by ``jax.vmap``, and batched by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxcap.kernels.batching import (
    logistic_loss,
    logistic_losses,
    logistic_losses_in_turn,
    losses_by_loop,
)
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

LOOP, COMPILED_LOOP, VMAP, BY_HAND = "Python loop", "compiled loop", "vmap", "by hand"
FEATURES = 64
MAX_LOOPED = 1000  # for larger batches, a call of either loop would take seconds


def prepare(batch: int) -> Variants:
    """Prepare all variants, on random float32 features and labels.

    The Python loop gets separate examples and returns separate losses, so that neither slicing nor
    stacking is counted.
    """
    rng = np.random.default_rng(0)
    features = rng.standard_normal((batch, FEATURES), dtype=np.float32)
    labels = rng.integers(2, size=batch).astype(np.float32)
    weights = jax.device_put(rng.standard_normal(FEATURES, dtype=np.float32))
    inputs = (weights, *jax.device_put((features, labels)))
    variants: dict[str, Callable[[], Any]] = {
        VMAP: partial(jax.jit(jax.vmap(logistic_loss, in_axes=(None, 0, 0))), *inputs),
        BY_HAND: partial(jax.jit(logistic_losses), *inputs),
    }
    if batch <= MAX_LOOPED:
        examples = jax.device_put(list(zip(features, labels, strict=True)))
        variants[COMPILED_LOOP] = partial(jax.jit(logistic_losses_in_turn), *inputs)
        variants[LOOP] = partial(losses_by_loop, jax.jit(logistic_loss), weights, examples)
    return variants


#: All variants up to a thousand examples; beyond that, those without a loop.
BATCHING = Experiment(
    name="batching",
    title="A batch by loops, by vmap and by hand",
    prepare=prepare,
    quick=grid(batch=(1, 100, 1000, 10_000)),
    full=grid(batch=(1, 100, 1000, 10_000, 1_000_000)),
)
