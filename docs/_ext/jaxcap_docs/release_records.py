"""What all machines recorded of JAX's releases, and where the site serves the files."""

from __future__ import annotations

from functools import cache

from sphinx.util import logging

from jaxcap.releases.comparison import Releases
from jaxcap.releases.files import EXPERIMENT, ReleaseFiles
from jaxcap.releases.recorded import load
from jaxcap.results import ResultsError
from jaxcap_docs import page_records

logger = logging.getLogger(__name__)


@cache  # the files don't change while pages are read
def recorded() -> list[Releases]:
    """Read what all machines recorded of the releases; files that can't be used are warned of."""
    machines = []
    for folder in sorted(page_records.RECORDED.glob(f"*/{EXPERIMENT}")):
        try:
            releases = load(ReleaseFiles(folder))
        except (OSError, ResultsError) as error:
            logger.warning("%s", error)
            continue
        if releases:
            machines.append(releases)
    return machines


def served_folder(files: ReleaseFiles) -> str:
    """Return the folder below ``results/`` that the files are served in."""
    return f"recorded/{files.folder.relative_to(page_records.RECORDED).as_posix()}/"
