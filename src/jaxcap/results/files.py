"""Files of results: where they are kept, and how they are read and validated.

They may come from anyone, and are read only here. `load_results` checks the size, the JSON, the
version and, by the models, every field. `jaxcap.results.recordings` has the further checks of
recordings.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from jaxcap.results.environment import Device, Environment
from jaxcap.results.models import ResultsError

Model = TypeVar("Model", bound=BaseModel)

SCHEMA_VERSION: Literal[2] = 2
#: The file that describes the machine of a folder, which is not a file of results.
ENVIRONMENT_FILE = "environment.json"
MAX_BYTES = 2**26  # ten times the longest recording


def load_results(path: str | os.PathLike[str], model: type[Model]) -> Model:
    """Read a file of results of any schema version, as the model of the current version.

    Raises
    ------
    OSError
        If the file cannot be read.
    ResultsError
        If it is too large, not JSON, of an unknown schema version, or not what the model allows.
    """
    content = _read_json(path)
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version == 1 and version is not True:
        content = _from_version_1(content)
    elif version != SCHEMA_VERSION:
        raise ResultsError(
            f"{path} has schema version {ascii(version)[:50]}, but this jaxcap reads versions 1 "
            f"and {SCHEMA_VERSION}: measure again, or use the version of jaxcap that wrote it"
        )
    return _validate(path, content, model)


def load_environment(folder: Path) -> Environment | None:
    """Read the description of the machine that a folder belongs to, if there is one.

    Raises
    ------
    ResultsError
        If that file cannot be read or is not valid.
    """
    path = folder / ENVIRONMENT_FILE
    if not path.exists():
        return None
    try:
        content = _read_json(path)
        if isinstance(content, dict):
            content.pop("code", None)  # schema version 1 kept it here
        return _validate(path, content, Environment)
    except (OSError, ResultsError) as error:
        raise ResultsError(
            f"{path}, which says which machine the folder belongs to, can't be read: restore it, or "
            "delete it if the folder belongs to this machine"
        ) from error


def recording_path(folder: Path, environment: Environment, experiment: str) -> Path:
    """Where an experiment's results on a machine are kept.

    The folder is named after the device. Another machine with a device of that name, but another
    processor, number of cores or the like, gets a folder with a number behind it. A folder without
    ``environment.json`` is taken to be this machine's, even if it holds results.

    Raises
    ------
    ResultsError
        If the ``environment.json`` of a folder cannot be read: see `load_environment`.
    """
    number = 1
    while True:
        device_folder = folder / folder_name(environment.device, number)
        machine = load_environment(device_folder)
        if machine is None or machine.is_same_hardware(environment):
            return device_folder / f"{slug(experiment)}.json"
        number += 1


def folder_name(device: Device, number: int) -> str:
    """Name the folder of a machine; those whose devices have the same name are numbered."""
    return f"{slug(device.name)}{f'-{number}' if number > 1 else ''}"


def slug(name: str) -> str:
    """Turn a name into one for a file or a folder: lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def _read_json(path: str | os.PathLike[str]) -> Any:
    with Path(path).open("rb") as file:
        content = file.read(MAX_BYTES + 1)  # of a pipe, nobody knows the size before its end
    if len(content) > MAX_BYTES:
        raise ResultsError(
            f"{path} is too large, because files of results may have at most {MAX_BYTES:,} bytes: "
            "save fewer experiments in each"
        )
    try:
        return json.loads(content, object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError:
        raise ResultsError(
            f"{path} is not text in UTF-8, as JSON is: unpack it if it is compressed, or get another "
            "copy of the file"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ResultsError(
            f"{path} is not valid JSON, perhaps because it was cut short: measure again, or get "
            f"another copy of the file ({error})"
        ) from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has two entries named {name[:50]!r}")
    return content


def _validate(path: str | os.PathLike[str], content: Any, model: type[Model]) -> Model:
    try:
        # From JSON, because a strict model accepts lists for tuples only there.
        return model.model_validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # The location may hold a name from the file, which must not reach a terminal unescaped.
        location = ".".join(ascii(part).strip("'")[:50] for part in first["loc"]) or "the file"
        raise ResultsError(
            f"{path} is not a valid result file: {location}: {first['msg']}: measure again"
        ) from None


def _from_version_1(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Turn the content of a file of schema version 1 into that of version 2.

    The digest of the code moves from the environment to the results. Results that version 1 took
    to be of the same rounds get the same id, made from what they had in common. No measurement is
    touched. Content that is not as version 1 had it is returned as it is, for validation to refuse.
    """
    try:
        environment = dict(content["environment"])
        code = environment.pop("code")
        results = []
        for old in content["results"]:
            result = dict(old)
            parameters = sorted(result["parameters"].items())
            rounds = (
                result["experiment"],
                parameters,
                result.pop("rounds_with"),
                result["allocator"],
            )
            samples = [len(run["samples_s"]) for run in result["runs"]]
            text = json.dumps([environment, code, rounds, samples], sort_keys=True)
            comparison = sha256(text.encode()).hexdigest()[:12]
            results.append({**result, "comparison": comparison, "code": code})
    except (AttributeError, KeyError, TypeError, ValueError):
        return content
    return {"schema_version": SCHEMA_VERSION, "environment": environment, "results": results}
