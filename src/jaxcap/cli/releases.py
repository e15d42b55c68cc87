"""Commands that measure releases of JAX, and show what was recorded."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from io import StringIO
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxcap.cli.options import (
    InputError,
    environments_folder,
    environments_option,
    processes_option,
    python_option,
    quiet_option,
)
from jaxcap.cli.output import display
from jaxcap.cli.run import CommandRun, start_backend
from jaxcap.measure.progress import progress_bar
from jaxcap.results.tables import Table

if TYPE_CHECKING:
    from jaxcap.releases.changes.comparison import Releases
    from jaxcap.releases.changes.series import ReleaseChange
    from jaxcap.releases.quantities import Quantity
    from jaxcap.releases.recording.environments import ReleaseEnvironment
    from jaxcap.releases.recording.files import ReleaseFiles

_folder = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="recorded",
    show_default=True,
    help="Folder of recordings; the releases of a device are in DEVICE/releases.",
)
_folder_to_read = click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of recordings, with a folder for each device. By default recorded, or if that holds "
    "no releases, the recordings that come with jaxcap.",
)
_machine = click.option(
    "--machine",
    metavar="NAME",
    help="Folder of a device in the folder of recordings; required if there are several.",
)
_quantity = click.option(
    "--quantity",
    type=click.Choice(("time", "first call", "temporary memory")),
    help="Quantity to show. By default, the one that each benchmark is about.",
)
_format = click.option(
    "--format",
    "kind",
    type=click.Choice(("table", "csv", "json")),
    default="table",
    show_default=True,
    help="Format of the output. In csv and json, numbers are in seconds or bytes.",
)


@click.group(epilog="Example: jaxcap releases show 'sort of 10,000 numbers'")
def releases() -> None:
    """Measure the same benchmarks under many releases of JAX."""


_processes = processes_option(5, "Number of fresh processes in which to measure each release.")
_extra = click.option(
    "--extra", default="", help="Extra to install JAX with, such as cuda12 for a GPU."
)


@releases.command("list", epilog="Example: jaxcap releases list --python 3.12")
@_folder
@python_option
def list_(folder: Path, python: str) -> None:
    """List the releases that the package index offers, and what has been recorded of each."""
    from jaxcap.releases.recording.files import version_key
    from jaxcap.results import ResultsError

    files = _files(folder)
    try:
        recorded = {release: files.load(release) for release in files.releases()}
        failures = files.failures()
    except (OSError, ResultsError) as error:
        raise InputError(str(error)) from error
    rows = []
    for release in sorted({*_available(python), *recorded}, key=version_key, reverse=True):
        kept = recorded.get(release)
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
@python_option
@_processes
@click.option(
    "--benchmark",
    "patterns",
    multiple=True,
    help="Run only benchmarks whose names match this pattern, such as 'scan*'. Can be repeated.",
)
@environments_option
@_extra
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
    """Record the releases that you name, or all that the package index offers.

    uv makes an environment for each release, and fresh processes of all of them take turns. Forty
    releases take an hour or two, in which nothing else should run. The newest release of all is
    installed and measured twice: whatever differs between these two is noise. You can interrupt the
    command and run it again to continue.
    """
    run = CommandRun(quiet=quiet)
    files = _files(folder)
    from jaxcap.releases.recording.files import TWIN, version_key

    chosen = sorted(_choose(names, python), key=version_key)
    newest = max((*chosen, *files.releases()), key=version_key).removesuffix(TWIN)
    if newest in chosen:
        chosen.append(newest + TWIN)
    benchmarks = _benchmarks(patterns)
    _require_device(chosen, benchmarks, files)
    _record(run, chosen, files, environments, python, extra, processes, benchmarks)
    run.show(f"recorded {len(files.releases())} releases in {files.folder}")


@releases.command(epilog="Example: jaxcap releases confirm --largest 10")
@_folder
@python_option
@_processes
@click.option(
    "--largest",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Number of changes to measure again.",
)
@environments_option
@_extra
@quiet_option
def confirm(
    folder: Path,
    python: str,
    processes: int,
    largest: int,
    environments: Path | None,
    extra: str,
    quiet: bool,
) -> None:
    """Measure the largest recorded changes once more, to see which of them were luck.

    Among many comparisons, the largest differences owe part of their size to chance. This command
    therefore measures again the releases before and after each change, and saves the results next
    to the first recording. A change that they contradict is no longer shown.
    """
    run = CommandRun(quiet=quiet)
    files = _files(folder)
    from jaxcap.releases.recording.files import version_key

    changes = _load(files).changes[:largest]
    if not changes:
        run.show(f"there are no changes in {files.folder}")
        return
    chosen = sorted({name for c in changes for name in (c.before, c.after)}, key=version_key)
    benchmarks = list(dict.fromkeys(change.series.benchmark for change in changes))
    _record(run, chosen, files.again, environments, python, extra, processes, benchmarks)
    confirmed = _load(files)
    counts = Counter(confirmed.confirmation(change) for change in changes)
    run.show(
        f"{counts['seen again']} of {len(changes)} changes were seen again, "
        f"{counts['contradicted']} contradicted, the others are undecided; "
        f"the results are in {files.again.folder}"
    )


def _record(
    run: CommandRun,
    chosen: Sequence[str],
    files: ReleaseFiles,
    environments: Path | None,
    python: str,
    extra: str,
    processes: int,
    benchmarks: Sequence[str],
) -> None:
    """Install releases and measure them, with a progress bar; then list what failed."""
    from jaxcap.releases.recording.recorder import ReleaseRecorder
    from jaxcap.results import ResultsError

    failures: list[str] = []
    try:
        recorder = ReleaseRecorder(
            files=files,
            environments=environments_folder(environments),
            python=python,
            extra=extra,
            processes=processes,
            benchmarks=benchmarks,
            on_failure=failures.append,
        )
    except ResultsError as error:
        raise InputError(str(error)) from error
    with progress_bar(hidden=run.quiet) as bar:
        made: dict[str, ReleaseEnvironment] = {}
        task = bar.add_task("installing", total=len(chosen))
        try:
            for release in chosen:
                bar.update(task, description=f"installing {release}", refresh=True)
                made |= recorder.install([release])
                bar.advance(task)
            bar.update(task, description="measuring", completed=0, total=1, refresh=True)
            recorder.run(made, lambda share: bar.update(task, completed=share, refresh=True))
        except ValueError as error:
            raise InputError(str(error)) from error
        except OSError as error:
            raise click.ClickException(
                f"can't write to {files.folder}: {error.strerror}; what was recorded before is kept"
            ) from error
    if failures:
        rows = [failure.partition(": ")[::2] for failure in failures]
        run.show(Table("What failed", ("release and benchmark", "reason"), rows))
    if not files.releases():
        raise click.ClickException("no release was recorded: the table above says what failed")


@releases.command(epilog="Example: jaxcap releases show 'sort of 10,000 numbers'")
@click.argument("benchmark")
@_folder_to_read
@_machine
@_quantity
@_format
def show(
    benchmark: str, folder: Path | None, machine: str | None, quantity: Quantity | None, kind: str
) -> None:
    """Show how one benchmark does under every recorded release."""
    recorded = _recorded(folder, machine)
    series = next((s for s in recorded.of_jax(quantity) if s.benchmark == benchmark), None)
    if series is None:
        names = "; ".join(s.benchmark for s in recorded.of_jax(quantity))
        raise InputError(
            f"{recorded.files.folder} holds no benchmark named {benchmark!r}: choose from {names}"
        )
    newest = series.releases[-1]
    caption = f"{benchmark}, {series.quantity}"
    headers = ("release", series.quantity, "processes", f"ratio to {newest}")
    rows, records = [], []
    for release, estimate in series.estimates.items():
        change = series.compare(newest, release)
        processes = len(estimate.medians)
        rows.append((release, estimate.short, str(processes), _ratio(change)))
        records.append(
            {
                "release": release,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "processes": processes,
                **_ratios(change),
            }
        )
    _show(kind, Table(caption, headers, rows), records)


@releases.command(epilog="Example: jaxcap releases compare 0.4.31 0.10.2")
@click.argument("before")
@click.argument("after")
@_folder_to_read
@_machine
@_quantity
@_format
def compare(
    before: str,
    after: str,
    folder: Path | None,
    machine: str | None,
    quantity: Quantity | None,
    kind: str,
) -> None:
    """Compare two releases on all benchmarks, the largest differences first.

    A difference of less than 10% counts as undecided. So does one that may be due to chance, given
    how many benchmarks are compared.
    """
    from jaxcap.releases.changes.series import adjust

    recorded = _recorded(folder, machine)
    for release in (before, after):
        if release not in recorded.sets:
            raise InputError(
                f"{recorded.files.folder} holds no results of JAX {release}: choose from "
                f"{', '.join(recorded.sets)}"
            )
    comparisons = adjust(
        series.compare(before, after)
        for series in recorded.of_jax(quantity)
        if {before, after} <= series.estimates.keys()
    )
    comparisons.sort(key=lambda c: c.factor, reverse=True)
    caption = f"JAX {after} beside {before}"
    headers = ("benchmark", "quantity", f"ratio to {before}", "conclusion")
    rows, records = [], []
    for change in comparisons:
        name, about = change.series.benchmark, change.series.quantity
        rows.append(
            (name, about, _ratio(change), change.words if change.is_change else "undecided")
        )
        records.append(
            {
                "benchmark": name,
                "quantity": about,
                **_ratios(change),
                "adjusted_p": None if isnan(change.adjusted_p) else change.adjusted_p,
                "is_change": change.is_change,
            }
        )
    _show(kind, Table(caption, headers, rows), records)


def _ratio(change: ReleaseChange) -> str:
    interval = change.interval
    return f"{change.ratio:.3g} ({interval})" if interval else f"{change.ratio:.3g}"


def _ratios(change: ReleaseChange) -> Mapping[str, float | None]:
    """Return the ratio and its interval, whose ends are None if it has none."""
    ends = (change.low, change.high) if change.interval else (None, None)
    return dict(zip(("ratio", "ratio_low", "ratio_high"), (change.ratio, *ends), strict=True))


def _show(kind: str, table: Table, records: Sequence[Mapping[str, object]]) -> None:
    if kind == "table":
        display(table)
    elif kind == "json":
        click.echo(json.dumps(records, indent=1))
    else:
        file = StringIO()
        writer = csv.DictWriter(file, records[0] if records else ())
        writer.writeheader()
        writer.writerows(records)
        click.echo(file.getvalue(), nl=False)


def _recorded(folder: Path | None, machine: str | None) -> Releases:
    """Read the recorded releases of a machine."""
    from jaxcap.releases.recorded import packaged_folder
    from jaxcap.releases.recording.files import EXPERIMENT, ReleaseFiles

    if folder is None:
        own = Path("recorded")
        folder = own if any(own.glob(f"*/{EXPERIMENT}/")) else packaged_folder() or own
    machines = [path.parent.name for path in sorted(folder.glob(f"*/{EXPERIMENT}/"))]
    if machine is None and len(machines) == 1:
        (machine,) = machines
    if machine not in machines:
        choice = (
            f"choose --machine from {', '.join(machines)}"
            if machines
            else "record some with `jaxcap releases record`, or name another --folder"
        )
        raise InputError(
            f"{folder} holds recorded releases of {len(machines)} machines"
            + (f", and none of them is {machine}" if machine else "")
            + f": {choice}"
        )
    return _load(ReleaseFiles.of(folder / machine))


def _load(files: ReleaseFiles) -> Releases:
    """Read recorded releases."""
    from jaxcap.releases.recorded import load
    from jaxcap.results import ResultsError

    try:
        recorded = load(files)
    except (OSError, ResultsError) as error:
        raise InputError(str(error)) from error
    if recorded is None:
        raise InputError(
            f"{files.folder} holds no recorded release: record some with `jaxcap releases record`"
        )
    return recorded


def _files(folder: Path) -> ReleaseFiles:
    """Return this machine's files in a folder of recordings."""
    start_backend()
    from jaxcap.measure.machine.description import capture
    from jaxcap.releases.recording.files import EXPERIMENT, ReleaseFiles
    from jaxcap.results import ResultsError
    from jaxcap.results.files import recording_path

    try:
        return ReleaseFiles.of(recording_path(folder, capture(), EXPERIMENT).parent)
    except ResultsError as error:
        raise InputError(str(error)) from error


def _available(python: str) -> list[str]:
    from jaxcap.releases.recording.environments import InstallationError, available_releases

    try:
        return available_releases(python)
    except InstallationError as error:
        raise InputError(f"--python {python}: {error}") from error


def _choose(names: Sequence[str], python: str) -> Sequence[str]:
    if unknown := [name for name in names if not name.replace(".", "").isdigit()]:
        raise InputError(f"{unknown[0]!r} is not a release of JAX: give a version such as 0.4.31")
    return names or _available(python)


def _require_device(chosen: Sequence[str], benchmarks: Sequence[str], files: ReleaseFiles) -> None:
    """Refuse programs alone under new releases: only other benchmarks say what device they ran on."""
    from jaxcap.releases.benchmarks.whole_programs import PROGRAMS

    new = [release for release in chosen if not files.path(release).exists()]
    if new and set(benchmarks) <= set(PROGRAMS):
        raise InputError(
            f"--benchmark: {'; '.join(benchmarks)} can only be added to a recording, and there is none "
            f"of JAX {new[0]} in {files.folder}: choose another benchmark, too"
        )


def _benchmarks(patterns: Sequence[str]) -> Sequence[str]:
    """Select benchmarks by patterns, or all."""
    from jaxcap.releases.benchmarks import BENCHMARKS
    from jaxcap.releases.benchmarks.whole_programs import PROGRAMS

    known = (*PROGRAMS, *BENCHMARKS)
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in known):
            raise InputError(
                f"--benchmark: no benchmark matches {pattern!r}: choose from {'; '.join(known)}, or give "
                "a pattern such as 'scan*'"
            )
    return [n for n in known if not patterns or any(fnmatch(n, p) for p in patterns)]
