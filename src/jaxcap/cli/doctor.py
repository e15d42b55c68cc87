"""The command that examines an installation."""

from __future__ import annotations

import json
from pathlib import Path

import click

from jaxcap.cli.output import display, write
from jaxcap.measure.machine import doctor as installation
from jaxcap.results.environment import provenance
from jaxcap.results.tables import Table


@click.command(epilog="Example: jaxcap doctor --require gpu")
@click.option(
    "--json",
    "report",
    metavar="[FILE]",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    is_flag=False,
    flag_value="-",
    help="Print the report as JSON, for instance for a bug report, or save it in a file.",
)
@click.option(
    "--require",
    type=click.Choice(("gpu", "tpu")),
    help="Also fail if JAX computes on anything else.",
)
@click.pass_context
def doctor(context: click.Context, report: Path | None, require: str | None) -> None:
    """Find what is wrong with an installation.

    Examines the device that JAX uses, the versions of JAX, its plugin and the driver, PyTorch,
    memory, and how busy the machine is. If there is a problem, says what to do and exits with 1,
    unless it may pass by itself.
    """
    facts = installation.examine()
    findings = installation.diagnose(facts)
    machine: dict[str, str] = {}
    if facts.backend:
        from jaxcap.measure.machine.description import capture

        machine = dict(provenance(capture()))
    if report:
        content = {"findings": [finding._asdict() for finding in findings], "machine": machine}
        write(report, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    else:
        problems = sum(bool(finding.remedy) for finding in findings)
        note = f"Problems: {problems}." if problems else "No problem was found."
        rows = [(subject, state, remedy or "in order") for subject, state, remedy, _ in findings]
        display(Table("Installation", ("", "found", "what to do"), rows, [note]))
        if machine:
            display("", Table("What timings depend on", ("", "found"), list(machine.items())))
    if require and facts.backend != require:
        backend = (
            f"computes on {facts.backend.upper()}" if facts.backend else "has no working backend"
        )
        raise click.ClickException(f"JAX {backend}, and {require.upper()} is required")
    context.exit(1 if any(f.remedy and not f.is_transient for f in findings) else 0)
