"""MNIST, 70,000 handwritten digits, from a folder, the network or the package.

They come from the folder that the environment variable ``JAXCAP_MNIST_DIR`` names. Where it isn't
set, the sources are, in this order: the user's cache, the network, and a subset that comes with this
package. Files of the complete data must have the hashes below wherever they come from, so damaged
data are never used.

MNIST is due to Yann LeCun, Corinna Cortes and Christopher J. C. Burges. Copyright Yann LeCun and
Corinna Cortes; distributed under CC BY-SA 3.0, which holds for the subset too.

References
----------
Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-based learning applied to document
recognition", Proceedings of the IEEE 86 (1998), no. 11, 2278-2324.

Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", section "File
formats for the MNIST database".
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from jaxcap.measure.progress import progress_bar

Bytes = npt.NDArray[np.uint8]

#: SHA-256 of the uncompressed files: those of the compressed ones differ from mirror to mirror.
SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
FOLDER_VARIABLE = "JAXCAP_MNIST_DIR"
SUBSET = Path(__file__).parent / "subset"

_GZIP = b"\x1f\x8b"
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)  # what gzip raises for damaged data
_CHUNK_BYTES = 2**16
_TIMEOUT_S = 10  # how long to wait for a mirror before trying the next


class DataError(ValueError):
    """MNIST can't be loaded, or the files hold something else; the message says what to do."""


class Split(NamedTuple):
    """Images and their labels.

    Attributes
    ----------
    images
        Unsigned bytes of shape (n, 28, 28): 0 is paper, 255 is ink.
    labels
        Unsigned bytes of shape (n,): the digits 0 to 9.
    """

    images: Bytes
    labels: Bytes


@dataclass(frozen=True)
class Mnist:
    """Images to train on and images to test with.

    Attributes
    ----------
    train
        Images to train on.
    test
        Other images, to test with.
    source
        Where the images come from, in words.
    complete
        Whether these are all 60,000 and 10,000 images.
    """

    train: Split
    test: Split
    source: str
    complete: bool

    def __repr__(self) -> str:
        counts = f"{len(self.train.labels):,} training and {len(self.test.labels):,} test images"
        return f"{'MNIST' if self.complete else 'A part of MNIST'}: {counts}, {self.source}"

    def _repr_html_(self) -> str:
        kind = "note" if self.complete else "warning"
        title = "All of MNIST" if self.complete else "Not all of MNIST"
        return (
            f'<div class="admonition {kind}"><p class="admonition-title">{title}</p>'
            f"<p>{escape(repr(self))}</p></div>"
        )


def load(selection: Literal["any", "complete", "subset"] = "any") -> Mnist:
    """Load MNIST.

    Parameters
    ----------
    selection
        ``"complete"`` takes the folder, or else tries the cache and the network; ``"subset"`` takes
        the subset; ``"any"`` takes the subset only if the complete files can't be downloaded, and
        then the ``source`` of the result says why.

    Raises
    ------
    DataError
        If the folder named by the variable doesn't hold MNIST, or if ``selection`` is
        ``"complete"`` and the files can't be downloaded.
    """
    subset = "the class-balanced subset of this package"
    if selection == "subset":
        return _read(SUBSET, subset, complete=False)
    if folder := os.environ.get(FOLDER_VARIABLE):
        return read_folder(Path(folder))
    try:
        return download()
    except DataError as error:
        if selection == "complete":
            raise
        return _read(SUBSET, f"{subset}, because {error}", complete=False)


def read_folder(folder: Path) -> Mnist:
    """Read the four files of a folder, compressed by gzip or not, and check them.

    Raises
    ------
    DataError
        If one of them is missing, can't be read or is not MNIST's.
    """
    return _read(folder, "from a folder on this machine", complete=True)


def download(cache: Path | None = None, mirrors: Sequence[str] | None = None) -> Mnist:
    """Read the files from a cache, after downloading those that it lacks.

    A file is stored in the cache only after its hash was checked. The next call repeats an
    interrupted download, and keeps the complete files.

    Parameters
    ----------
    cache
        A folder; by default one in the user's own cache.
    mirrors
        URLs of folders, tried one after the other; ``MIRRORS`` by default.

    Raises
    ------
    DataError
        If no mirror has the right file, or the cache can't be written.
    """
    import pooch

    cache = cache or pooch.os_cache("jaxcap") / "mnist"
    for name in SHA256:
        _fetch(name, cache, mirrors or MIRRORS)
    return _read(cache, "downloaded and checked", complete=True)


def mean_and_std(images: Bytes) -> tuple[float, float]:
    """Mean and standard deviation of all pixels, with 1 for a byte of 255."""
    # Sums of integers are exact, and einsum converts piece by piece, not the whole array at once.
    pixels = images.reshape(-1)
    mean = int(pixels.sum(dtype=np.int64)) / pixels.size
    square = int(np.einsum("i,i->", pixels, pixels, dtype=np.int64)) / pixels.size
    return mean / 255, (square - mean**2) ** 0.5 / 255


def balanced(split: Split, per_class: int) -> Split:
    """Return the first ``per_class`` images of each digit, in the order of the split.

    Raises
    ------
    ValueError
        If there are fewer images of a digit.
    """
    counts = np.bincount(split.labels, minlength=10)
    if counts.min() < per_class:
        raise ValueError(f"there are fewer than {per_class} images of a digit: {counts.tolist()}")
    chosen = [np.flatnonzero(split.labels == digit)[:per_class] for digit in range(10)]
    indices = np.sort(np.concatenate(chosen))
    return Split(split.images[indices], split.labels[indices])


def _read(folder: Path, source: str, *, complete: bool) -> Mnist:
    arrays = [_read_file(folder, name, check_hash=complete) for name in SHA256]
    return Mnist(Split(*arrays[:2]), Split(*arrays[2:]), source, complete)


def _read_file(folder: Path, name: str, *, check_hash: bool) -> Bytes:
    """Read images or labels in IDX format, compressed or not."""
    path = folder / name
    if not path.is_file():
        path = folder / f"{name}.gz"
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
    except FileNotFoundError:
        raise DataError(
            f"there is no {name} or {name}.gz in {folder}: put all four files of MNIST there"
            + (f", or unset {FOLDER_VARIABLE}" if os.environ.get(FOLDER_VARIABLE) else "")
        ) from None
    except _DAMAGED as error:
        raise DataError(f"{path} is damaged or incomplete ({error}): replace it") from error
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    digest = hashlib.sha256(content).hexdigest()
    if check_hash and digest != SHA256[name]:
        raise DataError(
            f"{path} is not MNIST's {name}: its content should have the SHA-256 "
            f"{SHA256[name][:12]}…, and has {digest[:12]}…: replace it"
        )
    # The header: a magic number and the size of each dimension, of four bytes each.
    if "images" in name:
        return np.frombuffer(content, np.uint8, offset=16).reshape(-1, 28, 28)
    return np.frombuffer(content, np.uint8, offset=8)


def _fetch(name: str, cache: Path, mirrors: Sequence[str]) -> None:
    """Download a file into the cache, uncompressed, unless it is there already."""
    import pooch
    from requests.exceptions import RequestException

    pooch.get_logger().setLevel("WARNING")  # the progress bar says enough
    failures = []
    for mirror in mirrors:
        try:
            pooch.retrieve(
                f"{mirror}/{name}.gz",
                known_hash=f"sha256:{SHA256[name]}",
                fname=name,
                path=cache,
                downloader=_download_uncompressed,
            )
        except RequestException as error:
            failures.append(f"{mirror} doesn't provide it ({type(error).__name__})")
        except (ValueError, *_DAMAGED):  # pooch raises a ValueError for another hash
            failures.append(f"{mirror} sent another file")
        except OSError as error:
            raise DataError(f"{cache} can't be written: {error.strerror}") from error
        else:
            return
    raise DataError(
        f"{name} can't be downloaded: {', '.join(failures)}; check the network, or put the four files "
        f"of MNIST into a folder and name it in {FOLDER_VARIABLE}"
    )


def _download_uncompressed(url: str, path: str, _: object) -> None:
    """Download a file for pooch, which checks the result and gives it its name."""
    import requests

    response = requests.get(url, stream=True, timeout=_TIMEOUT_S)
    response.raise_for_status()
    size_bytes = int(response.headers.get("content-length", 0))
    with progress_bar() as bar:
        chunks = bar.track(
            response.iter_content(_CHUNK_BYTES),
            total=math.ceil(size_bytes / _CHUNK_BYTES) or None,
            description=url.rpartition("/")[2],
        )
        Path(path).write_bytes(gzip.decompress(b"".join(chunks)))
