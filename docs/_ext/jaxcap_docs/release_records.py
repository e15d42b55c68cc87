"""What all machines recorded of JAX's releases, and where and as what the site serves it."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path

from sphinx.util import logging

from jaxcap import releases as releases_package
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import Series
from jaxcap.releases.quantities import JAX
from jaxcap.releases.recorded import load
from jaxcap.releases.recording.files import EXPERIMENT, ReleaseFiles
from jaxcap.results import ResultsError
from jaxcap.results.files import slug
from jaxcap_docs import page_records

CODE = Path(releases_package.__file__).parent
# The numbers of the map, below results/.
MAP = "releases-map.js"

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


@cache
def digest() -> str:
    """Digest all recordings of the releases, and the code that reads, judges and draws them."""
    recordings = page_records.RECORDED.glob(f"*/{EXPERIMENT}/**/*")
    files = sorted(path for path in (*CODE.rglob("*.*"), *recordings) if path.is_file())
    contents = (path.read_bytes() for path in files if path.suffix != ".pyc")
    return sha256(b"\0".join(contents)).hexdigest()


def served_folder(files: ReleaseFiles) -> str:
    """Return the folder below ``results/`` that the files are served in."""
    return f"recorded/{files.folder.relative_to(page_records.RECORDED).as_posix()}/"


def map_script(releases: Releases) -> str:
    """Return a script with the numbers of the map, for the page whose folder has the topics' folder.

    The page would take long to load with them, and a script can be loaded from a folder without a
    server, too.
    """
    data = {
        "releases": releases.names,
        "newest": releases.newest,
        "series": [
            {
                "benchmark": series.benchmark,
                "topic": series.topic,
                "own": releases.quantities.get(series.benchmark, "time") == series.quantity,
                "quantity": series.quantity,
                "href": f"topics/{slug(series.topic)}.html#{slug(series.benchmark)}",
                "values": [_numbers(series, name) for name in releases.names],
            }
            for series in releases.series
            if series.variant == JAX
        ],
    }
    return f"globalThis.jaxcapReleases = {json.dumps(data, separators=(',', ':'))};\n"


def _numbers(series: Series, release: str) -> list[float] | None:
    """Return the median, and what the processes saw of it, in few digits."""
    if release not in series.estimates:
        return None
    estimate = series.estimates[release]
    ends = estimate.observed if len(estimate.medians) > 1 else ()
    return [float(f"{number:.3g}") for number in (estimate.value, *ends)]
