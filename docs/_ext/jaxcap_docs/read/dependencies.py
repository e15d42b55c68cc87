"""The files that a page was made from besides its source: when these change, it is read again.

Sphinx knows of dependencies too, but it takes a file that doesn't exist for one that has changed, and
doesn't notice one that is added beside others.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from jaxcap import published
from jaxcap.results.files import slug
from jaxcap_docs import image_files, page_records

PUBLISHED = Path(published.__file__).parent

# The files that a pattern matches in a folder, with the time of their last change in nanoseconds.
_State = list[tuple[str, int]]
# By page, and then by folder and pattern.
_Noted = dict[str, dict[tuple[str, str], _State]]


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
