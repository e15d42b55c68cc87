"""The command that times a reader's own function."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxcap.cli.options import (
    InputError,
    budget_option,
    json_option,
    processes_option,
    quiet_option,
    require_function,
)
from jaxcap.cli.run import CommandRun
from jaxcap.measure.machine.lock import measuring_alone
from jaxcap.measure.progress import progress_bar

if TYPE_CHECKING:
    from jaxcap.results import ResultSet


@click.command(epilog="\b\nExample: jaxcap time script.py:step --setup script.py:make_inputs")
@click.argument("function", metavar="SCRIPT.PY:FUNCTION")
@click.option("--setup", default="", help="Function that returns the arguments, as a tuple.")
@click.option("--over", default="", help="Function to compare it with, given the same arguments.")
@processes_option(
    6, "Number of fresh processes, which take turns. With fewer, intervals are wider."
)
@budget_option(0.5, "Time to spend on each function, in each process.")
@json_option
@quiet_option
def time(
    function: str,
    setup: str,
    over: str,
    processes: int,
    budget_s: float,
    json: Path | None,
    quiet: bool,
) -> None:
    """Time your own function as this site times its own.

    Name a function in a script, or in a module, as in package.module:function. It is called as it
    is, so apply jax.jit yourself if you want to. The first call in each process is timed separately.
    """
    require_function(function, "SCRIPT.PY:FUNCTION")
    for reference, option in (setup, "--setup"), (over, "--over"):
        if reference:
            require_function(reference, option)
    if over == function:
        raise InputError(f"--over {over}: that is the same function: name another, or leave it out")
    run = CommandRun(budget_s=budget_s, json=json, quiet=quiet)
    run.start()
    functions = {reference: reference for reference in (over, function) if reference}
    results = _measure(run, setup, functions, processes)
    run.finish(results, over=over or None)
    if over:
        from jaxcap.report.findings import comparison

        speedup = results.speedup(function, over=over)
        run.show(f"{comparison(function, over, speedup)}.")


def _measure(run: CommandRun, setup: str, functions: dict[str, str], processes: int) -> ResultSet:
    """Measure functions in fresh processes, with a progress bar. Errors and warnings are sentences."""
    from jaxcap.measure.digest import digest
    from jaxcap.measure.functions import prepare, reason_of
    from jaxcap.measure.processes import ProcessError
    from jaxcap.measure.timing import MAX_ROUNDS
    from jaxcap.measure.turns import measure_in_turns
    from jaxcap.measure.worker import Task

    task = Task(
        name="time",
        reference=f"{prepare.__module__}:{prepare.__name__}",
        points=({"setup": setup, **functions},),
        sample_s=run.budget_s / MAX_ROUNDS,
        allocator="steady",
        empty_caches=True,
    )
    with (
        progress_bar(hidden=run.quiet) as bar,
        measuring_alone(),
        warnings.catch_warnings(record=True) as caught,
    ):
        shown = bar.add_task("starting processes", total=1)
        try:
            results = measure_in_turns(
                task,
                processes=processes,
                budget_s=run.budget_s,
                code=digest(prepare.__module__),
                on_progress=lambda share: bar.update(
                    shown, description="measuring", completed=share, refresh=True
                ),
            )
        except ProcessError as error:
            reason = reason_of(str(error))
            if not setup and "required positional argument" in reason:
                reason += ": with --setup, name a function that returns its arguments"
            raise InputError(f"nothing was timed: {reason}") from error
    for warning in caught:
        click.echo(f"Warning: {warning.message}", err=True)
    # What was measured is the variant; its arguments are nobody's parameters.
    return results.subset(result.model_copy(update={"parameters": {}}) for result in results)
