"""One training step whose parameters lie in an NNX module, are split from it, or lie in a dict."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from flax import nnx
from jax import Array

from jaxcap.kernels import stacks
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

MODULE, SPLIT, DICT = "nnx.jit", "split state", "plain dict"


def prepare(layers: int) -> Variants:
    """Prepare a step for ``layers`` layers of 8 units and a batch of 16, in float32.

    Each variant returns the loss alone: the program computes the parameters as well, and to wait for a
    tree of them costs time of its own.
    """
    numbers = np.random.default_rng(0).standard_normal((2, 16, 8), dtype=np.float32)
    x, y = jax.device_put(list(numbers))
    graph, params = nnx.split(stacks.Stack(layers, width=8))
    split_step = jax.jit(partial(stacks.step_split, graph))
    dict_step = jax.jit(stacks.step_dict)
    return {
        MODULE: partial(nnx.jit(stacks.step_module), stacks.Stack(layers, width=8), x, y),
        SPLIT: partial(loss_of, split_step, params, x, y),
        DICT: partial(loss_of, dict_step, nnx.to_pure_dict(params), x, y),
    }


def loss_of(step: Callable[..., tuple[Array, Any]], *args: Any) -> Array:
    """Take a step, and drop the new parameters."""
    value, _ = step(*args)
    return value


#: XLA gets the same work from all three. Python has different work to do for each, whatever the device, so
#: a GPU takes the same point.
STACKS = Experiment(
    name="stacks",
    title="The same training step with NNX and without",
    prepare=prepare,
    quick=grid(layers=(10,)),
    empty_caches=False,  # no two variants share a program
)
