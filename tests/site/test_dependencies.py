"""Which files make a page be read again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jaxcap_docs import image_files, page_records
from jaxcap_docs.read import dependencies

SPHINX: Any = None


class Pages:
    """Pages that note what they are made from, as Sphinx's environment would keep it."""

    def __init__(self) -> None:
        self.env: Any = SimpleNamespace(docname="")

    def read(self, page: str, note: Callable[[Any], None]) -> None:
        dependencies.on_env_purge_doc(SPHINX, self.env, page)
        self.env.docname = page
        note(self.env)

    def outdated(self) -> list[str]:
        return sorted(dependencies.on_env_get_outdated(SPHINX, self.env, set(), set(), set()))


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pages:
    monkeypatch.setattr(page_records, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(page_records, "RECORDED", tmp_path / "recorded")
    write("records/basics/jit", tmp_path)
    write("recorded/gpu/jit", tmp_path)
    made = Pages()
    made.read("record", lambda env: dependencies.note_record(env, "basics/jit"))
    made.read("missing", lambda env: dependencies.note_record(env, "basics/keys"))
    made.read("jit", lambda env: dependencies.note_recordings(env, ["jit"]))
    made.read("all", dependencies.note_all_results)
    return made


def write(name: str, folder: Path) -> None:
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}", encoding="utf-8")


def test_nothing_is_read_again_while_nothing_changes(pages: Pages) -> None:
    assert pages.outdated() == []


@pytest.mark.parametrize(
    ("name", "outdated"),
    [
        ("records/basics/jit", ["all", "record"]),
        ("records/basics/keys", ["all", "missing"]),
        ("records/performance/timing", ["all"]),
        ("recorded/gpu/jit", ["all", "jit"]),
        ("recorded/another-gpu/jit", ["all", "jit"]),
        ("recorded/gpu/keys", ["all"]),
        ("records/basics/jit.notes", ["all"]),
    ],
)
def test_what_changes_or_is_added_makes_pages_be_read_again(
    pages: Pages, tmp_path: Path, name: str, outdated: list[str]
) -> None:
    write(name, tmp_path)
    os.utime(tmp_path / f"{name}.json", ns=(1, 1))
    assert pages.outdated() == outdated


def test_what_is_removed_does_too(pages: Pages, tmp_path: Path) -> None:
    (tmp_path / "recorded" / "gpu" / "jit.json").unlink()
    assert pages.outdated() == ["all", "jit"]


def test_page_that_was_read_again_or_is_gone_is_not_outdated(pages: Pages, tmp_path: Path) -> None:
    write("recorded/another-gpu/jit", tmp_path)
    pages.read("all", dependencies.note_all_results)
    dependencies.on_env_purge_doc(SPHINX, pages.env, "jit")
    assert pages.outdated() == []


def test_pages_of_published_values_depend_on_these(
    pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependencies, "PUBLISHED", tmp_path)
    pages.read("then_and_now", dependencies.note_published)
    assert pages.outdated() == []
    (tmp_path / "values.csv").touch()
    assert pages.outdated() == ["then_and_now"]


def test_pages_with_figures_depend_on_how_they_are_drawn(
    pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    style = tmp_path / "style"
    style.write_text("one", encoding="utf-8")
    monkeypatch.setattr(image_files, "CODE", (style,))
    pages.read("figure", dependencies.note_drawing)
    assert pages.outdated() == []
    os.utime(style, ns=(1, 1))
    assert pages.outdated() == ["figure"]
