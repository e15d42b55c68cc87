"""The rules by which readers' own files are judged in the browser: the schema, limits, constants, claims.

The scripts in ``_static/reader`` follow them. The modules that define them here have the reasons.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import scipy  # imports its parts when they are first used, which takes long
from sphinx.application import Sphinx

from jaxcap.report.statements import TutorialClaim
from jaxcap.results import files, json_schema, models, statistics
from jaxcap.results.atomic import write_atomically
from jaxcap_docs import page_records
from jaxcap_docs.read.links import claim_id
from jaxcap_docs.sources import make_if_changed, package_files
from jaxcap_docs.statements import claims_of_build

MAX_PROCESSES = 100


def write(app: Sphinx) -> None:
    """Write the rules as a script beside those that follow them, unless nothing has changed."""
    file = app.outdir / "_static" / "reader" / "rules.js"
    sources = (*page_records.RECORDS.rglob("*.json"), *package_files())
    make_if_changed(app, file, sources, partial(_write, file))


def _write(file: Path) -> None:
    write_atomically(file, as_script(claims_of_build()))


def as_script(claims: Iterable[TutorialClaim] = ()) -> str:
    """Return a script, which can be loaded from a folder without a server too."""
    statements = [
        {
            "id": claim_id(claim.page, claim.statement),
            "needs": claim.statement.needs,
            **claim.statement.model_dump(mode="json"),
        }
        for claim in claims
    ]
    rules = {**_rules(), "statements": statements}
    return f'"use strict";\nconst jaxcapRules = {json.dumps(rules)};\n'


def _rules() -> dict[str, Any]:
    quantile = (1 + statistics.CONFIDENCE) / 2
    return {
        "schema": _without_descriptions(json_schema()),
        "schema_version": files.SCHEMA_VERSION,
        "max_bytes": files.MAX_BYTES,
        "max_processes": MAX_PROCESSES,
        "confidence": statistics.CONFIDENCE,
        "drift": statistics.DRIFT,
        "drift_of_ratios": statistics.DRIFT_OF_RATIOS,
        "quotable_spread": statistics.QUOTABLE_SPREAD,
        "no_difference": statistics.NO_DIFFERENCE,
        "disturbed_share": models.DISTURBED_SHARE,
        "slow": models.SLOW,
        "min_undisturbed": models.MIN_UNDISTURBED,
        "quantile": scipy.special.ndtri(quantile),
        # Of Student's t, for two processes, three and so on.
        "quantiles_of_t": [
            scipy.special.stdtrit(n - 1, quantile) for n in range(2, MAX_PROCESSES + 1)
        ],
    }


def _without_descriptions(schema: Any) -> Any:
    """Leave out of a schema what only people read."""
    if isinstance(schema, list):
        return [_without_descriptions(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_descriptions(part)
        for name, part in schema.items()
        if not (name in ("description", "title") and isinstance(part, str))
    }
