"""The command that records experiments on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxcap.cli.running import (
    CommandRun,
    InputError,
    budget_option,
    progress,
    quiet_option,
    require_writable,
    start_backend,
)

if TYPE_CHECKING:
    from jaxcap.measure.experiment import Experiment


@click.command(epilog="Example: jaxcap record --folder recorded jit 'linear algebra'")
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT]...")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="recorded",
    show_default=True,
    help="Where to save: a folder for each device, a file for each experiment.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="Fresh processes for each experiment.",
)
@budget_option(0.5, "Time for each variant, in each process and at each point.")
@click.option("--list", "only_list", is_flag=True, help="List the experiments; measure nothing.")
@quiet_option
def record(
    experiments: Sequence[str],
    folder: Path,
    processes: int,
    budget_s: float,
    only_list: bool,
    quiet: bool,
) -> None:
    """Record experiments on the best device.

    All of them, or those that are named. What is recorded already is kept, unless the device, a
    version or the code has changed since, so an interrupted recording continues where it stopped.
    """
    run = CommandRun(quiet=quiet)
    start_backend()
    from jaxcap.measure import recording
    from jaxcap.measure.lock import BusyError
    from jaxcap.measure.machine import capture
    from jaxcap.measure.processes import ProcessError
    from jaxcap.results import ResultsError
    from jaxcap.results.files import recording_path

    chosen = _choose(experiments, run)
    here = capture()
    try:
        waiting = recording.pending(folder, chosen, here, processes=processes)
    except ResultsError as error:
        raise InputError(str(error)) from error
    if only_list:
        _list(chosen, waiting, processes * budget_s)
        return
    run.show(
        f"{len(chosen) - len(waiting)} of {len(chosen)} experiments are up to date in {folder}"
    )
    for experiment in waiting:
        _require_room(recording_path(folder, here, experiment.name))
    started: list[Experiment] = []

    def on_start(experiment: Experiment) -> None:
        started.append(experiment)
        bar.update(task, description=experiment.name, refresh=True)
        if bar.disable:
            run.show(f"recording {experiment.name} ({len(started)} of {len(waiting)})")

    with progress(hidden=quiet, with_remaining_time=True) as bar:
        task = bar.add_task("", total=sum(len(e.points) * processes for e in waiting))
        try:
            written = recording.record(
                folder,
                chosen,
                processes=processes,
                budget_s=budget_s,
                on_start=on_start,
                on_process=lambda: bar.update(task, advance=len(started[-1].points), refresh=True),
            )
        except BusyError as error:
            raise InputError(str(error)) from error
        except (ProcessError, OSError, ValueError) as error:  # the last if the machine has changed
            if not started:
                raise
            raise click.ClickException(
                f"{started[-1].name!r} was not recorded: {error}. What was recorded before is "
                "kept: the same command continues there"
            ) from error
    run.show(*(f"recorded {path}" for path in written))


def _choose(names: Sequence[str], run: CommandRun) -> Mapping[str, Experiment]:
    """Select experiments by name, or all; say which are left out because a library is missing."""
    from jaxcap.experiments import catalogue

    missing: list[str] = []
    known = catalogue(lambda module, library: missing.append(f"{module} (needs {library})"))
    left_out = (
        f"left out for libraries that aren't installed: {', '.join(missing)}; "
        "python -m pip install 'jaxcap[all]' installs them"
    )
    if unknown := set(names) - set(known):
        raise InputError(
            f"there is no experiment {', '.join(sorted(unknown))}: choose from {', '.join(known)}"
            + (f"; {left_out}" if missing else "")
        )
    if missing and not names:
        run.show(left_out)
    return {name: known[name] for name in names or known}


def _require_room(file: Path) -> None:
    """Find out whether a file can be written in a folder that may not exist yet."""
    folder = next((parent for parent in file.parents if parent.exists()), file.parent)
    require_writable(folder / file.name, "--folder")


def _list(chosen: Mapping[str, Experiment], waiting: Sequence[Experiment], point_s: float) -> None:
    from jaxcap.results.tables import Table

    rows = [
        (
            name,
            "to be recorded" if experiment in waiting else "up to date",
            str(len(experiment.points)),
            f"{len(experiment.points) * point_s:.0f} s",
        )
        for name, experiment in chosen.items()
    ]
    headers = ("experiment", "state", "points", "time per variant")
    CommandRun().show(Table("Experiments", headers, rows))
