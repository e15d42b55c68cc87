"""The command that looks for what is wrong with an installation."""

from __future__ import annotations

import click

from jaxcap.cli.running import CommandRun


@click.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Find what is wrong with an installation.

    Does JAX use what this machine has? Looks at the device, the versions of JAX, its plugin and the driver, PyTorch, and memory. Exits
    with 1 if there is a problem, and says what to do.
    """
    from jaxcap.measure.doctor import diagnose, examine
    from jaxcap.results.tables import Table

    findings = diagnose(examine())
    rows = [(one.subject, one.found, one.remedy or "in order") for one in findings]
    problems = sum(bool(one.remedy) for one in findings)
    note = f"Problems: {problems}." if problems else "No problem was found."
    CommandRun().show(Table("Installation", ("", "found", "what to do"), rows, [note]))
    context.exit(1 if problems else 0)
