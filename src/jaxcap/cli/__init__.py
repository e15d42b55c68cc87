"""The ``jaxcap`` command.

None of its modules imports JAX, PyTorch or Flax at the top. Help therefore appears in a fraction of a
second, and results can be read and an installation examined even where one of them is missing or broken.

Commands:

- ``time``: your own functions.
- ``measure``: what the tutorials measure, such as ``jit``.
- ``mnist``: training on MNIST.
- ``record``: all experiments, in files that travel.
- ``releases``, ``bisect``: releases of JAX.
- ``results``, ``store``: files of results, and those that builds keep.
- ``doctor``, ``report``: this installation, and this machine.

What they share:

- ``run``: one run of a command that computes.
- ``options``: options, and checks of their values.
- ``checks``: checks of what commands compute.
- ``output``: tables, texts and files.
"""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper
from typing import Any, NoReturn

import click
from click.shell_completion import get_completion_class

from jaxcap import __version__
from jaxcap.cli.bisect import bisect
from jaxcap.cli.doctor import doctor
from jaxcap.cli.measure import autograd, dispatch, jit, scipy, xla
from jaxcap.cli.mnist import mnist
from jaxcap.cli.options import InputError
from jaxcap.cli.record import record
from jaxcap.cli.releases import releases
from jaxcap.cli.report import report
from jaxcap.cli.results import results
from jaxcap.cli.store import store
from jaxcap.cli.time import time
from jaxcap.measure.machine.lock import BusyError
from jaxcap.mnist.data import DataError

PROGRAM = "jaxcap"
# The system's errors for output that can't be written. Windows has no EDQUOT.
_OUTPUT_ERRORS = {errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, getattr(errno, "EDQUOT", None)}


@click.command(
    epilog="\b\nExample: jaxcap completion bash > ~/.local/share/bash-completion/completions/jaxcap"
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print a script that sets up shell completion.

    Save the script where your shell looks for completions.
    """
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(cli, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


SECTIONS = {
    "Measure": (time, xla, jit, scipy, autograd, dispatch),
    "Train": (mnist,),
    "Record": (record, store),
    "Releases of JAX": (releases, bisect),
    "Results": (results,),
    "This installation": (doctor, report, completion),
}


class CommandGroup(click.Group):
    """All commands, listed by section in the help. Errors become sentences for the user."""

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of each section."""
        width = max(map(len, self.commands))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                rows = [(str(c.name).ljust(width), c.get_short_help_str(80)) for c in commands]
                formatter.write_dl(rows)

    def invoke(self, context: click.Context) -> Any:
        """Run a command, and report the errors that several commands share as input errors."""
        try:
            return super().invoke(context)
        except (BusyError, DataError) as error:
            raise InputError(str(error)) from error
        except MemoryError as error:
            raise InputError(
                "this machine doesn't have enough memory for that: choose a smaller size"
            ) from error


@click.group(
    cls=CommandGroup,
    commands=[command for commands in SECTIONS.values() for command in commands],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExample: jaxcap jit --budget 0.1\nTutorials: https://jaxcap.github.io/jaxcap",
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def cli() -> None:
    """Learn JAX by measuring it: run the tutorials' experiments from the command line.

    A command that measures first checks the values that it computes, then prints how long each way
    of computing them takes, with an interval for every time.
    """


def main() -> NoReturn:
    """Run the command that the arguments name, and exit as the shell expects."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(
            errors="backslashreplace"
        )  # escape characters that the encoding lacks
    try:
        code = cli.main(prog_name=PROGRAM, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except OSError as error:
        message = str(error)
        if error.filename is None and error.errno in _OUTPUT_ERRORS:
            # Only standard output has no name. Discard its buffer, or Python tries to write it again
            # at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            message = f"can't write to standard output: {error.strerror}"
        click.echo(f"Error: {message}", err=True)
        code = 1
    except click.Abort:
        click.echo("Interrupted.", err=True)
        sys.stdout.flush()
        os._exit(130)  # 128 + SIGINT; a regular exit may crash in XLA's threads
    sys.exit(code)
