"""Record experiments on this machine's best device, in files that travel.

A folder for each device holds a file for each experiment. What was recorded is kept when a
recording is interrupted, and measured again only where it is out of date: another version of a
library, another device, or other code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from jaxcap.environment import Device, Environment, capture
from jaxcap.experiment import Experiment
from jaxcap.files import write_atomically
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.timing import compare

#: One lock for a machine: what measures on its CPU disturbs what measures on its GPU.
LOCK = Path(gettempdir(), "jaxcap-measuring.lock")


# What a folder's name doesn't tell of the machine; not a file of results.
ENVIRONMENT = "environment.json"


#: How a live recording is called, where others have their day.
THIS_BUILD = "this build"

# Beyond these, somebody made a number up, and figures could not show it.
SHORTEST_S, MOST = 1e-12, 1e20


class BusyError(RuntimeError):
    """Somebody else is measuring on this machine."""


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


@contextmanager
def measuring_alone() -> Iterator[None]:
    """Keep other recordings and builds from measuring meanwhile.

    The system frees the lock when the process ends, in whichever way.

    Raises
    ------
    BusyError
        If one of them is at it.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(LOCK, timeout=0, mode=0o666):
            yield
    except Timeout:
        raise BusyError(
            f"another recording or build is measuring on this machine (it holds {LOCK}): wait "
            "until it has ended"
        ) from None


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
    if recorded.code != now.code:
        changed.append("other code")
    return changed


def pending(
    folder: Path, experiments: Mapping[str, Experiment], now: Environment
) -> list[Experiment]:
    """Choose the experiments of which there is no recording, or one that is out of date."""

    def is_current(name: str) -> bool:
        try:
            found = ResultSet.load(file_of(folder, now, name))
        except (OSError, ResultsError):
            return False
        return not outdated(found.environment, now)

    return [one for name, one in experiments.items() if not is_current(name)]


def record(
    folder: Path,
    experiments: Mapping[str, Experiment],
    *,
    processes: int = 6,
    budget_s: float = 0.5,
    tell: Callable[[Experiment], None] = lambda _: None,
    between: Callable[[], object] | None = None,
) -> list[Path]:
    """Measure experiments that are `pending`, one after another, and save each when it is done.

    Parameters
    ----------
    folder
        Holds a folder for each device.
    experiments
        By name.
    processes, budget_s
        As of `jaxcap.timing.compare`.
    tell
        Called with each experiment before it begins.
    between
        Called after each process.

    Returns
    -------
    list
        The files that were written.

    Raises
    ------
    BusyError
        If another recording or build is measuring.
    """
    written = []
    with measuring_alone():
        now = capture()
        for experiment in pending(folder, experiments, now):
            tell(experiment)
            found = compare(experiment, processes=processes, budget_s=budget_s, between=between)
            written.append(file_of(folder, now, experiment.name))
            found.save(written[-1])
            place = written[-1].with_name(ENVIRONMENT)
            write_atomically(place, found.environment.model_dump_json(indent=1) + "\n")
    return written


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
        if doubt := _doubt(result, _parameters_of(experiment)):
            raise ResultsError(f"{path}: {result.variant!r} {doubt}: record it again")
    return found


def _parameters_of(experiment: str) -> list[set[str]]:
    """Names of the parameters that an experiment takes, if it is one of ours."""
    from jaxcap.experiments import catalogue

    known = catalogue().get(experiment)
    return [set(point) for point in (*known.quick, *known.full)] if known else []


def _doubt(result: Result, expected: Sequence[set[str]]) -> str | None:
    """Say what no measurement of ours would hold, although the file is in order."""
    if expected and set(result.parameters) not in expected:
        return f"has the parameters {', '.join(result.parameters) or 'of nothing'}"
    times = [t for run in result.runs for t in (run.first_call_s, *run.samples_s)]
    if min(times) < SHORTEST_S:
        return f"took {min(times)} s, and no clock is as fine as that"
    amounts = [result.flops, result.bytes_moved, result.working_set_bytes]
    amounts += [abs(p) for p in result.parameters.values() if not isinstance(p, str)]
    if max(amount or 0 for amount in amounts) > MOST:
        return f"has a number above {MOST:g}"
    return None


def recorded(folder: Path, *, refuse: Callable[[str], object]) -> list[Recording]:
    """Read what was recorded on all devices.

    Parameters
    ----------
    folder
        Holds a folder for each device, or doesn't exist.
    refuse
        Called with the reason for each file that can't be used, which is left out.
    """
    return [
        Recording(sets)
        for place in sorted(folder.glob("*/"))
        if (sets := dict(_readable(place, refuse)))
    ]


def counterparts(shown: ResultSet, recordings: Iterable[Recording]) -> dict[str, ResultSet]:
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


def _readable(place: Path, refuse: Callable[[str], object]) -> Iterator[tuple[str, ResultSet]]:
    for path in sorted(place.glob("*.json")):
        if path.name == ENVIRONMENT:
            continue
        try:
            found = load(path)
        except (OSError, ResultsError) as error:
            refuse(str(error))
        else:
            yield found.results[0].experiment, found
