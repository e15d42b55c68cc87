"""Record experiments on this machine's best device, in files that other machines can read.

An interrupted recording keeps what it has saved. An experiment is measured again only if its file
no longer answers the same question (see `jaxcap.measure.store.Plan`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jaxcap.measure.experiment import Experiment
from jaxcap.measure.machine.description import capture
from jaxcap.measure.machine.lock import measuring_alone
from jaxcap.measure.store import Store
from jaxcap.results import Environment


def outdated_experiments(
    folder: Path,
    experiments: Mapping[str, Experiment],
    now: Environment,
    *,
    processes: int = 6,
    budget_s: float = 0.5,
) -> list[Experiment]:
    """Choose the experiments that have no recording, or one that is out of date.

    Parameters
    ----------
    folder, experiments, processes, budget_s
        See `record`. A recording with fewer processes or less time is out of date.
    now
        The machine as it is.
    """
    kept = Store(folder)
    return [
        experiment
        for experiment in experiments.values()
        if kept.find(experiment.plan(processes=processes, budget_s=budget_s), now) is None
    ]


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
    store = Store(folder)
    with measuring_alone():
        for experiment in outdated_experiments(
            folder, experiments, capture(), processes=processes, budget_s=budget_s
        ):
            if on_start:
                on_start(experiment)
            results = experiment.run(
                processes=processes, budget_s=budget_s, on_progress=on_progress
            )
            plan = experiment.plan(processes=processes, budget_s=budget_s)
            written.append(store.save(results, plan))
    return written
