"""Record experiments on this machine's best device, in files that travel.

What was recorded is kept when a recording is interrupted, and measured again only where it is out
of date: another version of a library, another device, or other code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jaxcap.measure.experiment import Experiment
from jaxcap.measure.lock import measuring_alone
from jaxcap.measure.machine import capture
from jaxcap.results import ResultsError, ResultSet
from jaxcap.results.environment import Environment
from jaxcap.results.files import write_atomically
from jaxcap.results.recordings import ENVIRONMENT, file_of, outdated


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
    on_start: Callable[[Experiment], object] | None = None,
    on_process: Callable[[], object] | None = None,
) -> list[Path]:
    """Measure experiments that are `pending`, one after another, and save each when it is done.

    Parameters
    ----------
    folder
        Holds a folder for each device.
    experiments
        By name.
    processes, budget_s
        As of `jaxcap.measure.experiment.Experiment.run`.
    on_start
        Called with each experiment before it begins.
    on_process
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
            if on_start:
                on_start(experiment)
            found = experiment.run(processes=processes, budget_s=budget_s, on_process=on_process)
            written.append(file_of(folder, now, experiment.name))
            found.save(written[-1])
            place = written[-1].with_name(ENVIRONMENT)
            write_atomically(place, found.environment.model_dump_json(indent=1) + "\n")
    return written
