"""How fast the machine is at the moment, by the time that a fixed piece of work takes.

A core that shares its arithmetic units with another virtual machine, or lowers its frequency,
computes up to twice as slowly, and no count of CPU time shows it. Such a state lasts for milliseconds
or minutes, so it must be looked for beside each sample.
"""

from __future__ import annotations

import time
from math import inf

from jaxcap.results.models import SLOW

# Some 20 µs of work: short beside a sample, and long beside a tick of the clock.
_ADDITIONS = range(1000)
# A slow state may be over in a moment. If it isn't, samples are taken all the same.
WAIT_LIMIT_S = 0.01


class Probe:
    """Times the same piece of work again and again.

    Attributes
    ----------
    fastest_s
        The shortest time so far, in seconds.
    """

    def __init__(self) -> None:
        self.fastest_s: float = inf

    def time_s(self) -> float:
        """Do the work, and return the seconds that it took."""
        total = 0
        start_s = time.perf_counter()
        for number in _ADDITIONS:
            total += number
        seconds = time.perf_counter() - start_s
        self.fastest_s = min(seconds, self.fastest_s)
        return seconds

    def wait_until_fast(self) -> float:
        """Do the work until the machine is not slow, for a moment at most; return the last time."""
        start_s = time.perf_counter()
        while self.is_slow(seconds := self.time_s()):
            if time.perf_counter() - start_s > WAIT_LIMIT_S:
                break
        return seconds

    def is_slow(self, seconds: float) -> bool:
        """Whether a time is much longer than the shortest one."""
        return seconds > SLOW * self.fastest_s
