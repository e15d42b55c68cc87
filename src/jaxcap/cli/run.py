"""One run of a command that computes: its device, its progress and its results."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from jaxcap.cli.options import (
    DASH,
    LIBRARIES,
    Function,
    InputError,
    budget_option,
    device_option,
    json_option,
    quiet_option,
    require_writable,
)
from jaxcap.cli.output import display, refusing_unwritable
from jaxcap.measure.machine.disturbance import BUSY_SHARE, Monitor
from jaxcap.measure.machine.lock import measuring_alone
from jaxcap.measure.progress import progress_bar
from jaxcap.results.tables import Table

if TYPE_CHECKING:
    from jaxcap.measure.experiment import Point, Points, Prepare
    from jaxcap.results import ResultSet


class Value(NamedTuple):
    """A computed value beside the expected one, both as text, and whether they agree up to rounding."""

    name: str
    computed: str
    expected: str
    agrees: bool


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
        The file to save results in. If it is ``-``, results go to standard output, and everything
        else to standard error.
    quiet
        Whether to print nothing.
    """

    device: str = "auto"
    budget_s: float = 1.0
    json: Path | None = None
    quiet: bool = False

    def start(self) -> None:
        """Choose the device and make sure that the results can be saved, before anything is measured."""
        if self.json:
            require_writable(self.json, "--json")
        if self.device == "cpu":
            import jax

            jax.config.update("jax_platforms", "cpu")  # type: ignore[no-untyped-call]
        platform = start_backend()
        if self.device not in ("auto", platform):
            raise InputError(
                f"--device {self.device}: JAX finds no {self.device.upper()} here (it computes on the "
                f"{platform.upper()}): leave the option out, or run `jaxcap doctor` to find out why"
            )

    def platforms(self, library: str = "jax") -> list[str]:
        """Return what a library can use of ``--device``, or by default of JAX's device and the CPU."""
        wanted = [self.device] if self.device != "auto" else [start_backend(), "cpu"]
        usable = [platform for platform in dict.fromkeys(wanted) if _can_use(library, platform)]
        if not usable:
            raise InputError(
                f"--device {self.device}: {LIBRARIES[library]} can't compute on the "
                f"{self.device.upper()} here: leave the option out"
            )
        return usable

    def show(self, *contents: Any) -> None:
        """Print tables or texts, unless the command is quiet."""
        if not self.quiet:
            display(*contents, err=self.json == DASH)

    def check(self, caption: str, values: Iterable[Value]) -> None:
        """Compute values, show them beside the expected ones, and fail if any of them disagree."""
        with progress_bar(hidden=self.quiet) as bar:
            bar.add_task(f"Checking: {caption}", total=None)
            values = list(values)
        rows = [(v.name, v.computed, v.expected, "yes" if v.agrees else "NO") for v in values]
        self.show(Table(caption, ("", "found", "expected", "as expected"), rows))
        if wrong := [value.name for value in values if not value.agrees]:
            raise click.ClickException(
                f"nothing was timed, because these values are not as expected: {', '.join(wrong)}"
            )

    def measure(self, experiment: str, prepare: Prepare, points: Points) -> ResultSet:
        """Measure variants at each point."""
        from jaxcap.measure.sampling import MeasurementError
        from jaxcap.measure.timing import sweep

        with (
            progress_bar(hidden=self.quiet) as bar,
            measuring_alone(),
            self._warning_of_other_work(),
        ):
            task = bar.add_task(experiment, total=len(points))

            def shown_points() -> Iterator[Point]:
                for point in points:
                    parameters = ", ".join(f"{key} {value}" for key, value in point.items())
                    bar.update(task, description=f"{experiment}: {parameters}", refresh=True)
                    yield point
                    bar.advance(task)

            try:
                return sweep(
                    prepare,
                    shown_points(),
                    experiment=experiment,
                    budget_s=self.budget_s,
                    on_round=bar.refresh,
                )
            except MeasurementError as error:
                raise click.ClickException(str(error)) from error

    @contextmanager
    def _warning_of_other_work(self) -> Iterator[None]:
        """Warn afterwards if other work took much of the CPU meanwhile: no sample shows that here."""
        monitor = Monitor(time.process_time())
        yield
        monitor.end_window(time.process_time(), at_once=True)
        (share,) = monitor.shares
        if share > BUSY_SHARE and not self.quiet:
            click.echo(
                f"Warning: other work took {share:.0%} of the CPU while this was measured, so times "
                "are too long: end it, and measure again",
                err=True,
            )

    def finish(self, results: ResultSet, *, over: str | None = None) -> None:
        """Show results, and their speed-ups over a variant if one is given; save them."""
        self.show(results.table(), *([results.speedups(over=over)] if over else []))
        self.save(results)

    def save(self, results: ResultSet) -> None:
        """Save results in the file that ``--json`` names, if it is given."""
        if self.json == DASH:
            click.echo(results.model_dump_json(indent=1))
        elif self.json:
            with refusing_unwritable(self.json):
                results.save(self.json)


def measuring_command(function: Function) -> Function:
    """Give a command the options that all measurements share, and pass it a `CommandRun` for them."""

    @device_option
    @budget_option(CommandRun.budget_s, "Time to spend on each variant, at each size.")
    @json_option
    @quiet_option
    @wraps(function)
    def command(
        *, device: str, budget_s: float, json: Path | None, quiet: bool, **others: Any
    ) -> None:
        run = CommandRun(device, budget_s, json, quiet)
        run.start()
        function(run, **others)

    return command


def start_backend() -> str:
    """Start JAX, and return the platform of its default device."""
    try:
        import jax

        return jax.default_backend()
    except (
        AssertionError,
        ImportError,
        RuntimeError,
    ) as error:  # JAX_PLATFORMS=cuda raises the first
        if platforms := os.environ.get("JAX_PLATFORMS"):
            raise InputError(
                f"the environment variable JAX_PLATFORMS is {platforms!r}, but JAX can't start that "
                "here: unset JAX_PLATFORMS, or run `jaxcap doctor` to find out why"
            ) from error
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"JAX doesn't start ({reason}): run `jaxcap doctor` to find out why"
        ) from error


def _can_use(library: str, platform: str) -> bool:
    if library == "pytorch" and platform == "gpu":
        import torch

        return torch.cuda.is_available()
    return platform == "cpu" or library in ("jax", "flax")
