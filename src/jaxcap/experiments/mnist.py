"""How fast each trainer of MNIST is: the same network, images and batches for all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import torch

from jaxcap.experiments.mnist_changes import (
    FACTORIES,
    NAIVE,
    PATCHES,
    SCAN,
    SCAN_WINOGRAD,
    STEPS,
    WINOGRAD,
    TrainerFactory,
)
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants
from jaxcap.mnist import data
from jaxcap.mnist.config import Settings
from jaxcap.mnist.train_flax import initial_weights
from jaxcap.mnist.train_torch import TorchTrainer, can_compile
from jaxcap.mnist.training import shuffled
from jaxcap.results import Result
from jaxcap.results.statistics import Estimate

LOADER = "PyTorch, data loader"
DEVICE = "PyTorch, data on the device"
COMPILED = "PyTorch, compiled"
REDUCED = "bfloat16"

#: The ways to train with Flax that differ by more than one change.
MAIN = (NAIVE, STEPS, PATCHES, WINOGRAD, SCAN, SCAN_WINOGRAD)


def trainer_factories(
    *, compiled: bool = True, changes: bool = True
) -> Mapping[str, TrainerFactory]:
    """Return the trainers that make sense on this machine, by name.

    Parameters
    ----------
    compiled
        Include `torch.compile` where it can be used. Its first call takes long.
    changes
        Include all steps from the naive loop to the fastest way.
    """
    on_cpu = jax.default_backend() == "cpu"
    names = [name for name in FACTORIES if changes or name in MAIN]
    factories = {name: FACTORIES[name] for name in names}
    factories |= {LOADER: partial(_torch, loop="loader"), DEVICE: partial(_torch, loop="device")}
    compiled = compiled and can_compile("cpu" if on_cpu else "cuda")
    if compiled:
        factories[COMPILED] = partial(_torch, loop="compiled")
    if on_cpu:
        del factories[SCAN]  # XLA's convolutions take many times as long in a scan
        return factories
    factories[f"{SCAN}, {REDUCED}"] = partial(FACTORIES[SCAN], dtype=jnp.bfloat16)
    if compiled:
        factories[f"{COMPILED}, {REDUCED}"] = partial(_torch, loop="compiled", dtype=torch.bfloat16)
    return factories


def prepare(batch: int, steps: int, compiled: bool, changes: bool) -> Variants:
    """Prepare ``steps`` training steps of each trainer, on batches of ``batch`` images."""
    settings = Settings(batch_size_training=batch)
    train = data.load("subset").train
    order = shuffled(len(train.labels), 1, settings)[:steps]
    factories = trainer_factories(compiled=compiled, changes=changes)
    return {
        name: partial(make_trainer(settings, train).train_epoch, order, 1)
        for name, make_trainer in factories.items()
    }


#: A few steps on a CPU; most of the subset on a GPU, where a step is short.
THROUGHPUT = Experiment(
    name="mnist throughput",
    title="Ways to train on MNIST",
    prepare=prepare,
    quick=grid(batch=(32,), steps=(2,), compiled=(False,), changes=(True,)),
    full=grid(batch=(128,), steps=(70,), compiled=(True,), changes=(True,)),
    empty_caches=False,  # each trainer is its own program, which takes seconds to compile
)


def throughput(result: Result) -> Estimate:
    """Return the images per second that a trainer learns from."""
    images = int(result.parameters["batch"]) * int(result.parameters["steps"])
    return result.time.rate(images, "images")


def _torch(settings: Settings, train: data.Split, **options: Any) -> TorchTrainer:
    return TorchTrainer(settings, train, initial_weights(settings.seed), **options)
