"""Before the first script: takes the measuring lock, and finds out which scripts must run again."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from contextlib import ExitStack
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

import jaxcap
from jaxcap.measure.machine.description import capture
from jaxcap.measure.machine.lock import BusyError, measuring_alone
from jaxcap_docs import image_files, page_records
from jaxcap_docs.lessons import TUTORIALS
from jaxcap_docs.run import limits

FINGERPRINT = page_records.BUILD / "fingerprint.txt"

# Held from before the first script runs until the build ends, whether it succeeds or fails.
_lock = ExitStack()


def on_config_inited(app: Sphinx, config: Config) -> None:
    """Refuse to build while nothing can be measured, and find out which scripts must run again."""
    try:
        limits.time_limit_s()
        if _runs_scripts(config):
            # Does nothing if the nox session took the lock before it removed the last build's files.
            _lock.enter_context(measuring_alone())
            os.environ["JAXCAP_LOCK_HELD"] = "1"  # for the commands whose output pages show
            _lock.callback(os.environ.pop, "JAXCAP_LOCK_HELD")
    except (ValueError, BusyError) as error:
        sys.exit(str(error))  # Sphinx would report an exception as a bug in this extension
    _forget_stale_outputs(Path(app.srcdir, "tutorials"))


def on_build_finished(_: Sphinx, __: Exception | None) -> None:
    """Let other builds and recordings measure."""
    _lock.close()


def _runs_scripts(config: Config) -> bool:
    pattern = config.sphinx_gallery_conf["filename_pattern"]
    is_any_chosen = any(re.search(pattern, f"/gallery/{name}.py") for name in TUTORIALS)
    return is_any_chosen and config.plot_gallery not in {"0", False}


def _forget_stale_outputs(tutorials: Path) -> None:
    """Make all scripts run again if something has changed that their outputs depend on.

    sphinx-gallery itself compares only the script, whose checksum it keeps beside the page.
    """
    fingerprint = _fingerprint()
    if FINGERPRINT.exists() and FINGERPRINT.read_text(encoding="ascii") == fingerprint:
        return
    for checksum in tutorials.rglob("*.md5"):
        checksum.unlink()
    FINGERPRINT.parent.mkdir(exist_ok=True)
    FINGERPRINT.write_text(fingerprint, encoding="ascii")


def _fingerprint() -> str:
    """Return a digest of what outputs depend on: files, libraries and the device."""
    package = Path(jaxcap.__file__).parent
    files = [
        *sorted(path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"),
        *sorted(Path(__file__).parent.glob("*.py")),
        Path(image_files.__file__),
        Path(page_records.__file__),
    ]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    machine = capture()
    digest.update(repr((machine.device, machine.versions, machine.flags)).encode())
    return digest.hexdigest()
