"""IDX, the format of MNIST's files: a magic number, the size of each dimension, then the items.

Integers are big-endian. The magic number is two zero bytes, the type of the items and the number of
dimensions. MNIST's items are unsigned bytes, and so are those of all files that are read here.

References
----------
Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", section "File
formats for the MNIST database".
"""

from __future__ import annotations

import gzip
import hashlib
import math
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_UNSIGNED_BYTE = 0x08
_GZIP = b"\x1f\x8b"


class IdxError(ValueError):
    """A file is not what it should be; the message names it and says why."""


def read(path: Path) -> Bytes:
    """Read an array of unsigned bytes from a file, compressed by gzip or not.

    Raises
    ------
    IdxError
        If the file is not in this format, broken off or longer than it says.
    OSError
        If there is no file or it can't be read.
    """
    return decode(content(path), path)


def content(path: Path) -> bytes:
    """Return a file's bytes, uncompressed if it was compressed by gzip.

    Raises
    ------
    IdxError
        If the compressed data are broken off or damaged.
    """
    data = path.read_bytes()
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise IdxError(f"{path} is damaged or incomplete ({error}): replace it") from error


def decode(data: bytes, path: Path) -> Bytes:
    """Make an array of a file's bytes; ``path`` is named in errors, which are those of `read`."""
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != _UNSIGNED_BYTE:
        raise IdxError(
            f"{path} is not an IDX file of unsigned bytes: expected it to start with 00 00 08, "
            f"got {data[:3].hex(' ') or 'nothing'}"
        )
    dimensions = data[3]
    start = 4 + 4 * dimensions
    if len(data) < start:
        raise IdxError(f"{path} ends within its header: replace it")
    shape = struct.unpack(f">{dimensions}I", data[4:start])
    expected, found = math.prod(shape), len(data) - start
    if found != expected:
        raise IdxError(f"{path} should hold {expected:,} items and holds {found:,}: replace it")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def write(path: Path, array: Bytes) -> None:
    """Write an array of unsigned bytes, compressed if the name ends with ``.gz``.

    The same array gives the same file, byte for byte.
    """
    header = struct.pack(f">HBB{array.ndim}I", 0, _UNSIGNED_BYTE, array.ndim, *array.shape)
    data = header + array.tobytes()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of data, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
