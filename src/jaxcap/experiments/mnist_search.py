"""What else might make training on MNIST faster on a CPU: the best way, with one change at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax

from jaxcap.kernels.convolution import by_patches, by_shifts, in_parts, max_pool
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants
from jaxcap.mnist import data
from jaxcap.mnist.config import Settings
from jaxcap.mnist.model import CNN, Apply, Layers, at_once, xla_max_pool
from jaxcap.mnist.train_flax import Network, State, data_mesh, layer_options, put, sharding, steps
from jaxcap.mnist.training import shuffled

BEST = "the best way"
OPTIONS, NUMBERS, CONVOLUTION, REST, THREADS = KINDS = (
    *("options of XLA", "types and layout", "the convolutions"),
    *("pool and dropout", "threads"),
)
Train = Callable[[], Any]


def _in_parts_of(size: int) -> Apply:
    """Return what applies layers to so many images at a time."""

    def apply(layers: Layers, images: Array) -> Array:
        parts = lax.map(layers, images.reshape(-1, size, *images.shape[1:]))
        merged: Array = parts.reshape(-1, *parts.shape[2:])
        return merged

    return apply


def _computed_twice(layers: Layers, images: Array) -> Array:
    """Keep nothing for the gradient but the images, and compute the rest again."""
    return in_parts(jax.checkpoint(layers), images)


def by_patches_first(images: Array, kernel: Array) -> Array:
    """Compute the same as `by_patches`, as a product of matrices whose channels come first."""
    height, width, channels, features = kernel.shape
    number, rows, columns = len(images), images.shape[1] - height + 1, images.shape[2] - width + 1
    planes = jnp.moveaxis(images, -1, 0)
    shifted = [
        planes[:, :, i : i + rows, j : j + columns] for i in range(height) for j in range(width)
    ]
    patches = jnp.concatenate(shifted).reshape(height * width * channels, -1)
    output = kernel.reshape(-1, features).T @ patches
    return jnp.moveaxis(output.reshape(features, number, rows, columns), 0, -1)


def _but_first(convolve: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Leave the first convolution as it is in the best way."""
    return lambda images, kernel: (by_shifts if kernel.shape[2] == 1 else convolve)(images, kernel)


#: Options for the compiler, as `jax.jit` takes them.
COMPILER: Mapping[str, dict[str, Any]] = {
    "fast maths": {"xla_cpu_enable_fast_math": True},
    "without XNNPACK": {"xla_cpu_use_xnnpack": False},
    "vectors of 512 bits": {"xla_cpu_prefer_vector_width": 512},
}
#: Arguments of `jaxcap.mnist.model.CNN`.
NETWORK: Mapping[str, Mapping[str, dict[str, Any]]] = {
    NUMBERS: {
        "bfloat16": {"dtype": jnp.bfloat16},
        "patches": {"convolve": _but_first(by_patches)},
        "patches, channels first": {"convolve": _but_first(by_patches_first)},
    },
    CONVOLUTION: {
        "4 images at a time": {"apply": _in_parts_of(4)},
        "16 images at a time": {"apply": _in_parts_of(16)},
        "all images at once": {"apply": at_once},
        "computed again for the gradient": {"apply": _computed_twice},
    },
    REST: {
        "XLA's pool": {"pool": xla_max_pool},
        "a pool with JAX's gradient": {"pool": max_pool.fun},
        "Flax's dropout": {"dropout": nnx.Dropout},
    },
}
#: How JAX draws random numbers instead: by XLA's own generator.
GENERATOR = {"XLA's random numbers": "rbg"}


def prepare(kind: str, batch: int, steps: int) -> Variants:
    """Prepare training steps of the fastest way in JAX, each variant with one change."""
    settings = Settings(batch_size_training=batch)
    ready = partial(training, settings, steps)
    variants: dict[str, Train] = {BEST: ready()}
    if kind == OPTIONS:
        variants |= {name: ready(compiler=options) for name, options in COMPILER.items()}
    if kind == THREADS:
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        if cores:
            variants["each thread on its core"] = partial(pinned, ready(), cores)
            variants["one core"] = partial(pinned, ready(), cores[:1])
    if kind == REST:
        variants |= {name: ready(generator=impl) for name, impl in GENERATOR.items()}
    return variants | {
        name: ready(network=changed) for name, changed in NETWORK.get(kind, {}).items()
    }


def training(
    settings: Settings,
    number: int,
    *,
    compiler: dict[str, Any] | None = None,
    network: Mapping[str, Any] | None = None,
    generator: str | None = None,
) -> Train:
    """Return a function that goes on with a training for so many steps on a CPU.

    Parameters
    ----------
    settings, number
        What is trained, and the number of steps in a call.
    compiler
        Options of the compiler.
    network
        Arguments of the network, in place of those of the best way.
    generator
        JAX's name of the generator that draws the random numbers.
    """
    train = data.load("subset").train
    order = shuffled(len(train.labels), 1, settings)[:number]
    on_cpu = sharding(data_mesh(jax.devices("cpu")[:1]))
    layers = layer_options("winograd") | (network or {})
    graph, params = nnx.split(CNN(nnx.Rngs(settings.seed), **layers))
    fixed = Network(
        graph, settings.dropout, on_cpu, settings.momentum, *data.mean_and_std(train.images)
    )
    state = State(params, fixed.optimizer(settings.learning_rate).init(params))
    numbers = np.arange(number)
    rates = settings.rate(1, numbers, number).astype(np.float32)
    key = jax.random.key(settings.seed, impl=generator)
    state, *inputs = put((state, train, numbers, order, rates), on_cpu)
    compiled = jax.jit(
        steps.__wrapped__,  # type: ignore[attr-defined]
        donate_argnames="state",
        compiler_options=compiler,
    )

    def go_on() -> Array:
        nonlocal state
        losses: Array
        state, losses = compiled(fixed, state, *inputs, key)
        return losses

    return go_on


def pinned(train: Train, cores: Sequence[int]) -> Any:
    """Train while each of XLA's threads is bound to one core, in turn."""
    everywhere = os.sched_getaffinity(0)
    tasks = [task for task in Path("/proc/self/task").iterdir() if _is_of_xla(task)]
    try:
        for i, task in enumerate(tasks):
            os.sched_setaffinity(int(task.name), {cores[i % len(cores)]})
        return jax.block_until_ready(train())  # type: ignore[no-untyped-call]
    finally:
        for task in tasks:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), everywhere)


def _is_of_xla(task: Path) -> bool:
    return (task / "comm").read_text().startswith("tf_XLAEigen")


#: No build runs it, because to compile so many programs takes minutes.
SEARCH = Experiment(
    name="mnist search",
    title="What else might make training faster",
    prepare=prepare,
    quick=grid(kind=KINDS, batch=(32,), steps=(2,)),
    empty_caches=False,  # each variant is its own program, which takes seconds to compile
)
