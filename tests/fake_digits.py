"""Digits that are learned soon, each class a bright bar in its own rows, and files of digits."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

from jaxcap.mnist.data import SHA256, Bytes, Mnist, Split


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


def write_idx(path: Path, array: Bytes) -> None:
    """Write an array in MNIST's format, compressed."""
    unsigned_byte = 0x08
    header = struct.pack(f">HBB{array.ndim}I", 0, unsigned_byte, array.ndim, *array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes()))


def write_folder(folder: Path, train: Split, test: Split) -> None:
    """Write two splits as four files that have the names of MNIST's."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(SHA256, (*train, *test), strict=True):
        write_idx(folder / f"{name}.gz", array)
