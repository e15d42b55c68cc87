"""How much of the machine's CPU time goes to other work, as Linux counts it.

Other work is all processes that don't belong to the measurement, and the time that a hypervisor
gives to other virtual machines ("steal"). Both make a call look slower than it is.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

# Linux counts CPU time in ticks of 10 ms, so a share in a window of this length is known to 2 %.
WINDOW_S = 0.5
_STAT = Path("/proc/stat")


class CpuTimes(NamedTuple):
    """CPU time of all cores together since the machine started, in seconds.

    Attributes
    ----------
    total_s
        All of it.
    idle_s
        The part in which a core had no work.
    """

    total_s: float
    idle_s: float


def cpu_times() -> CpuTimes | None:
    """Read the CPU time of this machine's cores; None where the system doesn't count it."""
    try:
        with _STAT.open(encoding="ascii") as file:
            ticks = list(map(int, file.readline().split()[1:9]))
    except (OSError, ValueError):
        return None
    _user, _nice, _system, idle, iowait, *_ = ticks  # irq, softirq and steal follow
    hertz = os.sysconf("SC_CLK_TCK")
    return CpuTimes(sum(ticks) / hertz, (idle + iowait) / hertz)


class Monitor:
    """Divides a measurement into windows of time, and notes the share of other work in each.

    Attributes
    ----------
    shares
        The share of the CPU time that other work took, from 0 to 1, in each window that has ended.
        Zero where the system doesn't count it.
    """

    def __init__(self, own_s: float) -> None:
        self.shares: list[float] = []
        self._start_s, self._own_s, self._cpu = time.perf_counter(), own_s, cpu_times()

    def end_window(self, own_s: float, *, at_once: bool = False) -> bool:
        """End the window if it is long enough, and begin the next one.

        Parameters
        ----------
        own_s
            CPU seconds that the measuring processes have used so far.
        at_once
            Whether to end a window that is too short as well.

        Returns
        -------
        bool
            Whether the window has ended.
        """
        is_short = time.perf_counter() - self._start_s < WINDOW_S
        if is_short and not at_once:
            return False
        cpu = cpu_times()
        # Ticks are too coarse for a share of a short window: it counts as part of the one before.
        share = self.shares[-1] if is_short and self.shares else None
        if share is None:
            share = round(_share(self._cpu, cpu, own_s - self._own_s), 2)
        self.shares.append(share)
        self._start_s, self._own_s, self._cpu = time.perf_counter(), own_s, cpu
        return True


def _share(before: CpuTimes | None, after: CpuTimes | None, own_s: float) -> float:
    if before is None or after is None or after.total_s <= before.total_s:
        return 0.0
    total_s = after.total_s - before.total_s
    busy_s = total_s - (after.idle_s - before.idle_s)
    return min(max(busy_s - own_s, 0.0) / total_s, 1.0)
