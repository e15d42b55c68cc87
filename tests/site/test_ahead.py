"""Exercises that run beside the reading of other pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from fakes import ENVIRONMENT
from jaxcap_docs.run import ahead
from jaxcap_docs.run.outputs import Exercise, Output
from myst_nb.core.config import NbParserConfig

OUTPUT = Output(key="key", environment=ENVIRONMENT, content={"cells": []})
TIMED, UNTIMED = "exercises/3_jit", "exercises/1_arrays"
PAGES = ["command_line", UNTIMED, TIMED, "exercises/index", "index"]


class App:
    """As much of Sphinx as listens to events."""

    config = SimpleNamespace(nb_execution_mode="force")

    def __init__(self) -> None:
        self.listener: Callable[..., object] | None = None

    def connect(self, event: str, listener: Callable[..., object]) -> int:
        assert event == "source-read"
        self.listener = listener
        return 1

    def disconnect(self, _: int) -> None:
        self.listener = None

    def read(self, page: str) -> None:
        if self.listener:
            self.listener(self, page, [""])


@pytest.fixture(autouse=True)
def nothing_planned() -> Iterator[None]:
    yield
    Exercise.ahead.clear()


@pytest.fixture
def env(tmp_path: Path) -> SimpleNamespace:
    """Return pages of which one exercise reads a clock."""
    (tmp_path / "exercises").mkdir()
    for page in PAGES:
        text = "from jaxcap.measure.timing import compare" if page == TIMED else "1 + 1"
        (tmp_path / f"{page}.md").write_text(text, encoding="utf-8")
    return SimpleNamespace(doc2path=lambda page: str(tmp_path / f"{page}.md"))


def plan(env: Any, pages: list[str]) -> App:
    app: Any = App()
    ahead.on_env_before_read_docs(app, env, pages)
    made: App = app
    return made


def test_pages_that_measure_come_first_and_exercises_that_do_not_last(env: Any) -> None:
    pages = PAGES.copy()
    plan(env, pages)
    assert pages == ["command_line", TIMED, "exercises/index", "index", UNTIMED]


def test_nothing_runs_before_the_last_page_that_measures_has_been_read(
    env: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_exercise", lambda *_: SimpleNamespace(run=lambda: OUTPUT))
    app = plan(env, PAGES.copy())
    future = Exercise.ahead[UNTIMED]
    for page in ("command_line", TIMED):
        app.read(page)
    assert app.listener
    app.read("exercises/index")
    assert future.result(timeout=60) is OUTPUT
    assert app.listener is None


def test_an_exercise_alone_runs_when_it_is_read(env: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_exercise", lambda *_: SimpleNamespace(run=lambda: OUTPUT))
    app = plan(env, [UNTIMED])
    future = Exercise.ahead[UNTIMED]
    app.read(UNTIMED)
    assert future.result(timeout=60) is OUTPUT


def test_a_failure_is_raised_where_the_page_is_read(
    env: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Output:
        raise RuntimeError("a cell failed")

    monkeypatch.setattr(ahead, "_exercise", lambda *_: SimpleNamespace(run=fail))
    plan(env, [UNTIMED]).read(UNTIMED)
    notebook = nbformat.v4.new_notebook()
    exercise = Exercise(notebook, Path(env.doc2path(UNTIMED)), NbParserConfig(), None)
    with pytest.raises(RuntimeError, match="a cell failed"):
        exercise.start_client()


def test_without_execution_nothing_is_planned(env: Any) -> None:
    app: Any = App()
    app.config = SimpleNamespace(nb_execution_mode="off")
    pages = PAGES.copy()
    ahead.on_env_before_read_docs(app, env, pages)
    assert pages == PAGES
    assert not Exercise.ahead
