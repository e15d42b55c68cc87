"""Make malloc keep freed memory, so that page faults don't blur timings."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from jaxcap.results import Allocator

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8  # from malloc.h

_OPTIONS = {
    # Never map a large array on its own, which would be unmapped when it is freed. First, because
    # it is the only option that a C library may refuse, and nothing has changed then. (Older
    # versions of glibc also refuse an M_MMAP_THRESHOLD above 32 MiB.)
    _M_MMAP_MAX: 0,
    # Never return freed memory to the kernel.
    _M_TRIM_THRESHOLD: -1,
    # Threads, such as those of XLA, otherwise get heaps of at most 64 MiB, and what is larger is
    # mapped anew in each call.
    _M_ARENA_MAX: 1,
}

_in_effect: Allocator = "default"


def use_allocator(allocator: Allocator) -> Allocator:
    """Choose how this process allocates memory, where the system allows it.

    By default malloc returns large temporaries to the kernel at some sizes and in some processes
    and not in others, and the page faults that follow can double the time of a memory-bound call.
    ``"steady"`` makes this process keep the memory that it frees. That works with glibc on Linux
    only, and cannot be undone.

    Returns
    -------
    str
        The allocator in effect, for results to record: ``"default"`` where malloc cannot be made
        steady, and always ``"steady"`` once it has been made so.
    """
    global _in_effect
    if allocator == "steady" and _make_steady():
        _in_effect = "steady"
    return _in_effect


@cache
def _make_steady() -> bool:
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library, such as musl
        return False
    return all(mallopt(option, value) for option, value in _OPTIONS.items())
