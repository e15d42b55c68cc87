"""What the site serves to programs: results as JSON and CSV, and the package as a wheel."""

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
from jaxcap.results.atomic import write_atomically
from jaxcap.results.exports import as_csv
from jaxcap.results.files import slug
from jaxcap.results.recordings import Recording
from jaxcap_docs import records

WHEEL = f"jaxcap-{jaxcap.__version__}-py3-none-any.whl"


def write_results(app: Sphinx) -> None:
    """Serve all results under ``results/``, of this build and of others, with an index.

    Raises
    ------
    ExtensionError
        If two pages measured an experiment of the same name.
    """
    target = app.outdir / "results"
    index = [
        *(_serve(target, results, "", page=page) for page, results in _measured_here()),
        *(
            _serve(target, results, folder_of(machine))
            for machine in records.other_recordings()
            for results in machine.sets.values()
        ),
    ]
    for name, content in (("schema.json", json_schema()), ("index.json", index)):
        write_atomically(target / name, json.dumps(content, indent=1) + "\n")


def folder_of(machine: Recording) -> str:
    """Return the folder of a machine's results: those of this build are beside the index."""
    return "" if machine.live else f"recorded/{machine.folder}/"


def _measured_here() -> Iterator[tuple[str, ResultSet]]:
    pages: dict[str, str] = {}
    for page, everything in records.results_by_page():
        for name, results in everything.by_experiment().items():
            if name in pages:
                raise ExtensionError(
                    f"{pages[name]} and {page} both measured an experiment named {name!r}: "
                    "rename one, so that their results do not overwrite each other"
                )
            pages[name] = page
            yield page, results


def _serve(
    target: Path, results: ResultSet, folder: str, *, page: str | None = None
) -> dict[str, Any]:
    experiment = results[0].experiment
    stem = f"{folder}{slug(experiment)}"
    results.save(target / f"{stem}.json")
    write_atomically(target / f"{stem}.csv", as_csv(results))
    return {
        "experiment": experiment,
        "file": f"{stem}.json",
        "page": page and f"tutorials/{page}.html",
        "device": str(results.environment.device),
        "measured_at": results.environment.measured_at.isoformat(),
        "results": len(results),
    }


def write_wheel(app: Sphinx) -> None:
    """Serve this package under ``wheels/``, which is what a downloaded page needs to run.

    Raises
    ------
    ExtensionError
        If the wheel cannot be built.
    """
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
