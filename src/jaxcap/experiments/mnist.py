"""How fast each trainer of MNIST is: the same network, images and batches for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import torch

from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants
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
WINOGRAD = "Flax, steps with Winograd"
SCAN = "Flax, scan"
SCAN_WINOGRAD = "Flax, scan with Winograd"
LOADER = "PyTorch, data loader"
DEVICE = "PyTorch, data on the device"
COMPILED = "PyTorch, compiled"
REDUCED = "bfloat16"

#: Makes a trainer from settings and images to train on.
TrainerFactory = Callable[[Settings, data.Split], Trainer]


def trainer_factories(*, compiled: bool = True) -> Mapping[str, TrainerFactory]:
    """Return the trainers that make sense on this machine, by name.

    Parameters
    ----------
    compiled
        Include `torch.compile` where it can be used. Its first call takes long.
    """
    on_cpu = jax.default_backend() == "cpu"
    factories: dict[str, TrainerFactory] = {
        NAIVE: NaiveFlaxTrainer,
        STEPS: partial(FlaxTrainer, steps_per_program=1, convolution="xla"),
        PATCHES: partial(FlaxTrainer, steps_per_program=1, convolution="patches"),
        WINOGRAD: partial(FlaxTrainer, steps_per_program=1, convolution="winograd"),
        SCAN_WINOGRAD: partial(FlaxTrainer, convolution="winograd"),
        LOADER: partial(_torch, loop="loader"),
        DEVICE: partial(_torch, loop="device"),
    }
    compiled = compiled and can_compile("cpu" if on_cpu else "cuda")
    if compiled:
        factories[COMPILED] = partial(_torch, loop="compiled")
    if not on_cpu:  # on a CPU, XLA's convolutions take many times as long in a scan
        scan = partial(FlaxTrainer, convolution="xla")
        factories |= {SCAN: scan, f"{SCAN}, {REDUCED}": partial(scan, dtype=jnp.bfloat16)}
        if compiled:
            factories[f"{COMPILED}, {REDUCED}"] = partial(
                _torch, loop="compiled", dtype=torch.bfloat16
            )
    return factories


def prepare(batch: int, steps: int, compiled: bool) -> Variants:
    """Prepare ``steps`` training steps of each trainer, on batches of ``batch`` images."""
    settings = Settings(batch_size_training=batch)
    train = data.load("subset").train
    order = shuffled(len(train.labels), 1, settings)[:steps]
    return {
        name: partial(make_trainer(settings, train).train_epoch, order, 1)
        for name, make_trainer in trainer_factories(compiled=compiled).items()
    }


#: A few steps on a CPU; most of the subset on a GPU, where a step is short.
THROUGHPUT = Experiment(
    name="mnist throughput",
    title="Ways to train on MNIST",
    prepare=prepare,
    quick=grid(batch=(32,), steps=(2,), compiled=(False,)),
    full=grid(batch=(128,), steps=(70,), compiled=(True,)),
    empty_caches=False,  # each trainer is its own program, which takes seconds to compile
)


def throughput(result: Result) -> Estimate:
    """Return the images per second that a trainer learns from."""
    images = int(result.parameters["batch"]) * int(result.parameters["steps"])
    return result.time.rate(images, "images")


def _torch(settings: Settings, train: data.Split, **options: Any) -> TorchTrainer:
    return TorchTrainer(settings, train, initial_weights(settings.seed), **options)
