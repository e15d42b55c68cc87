"""Files of a recording of releases: one of results for each release, and one of failures.

They lie in the folder ``releases`` of a machine, beside the recorded experiments, and are files of
results like those. A file ``requirements-<release>.txt`` says what was installed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from errno import ENOENT
from io import StringIO
from os import strerror
from pathlib import Path

from jaxcap.results import ResultsError, ResultSet
from jaxcap.results.atomic import write_atomically
from jaxcap.results.environment import Environment
from jaxcap.results.files import ENVIRONMENT_FILE
from jaxcap.results.recordings import load_recording, require_measurable_times

#: The name of the experiment in the files.
EXPERIMENT = "releases"
#: The suffix of a release's name when it is installed once more, to see what differs without a cause.
TWIN = " twin"
#: Stands for all benchmarks of a release.
ALL = "all benchmarks"

_TWIN_IN_FILES = "-twin"
_CONFIRMATION = "again"


def version_key(release: str) -> tuple[int, ...]:
    """Order releases by their version; a twin comes right after its release."""
    version = release.removesuffix(TWIN)
    return (*map(int, re.findall(r"\d+", version)), -1, int(release.endswith(TWIN)))


def load_in_place(path: Path) -> ResultSet:
    """Read a file by the rules of the place where it lies.

    - In the folder ``releases`` of a machine, by those of `ReleaseFiles.load`: it is named after its
      release, and holds nothing but that experiment.
    - Beside an ``environment.json``, by those of `~jaxcap.results.recordings.load_recording`: it is
      named after its experiment, and its folder after its device.
    - Anywhere else, by those of `~jaxcap.results.ResultSet.load` alone: it holds valid results.

    Raises
    ------
    OSError
        If the file can't be read.
    ResultsError
        If it isn't valid, or belongs elsewhere.
    """
    files = ReleaseFiles._around(path)
    if files and (files.machine_folder / ENVIRONMENT_FILE).exists():
        results = files.load(_release_of(path))
        if results is None:
            raise FileNotFoundError(ENOENT, strerror(ENOENT), str(path))
        return results
    is_recording = path.with_name(ENVIRONMENT_FILE).exists()
    return load_recording(path) if is_recording else ResultSet.load(path)


def _release_of(path: Path) -> str:
    """Return the release whose results a file holds, by its name."""
    return path.stem.replace(_TWIN_IN_FILES, TWIN)


@dataclass(frozen=True)
class ReleaseFiles:
    """The folder that holds what was recorded of the releases on one machine."""

    folder: Path

    @classmethod
    def of(cls, machine_folder: Path) -> ReleaseFiles:
        """Return the files that lie in the folder of a machine."""
        return cls(machine_folder / EXPERIMENT)

    @classmethod
    def _around(cls, path: Path) -> ReleaseFiles | None:
        """Return the files that a file lies among, if its folder is one of releases."""
        folder = path.resolve().parent
        first = folder.parent if folder.name == _CONFIRMATION else folder
        return cls(folder) if first.name == EXPERIMENT else None

    @property
    def machine_folder(self) -> Path:
        """The folder of the machine, for a second recording as well."""
        return self.folder.parents[int(self._is_second)]

    @property
    def _is_second(self) -> bool:
        return self.folder.name == _CONFIRMATION

    @property
    def again(self) -> ReleaseFiles:
        """The files of a second recording of the largest changes."""
        return ReleaseFiles(self.folder / _CONFIRMATION)

    def path(self, release: str) -> Path:
        """Return where the results of a release are kept."""
        return self.folder / f"{release.replace(TWIN, _TWIN_IN_FILES)}.json"

    def releases(self) -> list[str]:
        """List the releases with results, oldest first; a twin follows its release."""
        return sorted(map(_release_of, self.folder.glob("*.*.json")), key=version_key)

    def load(self, release: str) -> ResultSet | None:
        """Read the results of a release, if there are any.

        Raises
        ------
        OSError, ResultsError
            If the file can't be read, isn't valid or holds something else, or if a time is too short
            for any clock.
        """
        path = self.path(release)
        if not path.exists():
            return None
        results = ResultSet.load(path)
        jaxlib = results.environment.versions.get("jaxlib")
        if jaxlib != release.removesuffix(TWIN) or set(results.by_experiment()) != {EXPERIMENT}:
            raise ResultsError(
                f"{path} is not where it belongs: a file of this name holds the experiment "
                f"{EXPERIMENT!r}, measured with jaxlib {release.removesuffix(TWIN)}"
            )
        require_measurable_times(results, path)
        return results

    def save(self, release: str, results: ResultSet) -> None:
        """Write the results of a release, in place of what was there."""
        results.save(self.path(release))

    def environment(self) -> Environment | None:
        """Return the machine that the files were recorded on; None if there are none yet."""
        for release in self.releases():
            if results := self.load(release):
                return results.environment
        return None

    @property
    def _failures_path(self) -> Path:
        return self.folder / "failures.csv"

    def failures(self) -> Mapping[str, Mapping[str, str]]:
        """Read why something couldn't be measured, by release and benchmark.

        Raises
        ------
        ResultsError
            If the file isn't valid.
        """
        path = self._failures_path
        failures: dict[str, dict[str, str]] = {}
        if not path.exists():
            return failures
        try:
            for release, benchmark, reason in csv.reader(
                StringIO(path.read_text(encoding="utf-8"))
            ):
                failures.setdefault(release, {})[benchmark] = reason
        except ValueError as error:
            raise ResultsError(
                f"{path} can't be read as a list of failures, with a release, a benchmark and a reason "
                "in each row: delete it, and record again"
            ) from error
        return failures

    def note_failures(self, failures: Mapping[str, Mapping[str, str]]) -> None:
        """Write down what couldn't be measured, in place of what was there."""
        if not failures and not self._failures_path.exists():
            return
        file = StringIO()
        csv.writer(file, lineterminator="\n").writerows(
            (release, *failure) for release, part in failures.items() for failure in part.items()
        )
        write_atomically(self._failures_path, file.getvalue())

    def requirements(self, release: str) -> str:
        """Return what was installed beside a release when it was recorded; empty if it wasn't.

        A second recording installs what the first one did, so that they differ by chance alone.
        """
        path = self._requirements_path(release)
        if path.exists():
            return path.read_text(encoding="utf-8")
        return ReleaseFiles.of(self.machine_folder).requirements(release) if self._is_second else ""

    def save_requirements(self, release: str, requirements: str) -> None:
        """Write down what is installed beside a release."""
        write_atomically(self._requirements_path(release), requirements)

    def _requirements_path(self, release: str) -> Path:
        return self.folder / f"requirements-{release.removesuffix(TWIN)}.txt"
