"""How much of the machine's CPU time goes to other work, as Linux counts it.

Other work is all processes that don't belong to the measurement, and the other virtual machines to
which a hypervisor gives time that this one wanted ("steal"). Both make a call look slower than it
is. The share of other work in a stretch of time is the larger of two:

- The part of all cores' time that other processes took. On many cores, a process that keeps one of
  them busy hardly matters, because the others are free.
- The part of the wanted time that was stolen. Only time that some process wanted can be stolen, so
  a single busy core that loses a quarter of its time is as disturbed among 64 as among two. The
  counts of single cores are too coarse to judge each by itself.

Samples taken while that share exceeds ``jaxcap.results.models.DISTURBED_SHARE`` are disturbed.

What the system counts sets limits. In a container it counts all processes of the host, so that
neighbours on cores of their own look like a disturbance. A machine without a hypervisor has no
stolen time, and where nothing is counted, as on macOS, no sample is disturbed.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

# Linux counts CPU time in ticks of 10 ms, so a share in a window of this length is known to 2 %.
WINDOW_S = 0.5
# A machine is too busy to measure on if other work takes more than this share of its CPU time.
BUSY_SHARE = 0.2
_STAT = Path("/proc/stat")


class CpuTimes(NamedTuple):
    """CPU time of all cores together since the machine started, in seconds.

    Attributes
    ----------
    total_s
        All of it.
    idle_s
        The part in which a core had no work.
    stolen_s
        The part in which a core had work, but other virtual machines were computing on it.
    """

    total_s: float
    idle_s: float
    stolen_s: float


def cpu_times() -> CpuTimes | None:
    """Read the CPU time of this machine's cores; None where the system doesn't count it."""
    try:
        with _STAT.open(encoding="ascii") as file:
            ticks = list(map(int, file.readline().split()[1:9]))
    except (OSError, ValueError):
        return None
    _user, _nice, _system, idle, iowait, _irq, _softirq, steal = ticks
    hertz = os.sysconf("SC_CLK_TCK")
    return CpuTimes(sum(ticks) / hertz, (idle + iowait) / hertz, steal / hertz)


def other_work_now() -> float | None:
    """Watch the machine for the length of a window, and return the share of other work.

    This process computes meanwhile, because nothing is stolen from a machine that is idle.

    Returns
    -------
    float or None
        From 0 to 1; None where the system doesn't count it.
    """
    if cpu_times() is None:
        return None
    monitor = Monitor(time.process_time())
    while not monitor.end_window(time.process_time()):
        pass
    return monitor.shares[0]


class Monitor:
    """Divides a measurement into windows of time, and notes the share of other work in each.

    Attributes
    ----------
    shares
        The share of other work, from 0 to 1, in each window that has ended. Zero where the system
        doesn't count it.
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
        window_s = time.perf_counter() - self._start_s
        is_short = window_s < WINDOW_S
        if is_short and not at_once:
            return False
        cpu = cpu_times()
        # Ticks are too coarse for a share of a short window: it counts as part of the one before.
        share = self.shares[-1] if is_short and self.shares else None
        if share is None:
            share = round(_share(self._cpu, cpu, own_s - self._own_s, window_s), 2)
        self.shares.append(share)
        self._start_s, self._own_s, self._cpu = time.perf_counter(), own_s, cpu
        return True


def _share(before: CpuTimes | None, after: CpuTimes | None, own_s: float, window_s: float) -> float:
    if before is None or after is None or after.total_s <= before.total_s:
        return 0.0
    total_s, idle_s, stolen_s = (b - a for a, b in zip(before, after, strict=True))
    wanted_s = total_s - idle_s
    others = (wanted_s - stolen_s - own_s) / total_s
    # While hardly anything runs, as during a wait for a GPU, a single stolen tick would be a large
    # part of it: so at least one core's time counts as wanted.
    stolen = stolen_s / max(wanted_s, window_s)
    return min(max(others, stolen, 0.0), 1.0)
