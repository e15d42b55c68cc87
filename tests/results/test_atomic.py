"""Writing files: what is replaced, what is written to, and what is refused."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxcap.results.atomic import require_writable, write_atomically


@pytest.fixture(params=[0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_new_file_gets_the_permissions_that_the_umask_allows(umask: int, tmp_path: Path) -> None:
    file = tmp_path / "new.txt"
    write_atomically(file, "text")
    assert file.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "old.txt"
    file.touch()
    file.chmod(0o640)
    write_atomically(file, "text")
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("exists", [True, False], ids=["file", "nothing"])
def test_a_link_stays_and_what_it_leads_to_is_replaced(exists: bool, tmp_path: Path) -> None:
    target, link = tmp_path / "folder" / "target.txt", tmp_path / "link"
    target.parent.mkdir()
    if exists:
        target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    require_writable(link)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    assert [file.name for file in target.parent.iterdir()] == ["target.txt"]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(
        target=lambda: received.append(pipe.read_text(encoding="utf-8")), daemon=True
    )
    reader.start()
    require_writable(pipe)
    write_atomically(pipe, "text")
    reader.join(timeout=60)
    assert received == ["text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_to(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("only the superuser makes devices, where the file system lets them be used")
    require_writable(device)
    write_atomically(device, "text")
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "kept.txt"
    file.write_text("kept", encoding="utf-8")
    file.chmod(0o444)
    with pytest.raises(PermissionError, match=r"kept\.txt"):
        require_writable(file)
    with pytest.raises(PermissionError, match=r"kept\.txt"):
        write_atomically(file, "new")
    assert file.read_text(encoding="utf-8") == "kept"
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_left_of_text_that_cannot_be_encoded(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "text.txt", "\ud800")
    assert list(tmp_path.iterdir()) == []


def test_asking_whether_a_file_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    require_writable(tmp_path / "new.txt", room_bytes=1000)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        require_writable(tmp_path / "none" / "new.txt")
