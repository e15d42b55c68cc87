"""Commands that measure JAX's releases, and show what was recorded of them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxcap.cli.options import InputError, quiet_option
from jaxcap.cli.output import display
from jaxcap.cli.run import CommandRun, start_backend
from jaxcap.measure.progress import progress_bar
from jaxcap.results import ResultsError
from jaxcap.results.tables import Table

if TYPE_CHECKING:
    from jaxcap.releases.environments import ReleaseEnvironment
    from jaxcap.releases.files import ReleaseFiles

_folder = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="recorded",
    show_default=True,
    help="Holds a folder for each device, and in it one for the releases.",
)
_python = click.option(
    "--python",
    default="3.12",
    show_default=True,
    help="Runs the releases: a version, or the path of an interpreter.",
)


@click.group(epilog="Example: jaxcap releases show 'sort of 10,000 numbers'")
def releases() -> None:
    """Measure the same benchmarks under many releases of JAX."""


@releases.command("list", epilog="Example: jaxcap releases list --python 3.12")
@_folder
@_python
def list_(folder: Path, python: str) -> None:
    """List the releases that the package index has, and what is recorded of them."""
    from jaxcap.releases.files import version_key

    files = _files(folder)
    recorded = files.releases()
    available = _available(python)
    failures = files.failures()
    rows = []
    for release in sorted({*available, *recorded}, key=version_key, reverse=True):
        kept = files.load(release) if release in recorded else None
        failed = ", ".join(failures.get(release, ())) or "nothing"
        benchmarks = len({str(result.parameters["benchmark"]) for result in kept or ()})
        processes = min((len(result.runs) for result in kept or ()), default=0)
        date = f"{kept.environment.measured_at:%Y-%m-%d}" if kept else ""
        rows.append((release, str(benchmarks), str(processes), date, failed))
    headers = ("release", "benchmarks", "processes", "recorded", "failed")
    display(Table(f"Releases of JAX for Python {python}", headers, rows))


@releases.command(epilog="Example: jaxcap releases record --folder recorded 0.4.31 0.5.0")
@click.argument("names", nargs=-1, metavar="[RELEASE]...")
@_folder
@_python
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Fresh processes for each release.",
)
@click.option(
    "--benchmark",
    "patterns",
    multiple=True,
    help="Only benchmarks whose name this pattern matches, as in 'scan*'; repeatable.",
)
@click.option(
    "--environments",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to install the releases; by default, in the user's cache.",
)
@click.option(
    "--extra", default="", help="Of JAX, such as cuda12: what its releases are built for."
)
@quiet_option
def record(
    names: Sequence[str],
    folder: Path,
    python: str,
    processes: int,
    patterns: Sequence[str],
    environments: Path | None,
    extra: str,
    quiet: bool,
) -> None:
    """Record releases, by default all that the package index has.

    uv makes an environment for each. Fresh processes of all releases take turns, an hour or two for
    forty of them, so let nothing else run. The newest is installed and measured twice: what
    differs between the two is noise. An interrupted command continues where it stopped.
    """
    run = CommandRun(quiet=quiet)
    start_backend()
    from jaxcap.releases import recording
    from jaxcap.releases.environments import default_folder
    from jaxcap.releases.files import TWIN, version_key

    chosen = sorted(_choose(names, python), key=version_key)
    failures: list[str] = []
    recorder = recording.Recording(
        _files(folder),
        environments or default_folder(),
        python,
        extra,
        processes,
        _benchmarks(patterns),
        on_failure=failures.append,
    )
    with progress_bar(hidden=quiet) as bar:
        made: dict[str, ReleaseEnvironment] = {}
        task = bar.add_task("installing", total=len(chosen) + 1)
        for release in (*chosen, chosen[-1] + TWIN):
            bar.update(task, description=f"installing {release}", refresh=True)
            made |= recorder.install([release])
            bar.advance(task)
        bar.update(task, description="measuring", completed=0, total=1, refresh=True)
        try:
            recorder.run(made, lambda share: bar.update(task, completed=share, refresh=True))
        except ValueError as error:
            raise InputError(str(error)) from error
    if failures:
        rows = [failure.partition(": ")[::2] for failure in failures]
        run.show(Table("What failed", ("release and benchmark", "reason"), rows))
    if not recorder.files.releases():
        raise click.ClickException("no release was recorded: see what failed")
    run.show(f"recorded {len(recorder.files.releases())} releases in {recorder.files.folder}")


def _files(folder: Path) -> ReleaseFiles:
    """Return the files of this machine in a folder of recordings."""
    start_backend()
    from jaxcap.measure.machine.description import capture
    from jaxcap.releases.files import EXPERIMENT, ReleaseFiles
    from jaxcap.results.files import recording_path

    try:
        return ReleaseFiles.of(recording_path(folder, capture(), EXPERIMENT).parent)
    except ResultsError as error:
        raise InputError(str(error)) from error


def _available(python: str) -> list[str]:
    from jaxcap.releases.environments import InstallationError, available_releases

    try:
        return available_releases(python)
    except InstallationError as error:
        raise InputError(f"--python {python}: {error}") from error


def _choose(names: Sequence[str], python: str) -> Sequence[str]:
    if unknown := [name for name in names if not name.replace(".", "").isdigit()]:
        raise InputError(f"{unknown[0]!r} is not a release of JAX: name one such as 0.4.31")
    return names or _available(python)


def _benchmarks(patterns: Sequence[str]) -> Sequence[str]:
    """Select benchmarks by patterns, or all."""
    from jaxcap.releases.benchmarks import BENCHMARKS
    from jaxcap.releases.recording import PROGRAMS

    known = (*PROGRAMS, *BENCHMARKS)
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in known):
            raise InputError(
                f"no benchmark matches {pattern!r}: choose from {'; '.join(known)}, or give a "
                "pattern such as 'scan*'"
            )
    return [n for n in known if not patterns or any(fnmatch(n, p) for p in patterns)]
