"""One measurement at a time on a machine.

This module imports nothing else of jaxcap, so that a build can be locked before it is installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

# One lock for a machine, because a measurement on its CPU disturbs one on its GPU. Not in
# ``TMPDIR``, which may differ between users or jobs.
_SHARED = Path("/tmp" if os.name == "posix" else gettempdir())
LOCK = Path(os.environ.get("JAXCAP_LOCK") or _SHARED / "jaxcap-measuring.lock")


class BusyError(RuntimeError):
    """Something else is being measured on this machine."""


@contextmanager
def measuring_alone(*, wait: bool = False) -> Iterator[None]:
    """Keep other recordings and builds on this machine from measuring at the same time.

    The lock is the file that the environment variable ``JAXCAP_LOCK`` names, or one that all users
    of the machine share. The system frees it when the process ends, even if it is killed. A process
    whose environment has ``JAXCAP_LOCK_HELD=1`` was started by one that holds the lock.

    Parameters
    ----------
    wait
        Whether to wait while something else is being measured.

    Raises
    ------
    BusyError
        If something else is being measured, unless ``wait``.
    """
    from filelock import FileLock, Timeout

    if os.environ.get("JAXCAP_LOCK_HELD") == "1":
        yield
        return
    try:
        lock = FileLock(LOCK, mode=0o666).acquire(timeout=-1 if wait else 0, poll_interval=1)
    except Timeout:
        raise BusyError(
            f"another recording or build is measuring on this machine (it holds {LOCK}): wait until "
            "it ends"
        ) from None
    with lock:
        yield
