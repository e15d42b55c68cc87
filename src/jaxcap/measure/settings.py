"""Environment variables that decide what a build keeps, reuses and skips. Needs no JAX."""

from __future__ import annotations

import os

#: The folder in which results are kept, and from which they are taken where that is asked for.
STORE = "JAXCAP_STORE"
#: Set to 1, results that are kept and current are taken instead of measured.
REUSE = "JAXCAP_REUSE"
#: The folder of a machine whose recordings are taken for all experiments, whatever machine this is.
MACHINE = "JAXCAP_MACHINE"
#: Set to 1, everything is done as briefly as possible, to see that it works. A single process measures
#: an experiment with too few samples to decide anything, `jaxcap.measure.timing.compare` takes the six
#: of an interval, a training makes a step in each epoch, and nothing is kept.
QUICK = "JAXCAP_QUICK"
#: When the session of a build began, in seconds since 1970.
SESSION_START = "JAXCAP_SESSION_START_S"
#: Seconds for each variant, which the first rounds exceed.
QUICK_BUDGET_S = 1e-6


def reuse_is_on() -> bool:
    """Whether kept results that are still current are reused instead of measured again."""
    return os.environ.get(REUSE) == "1"


def quick_is_on() -> bool:
    """Whether everything is done as briefly as possible, to see that it works."""
    return os.environ.get(QUICK) == "1"


def session_start_s() -> float | None:
    """Return when the session of a build began, in seconds since 1970; None outside of one."""
    seconds = os.environ.get(SESSION_START)
    return float(seconds) if seconds else None
