"""Before the first script: takes the measuring lock, and finds out which scripts must run again."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from jaxcap.measure.machine.lock import BusyError, measuring_alone
from jaxcap.results.atomic import write_atomically
from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS
from jaxcap_docs.run import limits, playback

# What the outputs in the folder of the tutorials were made from, by page.
OUTPUTS = page_records.BUILD / "outputs.json"
_current: dict[str, str] = {}
PACKAGE = ""  # in place of a page: the state of what all of them import

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
    _forget_stale_outputs(Path(app.srcdir).parent / "gallery", Path(app.srcdir, "tutorials"))


def release_lock() -> None:
    """Let other builds and recordings measure."""
    _lock.close()


def _runs_scripts(config: Config) -> bool:
    pattern = config.sphinx_gallery_conf["filename_pattern"]
    is_any_chosen = any(re.search(pattern, f"/gallery/{name}.py") for name in TUTORIALS)
    runs_tutorials = is_any_chosen and config.plot_gallery not in {"0", False}
    return runs_tutorials or config.nb_execution_mode != "off"  # exercises measure as well


def remember_outputs() -> None:
    """Remember what the outputs were made from, now that all scripts have run or been played back."""
    write_atomically(OUTPUTS, json.dumps(_current))


def _forget_stale_outputs(gallery: Path, tutorials: Path) -> None:
    """Make those pages again whose script has changed, or something that its outputs depend on.

    sphinx-gallery itself compares only the script, whose checksum it keeps beside the page, and it
    keeps that before the page is written. So a page counts as made when all pages have been made.
    """
    try:
        made: dict[str, str] = json.loads(OUTPUTS.read_bytes())
    except (OSError, ValueError):
        made = {}
    _current[PACKAGE] = playback.state_of_package()
    is_same = made.get(PACKAGE) == _current[PACKAGE]
    for page in TUTORIALS:
        script = gallery / f"{page}.py"
        text = sha256(script.read_bytes()).hexdigest()
        if is_same and made.get(page, "").startswith(text):
            _current[page] = made[page]  # saves reading all modules that the script imports
        else:
            _current[page] = f"{text} {playback.dependencies(script)}"
        if made.get(page) != _current[page] or playback.results_have_changed(page):
            made.pop(page, None)
            (tutorials / f"{page}.py.md5").unlink(missing_ok=True)
    write_atomically(OUTPUTS, json.dumps(made))
