"""What leaves the build beside its pages: results as JSON, the wheel, names of failed tutorials."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from jaxcap.results import json_schema
from jaxcap_docs import records

FAILED = records.BUILD / "failed-tutorials.txt"


def tell_failures(app: Sphinx, _: Exception | None) -> None:
    """Write which scripts raised, for the build command to end with."""
    failed = app.config.sphinx_gallery_conf.get("failing_examples", {})
    names = sorted(records.page_of_script(Path(script)) for script in failed)
    FAILED.write_text("\n".join(names), encoding="utf-8")


def write_results(app: Sphinx, exception: Exception | None) -> None:
    """Serve the results of this build under ``results/``, a file for each experiment.

    Raises
    ------
    ExtensionError
        If two pages measured an experiment of the same name.
    """
    if exception is not None or app.builder.format != "html":
        return
    index = []
    pages: dict[str, str] = {}
    for page, results in records.results_by_page():
        for name, some in results.by_experiment().items():
            if name in pages:
                raise ExtensionError(
                    f"{pages[name]} and {page} both measured an experiment named {name!r}: "
                    "rename one, so that their results do not overwrite each other"
                )
            pages[name] = page
            file = f"{name.replace(' ', '-')}.json"
            some.save(app.outdir / "results" / file)
            index.append(
                {
                    "experiment": name,
                    "file": file,
                    "page": f"tutorials/{page}.html",
                    "device": str(results.environment.device),
                    "measured_at": results.environment.measured_at.isoformat(),
                    "results": len(some),
                }
            )
    (app.outdir / "results").mkdir(exist_ok=True)
    schema = json.dumps(json_schema(), indent=1) + "\n"
    (app.outdir / "results" / "schema.json").write_text(schema, encoding="utf-8")
    target = app.outdir / "results" / "index.json"
    target.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


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
