"""Recordings: what was measured on each device, in files that travel.

A folder for each device holds a file for each experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from jaxcap.results.environment import Device, Environment
from jaxcap.results.files import ENVIRONMENT, folder_name, require_recording
from jaxcap.results.models import Result, ResultsError
from jaxcap.results.sets import ResultSet

#: What a live recording is called, where others have their date.
THIS_BUILD = "this build"


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
        return folder_name(self.device, self.number)

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
    """Read and validate a recording, its place among others included.

    See `~jaxcap.results.ResultSet.load` and ``jaxcap.results.files.require_recording``.
    """
    results = ResultSet.load(path)
    require_recording(path, results)
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
    for device_folder in sorted(folder.glob("*/")):
        if sets := dict(_readable(device_folder, on_invalid, check)):
            recording = Recording(sets)
            number = device_folder.name.removeprefix(recording.folder).removeprefix("-")
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
    folder: Path, on_invalid: Callable[[str], object], check: Callable[[ResultSet], str | None]
) -> Iterator[tuple[str, ResultSet]]:
    for path in sorted(folder.glob("*.json")):
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
