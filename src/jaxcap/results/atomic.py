"""Writing files completely or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from secrets import token_hex
from shutil import copymode
from tempfile import TemporaryFile


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write text to a file, completely or not at all; its folder is created if necessary.

    A link stays, and the file that it leads to is replaced. Devices and pipes are written to, since
    a file in their place would break whatever else uses them.

    Raises
    ------
    OSError
        If the file is read-only, or its folder cannot be written to or is full. An existing file is
        left as it was.
    """
    if _is_stream(path):
        Path(path).write_text(text, encoding="utf-8")
        return
    target = Path(os.path.realpath(path))
    _require_permission(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{token_hex(4)}")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            copymode(target, temporary)
        temporary.replace(target)
    except BaseException:  # Ctrl-C too must leave nothing behind
        temporary.unlink(missing_ok=True)
        raise


def require_writable(path: str | os.PathLike[str], *, room_bytes: int = 0) -> None:
    """Find out whether a file of this size can be written, without touching it.

    Raises
    ------
    OSError
        As `write_atomically`, and if the folder doesn't exist.
    """
    _require_permission(Path(path))
    if not _is_stream(path):
        with TemporaryFile(dir=Path(os.path.realpath(path)).parent) as file:
            file.write(bytes(room_bytes))


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether this is a device, a pipe or a folder, and so nothing to put a file in place of."""
    return Path(path).exists() and not Path(path).is_file()


def _require_permission(path: Path) -> None:
    # The superuser could write to it nevertheless, but a read-only file is meant to be kept.
    if path.exists() and not (os.access(path, os.W_OK) and path.stat().st_mode & 0o222):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
