"""What exercises and commands put out, kept from one build to the next."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from fakes import ENVIRONMENT
from jaxcap_docs import sources
from jaxcap_docs.run import outputs
from myst_nb.core.config import NbParserConfig
from myst_nb.core.execute import ExecutionError
from sphinxcontrib.programoutput import Command

# Adds a line to a file each time that it runs.
COUNT = "open('runs.txt', 'a').write('again\\n')"
# What may be in a file of the store instead of an output.
DAMAGE = {
    "empty": "",
    "no JSON": "{",
    "another version": '{"schema_version": 9}',
    "not text": "\udcff",
}


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Let a build reuse what is kept below ``tmp_path``, with a package and a machine to change."""
    package = tmp_path / "jaxcap"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    made = SimpleNamespace(package=package, machine=ENVIRONMENT)
    monkeypatch.setattr(outputs, "STORE", tmp_path / "store")
    monkeypatch.setattr(outputs, "PACKAGE", package)
    monkeypatch.setattr(outputs, "package_files", lambda: sorted(package.iterdir()))
    monkeypatch.setattr(outputs, "capture", lambda: made.machine)
    monkeypatch.setattr(sources, "capture", lambda: made.machine)
    monkeypatch.setenv("JAXCAP_REUSE", "1")
    return made


def run_command(folder: Path, code: str = f"{COUNT}; print('words')") -> tuple[int, str]:
    """Look up a command as a new build would."""
    outputs.surroundings_digest.cache_clear()
    sources.surroundings.cache_clear()
    command = Command([sys.executable, "-c", code], working_directory=str(folder))
    result: tuple[int, str] = outputs.Commands()[command]
    return result


def runs(folder: Path) -> int:
    path = folder / "runs.txt"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def test_a_kept_output_is_taken_and_the_command_does_not_run(tmp_path: Path) -> None:
    first, second = run_command(tmp_path), run_command(tmp_path)
    assert first == second == (0, "words")
    assert runs(tmp_path) == 1


def test_without_reuse_everything_runs_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAXCAP_REUSE")
    run_command(tmp_path)
    run_command(tmp_path)
    assert runs(tmp_path) == 2
    monkeypatch.setenv("JAXCAP_REUSE", "1")
    run_command(tmp_path)
    assert runs(tmp_path) == 2


MACHINES: dict[str, dict[str, Any]] = {
    "a library": {"versions": ENVIRONMENT.versions | {"jax": "99"}},
    "a flag": {"flags": {"jax_enable_x64": "True"}},
    "Python": {"python": "9.9"},
    "the device": {"device": ENVIRONMENT.device.model_copy(update={"name": "another"})},
}


@pytest.mark.parametrize("change", MACHINES)
def test_another_machine_runs_the_command_again(
    tmp_path: Path, surroundings: SimpleNamespace, change: str
) -> None:
    run_command(tmp_path)
    surroundings.machine = ENVIRONMENT.model_copy(update=MACHINES[change])
    run_command(tmp_path)
    assert runs(tmp_path) == 2


@pytest.mark.parametrize("name", ["__init__.py", "new.py"])
def test_a_changed_or_new_file_of_the_package_runs_the_command_again(
    tmp_path: Path, surroundings: SimpleNamespace, name: str
) -> None:
    run_command(tmp_path)
    (surroundings.package / name).write_text("x = 1", encoding="utf-8")
    run_command(tmp_path)
    assert runs(tmp_path) == 2


def test_dates_and_commits_run_nothing_again(tmp_path: Path, surroundings: SimpleNamespace) -> None:
    run_command(tmp_path)
    later = ENVIRONMENT.measured_at.replace(year=2099)
    surroundings.machine = ENVIRONMENT.model_copy(update={"measured_at": later, "commit": "abc"})
    run_command(tmp_path)
    assert runs(tmp_path) == 1


def test_a_command_that_fails_is_not_kept(tmp_path: Path) -> None:
    for _ in range(2):
        code, text = run_command(tmp_path, f"{COUNT}; print('words'); raise SystemExit(3)")
        assert (code, text) == (3, "words")
    assert runs(tmp_path) == 2
    assert not list((tmp_path / "store").rglob("*.json"))


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: str) -> None:
    run_command(tmp_path)
    (kept,) = (tmp_path / "store").rglob("*.json")
    kept.write_text(DAMAGE[damage], encoding="utf-8", errors="surrogateescape")
    assert run_command(tmp_path) == (0, "words")
    assert runs(tmp_path) == 2
    run_command(tmp_path)
    assert runs(tmp_path) == 2


def test_a_store_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file in its place", encoding="utf-8")
    assert run_command(tmp_path) == run_command(tmp_path) == (0, "words")
    assert runs(tmp_path) == 2


def run_exercise(folder: Path, *code: str) -> Any:
    """Read an exercise as a new build would, and return its notebook."""
    outputs.surroundings_digest.cache_clear()
    sources.surroundings.cache_clear()
    page = folder / "1_made_up.md"
    page.write_text("", encoding="utf-8")
    cells = [nbformat.v4.new_code_cell(source) for source in code]
    notebook = nbformat.v4.new_notebook(cells=cells)
    config = NbParserConfig(execution_mode="force", execution_raise_on_error=True)
    logger = SimpleNamespace(info=print, warning=print)
    with outputs.Exercise(notebook, page, config, logger):
        return notebook


def test_an_exercise_that_is_played_back_is_the_one_that_ran(tmp_path: Path) -> None:
    code = (COUNT, "print('words')", "{'b': 1, 'a': 2}")
    ran, played_back = (run_exercise(tmp_path, *code) for _ in range(2))
    assert runs(tmp_path) == 1
    assert played_back.metadata == ran.metadata
    assert [c.outputs for c in played_back.cells] == [c.outputs for c in ran.cells]
    assert [c.execution_count for c in played_back.cells] == [1, 2, 3]
    assert outputs.Exercise.environments["exercises/1_made_up"] == ENVIRONMENT

    run_exercise(tmp_path, *code, "1")
    assert runs(tmp_path) == 2


def test_an_exercise_that_fails_is_not_kept(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ExecutionError):
            run_exercise(tmp_path, COUNT, "1 / 0")
    assert runs(tmp_path) == 2


def test_what_a_quick_build_ran_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXCAP_QUICK", "1")
    run_command(tmp_path)
    monkeypatch.delenv("JAXCAP_QUICK")
    run_command(tmp_path)
    assert runs(tmp_path) == 2
