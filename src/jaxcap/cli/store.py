"""Commands that list and delete the results that builds keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxcap.cli.options import InputError
from jaxcap.cli.output import display
from jaxcap.cli.run import start_backend
from jaxcap.measure.machine.lock import measuring_alone
from jaxcap.results.tables import Table

if TYPE_CHECKING:
    from jaxcap.results import ResultSet

    # The results in each file, or why it can't be read.
    Contents = Mapping[Path, ResultSet | str]

_ON_EXTENT = (
    "A build also measures again where its page asks for other points, more processes or a larger "
    "budget."
)

_folder = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="docs/_build/store/results",
    show_default=True,
    help="Folder in which builds keep results, with a folder for each device.",
)
_experiments = click.argument("experiments", nargs=-1, metavar="[EXPERIMENT]...")


@click.group(epilog="Example: jaxcap store list jit")
def store() -> None:
    """List and delete the results that builds of the site keep."""


@store.command("list", epilog="Example: jaxcap store list jit")
@_experiments
@_folder
def list_(experiments: Sequence[str], folder: Path) -> None:
    """List kept results, their age, and what has changed since."""
    contents = _contents(folder, experiments)
    if not contents:
        display(f"there are no kept results in {folder}")
        return
    reasons = _what_has_changed()
    rows = []
    for path, kept in contents.items():
        changes = ", ".join(reasons(kept)) or "nothing"
        if isinstance(kept, str):
            rows.append((path.stem, path.parent.name, "", "", "", "", changes))
            continue
        name, device = kept[0].experiment, str(kept.environment.device)
        rows.append((name, device, *_extent(kept), _age(kept), changes))
    headers = ("experiment", "device", "points", "processes", "budget", "age", "changed since")
    display(Table(f"Kept in {folder}", headers, rows, [_ON_EXTENT]))


@store.command(epilog="Example: jaxcap store clear jit 'linear algebra'")
@_experiments
@click.option(
    "--outdated",
    is_flag=True,
    help="Delete only results of other code, versions or settings, or of another machine.",
)
@_folder
def clear(experiments: Sequence[str], outdated: bool, folder: Path) -> None:
    """Delete kept results.

    Deletes those of the experiments that you name, or else all of them.
    """
    with measuring_alone():
        contents = _contents(folder, experiments)
        reasons = _what_has_changed() if outdated else lambda _: ["asked for"]
        deleted = [path for path, kept in contents.items() if reasons(kept)]
        for path in deleted:
            path.unlink()
    display(f"deleted {len(deleted)} of {len(contents)} files in {folder}")


def _contents(folder: Path, experiments: Sequence[str]) -> Contents:
    """Read all files of results, or those of some experiments."""
    from jaxcap.measure.store import Store
    from jaxcap.results import ResultsError, ResultSet

    contents: dict[Path, ResultSet | str] = {}
    for path in Store(folder).files():
        try:
            contents[path] = ResultSet.load(path)
        except (OSError, ResultsError) as error:
            contents[path] = str(error)
    if not experiments:
        return contents
    names = {path: k if isinstance(k, str) else k[0].experiment for path, k in contents.items()}
    if unknown := set(experiments) - set(names.values()):
        raise InputError(
            f"there are no kept results of {' or '.join(sorted(unknown))} in {folder}: "
            "`jaxcap store list` shows what there is"
        )
    return {path: kept for path, kept in contents.items() if names[path] in experiments}


def _what_has_changed() -> Callable[[ResultSet | str], Sequence[str]]:
    """Return a function that says what has changed since some results were kept.

    A build may have other reasons to measure again: see `_ON_EXTENT`. What a page asks for stands
    in its script, which is no part of the package.
    """
    start_backend()
    from jaxcap.experiments import catalogue
    from jaxcap.measure.machine.description import capture
    from jaxcap.results.recordings import changes_since

    now, known = capture(), catalogue()

    def reasons(kept: ResultSet | str) -> Sequence[str]:
        if isinstance(kept, str):
            return [kept]
        if not kept.environment.is_same_hardware(now):
            return ["another machine"]
        experiment = known.get(kept[0].experiment)
        return changes_since(kept, now, experiment.code if experiment else None)

    return reasons


def _extent(kept: ResultSet) -> tuple[str, str, str]:
    """Return the points, the processes, and the seconds for each variant that results have at least."""
    points = len({result.comparison for result in kept})
    processes = min(len(result.runs) for result in kept)
    budgets_s = [result.budget_s for result in kept if result.budget_s is not None]
    return str(points), str(processes), f"{min(budgets_s):g} s" if budgets_s else "unknown"


def _age(kept: ResultSet) -> str:
    age = datetime.now(UTC) - kept.environment.measured_at
    if age >= timedelta(days=2):
        return f"{age.days} days"
    hours, minutes = divmod(round(age.total_seconds() / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
