"""Where large temporaries come from: the memory allocator, made steady."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # from malloc.h


def steady_allocator() -> bool:
    """Make this process keep the memory that it frees, from now on. Linux with glibc only.

    Otherwise malloc hands large temporaries back to the kernel at some sizes and in some
    processes and not in others, and the page faults that follow can double the time of a
    memory-bound call. Results say which allocator they were measured with.

    Returns
    -------
    bool
        Whether the C library understood.
    """
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # musl, for one
        return False
    largest = 2**31 - 1
    options = {
        _M_TRIM_THRESHOLD: largest,
        _M_MMAP_THRESHOLD: 2**30,
        # Threads, such as those of XLA, otherwise get heaps of at most 64 MiB, and what is larger
        # is mapped anew in each call.
        _M_ARENA_MAX: 1,
    }
    understood = [mallopt(option, value) for option, value in options.items()]
    return all(understood)
