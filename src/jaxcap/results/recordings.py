"""Recordings: what was measured on each device, in files that travel.

A folder for each device holds a file for each experiment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jaxcap.results.environment import Device, Environment
from jaxcap.results.models import Result, ResultsError, ResultSet

# What a folder's name doesn't tell of the machine; not a file of results.
ENVIRONMENT = "environment.json"


#: How a live recording is called, where others have their day.
THIS_BUILD = "this build"

# Beyond these, somebody made a number up, and figures could not show it.
SHORTEST_S, MOST = 1e-12, 1e20


@dataclass(frozen=True)
class Recording:
    """What was measured on one machine.

    Attributes
    ----------
    sets
        By experiment, at least one.
    live
        Whether that was in this build of the site, or else long ago.
    """

    sets: Mapping[str, ResultSet]
    live: bool = False

    @property
    def environment(self) -> Environment:
        """The machine as it was when the last experiment was measured."""
        environments = (found.environment for found in self.sets.values())
        return max(environments, key=lambda one: one.measured_at)

    @property
    def device(self) -> Device:
        """The machine's best device."""
        return self.environment.device

    def on_each_device(self, experiment: str) -> dict[str, ResultSet]:
        """Split what was measured of an experiment by device: a name of it, with the day."""
        found = self.sets.get(experiment)
        if found is None:
            return {}
        when = THIS_BUILD if self.live else f"recorded {found.environment.measured_at.date()}"
        devices: dict[str, list[Result]] = {}
        for one in found.results:
            beside = "" if one.device == self.device else f" beside {self.device.name}"
            devices.setdefault(f"{one.device}{beside}, {when}", []).append(one)
        return {k: found.model_copy(update={"results": tuple(v)}) for k, v in devices.items()}


def slug(name: str) -> str:
    """Turn a name into one for a file or a folder: lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def file_of(folder: Path, environment: Environment, experiment: str) -> Path:
    """Where an experiment's results on a device are kept."""
    return folder / slug(environment.device.name) / f"{slug(experiment)}.json"


def outdated(recorded: Environment, now: Environment) -> list[str]:
    """Name what has changed since a recording such that it says nothing of today's code.

    Libraries count if they are installed now; Python and the system don't.
    """
    changed = [
        f"{name} {recorded.versions.get(name, 'missing')}, now {version}"
        for name, version in now.versions.items()
        if recorded.versions.get(name) != version
    ]
    if recorded.device != now.device:
        changed.append(f"{recorded.device}, now {now.device}")
    if recorded.flags != now.flags:
        changed.append("other flags")
    if recorded.code != now.code:
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
        If it holds something else than its place says.
    OSError
        If the file can't be read.
    """
    found = ResultSet.load(path)
    experiment = found.results[0].experiment
    expected = file_of(Path(), found.environment, experiment)
    if len(found.by_experiment()) > 1 or path.resolve().parts[-2:] != expected.parts:
        raise ResultsError(
            f"{path} holds {experiment!r} of another place: it belongs to {expected}, alone"
        )
    for result in found.results:
        if doubt := _doubt(result):
            raise ResultsError(f"{path}: {result.variant!r} {doubt}: record it again")
    return found


def _doubt(result: Result) -> str | None:
    """Say what no measurement of ours would hold, although the file is in order."""
    times = [t for run in result.runs for t in (run.first_call_s, *run.samples_s)]
    if min(times) < SHORTEST_S:
        return f"took {min(times)} s, and no clock is as fine as that"
    amounts = [result.flops, result.bytes_moved, result.working_set_bytes]
    amounts += [abs(p) for p in result.parameters.values() if not isinstance(p, str)]
    if max(amount or 0 for amount in amounts) > MOST:
        return f"has a number above {MOST:g}"
    return None


def recorded(
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
    return [
        Recording(sets)
        for place in sorted(folder.glob("*/"))
        if (sets := dict(_readable(place, on_invalid, check)))
    ]


def matching_results(shown: ResultSet, recordings: Iterable[Recording]) -> dict[str, ResultSet]:
    """Find what other machines measured of the same: by device and day.

    Parameters
    ----------
    shown
        Results of one experiment, or some of them. Where all of these have a parameter in common,
        the others have it too, unless it is the device.
    recordings
        Those that are live are passed over.
    """
    first = shown.results[0]
    varying = {"device", *shown.varying()}
    common = {key: value for key, value in first.parameters.items() if key not in varying}

    def is_alike(other: Result) -> bool:
        return other.allocator == first.allocator and common.items() <= other.parameters.items()

    found = {}
    for recording in recordings:
        if recording.live:
            continue
        for where, some in recording.on_each_device(first.experiment).items():
            alike = tuple(one for one in some.results if is_alike(one))
            if alike:
                found[where] = some.model_copy(update={"results": alike})
    return found


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
            yield results.results[0].experiment, results
