"""What commands have in common: options, checks of input, progress and output."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from io import BytesIO, TextIOWrapper
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from rich.progress import Progress

    from jaxcap.measure.experiment import Point, Points, Prepare
    from jaxcap.results import ResultSet

Command = TypeVar("Command", bound=Callable[..., Any])


#: As a file, standard output or standard input.
DASH = Path("-")

_ROOM_BYTES = 2**20  # what most files of results need


class LibraryName(NamedTuple):
    """The name of a library, its module, and the extra of jaxcap that installs it."""

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
    """Input that can't be used. The message is one sentence that says what to do."""

    exit_code = 2


class Value(NamedTuple):
    """A computed value as text, what it should be, and whether the two agree within rounding."""

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
        The platform to compute on, or ``"auto"``.
    budget_s
        Seconds of sampling for each measurement.
    json
        The file to save results in. If it is ``-``, they go to standard output, and all else to
        standard error.
    quiet
        Whether to print nothing.
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
        platform = start_backend()
        if self.device not in ("auto", platform):
            raise InputError(
                f"--device {self.device}: JAX finds no {self.device.upper()} here (its device is "
                f"{platform.upper()}); leave the option out, or see what `jaxcap doctor` says"
            )

    def platforms(self, library: str = "jax") -> list[str]:
        """Platforms that a library can use: the option's, or JAX's default and the CPU."""
        wanted = [self.device] if self.device != "auto" else [start_backend(), "cpu"]
        usable = [platform for platform in dict.fromkeys(wanted) if _can_use(library, platform)]
        if not usable:
            raise InputError(
                f"--device {self.device}: {LIBRARIES[library].name} can't compute there; leave the "
                "option out, or see what `jaxcap doctor` says"
            )
        return usable

    def show(self, *contents: Any) -> None:
        """Print tables or texts."""
        if not self.quiet:
            _print(contents, err=self.json == DASH)

    def check(self, caption: str, values: Iterable[Value]) -> None:
        """Show values, which may be computed only here, beside what they should be; check them."""
        from jaxcap.results.tables import Table

        with progress(hidden=self.quiet) as bar:
            bar.add_task(f"Computing: {caption}", total=None)
            bar.refresh()
            values = list(values)
        rows = [(v.name, v.found, v.expected, "yes" if v.holds else "NO") for v in values]
        self.show(Table(caption, ("", "found", "expected", "as expected"), rows))
        if wrong := [value.name for value in values if not value.holds]:
            raise click.ClickException(f"not as expected: {', '.join(wrong)}")

    def measure(self, experiment: str, prepare: Prepare, points: Points) -> ResultSet:
        """Measure variants at each point."""
        from jaxcap.measure.lock import BusyError, measuring_alone
        from jaxcap.measure.timing import MeasurementError, sweep

        with progress(hidden=self.quiet) as bar:
            try:
                with measuring_alone():
                    return sweep(
                        prepare,
                        _with_progress(bar, experiment, points),
                        experiment=experiment,
                        budget_s=self.budget_s,
                        on_round=bar.refresh,
                    )
            except BusyError as error:
                raise InputError(str(error)) from error
            except MeasurementError as error:
                raise click.ClickException(str(error)) from error

    def finish(self, results: ResultSet, *, over: str | None = None) -> None:
        """Show results, and how many times faster they are than a variant; save them."""
        self.show(results.table(), *([results.speedups(over=over)] if over else []))
        self.save(results)

    def save(self, results: ResultSet) -> None:
        """Save results where ``--json`` says, if it is given."""
        if self.json == DASH:
            click.echo(results.model_dump_json(indent=1))
        elif self.json:
            with refusing_unwritable(self.json):
                results.save(self.json)


def start_backend() -> str:
    """Start JAX, and name the platform of its default device."""
    try:
        import jax

        return jax.default_backend()
    except (AssertionError, ImportError, RuntimeError) as error:  # the first by JAX_PLATFORMS=cuda
        if platforms := os.environ.get("JAX_PLATFORMS"):
            raise InputError(
                f"the variable JAX_PLATFORMS is {platforms!r}, and JAX can't start that here: "
                "unset JAX_PLATFORMS, or see what `jaxcap doctor` says"
            ) from error
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"JAX doesn't start ({reason}): see what `jaxcap doctor` says") from error


def measuring(command: Command) -> Command:
    """Give a command the options of all that measure, and a `CommandRun` in their place."""

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


def budget_option(default_s: float, description: str) -> Callable[[Command], Command]:
    """Make the option for how long to sample, in seconds."""
    return click.option(
        "--budget",
        "budget_s",
        metavar="SECONDS",
        type=float,
        default=default_s,
        show_default=True,
        callback=_require_positive,
        help=description,
    )


device_option = click.option(
    "--device",
    type=click.Choice(("auto", "cpu", "gpu", "tpu")),
    default="auto",
    show_default=True,
    help="Where to compute; auto is the best device.",
)
json_option = click.option(
    "--json",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="Save the results, for jaxcap results to read; - is standard output.",
)
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")


def require_library(name: str) -> None:
    """Refuse to go on without an optional library, before anything is measured."""
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
    """Refuse a size that can't fit on a device of this platform."""
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
    """Refuse a file that can't be written, without touching it."""
    from jaxcap.results import atomic

    if path == DASH:
        return
    try:
        atomic.require_writable(path, room_bytes=_ROOM_BYTES)
    except OSError as error:
        raise click.BadParameter(
            f"{path} can't be written ({error.strerror}): choose another.",
            param_hint=f"'{option}'",
        ) from error


@contextmanager
def refusing_unwritable(path: Path) -> Iterator[None]:
    """Say in a sentence that a file, although it was writable before, can't be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror}") from error


def write(path: Path, text: str) -> None:
    """Write text to a file, or to standard output if the path is ``-``."""
    from jaxcap.results.atomic import write_atomically

    if path == DASH:
        click.echo(text, nl=False)
    else:
        with refusing_unwritable(path):
            write_atomically(path, text)


def progress(*, hidden: bool, with_remaining_time: bool = False) -> Progress:
    """Make a display for terminals, redrawn on request: a thread would disturb what is timed."""
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    time = bars.TimeRemainingColumn() if with_remaining_time else bars.TimeElapsedColumn()
    return bars.Progress(
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        time,
        console=console,
        transient=True,
        auto_refresh=False,
        disable=hidden or not console.is_terminal,
    )


def _with_progress(bar: Progress, name: str, points: Points) -> Iterator[Point]:
    """Go through points, and show which of them is being measured."""
    task = bar.add_task(name, total=len(points))
    for point in points:
        parameters = ", ".join(f"{key} {value}" for key, value in point.items())
        bar.update(task, description=f"{name}: {parameters}", refresh=True)
        yield point
        bar.advance(task)


def _print(contents: Iterable[Any], *, err: bool) -> None:
    from rich.console import Console

    plain: Any = {"highlight": False, "emoji": False, "markup": False}
    console = Console(**plain, stderr=err)
    if console.is_terminal:
        console.print(*contents, sep="\n")
        return
    # In files and for programs, lines are as long as their text. What the encoding lacks, such as
    # the rules of tables, is replaced.
    text = TextIOWrapper(BytesIO(), console.encoding, errors="backslashreplace")
    Console(**plain, file=text, width=10_000).print(*contents, sep="\n")
    text.seek(0)
    click.echo("\n".join(line.rstrip() for line in text.read().splitlines()), err=err)


def _require_positive(_: click.Context, __: click.Parameter, seconds: float) -> float:
    """Refuse what is not a time, as a callback of an option."""
    if not (isfinite(seconds) and seconds > 0):
        raise click.BadParameter(f"{seconds} is not a positive number of seconds.")
    return seconds
