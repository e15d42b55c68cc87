"""The files that a page was made from besides its source: when these change, it is read again.

Sphinx knows of dependencies too, but it takes a file that doesn't exist for one that has changed, and
doesn't notice one that is added beside others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from jaxcap import published
from jaxcap.results.files import slug
from jaxcap_docs import image_files, page_records
from jaxcap_docs.sources import PACKAGE

PUBLISHED = Path(published.__file__).parent

# The files that a pattern matches in a folder, with the time of their last change in nanoseconds.
_State = list[tuple[str, int]]
# By page, and then by folder and pattern.
_Noted = dict[str, dict[tuple[str, str], _State]]
Made = TypeVar("Made")


def note_files(env: BuildEnvironment, folder: Path, pattern: str) -> None:
    """Read this page again when a file of a folder that matches a pattern changes, comes or goes."""
    key = str(folder), pattern
    _noted(env).setdefault(env.docname, {})[key] = _state(*key)


def note_record(env: BuildEnvironment, page: str) -> None:
    """Read this page again when the record of a tutorial changes."""
    path = page_records.record_path(page)
    note_files(env, path.parent, path.name)


def note_recordings(env: BuildEnvironment, experiments: Iterable[str]) -> None:
    """Read this page again when some machine's recording of an experiment changes."""
    for experiment in experiments:
        note_files(env, page_records.RECORDED, f"*/{slug(experiment)}.json")


def note_all_records(env: BuildEnvironment) -> None:
    """Read this page again when the record of any tutorial changes."""
    note_files(env, page_records.RECORDS, "**/*.json")


def note_all_results(env: BuildEnvironment) -> None:
    """Read this page again when any record or recording changes."""
    note_all_records(env)
    note_files(env, page_records.RECORDED, "*/*.json")


def note_published(env: BuildEnvironment) -> None:
    """Read this page again when published values change, or what is concluded about them."""
    note_files(env, PUBLISHED, "*.*")


def unless_changed(
    env: BuildEnvironment, files: Sequence[tuple[Path, str]], make: Callable[[], Made]
) -> Made:
    """Return what was made in an earlier build, if neither files nor the package have changed since.

    Parameters
    ----------
    files
        Folders, and patterns in them. This page is read again when a file that they match changes.
    make
        A function with a name of its own, whose result can be pickled.
    """
    for folder, pattern in files:
        note_files(env, folder, pattern)
    state = [_state(str(folder), pattern) for folder, pattern in (*files, (PACKAGE, "**/*.py"))]
    kept: dict[str, tuple[list[_State], Made]] = vars(env).setdefault("jaxcap_kept", {})
    if kept.get(make.__qualname__, (None,))[0] != state:
        kept[make.__qualname__] = state, make()
    return kept[make.__qualname__][1]


def note_drawing(env: BuildEnvironment) -> None:
    """Read this page again when figures of results are drawn in another way."""
    for file in image_files.CODE:
        note_files(env, file.parent, file.name)


def setup(app: Sphinx) -> None:
    """Ask for outdated pages in each build."""
    app.connect("env-get-outdated", on_env_get_outdated)
    app.connect("env-purge-doc", on_env_purge_doc)


def on_env_purge_doc(_: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Forget the files of a page that will be read again, or is gone."""
    _noted(env).pop(page, None)


def on_env_get_outdated(_: Sphinx, env: BuildEnvironment, *__: set[str]) -> list[str]:
    """Find the pages with files that have changed since they were read."""
    return [
        page
        for page, files in _noted(env).items()
        if any(_state(*key) != state for key, state in files.items())
    ]


def _noted(env: BuildEnvironment) -> _Noted:
    """Return what Sphinx keeps of this from build to build."""
    noted: _Noted = vars(env).setdefault("jaxcap_files", {})
    return noted


def _state(folder: str, pattern: str) -> _State:
    return sorted((str(path), path.stat().st_mtime_ns) for path in Path(folder).glob(pattern))
