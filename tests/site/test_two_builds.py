"""What a build does while another one, or a recording, is measuring on the same machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock
from jaxcap_docs.lessons import runnable
from jaxcap_docs.run import start as build_start

from jaxcap.measure.machine import lock as machine_lock

ROOT = Path(__file__).parents[2]
LOCK = "measuring.lock"
BUSY = "another recording or build is measuring on this machine"
# Sphinx's configuration of a build that ends as soon as it has begun.
CONFIGURATION = """
import os
from filelock import FileLock, Timeout

try:
    FileLock(os.environ["JAXCAP_LOCK"]).acquire(timeout=0)
except Timeout:
    raise RuntimeError(f"begun with the lock held: {os.environ['JAXCAP_LOCK_HELD']}")
"""
GENERATED = ("docs/tutorials/jit.rst", "docs/_build/records/jit.json")


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[FileLock]:
    """The lock of another build, held."""
    with FileLock(tmp_path / LOCK) as lock:
        yield lock


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with little but its sessions, and with what an earlier build generated."""
    project = tmp_path / "project"
    for name in ("noxfile.py", "pyproject.toml", "src/jaxcap/measure/machine/lock.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, project / name)
    for name in GENERATED:
        (project / name).parent.mkdir(parents=True)
        (project / name).write_text("generated", encoding="utf-8")
    (project / "docs" / "conf.py").write_text(CONFIGURATION, encoding="utf-8")
    return project


def start(project: Path, session: str, *options: str, ci: str) -> subprocess.Popen[str]:
    """Start a session, in CI or not."""
    command = (sys.executable, "-m", "nox", "--noxfile", project / "noxfile.py", "--session")
    return subprocess.Popen(
        [*command, session, *options],
        env=os.environ | {"CI": ci, "JAXCAP_LOCK": str(project.parent / LOCK)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


def generated_files_exist(project: Path) -> bool:
    return all((project / name).exists() for name in GENERATED)


@pytest.mark.usefixtures("lock")
@pytest.mark.parametrize("session", ["docs", "record"])
def test_the_second_is_refused_before_it_changes_anything(session: str, project: Path) -> None:
    environment = project / ".nox" / session
    subprocess.run([sys.executable, "-m", "virtualenv", "--quiet", environment], check=True)
    (environment / "installed").touch()
    process = start(project, session, ci="")
    output, _ = process.communicate()
    assert process.returncode != 0
    assert BUSY in output.splitlines()[-1]
    assert (environment / "installed").exists()
    assert generated_files_exist(project)


@pytest.mark.usefixtures("lock")
def test_links_are_not_checked_meanwhile_either(project: Path) -> None:
    process = start(project, "linkcheck", "--no-venv", ci="")
    output, _ = process.communicate()
    assert BUSY in output.splitlines()[-1]


@pytest.mark.usefixtures("lock")
def test_a_preview_is_refused_before_it_changes_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAXCAP_LOCK_HELD", raising=False)
    monkeypatch.setattr(machine_lock, "LOCK", tmp_path / LOCK)
    monkeypatch.setattr(build_start, "OUTPUTS", tmp_path / "outputs.json")
    app: Any = SimpleNamespace(srcdir=tmp_path / "docs")
    config: Any = SimpleNamespace(
        sphinx_gallery_conf={"filename_pattern": runnable("")}, plot_gallery=True
    )
    with pytest.raises(SystemExit, match=BUSY):
        build_start.on_config_inited(app, config)
    assert not (tmp_path / "outputs.json").exists()


def test_ci_waits_for_its_turn(lock: FileLock, project: Path) -> None:
    process = start(project, "docs", "--no-venv", ci="true")
    assert process.stdout is not None
    assert any(BUSY in line for line in process.stdout)
    assert process.poll() is None
    assert generated_files_exist(project)
    lock.release()
    output, _ = process.communicate()
    assert "begun with the lock held: 1" in output
    assert not generated_files_exist(project)
