"""How fast each way of training MNIST is: the same network, images and batches for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import torch

from jaxcap.measure.experiment import Experiment, grid
from jaxcap.mnist import data
from jaxcap.mnist.config import Settings
from jaxcap.mnist.train_flax import FlaxTrainer, NaiveFlaxTrainer, initial_weights
from jaxcap.mnist.train_torch import TorchTrainer, can_compile
from jaxcap.mnist.training import Trainer, shuffled
from jaxcap.results import Result
from jaxcap.results.statistics import Estimate

NAIVE = "Flax, naive"
STEPS = "Flax, steps on the device"
PATCHES = "Flax, steps with patches"
SCAN = "Flax, scan"
SCAN_PATCHES = "Flax, scan with patches"
LOADER = "PyTorch, data loader"
DEVICE = "PyTorch, data on the device"
COMPILED = "PyTorch, compiled"
REDUCED = "bfloat16"

#: Prepares a trainer, given settings and images.
Make = Callable[[Settings, data.Split], Trainer]


def ways(*, compiled: bool = True) -> Mapping[str, Make]:
    """Ways to train that make sense on this machine, by name.

    Parameters
    ----------
    compiled
        With `torch.compile`, where it can be used. It takes long to begin.
    """
    on_cpu = jax.default_backend() == "cpu"
    found: dict[str, Make] = {
        NAIVE: NaiveFlaxTrainer,
        STEPS: partial(FlaxTrainer, at_once=1, patches=False),
        PATCHES: partial(FlaxTrainer, at_once=1, patches=True),
        SCAN_PATCHES: partial(FlaxTrainer, patches=True),
        LOADER: partial(_torch, loop="loader"),
        DEVICE: partial(_torch, loop="device"),
    }
    compiled = compiled and can_compile("cpu" if on_cpu else "cuda")
    if compiled:
        found[COMPILED] = partial(_torch, loop="compiled")
    if not on_cpu:  # a CPU would take many times as long for XLA's convolutions in a scan
        found[SCAN] = partial(FlaxTrainer, patches=False)
        found[f"{SCAN}, {REDUCED}"] = partial(FlaxTrainer, patches=False, dtype=jnp.bfloat16)
        if compiled:
            found[f"{COMPILED}, {REDUCED}"] = partial(_torch, loop="compiled", dtype=torch.bfloat16)
    return found


def prepare(batch: int, steps: int, compiled: bool) -> Mapping[str, Callable[[], Any]]:
    """Prepare each way to make so many steps, each on a batch of so many images."""
    settings = Settings(batch_size_training=batch)
    train = data.load("subset").train
    order = shuffled(len(train.labels), 1, settings)[:steps]
    return {
        name: partial(make(settings, train).train_epoch, order, 1)
        for name, make in ways(compiled=compiled).items()
    }


#: A few steps on a CPU; most of the subset on a GPU, where a step is soon made.
THROUGHPUT = Experiment(
    name="mnist throughput",
    title="Ways to train on MNIST",
    prepare=prepare,
    quick=grid(batch=(32,), steps=(2,), compiled=(False,)),
    full=grid(batch=(128,), steps=(70,), compiled=(True,)),
    empty_caches=False,  # each way is a program of its own, which takes seconds to compile
)


def throughput(result: Result) -> Estimate:
    """Images a second that a way of training takes in."""
    images = int(result.parameters["batch"]) * int(result.parameters["steps"])
    return result.time.rate(images, "images")


def _torch(settings: Settings, train: data.Split, **options: Any) -> TorchTrainer:
    return TorchTrainer(settings, train, initial_weights(settings.seed), **options)
