"""One measurement at a time on a machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

#: One lock for a machine: what measures on its CPU disturbs what measures on its GPU.
LOCK = Path(gettempdir(), "jaxcap-measuring.lock")


class BusyError(RuntimeError):
    """Somebody else is measuring on this machine."""


@contextmanager
def measuring_alone() -> Iterator[None]:
    """Keep other recordings and builds from measuring meanwhile.

    The system frees the lock when the process ends, in whichever way.

    Raises
    ------
    BusyError
        If one of them is at it.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(LOCK, timeout=0, mode=0o666):
            yield
    except Timeout:
        raise BusyError(
            f"another recording or build is measuring on this machine (it holds {LOCK}): wait "
            "until it has ended"
        ) from None
