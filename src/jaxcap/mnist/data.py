"""MNIST, 70,000 handwritten digits, from the first place that has them.

In this order: the folder that the environment variable ``JAXCAP_MNIST_DIR`` names, the user's cache,
the network, and a subset that comes with this package. Whatever the complete files come from, their
content must have the hashes below, so nothing damaged is ever trained on.

MNIST is due to Yann LeCun, Corinna Cortes and Christopher J. C. Burges. Copyright Yann LeCun and
Corinna Cortes; distributed under CC BY-SA 3.0, which holds for the subset too.

References
----------
Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-based learning applied to document
recognition", Proceedings of the IEEE 86 (1998), no. 11, 2278-2324.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from jaxcap.mnist import idx
from jaxcap.mnist.idx import Bytes, IdxError

if TYPE_CHECKING:
    from rich.progress import Progress

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

ROWS = COLUMNS = 28
CLASSES = 10

_SILENCE_S = 10  # a mirror that says nothing for so long is given up


class DataError(ValueError):
    """The data can't be had or are not those of MNIST; the message says what to do."""


class Split(NamedTuple):
    """Images and what they show.

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
        Where they come from, in words.
    complete
        Whether these are all 60,000 and 10,000 images.
    """

    train: Split
    test: Split
    source: str
    complete: bool

    def __repr__(self) -> str:
        numbers = f"{len(self.train.labels):,} training and {len(self.test.labels):,} test images"
        return f"{'MNIST' if self.complete else 'A part of MNIST'}: {numbers}, {self.source}"

    def _repr_html_(self) -> str:
        kind = "note" if self.complete else "warning"
        title = "All of MNIST" if self.complete else "Not all of MNIST"
        return (
            f'<div class="admonition {kind}"><p class="admonition-title">{title}</p>'
            f"<p>{escape(repr(self))}</p></div>"
        )


def load(want: Literal["any", "complete", "subset"] = "any") -> Mnist:
    """Load MNIST.

    Parameters
    ----------
    want
        ``"complete"`` looks in the folder, in the cache and in the network, in this order;
        ``"subset"`` takes the subset; ``"any"`` takes the subset if the complete files can't be had
        from the network, and then `Mnist`'s ``source`` says why.

    Raises
    ------
    DataError
        If the folder is named but doesn't hold MNIST, or the complete files are wanted and can't be
        had.
    """
    if want == "subset":
        return _subset()
    if folder := os.environ.get(FOLDER_VARIABLE):
        return read_folder(Path(folder))
    try:
        return download()
    except DataError as error:
        if want == "complete":
            raise
        return _subset(f", because {error}")


def read_folder(folder: Path) -> Mnist:
    """Read the four files of a folder, compressed by gzip or not, and check them.

    Raises
    ------
    DataError
        If one is missing, damaged, not in IDX format or not MNIST's.
    """
    return _read(folder, SHA256, "from a folder of this machine", complete=True)


def download(cache: Path | None = None, mirrors: Sequence[str] | None = None) -> Mnist:
    """Read the files from a cache; first download those that it lacks.

    Each is checked before it gets its name in the cache, so a download that breaks off is repeated
    the next time, and what was complete is kept.

    Parameters
    ----------
    cache
        A folder; by default one in the user's own cache.
    mirrors
        Addresses of folders, asked one after the other; ``MIRRORS`` by default.

    Raises
    ------
    DataError
        If no mirror answers with the right file.
    """
    import pooch

    cache = cache or pooch.os_cache("jaxcap") / "mnist"
    for name in SHA256:
        _fetch(name, cache, MIRRORS if mirrors is None else mirrors)
    return _read(cache, SHA256, "downloaded and checked", complete=True)


def mean_and_deviation(images: Bytes) -> tuple[float, float]:
    """Mean and standard deviation of all pixels, with 1 for a byte of 255."""
    # Sums of integers are exact, and einsum converts as it goes, not the whole array at once.
    pixels = images.reshape(-1)
    mean = int(pixels.sum(dtype=np.int64)) / pixels.size
    square = int(np.einsum("i,i->", pixels, pixels, dtype=np.int64)) / pixels.size
    return mean / 255, (square - mean**2) ** 0.5 / 255


def balanced(split: Split, per_class: int) -> Split:
    """Take the first images of each digit, as many of each, in their own order.

    Raises
    ------
    ValueError
        If there are fewer of a digit.
    """
    counts = np.bincount(split.labels, minlength=CLASSES)
    if counts.min() < per_class:
        raise ValueError(f"wanted {per_class} images of each digit, there are {counts.tolist()}")
    chosen = [np.flatnonzero(split.labels == digit)[:per_class] for digit in range(CLASSES)]
    places = np.sort(np.concatenate(chosen))
    return Split(split.images[places], split.labels[places])


def write_folder(folder: Path, train: Split, test: Split) -> None:
    """Write two splits as the four compressed files that `read_folder` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(SHA256, (*train, *test), strict=True):
        idx.write(folder / f"{name}.gz", array)


def _subset(why: str = "") -> Mnist:
    return _read(SUBSET, None, f"the class-balanced subset of this package{why}", complete=False)


def _read(folder: Path, hashes: dict[str, str] | None, source: str, *, complete: bool) -> Mnist:
    arrays = [_read_file(folder, name, hashes[name] if hashes else None) for name in SHA256]
    train, test = Split(*arrays[:2]), Split(*arrays[2:])
    for split in train, test:
        if len(split.images) != len(split.labels):
            raise DataError(
                f"{folder} has {len(split.images):,} images for {len(split.labels):,} labels: "
                "the files belong to different data, get all four from one place"
            )
    return Mnist(train, test, source, complete)


def _read_file(folder: Path, name: str, sha256: str | None) -> Bytes:
    found = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if not found:
        raise DataError(
            f"there is no {name} or {name}.gz in {folder}: put all four files of MNIST there"
            + (f", or unset {FOLDER_VARIABLE}" if os.environ.get(FOLDER_VARIABLE) else "")
        )
    path = found[0]
    try:
        data = idx.content(path)
        array = idx.decode(data, path)
    except IdxError as error:
        raise DataError(str(error)) from error
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    _check_content(array, path, are_images="images" in name)
    if sha256 and idx.sha256(data) != sha256:
        raise DataError(
            f"{path} is not MNIST's: its content should have the SHA-256 {sha256[:12]}…, and has "
            f"{idx.sha256(data)[:12]}…: replace it"
        )
    return array


def _check_content(array: Bytes, path: Path, *, are_images: bool) -> None:
    if are_images and array.shape[1:] != (ROWS, COLUMNS):
        swapped = (
            "labels: are the two swapped?" if array.ndim == 1 else f"an array of {array.shape}"
        )
        raise DataError(f"{path} should hold images of 28 × 28, and holds {swapped}")
    if not are_images and array.ndim != 1:
        raise DataError(f"{path} should hold labels, and holds images: are the two swapped?")
    if not are_images and array.size and array.max() >= CLASSES:
        raise DataError(f"{path} should hold the digits 0 to 9, and holds a {array.max()}")


def _fetch(name: str, cache: Path, mirrors: Sequence[str]) -> None:
    """Bring a file into the cache, uncompressed, unless it is there already."""
    import pooch
    from requests.exceptions import RequestException

    pooch.get_logger().setLevel("WARNING")  # the progress bar says it better
    said = []
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
            said.append(f"{mirror} doesn't give it ({type(error).__name__})")
        except (ValueError, EOFError, gzip.BadGzipFile, zlib.error):  # ValueError: the hash
            said.append(f"{mirror} gave another file")
        except OSError as error:
            raise DataError(f"{cache} can't be written: {error.strerror}") from error
        else:
            return
    raise DataError(
        f"{name} can't be downloaded: {', '.join(said)}; check the network, or put the four files "
        f"of MNIST into a folder and name it in {FOLDER_VARIABLE}"
    )


def _download_uncompressed(url: str, path: str, _: object) -> None:
    """Download what pooch asks for; it checks the result and gives it its name."""
    from pooch import HTTPDownloader
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = _Bar(progress, url.rpartition("/")[2])
        HTTPDownloader(progressbar=bar, timeout=_SILENCE_S)(url, path, None)
    target = Path(path)
    target.write_bytes(gzip.decompress(target.read_bytes()))


class _Bar:
    """A rich progress bar that pooch can move."""

    def __init__(self, progress: Progress, description: str) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=None)

    @property
    def total(self) -> float | None:
        return self._progress.tasks[self._task].total

    @total.setter
    def total(self, total: int) -> None:
        self._progress.update(self._task, total=total or None)

    def update(self, size: int) -> None:
        self._progress.advance(self._task, size)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.stop_task(self._task)
