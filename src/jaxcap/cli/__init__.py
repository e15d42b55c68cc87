"""The ``jaxcap`` command.

When they are imported, its modules import click alone, so that help and completion appear at once:
a command imports what it measures with when it runs.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import NoReturn

import click

from jaxcap import __version__
from jaxcap.cli.doctor import doctor
from jaxcap.cli.measuring import autograd, dispatch, jit, scipy, xla
from jaxcap.cli.mnist import mnist
from jaxcap.cli.recording import record
from jaxcap.cli.results import results

PROGRAM = "jaxcap"


@click.command(epilog="Example: jaxcap completion zsh")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print a script for shell completion.

    For bash: jaxcap completion bash > ~/.local/share/bash-completion/completions/jaxcap
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(cli, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


SECTIONS = {
    "Measure": (xla, jit, scipy, autograd, dispatch),
    "Train": (mnist,),
    "Record": (record,),
    "Results": (results,),
    "This installation": (doctor, completion),
}


class SectionedGroup(click.Group):
    """A group whose help lists commands by section."""

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list of commands for each of the sections."""
        width = max(map(len, self.commands))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                rows = [(str(c.name).ljust(width), c.get_short_help_str(80)) for c in commands]
                formatter.write_dl(rows)


@click.group(
    cls=SectionedGroup,
    commands=[command for commands in SECTIONS.values() for command in commands],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExample: jaxcap jit --budget 0.1\nTutorials: https://jaxcap.github.io/jaxcap",
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def cli() -> None:
    """Learn JAX by measuring it: the tutorials' experiments from the command line.

    Each command prints values that can be checked, then times, each with its interval.
    """


def main() -> NoReturn:
    """Run the command that the arguments name, and exit as the shell expects."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no encoding is too small for a table
    try:
        code = cli.main(prog_name=PROGRAM, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except MemoryError:
        click.echo("Error: there is not enough memory for that: choose a smaller size.", err=True)
        code = 2
    except OSError as error:
        click.echo(f"Error: {_explain(error)}", err=True)
        code = 1
    except click.Abort:
        click.echo("Interrupted.", err=True)
        sys.stdout.flush()
        os._exit(130)  # 128 and SIGINT; XLA's threads may crash a process that ends by itself
    sys.exit(code)


def _explain(error: OSError) -> str:
    if error.filename is not None:
        return str(error)
    # Commands name the files that they fail to write. What is left in the buffer of standard output
    # would be written at exit again, and fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return f"standard output can't be written: {error.strerror}"
