"""Commands that read files of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxcap.cli.running import CommandRun, InputError, require_writable

if TYPE_CHECKING:
    from jaxcap.results import ResultSet

_file = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE"
)
_files = click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE...",
)
_experiment = click.option("--experiment", help="Only results of this experiment.")
_variant = click.option("--variant", help="Only results of this variant.")


@click.group()
def results() -> None:
    """Read, compare and convert results."""


@results.command("list")
@_files
def list_(paths: Sequence[Path]) -> None:
    """Tell what is in files; of a folder, in all that it holds."""
    from jaxcap.results.tables import Table

    rows = [
        (
            str(path),
            str(found.environment.device),
            ", ".join(dict.fromkeys(one.experiment for one in found.results)),
            str(len(found)),
            found.environment.measured_at.strftime("%Y-%m-%d %H:%M UTC"),
        )
        for path in _unfolded(paths)
        for found in [_load(path)]
    ]
    CommandRun().show(
        Table("Results", ("file", "device", "experiments", "results", "measured"), rows)
    )


@results.command()
@_file
@_experiment
@_variant
def show(file: Path, experiment: str | None, variant: str | None) -> None:
    """Show a file's times, one table for each experiment, and the machine."""
    from jaxcap.results.environment import provenance
    from jaxcap.results.tables import Table

    found = _selected(_load(file), experiment, variant)
    facts = Table("Measured on", ("", "found"), list(provenance(found.environment).items()))
    CommandRun().show(facts, *(some.table() for some in found.by_experiment().values()))


@results.command()
@_files
@_experiment
@_variant
def compare(paths: Sequence[Path], experiment: str | None, variant: str | None) -> None:
    """Put the times of several files side by side.

    The files may come from several machines. Ratios are to the first file. They were not measured
    in turns, so they are called undecided wherever the intervals of the two times meet.
    """
    from jaxcap.results.exports import side_by_side

    files = list(_unfolded(paths))
    if len(files) < 2:
        raise InputError("there is one file to compare, and it takes two or more: name another")
    sets = {str(path): _selected(_load(path), experiment, variant) for path in files}
    CommandRun().show(*side_by_side(sets))


@results.command()
@_file
@click.option(
    "--format",
    "kind",
    type=click.Choice(("csv", "json", "markdown", "table")),
    default="csv",
    show_default=True,
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file instead of the screen.",
)
@_experiment
@_variant
def export(
    file: Path, kind: str, output: Path | None, experiment: str | None, variant: str | None
) -> None:
    """Convert a file: a row for each result, times in seconds."""
    from jaxcap.results.exports import FORMATS
    from jaxcap.results.files import write_atomically

    if output:
        require_writable(output, "--output")
    text = FORMATS[kind](_selected(_load(file), experiment, variant))
    if output:
        write_atomically(output, text)
    else:
        click.echo(text, nl=False)


@results.command()
@_files
def validate(paths: Sequence[Path]) -> None:
    """Check files, of others for example.

    A recording, beside its environment.json, must also be where its device and its experiment
    belong. Exits with 2 if a file can't be used, and says why.
    """
    from jaxcap.results import recordings

    refused = 0
    for path in _unfolded(paths):
        is_recording = path.with_name(recordings.ENVIRONMENT).exists()
        try:
            found = _load(path, recordings.load if is_recording else None)
        except InputError as error:
            refused += 1
            click.echo(f"Error: {error.message}", err=True)
        else:
            click.echo(f"{path}: valid, {len(found)} results, {found.environment.device}")
    if refused:
        raise click.exceptions.Exit(2)


@results.command()
def schema() -> None:
    """Print the JSON Schema that files of results follow."""
    import json

    from jaxcap.results import json_schema

    click.echo(json.dumps(json_schema(), indent=1))


def _load(path: Path, read: Callable[[Path], ResultSet] | None = None) -> ResultSet:
    from jaxcap.results import ResultsError, ResultSet

    try:
        return (read or ResultSet.load)(path)
    except ResultsError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error


def _selected(found: ResultSet, experiment: str | None, variant: str | None) -> ResultSet:
    from jaxcap.results import ResultsError

    try:
        return found.select(experiment=experiment, variant=variant)
    except ResultsError as error:
        raise InputError(str(error)) from error


def _unfolded(paths: Sequence[Path]) -> Iterator[Path]:
    """Take each file, and for a folder all files of results in it."""
    from jaxcap.results.recordings import ENVIRONMENT

    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = sorted(file for file in path.rglob("*.json") if file.name != ENVIRONMENT)
        if not inside:
            raise InputError(f"{path} holds no file of results: they end in .json")
        yield from inside
