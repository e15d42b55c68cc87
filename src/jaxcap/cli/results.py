"""Commands that read files of results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

import click

from jaxcap.cli.options import DASH, FILE_TO_WRITE, InputError, require_writable
from jaxcap.cli.output import display, write
from jaxcap.results.tables import Table

if TYPE_CHECKING:
    from jaxcap.results import ResultSet

# Keys of `jaxcap.report.exports.FORMATS`, whose import would delay the help.
FORMATS = ("csv", "json", "markdown", "table")

_PATH = click.Path(exists=True, allow_dash=True, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_file = click.argument("file", type=_PATH, metavar="FILE")
_files = click.argument("paths", nargs=-1, required=True, type=_PATH, metavar="FILE...")
_experiment = click.option("--experiment", help="Use only the results of this experiment.")
_variant = click.option("--variant", help="Use only the results of this variant.")


@click.group(epilog="For any file that is read, - means standard input.")
def results() -> None:
    """Read, compare and convert files of results."""


@results.command("list", epilog="Example: jaxcap results list recorded")
@_files
def list_(paths: Sequence[Path]) -> None:
    """List what files of results contain, or all such files in a folder."""
    rows = [
        (
            str(path),
            str(loaded.environment.device),
            ", ".join(dict.fromkeys(result.experiment for result in loaded)),
            str(len(loaded)),
            loaded.environment.measured_at.strftime("%Y-%m-%d %H:%M UTC"),
        )
        for path, loaded in _load_all(paths)
    ]
    if not rows:
        raise InputError("none of these files holds results")
    display(Table("Results", ("file", "device", "experiments", "results", "measured"), rows))


@results.command(epilog="Example: jaxcap results show jit.json")
@_file
@_experiment
@_variant
def show(file: Path, experiment: str | None, variant: str | None) -> None:
    """Show the times in a file, by experiment, and the machine that they were measured on."""
    from jaxcap.results.environment import provenance

    selection = _load(file, experiment, variant)
    facts = Table("Measured on", ("", "found"), list(provenance(selection.environment).items()))
    display(facts, *(group.table() for group in selection.by_experiment().values()))


@results.command(epilog="Example: jaxcap results compare before.json after.json")
@_files
@_experiment
@_variant
def compare(paths: Sequence[Path], experiment: str | None, variant: str | None) -> None:
    """Compare the times in several files, side by side.

    The files may come from different machines. Each ratio compares a file with the first one. Since
    the two weren't measured in turns, a ratio is undecided wherever their intervals overlap.
    """
    from jaxcap.report.exports import side_by_side

    loaded = list(_load_all(paths, experiment, variant))
    if not 2 <= len(loaded) <= len(ascii_uppercase):
        raise InputError(f"compare takes 2 to {len(ascii_uppercase)} files, got {len(loaded)}")
    files, sets = zip(*loaded, strict=True)
    keys = [{result.key[:3] for result in result_set} for result_set in sets]  # without the device
    if not any(a & b for a, b in combinations(keys, 2)):
        raise InputError(
            "the files have nothing in common: no two of them hold results of the same experiment, "
            "variant and parameters"
        )
    legend = [f"{label}: {file}" for label, file in zip(ascii_uppercase, files, strict=False)]
    display(*legend, *side_by_side(dict(zip(ascii_uppercase, sets, strict=False))))


@results.command(epilog="Example: jaxcap results export jit.json --format markdown")
@_file
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    default="csv",
    show_default=True,
    help="Format to convert to.",
)
@click.option(
    "--output",
    type=FILE_TO_WRITE,
    default="-",
    help="File to write; standard output by default.",
)
@_experiment
@_variant
def export(
    file: Path, kind: str, output: Path, experiment: str | None, variant: str | None
) -> None:
    """Convert a file to a table with a row for each result and times in seconds."""
    from jaxcap.report import exports

    require_writable(output, "--output")
    write(output, exports.FORMATS[kind](_load(file, experiment, variant)))


@results.command(epilog="Example: jaxcap results validate recorded")
@_files
def validate(paths: Sequence[Path]) -> None:
    """Check that files of results are valid.

    A recording, which is a file with an environment.json beside it, must also be named after its
    experiment, and lie in the folder named after its device. A file in that folder's releases must
    be named after its release. If a file isn't valid, says why and exits with 2.
    """
    from jaxcap.releases.recording.files import load_in_place

    is_valid = True
    for path in _expand(paths):
        try:
            loaded = _load(path, read=None if path == DASH else load_in_place)
        except InputError as error:
            is_valid = False
            click.echo(f"Error: {error.message}", err=True)
        else:
            click.echo(f"{path}: valid, {len(loaded)} results, {loaded.environment.device}")
    if not is_valid:
        raise click.exceptions.Exit(2)


@results.command(epilog="Example: jaxcap results review main/docs/recorded docs/recorded")
@click.argument("before", type=_FOLDER)
@click.argument("now", type=_FOLDER)
def review(before: Path, now: Path) -> None:
    """Say in Markdown what a folder of recordings adds to another.

    That is for the review of results that somebody sends in: which machines and experiments are new,
    and which times differ from earlier files of the same model. If a file isn't valid, says why and
    exits with 2.
    """
    from jaxcap.report import reviews
    from jaxcap.results.recordings import load_all

    invalid: list[str] = []
    text = reviews.review(
        load_all(before, on_invalid=lambda _: None),
        load_all(now, on_invalid=invalid.append),
        releases=reviews.changed_releases(before, now),
        invalid=invalid,
    )
    click.echo(text, nl=False)
    if invalid:
        raise click.exceptions.Exit(2)


@results.command(epilog="Example: jaxcap results schema > schema.json")
def schema() -> None:
    """Print the JSON Schema that files of results follow."""
    from jaxcap.results import json_schema

    click.echo(json.dumps(json_schema(), indent=1))


def _load(
    path: Path,
    experiment: str | None = None,
    variant: str | None = None,
    read: Callable[[Path], ResultSet] | None = None,
) -> ResultSet:
    """Load the results of a file, or only those of an experiment or a variant."""
    from jaxcap.results import ResultsError, ResultSet

    if path == DASH:
        path = Path("/dev/stdin")
    elif not path.is_file():
        raise InputError(
            f"{path} is not a regular file: to read from anything else, use - and redirect standard "
            "input"
        )
    try:
        return (read or ResultSet.load)(path).select(experiment=experiment, variant=variant)
    except ResultsError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error


def _load_all(
    paths: Sequence[Path], experiment: str | None = None, variant: str | None = None
) -> Iterator[tuple[Path, ResultSet]]:
    """Load files. Those in folders are skipped if they hold no such results."""
    for path in _expand(paths):
        try:
            loaded = _load(path, experiment, variant)
        except InputError as error:
            if path in paths:
                raise
            click.echo(f"Skipped: {error.message}", err=True)
        else:
            yield path, loaded


def _expand(paths: Sequence[Path]) -> Iterator[Path]:
    """Replace each folder with the files of results in it."""
    from jaxcap.results.files import ENVIRONMENT_FILE

    for path in paths:
        if not path.is_dir():
            yield path
            continue
        files = sorted(path.rglob("*.json"))
        files = [file for file in files if file.name != ENVIRONMENT_FILE]
        if not files:
            raise InputError(f"{path} holds no file of results: their names end in .json")
        yield from files
