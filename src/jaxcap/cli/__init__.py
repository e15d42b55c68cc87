"""The ``jaxcap`` command.

Its modules import click alone when they are imported, so that help and completion are there at
once: a command imports what it measures with when it runs.
"""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from jaxcap.cli.doctor import doctor
from jaxcap.cli.measuring import autograd, dispatch, jit, scipy, xla
from jaxcap.cli.mnist import mnist
from jaxcap.cli.recording import record
from jaxcap.cli.results import results

PROGRAM = "jaxcap"


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from jaxcap import __version__
    from jaxcap.measure.machine import capture
    from jaxcap.results.environment import provenance

    click.echo(f"{PROGRAM} {__version__}")
    for label, text in provenance(capture()).items():
        click.echo(f"{label}: {text}")
    context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and what timings here depend on.",
)
def cli() -> None:
    """Learn JAX by measuring it: the tutorials' experiments from the command line.

    Each command prints values that can be checked, then times, each with its interval.
    """


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print a script for shell completion.

    For bash: jaxcap completion bash > ~/.local/share/bash-completion/completions/jaxcap
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(cli, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


for command in xla, jit, scipy, autograd, dispatch, mnist, record, doctor, results, completion:
    cli.add_command(command)


def main() -> NoReturn:
    """Run the command that the arguments name, and exit as the shell expects."""
    try:
        code = cli.main(prog_name=PROGRAM, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except MemoryError:
        click.echo("Error: there is not enough memory for that: choose a smaller size.", err=True)
        code = 2
    except click.Abort:
        click.echo("Interrupted.", err=True)
        code = 130  # 128 and the number of SIGINT
    sys.exit(code)
