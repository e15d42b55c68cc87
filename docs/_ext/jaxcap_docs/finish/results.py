"""Results as JSON and CSV, with an index of them all."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from jaxcap.report.exports import as_csv
from jaxcap.results import ResultSet, json_schema
from jaxcap.results.atomic import write_atomically
from jaxcap.results.files import slug
from jaxcap_docs import page_records
from jaxcap_docs.downloads import results_folder
from jaxcap_docs.release_records import MAP, map_script, recorded, served_folder
from jaxcap_docs.sources import make_if_changed, package_files

INDEX, SCHEMA = "index.json", "schema.json"


def write(app: Sphinx) -> None:
    """Serve all results under ``results/``, unless they are the same as in the last build."""
    folders = (page_records.RECORDS, page_records.RECORDED)
    sources = (path for folder in folders for path in folder.rglob("*.*"))
    target = app.outdir / "results"
    write_all = partial(_write_all, target)
    make_if_changed(app, target / INDEX, (*sources, *package_files()), write_all)


def _write_all(target: Path) -> None:
    """Write the results of this build and of others, with an index."""
    pages = {name: page for name, (page, _) in page_records.results_of_build().items()}
    index = [
        _serve(
            target,
            f"{results_folder(machine)}{slug(name)}",
            results,
            page=f"tutorials/{pages[name]}.html" if machine.live else None,
        )
        for machine in page_records.recordings()
        for name, results in machine.sets.items()
    ]
    for releases in recorded()[:1]:
        write_atomically(target / MAP, map_script(releases))
    for releases in recorded():
        for part in filter(None, (releases, releases.second_recording)):
            files, folder = part.files, served_folder(part.files)
            for name, results in part.sets.items():
                index.append(_serve(target, f"{folder}{files.path(name).stem}", results))
            for path in (*files.folder.glob("*.txt"), *files.folder.glob("*.csv")):
                write_atomically(target / folder / path.name, path.read_text(encoding="utf-8"))
    for name, content in ((SCHEMA, json_schema()), (INDEX, index)):
        write_atomically(target / name, json.dumps(content, indent=1) + "\n")


def _serve(
    target: Path, stem: str, results: ResultSet, *, page: str | None = None
) -> dict[str, Any]:
    """Write results as JSON and CSV, and return their entry in the index."""
    results.save(target / f"{stem}.json")
    write_atomically(target / f"{stem}.csv", as_csv(results))
    return {
        "experiment": results[0].experiment,
        "file": f"{stem}.json",
        "page": page,
        "device": str(results.environment.device),
        "measured_at": results.environment.measured_at.isoformat(),
        "results": len(results),
    }
