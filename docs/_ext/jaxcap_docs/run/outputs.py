"""Outputs of exercises and of commands, kept from one build to the next.

What a build runs it keeps, in a file for each page and each command. A build that reuses takes from
there what is current: nothing that it depends on has changed. Both may run any part of the package,
so they depend on all of it.

If a file can't be read or written, what it is about runs in each build.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from myst_nb.core import execute
from nbformat import NotebookNode, from_dict
from pydantic import JsonValue, ValidationError
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinxcontrib.programoutput import Command, ProgramOutputCache

from jaxcap.measure.machine.description import capture
from jaxcap.measure.settings import quick_is_on, reuse_is_on
from jaxcap.results import Environment
from jaxcap.results.atomic import write_atomically
from jaxcap.results.base import FrozenModel
from jaxcap.results.files import slug
from jaxcap_docs import page_records
from jaxcap_docs.lessons import EXERCISES_FOLDER
from jaxcap_docs.sources import PACKAGE, package_files, surroundings

STORE = page_records.BUILD / "store"
# As many letters as the page of the command line has room for in a line.
COLUMNS = "90"

logger = logging.getLogger(__name__)


class Output(FrozenModel):
    """What an exercise or a command put out.

    Attributes
    ----------
    key
        Digest of all that it depends on.
    environment
        The machine, and when the run ended.
    content
        What a command printed, or the outputs of a notebook.
    """

    key: str
    environment: Environment
    content: JsonValue


def current(name: str, source: JsonValue) -> Output | None:
    """Return the output that is kept under a name, if this build reuses and it is current.

    Parameters
    ----------
    name
        Path of the file in the store, without its suffix.
    source
        What runs: cells, or the words of a command.
    """
    if not reuse_is_on():
        return None
    try:
        output = Output.model_validate_json(_path(name).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError):
        logger.info("%s runs again, because what was kept of it cannot be read", name)
        return None
    return output if output.key == _key(source) else None


def keep(name: str, source: JsonValue, content: JsonValue) -> Output:
    """Keep what has just been put out, if that can be written and has not been done quickly."""
    output = Output(key=_key(source), environment=capture(), content=content)
    if quick_is_on():
        return output
    try:
        write_atomically(_path(name), output.model_dump_json(indent=1) + "\n")
    except OSError as error:
        logger.info("the output of %s cannot be kept (%s)", name, error.strerror)
    return output


def _path(name: str) -> Path:
    return STORE / f"{name}.json"


def _key(source: JsonValue) -> str:
    return hashlib.sha256(json.dumps([source, surroundings_digest()]).encode()).hexdigest()


@cache
def surroundings_digest() -> str:
    """Return a digest of all that any output depends on: the package, libraries and the machine."""
    files = [(path.relative_to(PACKAGE).as_posix(), path.read_bytes()) for path in package_files()]
    return hashlib.sha256(repr((surroundings(), files)).encode()).hexdigest()


def follow_package(env: BuildEnvironment) -> None:
    """Have the page that is being read read again when the package has changed."""
    for path in package_files():
        env.note_dependency(str(path))


class Commands(ProgramOutputCache):  # type: ignore[misc]
    """The output of each command, which runs unless it is kept.

    Attributes
    ----------
    environments
        Where and when those ran that were looked up.
    """

    def __init__(self) -> None:
        super().__init__()
        self.environments: list[Environment] = []

    def __missing__(self, command: Command) -> tuple[int, str]:
        """Run a command, and keep what it prints unless it fails."""
        words = list(command.command)
        name = f"commands/{slug(' '.join(words))}"
        how: JsonValue = [words, command.shell, command.hide_standard_error, COLUMNS]
        if (output := current(name, how)) is None:
            code, text = command.get_output()
            if code != 0:
                return code, text
            output = keep(name, how, text)
        self.environments.append(output.environment)
        result = self[command] = 0, str(output.content)
        return result


class Exercise(execute.NotebookClientDirect):  # type: ignore[misc]
    """A notebook, which runs unless its outputs are kept.

    Attributes
    ----------
    environments
        Where and when each exercise ran, by its page.
    ahead
        Outputs of exercises that run beside the reading of pages, by page; see
        `jaxcap_docs.run.ahead`.
    """

    environments: ClassVar[dict[str, Environment]] = {}
    ahead: ClassVar[dict[str, Future[Output]]] = {}

    def start_client(self) -> None:
        """Fill the notebook with its outputs, which raises if a cell fails."""
        output = self.ahead.pop(self._name).result() if self._name in self.ahead else self.run()
        self._fill(output.content)
        self.environments[self._name] = output.environment

    def run(self) -> Output:
        """Return the outputs that are kept and current, or run the notebook, and keep its outputs.

        Raises
        ------
        ExecutionError
            If a cell fails. Then nothing is kept.
        """
        source: JsonValue = [[cell.source, cell.metadata] for cell in self._code_cells()]
        if (output := current(self._name, source)) is None:
            super().start_client()
            output = keep(self._name, source, self._outputs())
        return output

    @property
    def _name(self) -> str:
        return f"{EXERCISES_FOLDER}{self.path.stem}"

    def _outputs(self) -> dict[str, Any]:
        return {
            "language_info": self.notebook.metadata.language_info,  # cells are highlighted by it
            "cells": [
                {"execution_count": cell.execution_count, "outputs": cell.outputs}
                for cell in self._code_cells()
            ],
        }

    def _fill(self, content: Any) -> None:
        self.notebook.metadata.language_info = from_dict(content["language_info"])
        for cell, kept in zip(self._code_cells(), content["cells"], strict=True):
            cell.update(from_dict(kept))

    def _code_cells(self) -> Iterator[NotebookNode]:
        return (cell for cell in self.notebook.cells if cell.cell_type == "code")


def on_builder_inited(app: Sphinx) -> None:
    """Look up commands and exercises in what is kept.

    Sphinx keeps the outputs of commands with its pages, whatever changes in the package.
    """
    app.env.programoutput_cache = Commands()  # type: ignore[attr-defined]
    os.environ["JAXCAP_COLUMNS"] = COLUMNS  # for the commands that this build runs
    execute.NotebookClientDirect = Exercise
