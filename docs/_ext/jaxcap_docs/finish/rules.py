"""The rules by which readers' own files are judged in the browser: the schema, limits and constants.

The scripts in ``_static/reader`` follow them. The modules that define them here have the reasons.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scipy.special import ndtri, stdtrit
from sphinx.application import Sphinx

from jaxcap.results import files, json_schema, models, statistics
from jaxcap.results.atomic import write_atomically

MAX_PROCESSES = 100


def write(app: Sphinx) -> None:
    """Write the rules as a script beside those that follow them."""
    write_atomically(Path(app.outdir, "_static", "reader", "rules.js"), as_script())


def as_script() -> str:
    """Return a script, which can be loaded from a folder without a server too."""
    return f'"use strict";\nconst jaxcapRules = {json.dumps(_rules())};\n'


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
        "quantile": ndtri(quantile),
        # Of Student's t, for two processes, three and so on.
        "quantiles_of_t": [stdtrit(n - 1, quantile) for n in range(2, MAX_PROCESSES + 1)],
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
