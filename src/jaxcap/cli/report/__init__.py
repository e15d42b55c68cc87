"""The command that reports on this machine.

- ``measuring``: what is measured, in the time that there is.
- ``sections``: the sections of the report.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

import click

from jaxcap.cli.options import DASH, FILE_TO_WRITE, InputError, quiet_option, require_writable
from jaxcap.cli.output import write
from jaxcap.cli.run import CommandRun
from jaxcap.measure.machine import doctor as installation
from jaxcap.measure.machine.limits import limits
from jaxcap.measure.progress import progress_bar

if TYPE_CHECKING:
    from jaxcap.cli.report.measuring import Measured
    from jaxcap.report.document import Document


@click.command(epilog="Example: jaxcap report --html report.html --json report.json")
@click.option("--quick", is_flag=True, help="Take 20 seconds, in which less can be measured.")
@click.option(
    "--html",
    metavar="FILE",
    type=FILE_TO_WRITE,
    default="jaxcap-report.html",
    show_default=True,
    help="Save the report in FILE, as a page that needs no other file.",
)
@click.option("--json", metavar="FILE", type=FILE_TO_WRITE, help="Save it as JSON as well.")
@click.option(
    "--text",
    metavar="FILE",
    type=FILE_TO_WRITE,
    help="Save it as text for an issue. Default: standard output, unless another option writes there "
    "by -.",
)
@click.option(
    "--results",
    metavar="FILE",
    type=FILE_TO_WRITE,
    help="Save what was measured, for jaxcap results and for the pages of the site.",
)
@quiet_option
def report(
    quick: bool,
    html: Path,
    json: Path | None,
    text: Path | None,
    results: Path | None,
    quiet: bool,
) -> None:
    """Find out in two minutes what this machine does with JAX.

    Reports what is wrong with the installation, what limits this process, and how quiet the machine
    is. Measures what its device can do at most, what a call costs, and which claims of the tutorials
    hold here. Adds what is known about this release of JAX. Parts that can't be found out say why.
    """
    from jaxcap.cli.report import measuring

    start_s = time.monotonic()
    if not (text or quiet or DASH in (html, json, results)):
        text = DASH
    files = _files(html=html, json=json, text=text, results=results)
    with progress_bar(hidden=quiet) as bar:
        shown = bar.add_task("examining the installation", total=1)
        bar.refresh()
        facts, here = installation.examine(), limits()

        def on_progress(names: str) -> None:
            done = (time.monotonic() - start_s) / effort.limit_s
            description = f"measuring {names}"[:60]
            bar.update(shown, description=description, completed=min(done, 1), refresh=True)

        effort = measuring.QUICK if quick else measuring.FULL
        measured = measuring.measure(effort, facts, here, start_s=start_s, on_progress=on_progress)
        bar.update(shown, description="writing the report", refresh=True)
        # Imported here because that takes long.
        import matplotlib as mpl

        mpl.use("agg")  # a report opens no window, and needs no library for them
        from jaxcap.cli.report import sections
        from jaxcap.report.document import Document

        document = Document(sections.title(measured), sections.build(facts, here, measured))
    for line in _write(files, document, measured):
        if not quiet:
            click.echo(line, err=True)


def _files(**files: Path | None) -> dict[str, Path]:
    """Return the files that are asked for, if all of them can be written."""
    asked = {option: path for option, path in files.items() if path}
    try:
        gettempdir()
    except FileNotFoundError as error:
        raise InputError(
            "no folder for temporary files can be written to: set TMPDIR to one that can"
        ) from error
    for option, path in asked.items():
        if same := [f"--{other}" for other in asked if other != option and asked[other] == path]:
            raise InputError(
                f"--{option} and {' and '.join(same)} name the same file, {path}: name another one"
            )
        require_writable(path, f"--{option}")
    return asked


def _write(files: Mapping[str, Path], document: Document, measured: Measured) -> Iterator[str]:
    """Write all files, and tell which."""
    from jaxcap.cli.report.sections.claims import SITE

    forms = {"html": document.html, "json": document.json, "text": document.text}
    for option, path in files.items():
        if option in forms:
            write(path, forms[option]())
        elif measured.results is None:
            yield f"Nothing was measured, so {path} was not written."
            continue
        else:
            CommandRun(json=path).save(measured.results)
        if path != DASH:
            yield f"saved {path}"
            if option == "results":
                yield (
                    "choose that file on a page of the site to see your numbers there, such as "
                    f"{SITE}/results/claims.html"
                )
