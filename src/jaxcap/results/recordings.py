"""Recordings: what was measured on each device, in files that travel.

A folder for each device holds a file for each experiment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from jaxcap.results.environment import Device, Environment
from jaxcap.results.files import ENVIRONMENT_FILE, folder_name, load_environment, slug
from jaxcap.results.models import ResultsError
from jaxcap.results.sets import ResultSet

#: What a live recording is called, where others have their date.
THIS_SITE = "this site"
_MIN_SECONDS = 1e-12  # no clock measures a shorter time
# Matplotlib only draws, and the code of an experiment has a digest, whatever jaxcap's version.
_WITHOUT_EFFECT = frozenset({"jaxcap", "matplotlib"})


@dataclass(frozen=True)
class DeviceResults:
    """What was measured of an experiment on one device of a machine.

    Attributes
    ----------
    device
        The device.
    name
        Its name, with the machine's best device if that is another.
    when
        The date, or that this site shows it as its own.
    results
        At least one.
    """

    device: Device
    name: str
    when: str
    results: ResultSet

    @property
    def label(self) -> str:
        """Name and date, which no other results of the experiment share."""
        return f"{self.name}, {self.when}"


@dataclass(frozen=True)
class Recording:
    """What was measured on one machine.

    Attributes
    ----------
    sets
        By experiment, at least one.
    live
        True for what the pages of the site show as their own, False for other recordings.
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
    def days(self) -> str:
        """The day of the measurements, or the first and the last, as ``"2026-11-01 to 2026-11-23"``."""
        days = [results.environment.measured_at.date() for results in self.sets.values()]
        return " to ".join(dict.fromkeys((str(min(days)), str(max(days)))))

    @property
    def device(self) -> Device:
        """The machine's best device."""
        return self.environment.device

    @property
    def _suffix(self) -> str:
        return f" no. {self.number}" if self.number > 1 else ""

    def on_each_device(self, experiment: str) -> list[DeviceResults]:
        """Split what was measured of an experiment by device; empty if nothing was."""
        results = self.sets.get(experiment)
        if results is None:
            return []
        when = THIS_SITE if self.live else f"recorded {results.environment.measured_at.date()}"
        parts = []
        for device in dict.fromkeys(result.device for result in results):
            host = "" if device == self.device else f" beside {self.device.name}"
            name = f"{device}{host}{self._suffix}"
            parts.append(DeviceResults(device, name, when, results.select(device=device)))
        return parts


def changes_since(recorded: ResultSet, now: Environment, code: str | None) -> list[str]:
    """List what has changed since a recording, among all that its times depend on.

    Libraries that compute count if they are installed now, and on a GPU the driver, if known now.
    Python and the operating system don't count.

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
    facts = [
        (name, then.versions.get(name, "missing"), version)
        for name, version in now.versions.items()
        if name not in _WITHOUT_EFFECT
    ]
    facts += [
        (flag, then.flags.get(flag, "not set"), now.flags.get(flag, "not set"))
        for flag in sorted({*then.flags, *now.flags})
    ]
    if now.device.platform == "gpu" and now.driver:
        facts.append(("driver", then.driver or "unknown", now.driver))
    changed = [f"{name} {before}, now {after}" for name, before, after in facts if before != after]
    if now.device.platform != "cpu" and then.device_count != now.device_count:
        changed.append(f"{then.device_count} devices, now {now.device_count}")
    if then.device != now.device:
        changed.append(f"{then.device}, now {now.device}")
    if any(result.code != code for result in recorded):
        changed.append("other code")
    return changed


def load_recording(path: Path) -> ResultSet:
    """Read the results of one experiment on one machine.

    Besides what `~jaxcap.results.ResultSet.load` checks, the path must name the device and the
    experiment. If the folder has an ``environment.json``, it must describe the same machine.

    Raises
    ------
    OSError
        If the file cannot be read.
    ResultsError
        If it is not valid, if it belongs elsewhere, if ``environment.json`` is not valid, or if a
        time is too short for any clock.
    """
    results = ResultSet.load(path)
    experiment = results[0].experiment
    device, file = slug(results.environment.device.name), f"{slug(experiment)}.json"
    *_, folder, name = path.resolve().parts
    is_in_place = re.fullmatch(rf"{device}(-([2-9]|[1-9]\d+))?", folder) and name == file
    if len(results.by_experiment()) > 1 or not is_in_place:
        raise ResultsError(
            f"{path} is not where it belongs: results of {experiment!r} are kept in {device}/{file}, "
            "without those of any other experiment"
        )
    machine = load_environment(path.parent)
    if machine and not machine.is_same_hardware(results.environment):
        raise ResultsError(
            f"{path} is not where it belongs: the {ENVIRONMENT_FILE} beside it describes another machine"
        )
    require_measurable_times(results, path)
    return results


def require_measurable_times(results: ResultSet, path: Path) -> None:
    """Refuse times that no clock can have measured.

    Parameters
    ----------
    results
        What a file holds.
    path
        Where it was read.

    Raises
    ------
    ResultsError
        If a time is too short for any clock.
    """
    for result in results:
        shortest_s = min(t for run in result.runs for t in (run.first_call_s, *run.samples_s))
        if shortest_s < _MIN_SECONDS:
            raise ResultsError(
                f"{path}: {result.variant!r} took {shortest_s} s, which is too short for any clock to "
                "measure: record it again"
            )


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
        Returns why the results of a file can't be used, or None if they can. By default, those of
        every valid file can.
    """
    recordings = []
    for device_folder in sorted(folder.glob("*/")):
        sets = {}
        for path in sorted(device_folder.glob("*.json")):
            if path.name == ENVIRONMENT_FILE:
                continue
            try:
                results = load_recording(path)
            except (OSError, ResultsError) as error:
                on_invalid(str(error))
                continue
            if reason := check(results):
                on_invalid(f"{path}: {reason}: record it again")
            else:
                sets[results[0].experiment] = results
        if sets:
            recording = Recording(sets)
            number = device_folder.name.removeprefix(recording.folder).removeprefix("-")
            recordings.append(replace(recording, number=int(number or 1)))
    return recordings


def matching_results(shown: ResultSet, recordings: Iterable[Recording]) -> dict[str, ResultSet]:
    """Find other machines' results of the same experiment and shared parameters, by device and date.

    Parameters
    ----------
    shown
        Results of one experiment, or some of them. Parameters that are the same in all of these
        must be the same in the others, except for the device.
    recordings
        Live ones are skipped.
    """
    first = shown[0]
    varying = {"device", *shown.varying()}
    common = {key: value for key, value in first.parameters.items() if key not in varying}

    matching = {}
    for recording in recordings:
        if recording.live:
            continue
        devices = recording.on_each_device(first.experiment)
        allocators = {result.allocator for part in devices for result in part.results}
        # Where malloc can't be made steady, all results of a machine have the default.
        allocator = first.allocator if first.allocator in allocators else "default"
        for part in devices:
            alike = [
                result
                for result in part.results
                if result.allocator == allocator and common.items() <= result.parameters.items()
            ]
            if alike:
                matching[part.label] = part.results.subset(alike)
    return matching
