"""The reader of MNIST's files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as st_numpy

from jaxcap.mnist import idx

IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_what_was_written_is_read(tmp_path: Path, name: str) -> None:
    idx.write(tmp_path / name, IMAGES)
    np.testing.assert_array_equal(idx.read(tmp_path / name), IMAGES)


@given(st_numpy.arrays(np.uint8, st_numpy.array_shapes(min_dims=1, max_dims=4, min_side=0)))
def test_any_shape_survives(tmp_path_factory: pytest.TempPathFactory, array: idx.Bytes) -> None:
    path = tmp_path_factory.mktemp("idx") / "array"
    idx.write(path, array)
    found = idx.read(path)
    assert found.shape == array.shape
    np.testing.assert_array_equal(found, array)


def test_format_is_that_of_mnist(tmp_path: Path) -> None:
    idx.write(tmp_path / "images", IMAGES)
    header = struct.pack(">IIII", 2051, 2, 3, 4)  # the magic number that MNIST's page gives
    assert (tmp_path / "images").read_bytes() == header + IMAGES.tobytes()


def test_compressed_files_are_reproducible(tmp_path: Path) -> None:
    for name in "a.gz", "b.gz":
        idx.write(tmp_path / name, IMAGES)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not an IDX file of unsigned bytes: .* got nothing"),
        (b"<html>", "not an IDX file of unsigned bytes: .* got 3c 68 74"),
        (b"\0\0\x0d\1", "not an IDX file of unsigned bytes: .* got 00 00 0d"),  # floats
        (b"\0\0\x08\2\0\0\0\1", "ends within its header"),
        (b"\0\0\x08\1\0\0\0\3ab", "should hold 3 items and holds 2"),
        (b"\0\0\x08\1\0\0\0\1ab", "should hold 1 items and holds 2"),
    ],
)
def test_other_content_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "some-file"
    path.write_bytes(data)
    with pytest.raises(idx.IdxError, match=f"some-file.*{said}"):
        idx.read(path)


@pytest.mark.parametrize("damage", ["truncated", "flipped"])
def test_damaged_compression_is_refused(tmp_path: Path, damage: str) -> None:
    data = gzip.compress(b"\0\0\x08\1\0\0\0\3abc")
    middle = len(data) // 2
    path = tmp_path / "some-file.gz"
    if damage == "truncated":
        path.write_bytes(data[:middle])
    else:
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :])
    with pytest.raises(idx.IdxError, match=r"some-file\.gz is damaged or incomplete"):
        idx.read(path)
