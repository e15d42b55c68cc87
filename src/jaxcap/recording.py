"""Record experiments on this machine's best device, in files that travel.

A folder for each device holds a file for each experiment. What was recorded is kept when a
recording is interrupted, and measured again only where it is out of date: another version of a
library, another device, or other code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

from jaxcap.environment import Environment, capture
from jaxcap.experiment import Experiment
from jaxcap.results import ResultsError, ResultSet
from jaxcap.timing import compare

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


def slug(name: str) -> str:
    """Turn a name into one for a file or a folder: lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def file_of(folder: Path, environment: Environment, experiment: str) -> Path:
    """Where an experiment's results on a device are kept."""
    return folder / slug(environment.device.name) / f"{slug(experiment)}.json"


def outdated(recorded: Environment, now: Environment) -> list[str]:
    """Name what has changed since a recording such that it says nothing of today's code.

    Libraries count if they are installed now; Python and the system don't.
    """
    changed = [
        f"{name} {recorded.versions.get(name, 'missing')}, now {version}"
        for name, version in now.versions.items()
        if recorded.versions.get(name) != version
    ]
    if recorded.device != now.device:
        changed.append(f"{recorded.device}, now {now.device}")
    if recorded.code != now.code:
        changed.append("other code")
    return changed


def pending(
    folder: Path, experiments: Mapping[str, Experiment], now: Environment
) -> list[Experiment]:
    """Choose the experiments of which there is no recording, or one that is out of date."""

    def is_current(name: str) -> bool:
        try:
            found = ResultSet.load(file_of(folder, now, name))
        except (OSError, ResultsError):
            return False
        return not outdated(found.environment, now)

    return [one for name, one in experiments.items() if not is_current(name)]


def record(
    folder: Path,
    experiments: Mapping[str, Experiment],
    *,
    processes: int = 6,
    budget_s: float = 0.5,
    tell: Callable[[Experiment], None] = lambda _: None,
    between: Callable[[], object] | None = None,
) -> list[Path]:
    """Measure experiments that are `pending`, one after another, and save each when it is done.

    Parameters
    ----------
    folder
        Holds a folder for each device.
    experiments
        By name.
    processes, budget_s
        As of `jaxcap.timing.compare`.
    tell
        Called with each experiment before it begins.
    between
        Called after each process.

    Returns
    -------
    list
        The files that were written.

    Raises
    ------
    BusyError
        If another recording or build is measuring.
    """
    written = []
    with measuring_alone():
        now = capture()
        for experiment in pending(folder, experiments, now):
            tell(experiment)
            found = compare(experiment, processes=processes, budget_s=budget_s, between=between)
            written.append(file_of(folder, now, experiment.name))
            found.save(written[-1])
    return written
