"""Recordings, of JAX's releases and of experiments: those that come with the package, or your own."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jaxcap.measure.store import tell_source
from jaxcap.releases.benchmarks import BENCHMARKS
from jaxcap.releases.benchmarks.whole_programs import PROGRAMS
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.recording.files import EXPERIMENT, ReleaseFiles
from jaxcap.results import ResultsError, ResultSet
from jaxcap.results.files import slug
from jaxcap.results.recordings import load_recording

#: The topic of programs that are timed from their start to their end.
START = "start-up"
#: The topic of each benchmark, in the order in which pages show them.
#:
#: :meta hide-value:
TOPICS = {benchmark.name: benchmark.topic for benchmark in BENCHMARKS.values()} | dict.fromkeys(
    PROGRAMS, START
)

_PACKAGE = Path(__file__).parents[1]
# An installed package has a copy of the recordings; otherwise they lie beside its sources.
_FOLDERS = (_PACKAGE / "recorded", _PACKAGE.parents[1] / "docs" / "recorded")


def load(files: ReleaseFiles) -> Releases | None:
    """Read what was recorded on one machine; None if nothing was.

    The files are read again only if they have changed, because that takes seconds.

    Raises
    ------
    OSError, ResultsError
        If a file can't be read, isn't valid or holds something else.
    """
    changed = [(path, path.stat().st_mtime_ns) for path in sorted(files.folder.rglob("*.*"))]
    return _load(files, tuple(changed))


@lru_cache(maxsize=2)
def _load(files: ReleaseFiles, _changed: tuple[tuple[Path, int], ...]) -> Releases | None:
    quantities = {benchmark.name: benchmark.quantity for benchmark in BENCHMARKS.values()}
    return Releases.load(files, TOPICS, quantities)


def packaged_folder() -> Path | None:
    """Return the recordings that come with the package, a folder for each machine, if they do."""
    return next(filter(Path.is_dir, _FOLDERS), None)


def recorded(folder: Path | None = None) -> Releases:
    """Read what was recorded on the first machine of a folder.

    Parameters
    ----------
    folder
        Holds a folder for each machine, as ``jaxcap releases record`` makes them. By default, the
        recordings that come with the package.

    Raises
    ------
    OSError, ResultsError
        If there is no recording, or a file can't be read, isn't valid or holds something else.
    """
    folders = [folder] if folder else list(filter(Path.is_dir, _FOLDERS))
    for path in (
        machine for folder in folders for machine in sorted(folder.glob(f"*/{EXPERIMENT}"))
    ):
        if releases := load(ReleaseFiles(path)):
            for part in filter(None, (releases, releases.second_recording)):
                for release in part.sets:
                    tell_source("releases", part.files.path(release))
            return releases
    raise ResultsError(
        f"{folder or 'this copy of jaxcap'} has no recording of JAX's releases: make one with "
        "`jaxcap releases record`, and pass the folder that it was saved in"
    )


def recorded_results(experiment: str, folder: Path | None = None) -> ResultSet:
    """Read what the first machine of a folder recorded of an experiment that takes too long for a build.

    Parameters
    ----------
    experiment
        Its name.
    folder
        Holds a folder for each machine. By default, the recordings that come with the package.

    Raises
    ------
    OSError, ResultsError
        If there is no recording, or the file can't be read or isn't valid.
    """
    folders = [folder] if folder else list(filter(Path.is_dir, _FOLDERS))
    for path in (
        file for folder in folders for file in sorted(folder.glob(f"*/{slug(experiment)}.json"))
    ):
        tell_source(experiment, path)
        return load_recording(path)
    raise ResultsError(
        f"{folder or 'this copy of jaxcap'} has no recording of {experiment!r}: make one with "
        f"`jaxcap record {experiment!r}`, and pass the folder that it was saved in"
    )
