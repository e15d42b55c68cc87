"""Reading files of results, which may come from anybody: their size, their JSON, their version."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from jaxcap.results.models import ResultsError

SCHEMA_VERSION: Literal[2] = 2
# Larger files do not come from us: the longest recording has a tenth of that.
_MAX_BYTES = 2**26


def read_content(path: str | os.PathLike[str]) -> bytes:
    """Read a file of results as JSON of today's schema version, which remains to be validated.

    Raises
    ------
    OSError
        If the file cannot be read.
    ResultsError
        If it is too large, not JSON, or of an unknown schema version.
    """
    size = Path(path).stat().st_size
    if size > _MAX_BYTES:
        raise ResultsError(
            f"{path} has {size:,} bytes, and files of results have at most "
            f"{_MAX_BYTES:,}: record fewer experiments in it"
        )
    data = Path(path).read_bytes()
    try:
        content = json.loads(data, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise ResultsError(
            f"{path} is not valid JSON, it may have been cut short: measure again or fetch "
            f"the file again ({error})"
        ) from None
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version == 1:
        data = json.dumps(from_version_1(content)).encode()
    elif version != SCHEMA_VERSION:
        raise ResultsError(
            f"{path} has schema version {ascii(version)[:50]}, this jaxcap reads versions 1 "
            f"and {SCHEMA_VERSION}: measure again, or use the version of jaxcap that wrote it"
        )
    return data


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
    return {"schema_version": SCHEMA_VERSION, "environment": environment, "results": results}


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary from the pairs of a JSON object, and refuse repeated names."""
    content = dict(pairs)
    if len(content) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has two entries {name[:50]!r}")
    return content
