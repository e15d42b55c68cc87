"""What commands that run something have in common: options, checks of input, output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from rich.progress import Progress

    from jaxcap.measure.experiment import Point, Points, Prepare
    from jaxcap.results import ResultSet

Command = TypeVar("Command", bound=Callable[..., Any])


class LibraryName(NamedTuple):
    """What a library calls itself, its module, and the extra that it comes with."""

    name: str
    module: str
    extra: str


LIBRARIES = {
    "numpy": LibraryName("NumPy", "numpy", ""),
    "pytorch": LibraryName("PyTorch", "torch", "all"),
    "jax": LibraryName("JAX", "jax", ""),
    "flax": LibraryName("Flax", "flax", "mnist"),
}


class InputError(click.ClickException):
    """Something that was given can't be used, or isn't there: one sentence says what to do."""

    exit_code = 2


class Value(NamedTuple):
    """A value that a command found, and what it should be.

    Attributes
    ----------
    name, found, expected
        As shown.
    holds
        Whether one is the other, within rounding.
    """

    name: str
    found: str
    expected: str
    holds: bool


@dataclass(frozen=True)
class CommandRun:
    """One run of a command.

    Attributes
    ----------
    device
        ``"auto"``, or the platform that was asked for.
    budget_s
        Seconds of sampling for each measurement.
    json
        Where results are to be saved.
    quiet
        Whether nothing is to be printed.
    """

    device: str = "auto"
    budget_s: float = 1.0
    json: Path | None = None
    quiet: bool = False

    def start(self) -> None:
        """Choose the device, and make sure that results can be saved, before anything runs."""
        if self.json:
            require_writable(self.json, "--json")
        if self.device == "cpu":
            import jax

            jax.config.update("jax_platforms", "cpu")  # type: ignore[no-untyped-call]
        elif self.device != "auto":
            self._require_platform()

    def platforms(self, library: str = "jax") -> list[str]:
        """Devices to compute on: the one asked for, or JAX's default and the CPU beside it.

        Raises
        ------
        InputError
            If the library can't use the one that was asked for.
        """
        import jax

        default = jax.default_backend()
        wanted = dict.fromkeys([default, "cpu"] if self.device == "auto" else [self.device])
        usable = [platform for platform in wanted if _can_use(library, platform)]
        if not usable:
            raise InputError(
                f"--device {self.device}: {LIBRARIES[library].name} can't compute there; leave the "
                "option out, or ask `jaxcap doctor` for the reason"
            )
        return usable

    def show(self, *what: Any) -> None:
        """Print tables or texts."""
        if not self.quiet:
            _print(what)

    def check(self, caption: str, values: Iterable[Value]) -> None:
        """Show values beside what they should be. They are computed here if they come one by one.

        Raises
        ------
        click.ClickException
            If one of them isn't.
        """
        from jaxcap.results.tables import Table

        with _status(f"Computing: {caption}", hidden=self.quiet):
            values = list(values)
        rows = [(v.name, v.found, v.expected, "yes" if v.holds else "NO") for v in values]
        self.show(Table(caption, ("", "found", "expected", "as expected"), rows))
        if wrong := [value.name for value in values if not value.holds]:
            raise click.ClickException(f"not as expected: {', '.join(wrong)}")

    def measure(self, experiment: str, prepare: Prepare, points: Points) -> ResultSet:
        """Measure variants at each point."""
        from jaxcap.measure.timing import MeasurementError, sweep

        with progress(hidden=self.quiet) as bar:
            at_each = _telling(bar, experiment, points)
            try:
                return sweep(
                    prepare,
                    at_each,
                    experiment=experiment,
                    budget_s=self.budget_s,
                    on_round=bar.refresh,
                )
            except MeasurementError as error:
                raise click.ClickException(str(error)) from error

    def finish(self, results: ResultSet, *, over: str | None = None) -> None:
        """Show and save results; also show how many times faster they are than a variant."""
        self.show(results.table(), *([results.speedups(over=over)] if over else []))
        self.save(results)

    def save(self, results: ResultSet) -> None:
        """Save results if that was asked for."""
        if self.json:
            try:
                results.save(self.json)
            except OSError as error:  # it could be written before
                raise InputError(f"{self.json} can't be written: {error.strerror}") from error

    def _require_platform(self) -> None:
        import jax

        try:
            found = jax.default_backend()
        except RuntimeError:  # the environment forbids what there is
            found = "none"
        if found != self.device:
            raise InputError(
                f"--device {self.device}: JAX finds no {self.device.upper()} here (its device is "
                f"{found.upper()}); leave the option out, or ask `jaxcap doctor` for the reason"
            )


def measuring(command: Command) -> Command:
    """Give a command the options of all that measure, and a `Run` in their place."""

    @device_option
    @budget_option(CommandRun.budget_s, "Time for each measurement.")
    @json_option
    @quiet_option
    @wraps(command)
    def with_run(
        *, device: str, budget_s: float, json: Path | None, quiet: bool, **others: Any
    ) -> None:
        run = CommandRun(device, budget_s, json, quiet)
        run.start()
        command(run, **others)

    return with_run  # type: ignore[return-value]


def budget_option(default_s: float, what: str) -> Callable[[Command], Command]:
    """Make the option for how long to sample, in seconds."""
    return click.option(
        "--budget",
        "budget_s",
        metavar="SECONDS",
        type=float,
        default=default_s,
        show_default=True,
        callback=_positive,
        help=what,
    )


device_option = click.option(
    "--device",
    type=click.Choice(("auto", "cpu", "gpu", "tpu")),
    default="auto",
    show_default=True,
    help="Where to compute; auto is the best there is.",
)
json_option = click.option(
    "--json",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save the results, for jaxcap results to read.",
)
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")


def require_library(name: str) -> None:
    """Refuse to go on without an optional library, before it is missed half-way.

    Raises
    ------
    InputError
        If it isn't installed.
    """
    library = LIBRARIES[name]
    if find_spec(library.module) is None:
        raise InputError(
            f"{library.name} isn't installed: python -m pip install 'jaxcap[{library.extra}]'"
        )


def _can_use(library: str, platform: str) -> bool:
    if library == "pytorch" and platform == "gpu":
        import torch

        return torch.cuda.is_available()
    return platform == "cpu" or library in ("jax", "flax")


def require_memory(needed_bytes: int, platform: str, option: str, value: int) -> None:
    """Refuse a size that can't fit on a device of this platform.

    Raises
    ------
    click.BadParameter
        If the device has less memory than that.
    """
    from rich.filesize import decimal

    from jaxcap.measure.machine import free_memory_bytes

    free = free_memory_bytes(platform)
    if free is not None and needed_bytes > free:
        raise click.BadParameter(
            f"{value:,} needs {decimal(needed_bytes)} of memory and {decimal(free)} are free: "
            "choose a smaller one.",
            param_hint=f"'{option}'",
        )


def require_writable(path: Path, option: str) -> None:
    """Find out whether a file can be written, without touching it.

    Raises
    ------
    click.BadParameter
        If it can't.
    """
    from tempfile import TemporaryFile

    try:
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise click.BadParameter(
            f"{path} can't be written ({error.strerror}): choose a file in a folder that can.",
            param_hint=f"'{option}'",
        ) from error


@contextmanager
def _status(text: str, *, hidden: bool) -> Iterator[None]:
    """Show on a terminal that something is being done."""
    from rich.console import Console

    console = Console(stderr=True)
    if hidden or not console.is_terminal:
        yield
    else:
        with console.status(text):
            yield


@contextmanager
def progress(*, hidden: bool, with_remaining_time: bool = False) -> Iterator[Progress]:
    """Show progress on a terminal. It is drawn when told: a thread would take time from timings."""
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    time = bars.TimeRemainingColumn() if with_remaining_time else bars.TimeElapsedColumn()
    with bars.Progress(
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        time,
        console=console,
        transient=True,
        auto_refresh=False,
        disable=hidden or not console.is_terminal,
    ) as bar:
        yield bar


def _telling(bar: Progress, name: str, points: Points) -> Iterator[Point]:
    """Go through points, and say which is being measured."""
    task = bar.add_task(name, total=len(points))
    for point in points:
        at = ", ".join(f"{key} {value}" for key, value in point.items())
        bar.update(task, description=f"{name}: {at}", refresh=True)
        yield point
        bar.advance(task)


def _print(what: Iterable[Any]) -> None:
    from rich.console import Console

    plain: Any = {"highlight": False, "emoji": False, "markup": False}
    console = Console(**plain)
    if console.is_terminal:
        console.print(*what, sep="\n")
        return
    # Lines for files and programs are as long as they are, and end where their text does.
    text = Console(**plain, file=StringIO(), width=10_000)
    text.print(*what, sep="\n")
    lines = text.file.getvalue().splitlines()  # type: ignore[attr-defined]
    click.echo("\n".join(line.rstrip() for line in lines))


def _positive(_: click.Context, __: click.Parameter, seconds: float) -> float:
    """Refuse what is no time, as a callback of an option."""
    if not (isfinite(seconds) and seconds > 0):
        raise click.BadParameter(f"{seconds} is not a positive number of seconds.")
    return seconds
