"""The command that reports on this machine.

- ``measuring``: what is measured, in the time that there is.
- ``sections``: the sections of the report.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxcap.cli.options import DASH, InputError, quiet_option, require_writable
from jaxcap.cli.output import refusing_unwritable, write
from jaxcap.cli.report.measuring import FULL, QUICK, Measured, measure
from jaxcap.measure.machine import doctor as installation
from jaxcap.measure.machine.limits import limits
from jaxcap.measure.progress import progress_bar

if TYPE_CHECKING:
    from jaxcap.report.document import Document

_file = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.command(epilog="Example: jaxcap report --text - --json report.json")
@click.option("--quick", is_flag=True, help="Take 20 seconds, in which less can be measured.")
@click.option(
    "--html",
    metavar="FILE",
    type=_file,
    default="jaxcap-report.html",
    show_default=True,
    help="Save the report in FILE, as a page that needs no other file.",
)
@click.option("--json", metavar="FILE", type=_file, help="Save it as JSON as well.")
@click.option(
    "--text",
    metavar="FILE",
    type=_file,
    default="-",
    show_default=True,
    help="Save it as text for an issue; - means standard output, for the other files too.",
)
@click.option(
    "--results",
    metavar="FILE",
    type=_file,
    help="Save what was measured, for jaxcap results and for the pages of the site.",
)
@quiet_option
def report(
    quick: bool, html: Path, json: Path | None, text: Path, results: Path | None, quiet: bool
) -> None:
    """Find out in two minutes what this machine does with JAX.

    Reports what is wrong with the installation, what limits this process, how quiet the machine is,
    what its device can do at most, what a call costs, which claims of the tutorials hold here, and
    what is known about this release of JAX. Parts that can't be found out say why.
    """
    start_s = time.monotonic()
    files = _files(html=html, json=json, text=text, results=results)
    if quiet and files.get("text") == DASH:
        del files["text"]
    with progress_bar(hidden=quiet) as bar:
        shown = bar.add_task("examining the installation", total=1)
        bar.refresh()
        facts, here = installation.examine(), limits()

        def on_progress(names: str) -> None:
            done = (time.monotonic() - start_s) / effort.limit_s
            description = f"measuring {names}"[:60]
            bar.update(shown, description=description, completed=min(done, 1), refresh=True)

        effort = QUICK if quick else FULL
        measured = measure(effort, facts, here, start_s=start_s, on_progress=on_progress)
        bar.update(shown, description="writing the report", refresh=True)
        # Imported here because they import Matplotlib, which takes long.
        from jaxcap.cli.report import sections
        from jaxcap.report.document import Document

        document = Document(
            f"JAX on {sections.machine_name(measured)}", sections.build(facts, here, measured)
        )
    _write(files, document, measured)


def _files(**files: Path | None) -> dict[str, Path]:
    """Return the files that are asked for, if all of them can be written."""
    asked = {option: path for option, path in files.items() if path}
    if asked.get("text") == DASH and DASH in (asked.get("json"), asked.get("html")):
        del asked["text"]  # it is there by default
    on_output = [f"--{option}" for option, path in asked.items() if path == DASH]
    if len(on_output) > 1:
        raise InputError(
            f"{' and '.join(on_output)} can't both go to standard output: name a file for one of them"
        )
    for option, path in asked.items():
        require_writable(path, f"--{option}")
    return asked


def _write(files: Mapping[str, Path], document: Document, measured: Measured) -> None:
    """Write all files, and say where they are."""
    forms = {"html": document.html, "json": document.json, "text": document.text}
    for option, path in files.items():
        if option in forms:
            write(path, forms[option]())
        elif measured.results is None:
            click.echo(f"Nothing was measured, so {path} was not written.", err=True)
            continue
        elif path == DASH:
            click.echo(measured.results.model_dump_json(indent=1))
        else:
            with refusing_unwritable(path):
                measured.results.save(path)
        if path != DASH:
            click.echo(f"saved {path}", err=True)
