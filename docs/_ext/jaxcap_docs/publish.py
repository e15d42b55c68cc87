"""What leaves the build beside its pages: results as JSON, the wheel, names of failed tutorials."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import jaxcap
from jaxcap.results import ResultSet, json_schema
from jaxcap.results.exports import as_csv
from jaxcap.results.files import write_atomically
from jaxcap.results.recordings import Recording, slug
from jaxcap_docs import records

WHEEL = f"jaxcap-{jaxcap.__version__}-py3-none-any.whl"
FAILED = records.BUILD / "failed-tutorials.txt"


def tell_failures(app: Sphinx, _: Exception | None) -> None:
    """Write which scripts failed and why, for the build command to end with."""
    note_failures(app.config.sphinx_gallery_conf)


def note_failures(gallery_conf: dict[str, Any], *more: str) -> None:
    """Write a line for each script that failed so far, and more lines."""
    failed: dict[str, str] = gallery_conf.get("failing_examples", {})
    lines = (
        f"{records.page_of_script(Path(script))} ({_reason(traceback)})"
        for script, traceback in failed.items()
    )
    FAILED.write_text("\n".join([*lines, *more]), encoding="utf-8")


def _reason(traceback: str) -> str:
    """Find the line below the stack: an exception and the first line of its message."""
    _, *lines = traceback.splitlines()
    kind, colon, message = next(line for line in lines if not line.startswith(" ")).partition(": ")
    return f"{kind.rpartition('.')[2]}{colon}{message}"


def write_results(app: Sphinx, exception: Exception | None) -> None:
    """Serve all results under ``results/``, of this build and of others, with an index.

    Raises
    ------
    ExtensionError
        If two pages measured an experiment of the same name.
    """
    if exception is not None or app.builder.format != "html":
        return
    target = app.outdir / "results"
    index = [
        *(_serve(target, some, "", page=page) for page, some in _measured_here()),
        *(
            _serve(target, some, folder_of(machine))
            for machine in records.others()
            for some in machine.sets.values()
        ),
    ]
    for name, content in (("schema.json", json_schema()), ("index.json", index)):
        write_atomically(target / name, json.dumps(content, indent=1) + "\n")


def folder_of(machine: Recording) -> str:
    """Where a machine's results are served: beside the index those of this build."""
    return "" if machine.live else f"recorded/{slug(machine.device.name)}/"


def _measured_here() -> Iterator[tuple[str, ResultSet]]:
    pages: dict[str, str] = {}
    for page, results in records.results_by_page():
        for name, some in results.by_experiment().items():
            if name in pages:
                raise ExtensionError(
                    f"{pages[name]} and {page} both measured an experiment named {name!r}: "
                    "rename one, so that their results do not overwrite each other"
                )
            pages[name] = page
            yield page, some


def _serve(
    target: Path, some: ResultSet, folder: str, *, page: str | None = None
) -> dict[str, Any]:
    experiment = some.results[0].experiment
    stem = f"{folder}{slug(experiment)}"
    some.save(target / f"{stem}.json")
    write_atomically(target / f"{stem}.csv", as_csv(some))
    return {
        "experiment": experiment,
        "file": f"{stem}.json",
        "page": page and f"tutorials/{page}.html",
        "device": str(some.environment.device),
        "measured_at": some.environment.measured_at.isoformat(),
        "results": len(some),
    }


def write_wheel(app: Sphinx, exception: Exception | None) -> None:
    """Serve this package under ``wheels/``, which is what a downloaded page needs to run.

    Raises
    ------
    ExtensionError
        If the wheel cannot be built.
    """
    if exception is not None or app.builder.format != "html":
        return
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    built = subprocess.run(
        [*command, app.outdir / "wheels"],
        cwd=app.srcdir.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        raise ExtensionError(f"the wheel that the site serves cannot be built: {built.stderr}")
