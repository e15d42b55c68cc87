"""Files of older schema versions, turned into those of today."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any


def from_version_1(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Turn the content of a file of schema version 1 into that of version 2.

    The digest of the code moves from the environment to the results. Results that version 1 took
    to be of the same rounds get the same id, made from what they had in common. No measurement is
    touched.

    Returns
    -------
    Mapping
        What could be converted. Anything that is not as version 1 had it is left for validation
        to find.
    """
    try:
        environment = dict(content["environment"])
        code = environment.pop("code")
        results = []
        for old in content["results"]:
            result = dict(old)
            parameters = sorted(result["parameters"].items())
            samples = [len(run["samples_s"]) for run in result["runs"]]
            rounds = (
                result["experiment"],
                parameters,
                result.pop("rounds_with"),
                result["allocator"],
            )
            text = json.dumps([environment, code, rounds, samples], sort_keys=True)
            comparison = sha256(text.encode()).hexdigest()[:12]
            results.append({**result, "comparison": comparison, "code": code})
    except (AttributeError, KeyError, TypeError, ValueError):
        return content
    return {"schema_version": 2, "environment": environment, "results": results}
