"""The command that records experiments on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxcap.cli.options import (
    InputError,
    budget_option,
    processes_option,
    quiet_option,
    require_writable,
)
from jaxcap.cli.output import display, warnings_as_sentences
from jaxcap.cli.run import CommandRun, start_backend
from jaxcap.measure.progress import progress_bar
from jaxcap.measure.settings import MACHINE, QUICK, quick_is_on
from jaxcap.results.tables import Table

if TYPE_CHECKING:
    from jaxcap.measure.experiment import Experiment


@click.command(epilog="Example: jaxcap record --folder recorded jit 'linear algebra'")
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT]...")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="recorded",
    show_default=True,
    help="Where to save the results, as a folder for each device with a file for each experiment.",
)
@processes_option(6, "Number of fresh processes in which to measure each experiment.")
@budget_option(0.5, "Time to spend on each variant, at each point, in each process.")
@click.option("--list", "only_list", is_flag=True, help="List the experiments and measure nothing.")
@quiet_option
def record(
    experiments: Sequence[str],
    folder: Path,
    processes: int,
    budget_s: float,
    only_list: bool,
    quiet: bool,
) -> None:
    """Record the experiments of the tutorials on the best device.

    Records the experiments that you name, or else all of them. An experiment that was recorded
    before is skipped unless the device, the versions or the code have changed, so you can interrupt
    the command and run it again to continue.
    """
    if quick_is_on() or os.environ.get(MACHINE):
        raise InputError(
            f"a recording must be measured in full and on this machine: unset {QUICK} and {MACHINE}"
        )
    run = CommandRun(quiet=quiet)
    start_backend()
    from jaxcap.measure import record_experiments
    from jaxcap.measure.machine import description
    from jaxcap.results import ResultsError
    from jaxcap.results.files import recording_path

    chosen = _choose(experiments, run)
    environment = description.capture()
    try:
        pending = record_experiments.outdated_experiments(
            folder, chosen, environment, processes=processes, budget_s=budget_s
        )
    except ResultsError as error:
        raise InputError(str(error)) from error
    if only_list:
        display(_table_of_states(chosen, pending, processes * budget_s))
        return
    up_to_date = len(chosen) - len(pending)
    run.show(f"{up_to_date} of {len(chosen)} experiments are up to date in {folder}")
    for experiment in pending:
        file = recording_path(folder, environment, experiment.name)
        existing_folder = next(parent for parent in file.parents if parent.exists())
        require_writable(existing_folder / file.name, "--folder")
    written = _record(folder, chosen, pending, processes, budget_s, run)
    run.show(*(f"recorded {path}" for path in written))


def _record(
    folder: Path,
    chosen: Mapping[str, Experiment],
    pending: Sequence[Experiment],
    processes: int,
    budget_s: float,
    run: CommandRun,
) -> list[Path]:
    """Record experiments, with a progress bar on a terminal. An error names the experiment."""
    from jaxcap.measure import record_experiments
    from jaxcap.measure.processes import ProcessError

    started: list[Experiment] = []

    def on_start(experiment: Experiment) -> None:
        started.append(experiment)
        bar.update(task, description=experiment.name, refresh=True)
        if bar.disable:
            run.show(f"recording {experiment.name} ({len(started)} of {len(pending)})")

    with progress_bar(hidden=run.quiet) as bar, warnings_as_sentences():
        task = bar.add_task("", total=len(pending))
        try:
            return record_experiments.record(
                folder,
                chosen,
                processes=processes,
                budget_s=budget_s,
                on_start=on_start,
                on_progress=lambda share: bar.update(
                    task, completed=len(started) - 1 + share, refresh=True
                ),
            )
        except (ProcessError, OSError, ValueError) as error:  # the last if the machine changed
            if not started:
                raise
            raise click.ClickException(
                f"{started[-1].name!r} was not recorded: {error}. Earlier recordings are kept: "
                "repeat the command to continue"
            ) from error


def _choose(names: Sequence[str], run: CommandRun) -> Mapping[str, Experiment]:
    """Select experiments by name, or all; list those that are skipped for want of a library."""
    from jaxcap.experiments import catalogue

    missing: list[str] = []
    known = catalogue(lambda module, library: missing.append(f"{module} (needs {library})"))
    left_out = (
        f"skipped, because a library isn't installed: {', '.join(missing)}; "
        "`python -m pip install 'jaxcap[all]'` installs them all"
    )
    if unknown := set(names) - set(known):
        raise InputError(
            f"there is no experiment named {' or '.join(sorted(unknown))}: choose from "
            f"{', '.join(map(repr, known))}" + (f"; {left_out}" if missing else "")
        )
    if missing and not names:
        run.show(left_out)
    return {name: known[name] for name in names or known}


def _table_of_states(
    chosen: Mapping[str, Experiment], pending: Sequence[Experiment], point_s: float
) -> Table:
    rows = [
        (
            name,
            "to be recorded" if experiment in pending else "up to date",
            str(len(experiment.points)),
            f"{len(experiment.points) * point_s:.0f} s",
        )
        for name, experiment in chosen.items()
    ]
    return Table("Experiments", ("experiment", "state", "points", "time per variant"), rows)
