"""Record experiments on this machine's best device, in files that other machines can read.

An interrupted recording keeps what it has saved. An experiment is measured again only if its file
is out of date (another version of a library, device or setting, or other code) or has fewer
processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jaxcap.measure.experiment import Experiment
from jaxcap.measure.machine.description import capture
from jaxcap.measure.machine.lock import measuring_alone
from jaxcap.results import Environment, ResultsError, ResultSet
from jaxcap.results.atomic import write_atomically
from jaxcap.results.files import ENVIRONMENT_FILE, recording_path
from jaxcap.results.recordings import changes_since


def outdated_experiments(
    folder: Path, experiments: Mapping[str, Experiment], now: Environment, *, processes: int = 1
) -> list[Experiment]:
    """Choose the experiments that have no recording, or one that is out of date.

    Parameters
    ----------
    folder, experiments, processes
        See `record`. A recording with fewer processes is out of date.
    now
        The machine as it is.
    """

    def is_current(experiment: Experiment) -> bool:
        path = recording_path(folder, now, experiment.name)
        try:
            results = ResultSet.load(path)
        except (OSError, ResultsError):
            return False
        fewest = min(len(result.runs) for result in results)
        return fewest >= processes and not changes_since(results, now, experiment.code)

    return [experiment for experiment in experiments.values() if not is_current(experiment)]


def record(
    folder: Path,
    experiments: Mapping[str, Experiment],
    *,
    processes: int = 6,
    budget_s: float = 0.5,
    on_start: Callable[[Experiment], object] | None = None,
    on_progress: Callable[[float], object] | None = None,
) -> list[Path]:
    """Measure the experiments of `outdated_experiments`, one after another, and save each when done.

    Parameters
    ----------
    folder
        Folder that holds a folder for each device.
    experiments
        By name.
    processes, budget_s
        See `jaxcap.measure.experiment.Experiment.run`.
    on_start
        Called with each experiment before it starts.
    on_progress
        Called between rounds with the share of the running experiment that is done.

    Returns
    -------
    list
        The files that were written.

    Raises
    ------
    BusyError
        If another recording or build is measuring on this machine.
    ProcessError
        If a process fails or hangs. What was recorded before is kept.
    """
    written = []
    with measuring_alone():
        now = capture()
        for experiment in outdated_experiments(folder, experiments, now, processes=processes):
            if on_start:
                on_start(experiment)
            results = experiment.run(
                processes=processes, budget_s=budget_s, on_progress=on_progress
            )
            path = recording_path(folder, now, experiment.name)
            # Before the results, so that another machine never takes the folder for its own.
            environment = results.environment.model_dump_json(indent=1)
            write_atomically(path.with_name(ENVIRONMENT_FILE), environment + "\n")
            results.save(path)
            written.append(path)
    return written
