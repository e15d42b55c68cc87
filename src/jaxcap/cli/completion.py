"""The command that sets up shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from jaxcap.cli.options import PROGRAM


@click.command(
    epilog="\b\nExample: jaxcap completion bash > ~/.local/share/bash-completion/completions/jaxcap"
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that sets up shell completion.

    Save the script where your shell looks for completions.
    """
    script = get_completion_class(shell)
    assert script is not None
    cli = context.find_root().command
    click.echo(script(cli, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())
