"""Where the data come from, and what is refused."""

from __future__ import annotations

import errno
import functools
import gzip
import hashlib
import http.server
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from fake_digits import write_folder, write_idx

from jaxcap.mnist import data
from jaxcap.mnist.data import DataError, Split

TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = data.SHA256
COMPLETE = os.environ.get(data.FOLDER_VARIABLE)


def digits(n: int, seed: int = 0) -> Split:
    """Noise, labelled 0 to 9 over and over."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (n, 28, 28), np.uint8)
    return Split(images, np.arange(n, dtype=np.uint8) % 10)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four good files, whose hashes are taken for MNIST's."""
    folder = tmp_path / "files"
    write_folder(folder, digits(30), digits(20, seed=1))
    accept(folder, monkeypatch)
    return folder


def accept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in data.SHA256:
        content = gzip.decompress((folder / f"{name}.gz").read_bytes())
        monkeypatch.setitem(data.SHA256, name, hashlib.sha256(content).hexdigest())


@pytest.fixture(autouse=True)
def _no_named_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(data.FOLDER_VARIABLE, raising=False)


class TestFolder:
    def test_four_files_are_read(self, folder: Path) -> None:
        mnist = data.read_folder(folder)
        np.testing.assert_array_equal(mnist.train.images, digits(30).images)
        np.testing.assert_array_equal(mnist.test.labels, digits(20).labels)
        assert mnist.complete

    def test_uncompressed_files_are_read(self, folder: Path) -> None:
        for path in folder.glob("*.gz"):
            path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            path.unlink()
        assert len(data.read_folder(folder).train.images) == 30

    def test_it_comes_first(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(data.FOLDER_VARIABLE, str(folder))
        assert len(data.load().train.images) == 30
        assert len(data.load("complete").train.images) == 30

    @pytest.mark.parametrize(
        ("break_it", "said"),
        [
            (
                lambda folder: (folder / f"{TEST_LABELS}.gz").unlink(),
                rf"there is no {TEST_LABELS} or {TEST_LABELS}\.gz in .*: put all four files",
            ),
            (
                lambda folder: write_idx(folder / f"{TRAIN_IMAGES}.gz", digits(30, 7).images),
                rf"{TRAIN_IMAGES}\.gz is not MNIST's .* SHA-256",
            ),
            (
                lambda folder: truncate(folder / f"{TRAIN_IMAGES}.gz"),
                rf"{TRAIN_IMAGES}\.gz is damaged or incomplete",
            ),
            (
                lambda folder: damage(folder / f"{TRAIN_IMAGES}.gz"),
                rf"{TRAIN_IMAGES}\.gz is damaged or incomplete",
            ),
            (
                lambda folder: (folder / f"{TRAIN_LABELS}.gz").write_bytes(b"<html>"),
                rf"{TRAIN_LABELS}\.gz is not MNIST's {TRAIN_LABELS}: .* SHA-256",
            ),
            (
                lambda folder: swap(folder / f"{TRAIN_IMAGES}.gz", folder / f"{TRAIN_LABELS}.gz"),
                rf"{TRAIN_IMAGES}\.gz is not MNIST's {TRAIN_IMAGES}",
            ),
            (
                lambda folder: swap(folder / f"{TEST_LABELS}.gz", folder / f"{TRAIN_LABELS}.gz"),
                rf"{TRAIN_LABELS}\.gz is not MNIST's {TRAIN_LABELS}",
            ),
        ],
        ids=["missing", "other content", "truncated", "damaged", "not IDX", "swapped", "labels"],
    )
    def test_the_message_says_in_a_sentence_what_is_wrong(
        self, folder: Path, break_it: Callable[[Path], object], said: str
    ) -> None:
        break_it(folder)
        with pytest.raises(DataError, match=said) as raised:
            data.read_folder(folder)
        assert "\n" not in str(raised.value)

    def test_a_named_folder_without_data_is_never_passed_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path / "nowhere"))
        with pytest.raises(DataError, match=f"or unset {data.FOLDER_VARIABLE}"):
            data.load()

    def test_a_file_that_cannot_be_read_is_named(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_: Path) -> bytes:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

        monkeypatch.setattr(Path, "read_bytes", refuse)
        with pytest.raises(
            DataError, match=rf"{TRAIN_IMAGES}\.gz can't be read: Permission denied"
        ):
            data.read_folder(folder)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def damage(path: Path) -> None:
    """Begin the compressed data, after gzip's header, with a block of a type that doesn't exist."""
    content = bytearray(path.read_bytes())
    content[10] = 0xFF
    path.write_bytes(content)


def swap(one: Path, other: Path) -> None:
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


class Server(http.server.ThreadingHTTPServer):
    """Serves a folder on loopback, and remembers what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        server = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_request(self, *_: object) -> None:
                server.asked.append(self.path.strip("/"))

            def log_message(self, *_: object) -> None: ...

        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        self.address = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    with Server(folder) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class TestDownload:
    nowhere = "http://127.0.0.1:9"  # the port of a service that nobody runs

    def test_files_are_fetched_once(self, server: Server, tmp_path: Path) -> None:
        for _ in range(2):
            mnist = data.download(tmp_path / "cache", [server.address])
            np.testing.assert_array_equal(mnist.train.images, digits(30).images)
        assert server.asked == [f"{name}.gz" for name in data.SHA256]

    def test_the_next_mirror_is_asked(self, server: Server, tmp_path: Path) -> None:
        mnist = data.download(tmp_path / "cache", [self.nowhere, server.address])
        assert len(mnist.train.images) == 30

    def test_a_damaged_cache_is_fetched_again(self, server: Server, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        data.download(cache, [server.address])
        truncate(cache / TRAIN_IMAGES)
        assert len(data.download(cache, [server.address]).train.images) == 30
        assert server.asked[4:] == [f"{TRAIN_IMAGES}.gz"]

    def test_a_download_goes_on_where_it_stopped(
        self, server: Server, folder: Path, tmp_path: Path
    ) -> None:
        missing = folder / f"{TEST_LABELS}.gz"
        content = missing.read_bytes()
        missing.unlink()
        with pytest.raises(DataError, match=TEST_LABELS):
            data.download(tmp_path / "cache", [server.address])
        missing.write_bytes(content)
        server.asked.clear()
        data.download(tmp_path / "cache", [server.address])
        assert server.asked == [f"{TEST_LABELS}.gz"]

    @pytest.mark.parametrize("spoil", [truncate, damage, lambda path: path.write_bytes(b"<html>")])
    def test_a_bad_download_does_not_stay(
        self, server: Server, folder: Path, tmp_path: Path, spoil: Callable[[Path], object]
    ) -> None:
        spoil(folder / f"{TRAIN_IMAGES}.gz")
        with pytest.raises(DataError, match=f"{TRAIN_IMAGES} can't be downloaded: .* another file"):
            data.download(tmp_path / "cache", [server.address])
        assert list((tmp_path / "cache").iterdir()) == []

    def test_another_file_under_the_name_is_refused(
        self, server: Server, folder: Path, tmp_path: Path
    ) -> None:
        write_idx(folder / f"{TRAIN_IMAGES}.gz", digits(30, seed=5).images)
        with pytest.raises(DataError, match="another file"):
            data.download(tmp_path / "cache", [server.address])
        assert list((tmp_path / "cache").iterdir()) == []

    @pytest.mark.parametrize("spoil", [truncate, damage])
    def test_a_mirror_with_damaged_files_is_passed_over(
        self, server: Server, folder: Path, tmp_path: Path, spoil: Callable[[Path], object]
    ) -> None:
        bad = folder / "bad"
        shutil.copytree(folder, bad)
        spoil(bad / f"{TRAIN_IMAGES}.gz")
        mirrors = [f"{server.address}/bad", server.address]
        assert len(data.download(tmp_path / "cache", mirrors).train.images) == 30

    def test_a_cache_that_cannot_be_written_is_named(self, server: Server, tmp_path: Path) -> None:
        (tmp_path / "cache").write_text("a file, not a folder", encoding="utf-8")
        with pytest.raises(DataError, match=r"cache can't be written: "):
            data.download(tmp_path / "cache", [server.address])

    def test_no_network_is_said_in_a_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=f"ConnectionError.*{data.FOLDER_VARIABLE}") as raised:
            data.download(tmp_path / "cache", [self.nowhere])
        assert "\n" not in str(raised.value)

    def test_without_a_network_there_is_the_subset(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(data, "MIRRORS", (self.nowhere,))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        mnist = data.load()
        assert not mnist.complete
        assert "can't be downloaded" in mnist.source
        with pytest.raises(DataError, match="can't be downloaded"):
            data.load("complete")


class TestSubset:
    def test_it_is_balanced(self) -> None:
        mnist = data.load("subset")
        assert np.bincount(mnist.train.labels).tolist() == [1000] * 10
        assert np.bincount(mnist.test.labels).tolist() == [200] * 10
        assert mnist.train.images.shape == (10_000, 28, 28)

    def test_it_says_so(self) -> None:
        mnist = data.load("subset")
        assert not mnist.complete
        assert repr(mnist).startswith("A part of MNIST: 10,000 training and 2,000 test images")
        assert 'class="admonition warning"' in mnist._repr_html_()

    @pytest.mark.skipif(not COMPLETE, reason=f"{data.FOLDER_VARIABLE} names no folder")
    def test_it_is_made_of_mnist(self) -> None:
        mnist, subset = data.read_folder(Path(str(COMPLETE))), data.load("subset")
        for split, part, per_class in (
            (mnist.train, subset.train, 1000),
            (mnist.test, subset.test, 200),
        ):
            for expected, actual in zip(data.balanced(split, per_class), part, strict=True):
                np.testing.assert_array_equal(expected, actual)


def test_source_cannot_inject_html() -> None:
    mnist = data.Mnist(digits(1), digits(1), "<script>", complete=True)
    assert "<script>" not in mnist._repr_html_()


def test_mean_and_std_are_those_of_the_pixels() -> None:
    images = digits(50).images
    expected = images.mean() / 255, images.std() / 255
    assert data.mean_and_std(images) == pytest.approx(expected, rel=1e-12)


def test_balanced_keeps_the_order() -> None:
    split = digits(50)
    chosen = data.balanced(split, 3)
    np.testing.assert_array_equal(chosen.images, split.images[:30])


def test_balanced_needs_enough() -> None:
    assert len(data.balanced(digits(50), 5).labels) == 50
    with pytest.raises(ValueError, match="fewer than 6 images of a digit"):
        data.balanced(digits(50), 6)
