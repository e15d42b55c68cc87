"""Exercises that run beside the reading of other pages, which keeps one core busy only.

What measures must not be disturbed, so the page of the command line and the exercises that read a
clock come first, alone. The other exercises are read last, when they have run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any

from myst_nb.core.read import create_nb_reader
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from jaxcap_docs.lessons import COMMANDS_PAGE, EXERCISES
from jaxcap_docs.run.outputs import Exercise, Output

logger = logging.getLogger(__name__)

_CLOCK = re.compile(r"perf_counter|jaxcap\.measure\b")


def on_env_before_read_docs(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Put the pages that measure first and the other exercises last, and plan to run these."""
    Exercise.ahead.clear()
    if app.config.nb_execution_mode == "off":
        return
    exercises = [name for name in docnames if name in EXERCISES]
    untimed = [name for name in exercises if not _CLOCK.search(_path(env, name).read_text("utf-8"))]
    timed = {COMMANDS_PAGE, *exercises}.difference(untimed)
    docnames.sort(key=lambda name: (name not in timed, name in untimed))
    if untimed:
        Exercise.ahead.update({name: Future() for name in untimed})
        _start_with(app, env, set(docnames) - timed)


def _start_with(app: Sphinx, env: BuildEnvironment, pages: set[str]) -> None:
    """Let the exercises begin to run when the first of these pages is read."""

    def on_source_read(_: Sphinx, docname: str, __: list[str]) -> None:
        if docname in pages:
            app.disconnect(listener)
            # Its kernel ends with this process, so an interrupted build needn't wait for the thread.
            Thread(target=_run, args=(env, dict(Exercise.ahead)), daemon=True).start()

    listener = app.connect("source-read", on_source_read)


def _run(env: BuildEnvironment, exercises: Mapping[str, Future[Output]]) -> None:
    for name, future in exercises.items():
        try:
            future.set_result(_exercise(env, _path(env, name)).run())
        except Exception as error:  # noqa: BLE001 (it is raised where the page is read)
            future.set_exception(error)


def _exercise(env: Any, path: Path) -> Exercise:
    text = path.read_text(encoding="utf-8")
    reader = create_nb_reader(str(path), env.myst_config, env.mystnb_config, text)
    assert reader, f"{path} is a notebook"
    return Exercise(reader.read(text), path, env.mystnb_config, logger)


def _path(env: BuildEnvironment, docname: str) -> Path:
    return Path(env.doc2path(docname))
