"""Results as JSON and CSV, with an index of them all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from jaxcap.results import ResultSet, json_schema
from jaxcap.results.atomic import write_atomically
from jaxcap.results.exports import as_csv
from jaxcap.results.recordings import slug
from jaxcap_docs import records
from jaxcap_docs.downloads import results_folder


def write(app: Sphinx) -> None:
    """Serve all results under ``results/``, of this build and of others, with an index.

    Raises
    ------
    ExtensionError
        If two pages measured an experiment of the same name.
    """
    target = app.outdir / "results"
    index = [
        *(_serve(target, results, "", page=page) for page, results in _results_here()),
        *(
            _serve(target, results, results_folder(machine))
            for machine in records.other_recordings()
            for results in machine.sets.values()
        ),
    ]
    for name, content in (("schema.json", json_schema()), ("index.json", index)):
        write_atomically(target / name, json.dumps(content, indent=1) + "\n")


def _results_here() -> Iterator[tuple[str, ResultSet]]:
    pages: dict[str, str] = {}
    for page, results in records.results_here():
        experiment = results[0].experiment
        if experiment in pages:
            raise ExtensionError(
                f"{pages[experiment]} and {page} both measured an experiment named {experiment!r}: "
                "rename one, so that their results do not overwrite each other"
            )
        pages[experiment] = page
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
