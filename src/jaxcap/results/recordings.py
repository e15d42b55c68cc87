"""Recordings: what was measured on each device, in files that travel.

A folder for each device holds a file for each experiment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from jaxcap.results.environment import Device, Environment
from jaxcap.results.models import Result, ResultsError
from jaxcap.results.sets import ResultSet

# The file that describes the machine of a folder, which is not a file of results.
ENVIRONMENT = "environment.json"


#: What a live recording is called, where others have their date.
THIS_BUILD = "this build"

# A shorter time than this was made up.
_MIN_SECONDS = 1e-12


@dataclass(frozen=True)
class Recording:
    """What was measured on one machine.

    Attributes
    ----------
    sets
        By experiment, at least one.
    live
        True for what this build of the site measured, False for what was recorded earlier.
    number
        Distinguishes machines whose devices have the same name.
    """

    sets: Mapping[str, ResultSet]
    live: bool = False
    number: int = 1

    @property
    def name(self) -> str:
        """The machine's best device, numbered where another machine has one of that name."""
        return f"{self.device}{self._suffix}"

    @property
    def folder(self) -> str:
        """The name of the folder that holds the files."""
        return _numbered(self.device, self.number)

    @property
    def environment(self) -> Environment:
        """The machine as it was when the last experiment was measured."""
        environments = (results.environment for results in self.sets.values())
        return max(environments, key=lambda environment: environment.measured_at)

    @property
    def device(self) -> Device:
        """The machine's best device."""
        return self.environment.device

    @property
    def _suffix(self) -> str:
        return f" no. {self.number}" if self.number > 1 else ""

    def on_each_device(self, experiment: str) -> dict[str, ResultSet]:
        """Split what was measured of an experiment by device, named with the date."""
        results = self.sets.get(experiment)
        if results is None:
            return {}
        when = THIS_BUILD if self.live else f"recorded {results.environment.measured_at.date()}"
        devices: dict[str, list[Result]] = {}
        for result in results:
            host = "" if result.device == self.device else f" beside {self.device.name}"
            name = f"{result.device}{host}{self._suffix}, {when}"
            devices.setdefault(name, []).append(result)
        return {name: results.subset(part) for name, part in devices.items()}


def slug(name: str) -> str:
    """Turn a name into one for a file or a folder: lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def recording_path(folder: Path, environment: Environment, experiment: str) -> Path:
    """Where an experiment's results on a machine are kept.

    The folder is named after the device. Another machine with a device of that name, but another
    processor, number of cores or the like, gets a folder with a number behind it.
    """
    for number in count(1):
        place = folder / _numbered(environment.device, number)
        owner = _owner(place)
        if owner is None or owner.is_same_hardware(environment):
            return place / f"{slug(experiment)}.json"
    raise AssertionError


def _numbered(device: Device, number: int) -> str:
    return f"{slug(device.name)}{f'-{number}' if number > 1 else ''}"


def _owner(place: Path) -> Environment | None:
    """Read the description of the machine that a folder belongs to, if there is one."""
    try:
        content = json.loads((place / ENVIRONMENT).read_bytes())
        content.pop("code", None)  # which schema version 1 kept here
        return Environment.model_validate_json(json.dumps(content))
    except (AttributeError, OSError, TypeError, ValueError):
        return None


def changes_since(recorded: ResultSet, now: Environment, code: str | None) -> list[str]:
    """List what has changed since a recording such that it says nothing about today.

    Libraries count if they are installed now; Python and the system don't.

    Parameters
    ----------
    recorded
        Results of one experiment.
    now
        This machine as it is.
    code
        The digest of the experiment's code; None if there is no such experiment any more.
    """
    then = recorded.environment
    changed = [
        f"{name} {then.versions.get(name, 'missing')}, now {version}"
        for name, version in now.versions.items()
        if then.versions.get(name) != version
    ]
    changed += [
        f"{name} {then.flags.get(name, 'not set')}, now {now.flags.get(name, 'not set')}"
        for name in sorted({*then.flags, *now.flags})
        if then.flags.get(name) != now.flags.get(name)
    ]
    if then.device != now.device:
        changed.append(f"{then.device}, now {now.device}")
    if any(result.code != code for result in recorded):
        changed.append("other code")
    return changed


def load(path: Path) -> ResultSet:
    """Read what was recorded of one experiment.

    Parameters
    ----------
    path
        In the folder of a device.

    Raises
    ------
    ResultsError
        If it holds something else than its place says, or times that no clock could have taken.
    OSError
        If the file can't be read.
    """
    results = ResultSet.load(path)
    experiment = results[0].experiment
    device, file = slug(results.environment.device.name), f"{slug(experiment)}.json"
    *_, folder, name = path.resolve().parts
    is_in_place = re.fullmatch(rf"{device}(-([2-9]|[1-9]\d+))?", folder) and name == file
    if len(results.by_experiment()) > 1 or not is_in_place:
        raise ResultsError(
            f"{path} is not where it belongs: results of {experiment!r} are kept in {device}/{file}, "
            "without those of other experiments"
        )
    for result in results:
        shortest_s = min(t for run in result.runs for t in (run.first_call_s, *run.samples_s))
        if shortest_s < _MIN_SECONDS:
            raise ResultsError(
                f"{path}: {result.variant!r} took {shortest_s} s, and no clock is as fine as that: "
                "record it again"
            )
    return results


def load_all(
    folder: Path,
    *,
    on_invalid: Callable[[str], object],
    check: Callable[[ResultSet], str | None] = lambda _: None,
) -> list[Recording]:
    """Read what was recorded on all devices.

    Parameters
    ----------
    folder
        Holds a folder for each device, or doesn't exist.
    on_invalid
        Called with the reason for each file that can't be used, which is left out.
    check
        Returns why the results of a file can't be used, if so; by default nothing more is asked of
        them than a file of results must have.
    """
    recordings = []
    for place in sorted(folder.glob("*/")):
        if sets := dict(_readable(place, on_invalid, check)):
            recording = Recording(sets)
            number = place.name.removeprefix(recording.folder).removeprefix("-")
            recordings.append(replace(recording, number=int(number or 1)))
    return recordings


def matching_results(shown: ResultSet, recordings: Iterable[Recording]) -> dict[str, ResultSet]:
    """Find other machines' results of the same experiment and shared parameters, by device and date.

    Parameters
    ----------
    shown
        Results of one experiment, or some of them. Where all of these have a parameter in common,
        the others have it too, unless it is the device.
    recordings
        Those that are live are passed over.
    """
    first = shown[0]
    varying = {"device", *shown.varying()}
    common = {key: value for key, value in first.parameters.items() if key not in varying}

    matching = {}
    for recording in recordings:
        if recording.live:
            continue
        devices = recording.on_each_device(first.experiment)
        allocators = {result.allocator for results in devices.values() for result in results}
        # Where malloc can't be made steady, all results of a machine have the default.
        allocator = first.allocator if first.allocator in allocators else "default"
        for name, results in devices.items():
            alike = [
                result
                for result in results
                if result.allocator == allocator and common.items() <= result.parameters.items()
            ]
            if alike:
                matching[name] = results.subset(alike)
    return matching


def _readable(
    place: Path, on_invalid: Callable[[str], object], check: Callable[[ResultSet], str | None]
) -> Iterator[tuple[str, ResultSet]]:
    for path in sorted(place.glob("*.json")):
        if path.name == ENVIRONMENT:
            continue
        try:
            results = load(path)
        except (OSError, ResultsError) as error:
            on_invalid(str(error))
            continue
        if reason := check(results):
            on_invalid(f"{path}: {reason}: record it again")
        else:
            yield results[0].experiment, results
