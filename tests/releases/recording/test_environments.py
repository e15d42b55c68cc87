"""Environments of releases: what is installed in them, and what is said when that fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import jaxcap
from jaxcap.releases.recording import environments
from jaxcap.releases.recording.environments import InstallationError, available_releases, install


class Commands:
    """Stands in for uv, pip and the Pythons that they install into; notes what is asked of them."""

    def __init__(self, *, fails: tuple[str, ...] = ()) -> None:
        self.fails = fails
        self.installed: list[tuple[str, ...]] = []

    def __call__(self, *command: str, **_: float | None) -> str:
        if command[:3] == ("uv", "pip", "install"):
            self.installed.append(command[command.index("--python") + 2 :])
        if command[1] == "-c" and any(part in self.installed[-1] for part in self.fails):
            raise InstallationError("AttributeError: numpy.trapz")
        if command[:2] == ("uv", "venv"):
            Path(command[-1]).mkdir(parents=True, exist_ok=True)
        return "jax==0.4.20\nnumpy==1.26.4" if command[:3] == ("uv", "pip", "freeze") else ""


def replace_commands(monkeypatch: pytest.MonkeyPatch, commands: Commands) -> None:
    monkeypatch.setattr(environments, "_run", commands)


def test_an_old_release_gets_the_newest_numpy_that_it_works_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands(fails=("numpy",))
    replace_commands(monkeypatch, commands)
    made = install("0.4.20", tmp_path / "0.4.20", python="3.12")
    assert [packages[:3] for packages in commands.installed] == [
        ("jax==0.4.20", "jaxlib==0.4.20", "pydantic")
    ] * 2
    assert commands.installed[1][3:] == ("numpy<2", "scipy<1.14")
    assert made.requirements == "jax==0.4.20\nnumpy==1.26.4\n"
    install("0.4.20", tmp_path / "0.4.20", python="3.12")
    assert len(commands.installed) == 2


def test_a_recording_that_continues_gets_what_it_had_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands()
    replace_commands(monkeypatch, commands)
    locked = "jax==0.4.20\nnumpy==1.26.4\n"
    install("0.4.20", tmp_path / "0.4.20", python="3.12", requirements=locked)
    assert commands.installed == [("jax==0.4.20", "numpy==1.26.4")]


def test_a_release_that_works_with_nothing_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_commands(monkeypatch, Commands(fails=("numpy", "numpy<2")))
    with pytest.raises(InstallationError, match=r"JAX 0\.4\.20 doesn't work with .*numpy\.trapz"):
        install("0.4.20", tmp_path / "0.4.20", python="3.12")
    replace_commands(monkeypatch, Commands())
    assert install("0.4.20", tmp_path / "0.4.20", python="3.12").requirements


def test_an_environment_imports_this_copy_of_jaxcap_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_commands(monkeypatch, Commands())
    (folder,) = install("0.4.20", tmp_path / "made", python="3.12").interpreter.path
    link = Path(folder, "jaxcap")
    assert [path.name for path in Path(folder).iterdir()] == ["jaxcap"]
    link.unlink()
    link.symlink_to(tmp_path)  # as another copy of jaxcap would leave it
    install("0.4.20", tmp_path / "made", python="3.12")
    assert link.resolve() == Path(jaxcap.__file__).parent.resolve()


def test_cuda_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands()
    replace_commands(monkeypatch, commands)
    install("0.6.0", tmp_path / "made", python="3.12", extra="cuda12")
    assert commands.installed[0][0] == "jax[cuda12]==0.6.0"


def test_a_python_that_is_not_there_is_named() -> None:
    with pytest.raises(InstallationError, match=r"uv finds no Python .*/no/python here"):
        available_releases("/no/python")


def test_without_uv_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(InstallationError, match=r"uv isn't installed: .*jaxcap\[releases\]"):
        install("0.6.0", tmp_path / "made", python="3.12")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("Traceback:\n  File\nImportError: no numpy\n", "ImportError: no numpy"),
        ("error: No such release\n  cause: DNS\n", "No such release"),
        ("", ""),
    ],
)
def test_the_reason_is_the_line_that_names_it(output: str, reason: str) -> None:
    assert environments._reason(output) == reason
