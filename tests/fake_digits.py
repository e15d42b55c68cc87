"""Digits that are learned soon: each class is a bright bar at a place of its own."""

from __future__ import annotations

import numpy as np

from jaxcap.mnist.data import Mnist, Split


def bars(n: int, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, n).astype(np.uint8)
    images = rng.integers(0, 40, (n, 28, 28)).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[2 * label + 3 : 2 * label + 6, 4:24] = 250
    return Split(images, labels)


def bars_to_learn() -> Mnist:
    """A small data set of them."""
    return Mnist(bars(96, 0), bars(37, 1), "bars", complete=False)
