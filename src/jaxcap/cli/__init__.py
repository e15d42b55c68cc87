"""The ``jaxcap`` command.

You wait for whatever a command imports, so nothing is imported before it is needed: the module of a
command when that command is named, and what computes or prints when it runs. Help therefore appears as
soon as Click is there, and results can be read and an installation examined even where JAX, PyTorch
or Flax is missing or broken.

Commands:

- ``time``: your own functions.
- ``measure``: what the tutorials measure, such as ``jit``.
- ``mnist``: training on MNIST.
- ``record``: all experiments, in files that travel.
- ``releases``, ``bisect``: releases of JAX.
- ``results``, ``store``: files of results, and those that builds keep.
- ``doctor``, ``report``: this installation, and this machine.
- ``completion``: the shell.

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
from collections import UserDict
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

import click

from jaxcap import __version__
from jaxcap.cli.options import PROGRAM, InputError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The system's errors for output that can't be written. Windows has no EDQUOT.
_OUTPUT_ERRORS = {errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, getattr(errno, "EDQUOT", None)}

# By section of the help: the module of each command, and the first line of its help.
SECTIONS = {
    "Measure": {
        "time": ("time", "Time your own function as this site times its own."),
        "xla": ("measure", "Measure how fast a library does linear algebra."),
        "jit": ("measure", "Measure what compiling a function with jax.jit gains."),
        "scipy": ("measure", "Measure how fast BFGS calibrates a sensor, in SciPy or in JAX."),
        "autograd": ("measure", "Measure how fast PyTorch or JAX computes derivatives."),
        "dispatch": ("measure", "Measure the overhead of a call."),
    },
    "Train": {
        "mnist": ("mnist", "Train a network to read handwritten digits."),
    },
    "Record": {
        "record": ("record", "Record the experiments of the tutorials on the best device."),
        "store": ("store", "List and delete the results that builds of the site keep."),
    },
    "Releases of JAX": {
        "releases": ("releases", "Measure the same benchmarks under many releases of JAX."),
        "bisect": (
            "bisect",
            "Find the release of JAX that made your function slower or faster.",
        ),
    },
    "Results": {
        "results": ("results", "Read, compare and convert files of results."),
    },
    "This installation": {
        "doctor": ("doctor", "Find out what is wrong with this installation."),
        "report": ("report", "Find out in two minutes what this machine does with JAX."),
        "completion": ("completion", "Print a script that sets up shell completion."),
    },
}


class LazyCommands(UserDict[str, Any]):
    """Commands by name. Each is imported when it is looked up, so their names alone cost nothing."""

    def __getitem__(self, name: str) -> click.Command:
        """Import a command."""
        module, _ = self.data[name]
        command: click.Command = getattr(import_module(f"{__name__}.{module}"), name)
        return command


class CommandGroup(click.Group):
    """All commands, listed by section in the help. Errors become sentences for the user."""

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of each section."""
        width = max(map(len, self.commands))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), line) for name, (_, line) in commands.items()]
                )

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command or an option, without importing the commands."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=line)
            for commands in SECTIONS.values()
            for name, (_, line) in commands.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, context, incomplete)

    def invoke(self, context: click.Context) -> Any:
        """Run a command, and report the errors that several commands share as input errors."""
        try:
            return super().invoke(context)
        except (click.ClickException, click.exceptions.Exit):
            raise  # the latter ends each help
        except MemoryError as error:
            raise InputError(
                "this machine doesn't have enough memory for that: choose a smaller size"
            ) from error
        except (RuntimeError, ValueError) as error:
            from jaxcap.measure.machine.lock import BusyError
            from jaxcap.mnist.data import DataError

            if isinstance(error, BusyError | DataError):
                raise InputError(str(error)) from error
            raise


@click.group(
    cls=CommandGroup,
    commands=LazyCommands({k: v for commands in SECTIONS.values() for k, v in commands.items()}),
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
