"""The command that examines an installation."""

from __future__ import annotations

import json
from pathlib import Path

import click

from jaxcap.cli.options import FILE_TO_WRITE
from jaxcap.cli.output import display, write


@click.command(epilog="Example: jaxcap doctor --require gpu")
@click.option(
    "--json",
    "report",
    metavar="[FILE]",
    type=FILE_TO_WRITE,
    is_flag=False,
    flag_value="-",
    help="Print the report as JSON, for example for a bug report, or save it in FILE.",
)
@click.option(
    "--require",
    type=click.Choice(("gpu", "tpu")),
    help="Also fail if JAX computes on any other kind of device.",
)
@click.pass_context
def doctor(context: click.Context, report: Path | None, require: str | None) -> None:
    """Find out what is wrong with this installation.

    Examines the device that JAX uses, the versions of JAX, of its CUDA plugin and of the driver,
    PyTorch, GPU memory, and how busy the machine is. Says what to do about each problem and exits
    with 1, unless the only problem is other work, which may end by itself.
    """
    from jaxcap.measure.machine import doctor as installation
    from jaxcap.results.environment import provenance
    from jaxcap.results.tables import Table

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
        note = f"Problems: {problems}." if problems else "No problems were found."
        rows = [(subject, state, remedy or "nothing") for subject, state, remedy, _ in findings]
        display(Table("Installation", ("", "found", "what to do"), rows, [note]))
        if machine:
            display("", Table("What timings depend on", ("", "found"), list(machine.items())))
    if require and facts.backend != require:
        backend = (
            f"computes on the {facts.backend.upper()}"
            if facts.backend
            else "has no working backend"
        )
        raise click.ClickException(f"--require {require}: JAX {backend}")
    context.exit(1 if any(f.remedy and not f.is_transient for f in findings) else 0)
