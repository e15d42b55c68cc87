"""The command that records experiments on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxcap.cli.running import (
    CommandRun,
    InputError,
    budget_option,
    progress,
    quiet_option,
    require_library,
)

if TYPE_CHECKING:
    from jaxcap.measure import Experiment


@click.command()
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT]...")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("recorded"),
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
@quiet_option
def record(
    experiments: Sequence[str], folder: Path, processes: int, budget_s: float, quiet: bool
) -> None:
    """Record experiments on the best device.

    All of them, or those that are named. What is recorded already is kept, unless the device, a
    version or the code has changed since, so an interrupted recording goes on where it was.
    """
    for library in "flax", "pytorch":
        require_library(library)
    from jaxcap.experiments import catalogue
    from jaxcap.measure import recording
    from jaxcap.measure.lock import BusyError
    from jaxcap.measure.machine import capture

    known = catalogue()
    if unknown := set(experiments) - set(known):
        raise InputError(
            f"there is no experiment {', '.join(sorted(unknown))}: choose from {', '.join(known)}"
        )
    chosen = {name: known[name] for name in experiments or known}
    waiting = recording.pending(folder, chosen, capture(), processes=processes)
    run = CommandRun(quiet=quiet)
    run.show(
        f"{len(chosen) - len(waiting)} of {len(chosen)} experiments are up to date in {folder}"
    )
    points = 0

    def begin(experiment: Experiment) -> None:
        nonlocal points
        points = len(experiment.points)
        bar.update(task, description=experiment.name, refresh=True)

    with progress(hidden=quiet, with_remaining_time=True) as bar:
        task = bar.add_task("", total=sum(len(one.points) * processes for one in waiting))
        try:
            written = recording.record(
                folder,
                chosen,
                processes=processes,
                budget_s=budget_s,
                on_start=begin,
                on_process=lambda: bar.update(task, advance=points, refresh=True),
            )
        except BusyError as error:
            raise InputError(str(error)) from error
        except OSError as error:
            raise InputError(f"{folder} can't be written: {error.strerror}") from error
    run.show(*(f"recorded {path}" for path in written))
