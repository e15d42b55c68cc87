"""Each change of the best way to train leaves the training as it is, but for rounding and dropout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.experiments.mnist_search import (
    BEST,
    KINDS,
    THREADS,
    by_patches_first,
    pinned,
    prepare,
    training,
)
from jaxcap.kernels.convolution import by_xla
from jaxcap.mnist.config import Settings

BATCH, STEPS = 16, 1
# These draw other random numbers, so other activations are dropped.
OTHER_DROPOUT = {"Flax's dropout", "XLA's random numbers"}
needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="binds threads to cores"
)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_leave_the_losses_as_they_are(kind: str) -> None:
    variants = dict(prepare(kind, BATCH, STEPS))
    losses = variants.pop(BEST)()
    expected = np.asarray(losses)
    assert {device.platform for device in losses.devices()} == {"cpu"}
    assert variants or kind == THREADS
    for name, train in variants.items():
        rtol = 0.5 if name in OTHER_DROPOUT else 0.02 if name == "bfloat16" else 1e-4
        np.testing.assert_allclose(train(), expected, rtol=rtol, err_msg=name)


def test_channels_first_is_the_same_convolution() -> None:
    rng = np.random.default_rng(0)
    images = jnp.asarray(rng.standard_normal((2, 7, 6, 3), np.float32))
    kernel = jnp.asarray(rng.standard_normal((3, 2, 3, 5), np.float32))
    np.testing.assert_allclose(by_patches_first(images, kernel), by_xla(images, kernel), atol=1e-5)


def test_a_training_goes_on_with_each_call() -> None:
    train = training(Settings(batch_size_training=BATCH), 8)
    first, second, third = (float(jnp.mean(train())) for _ in range(3))
    assert first > second > third  # the same images again


@needs_affinity
def test_threads_are_bound_while_training_and_free_afterwards() -> None:
    training(Settings(batch_size_training=BATCH), 1)().block_until_ready()  # starts the threads
    everywhere = os.sched_getaffinity(0)
    core = min(everywhere)
    seen: list[Any] = []

    def affinities() -> list[set[int]]:
        return [os.sched_getaffinity(int(task.name)) for task in Path("/proc/self/task").iterdir()]

    pinned(lambda: seen.extend(affinities()), [core])
    assert {core} in seen
    assert all(cores == everywhere for cores in affinities())
