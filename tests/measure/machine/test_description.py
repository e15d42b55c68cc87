"""The record of a machine has what timings depend on, and nothing that identifies anybody."""

from __future__ import annotations

import getpass
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest
from fakes import ENVIRONMENT

import jaxcap
from jaxcap.measure.machine import description, nvidia
from jaxcap.measure.machine.description import (
    capture,
    cpu,
    cpu_name,
    device_of,
    peak_memory_bytes,
)
from jaxcap.results import Device, Environment
from jaxcap.results.environment import provenance

CAPTURE = (
    "from jaxcap.measure.machine.description import capture; print(capture().model_dump_json())"
)


@pytest.fixture
def write_system_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], None]]:
    """Let the module find its system files, and no others, below a temporary folder."""
    for module in description, nvidia:
        monkeypatch.setattr(module, "Path", lambda path: tmp_path / str(path).lstrip("/"))
    cpu_name.cache_clear()

    def write(path: str, text: str) -> None:
        file = tmp_path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    yield write
    cpu_name.cache_clear()


def test_memory_of_the_parent_is_not_that_of_its_processes() -> None:
    code = "from jaxcap.measure.machine.description import peak_memory_bytes; print(peak_memory_bytes('cpu'))"
    before = peak_memory_bytes("cpu")
    held = bytearray(os.urandom(1)) * 10**9
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = peak_memory_bytes("cpu")
    if before is None or after is None:
        pytest.skip("this system doesn't count it")
    assert len(held) == 10**9
    assert after >= 10**9
    assert int(child.stdout) < 10**9


def test_nothing_identifies_host_user_or_folders() -> None:
    variables = os.environ | {
        "XLA_FLAGS": "--xla_dump_to=/home/someone/x --xla_cpu_enable_fast_math=false",
        "JAXCAP_COMMIT": "told-by-the-build",
    }
    text = subprocess.run(
        [sys.executable, "-c", CAPTURE], env=variables, capture_output=True, text=True, check=True
    ).stdout
    captured = Environment.model_validate_json(text)
    assert captured.flags["XLA_FLAGS"] == "--xla_dump_to=(path) --xla_cpu_enable_fast_math=false"
    assert captured.commit == "told-by-the-build"
    secrets = {str(Path.home()), "someone", str(Path(jaxcap.__file__).parent)}
    names = {socket.gethostname(), getpass.getuser()}
    # Short names, such as ``root`` or ``linux``, may be part of a word.
    secrets |= {name for name in names if len(name) > 5}
    assert [secret for secret in secrets if secret in text] == []


@pytest.fixture
def running_backend() -> None:
    """XLA has read its flags, and will not read those of a test."""
    jax.devices()


@pytest.mark.usefixtures("running_backend")
@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        ("--a=/home/someone/x", "--a=(path)"),
        ("--a=~/x --b=1", "--a=(path) --b=1"),
        (r"--a=C:\Users\someone --b=1", "--a=(path) --b=1"),
        ("--a='/home/some one/x'", "--a=(path) (path)"),
        ("--a=b=/home/someone", "--a=b=(path)"),
        ("/home/someone/flags.txt", "(path)"),  # XLA reads flags from a file, too
        ("--xla_cpu_enable_fast_math=false", "--xla_cpu_enable_fast_math=false"),
    ],
)
def test_paths_are_taken_out_of_flags(
    flags: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert capture().flags["XLA_FLAGS"] == shown


def test_flags_are_those_of_jax() -> None:
    with jax.enable_x64(True):
        assert capture().flags["jax_enable_x64"] == "True"
    assert capture().flags["jax_enable_x64"] == "False"


def test_capture_describes_this_process() -> None:
    captured = capture()
    assert captured.device == cpu()
    assert captured.versions["jax"] == jax.__version__
    assert captured.versions["jaxcap"] == jaxcap.__version__
    assert captured.python == platform.python_version()
    assert captured.measured_at.utcoffset() == timedelta(0)
    assert abs(captured.measured_at - datetime.now(UTC)) < timedelta(minutes=5)


def test_versions_include_the_plugins_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"jax": "0.10.0", "jax-cuda13-plugin": "0.10.1", "jax_cuda13_pjrt": "0.10.2"}
    found = [
        SimpleNamespace(name=name, version=versions.get(str(name)))
        for name in (*versions, "jaxtyping", None)
    ]

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "distributions", lambda: found)
    monkeypatch.setattr(metadata, "version", version)
    assert description._versions.__wrapped__() == versions


class TestSystemFiles:
    def test_name_the_cpu(self, write_system_file: Callable[[str, str], None]) -> None:
        write_system_file("/proc/cpuinfo", "processor : 0\nmodel name\t: Test CPU @ 3 GHz \n")
        assert cpu_name() == "Test CPU @ 3 GHz"

    @pytest.mark.parametrize("text", [None, "Hardware : Board\n"])
    def test_may_not_name_the_cpu(
        self,
        text: str | None,
        write_system_file: Callable[[str, str], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        if text:
            write_system_file("/proc/cpuinfo", text)
        monkeypatch.setattr(platform, "processor", lambda: "")
        monkeypatch.setattr(platform, "machine", lambda: "aarch64")
        assert cpu() == Device(platform="cpu", name="aarch64")

    def test_tell_the_largest_cache(self, write_system_file: Callable[[str, str], None]) -> None:
        for index, size in enumerate(["48K", "2048K", "36M", "unknown", "512"]):
            write_system_file(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size", f"{size}\n")
        assert capture().cache_bytes == 36 * 1024**2

    @pytest.mark.usefixtures("write_system_file")
    def test_may_not_tell_anything(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("JAXCAP_COMMIT", raising=False)
        captured = capture()
        assert (captured.cache_bytes, captured.driver, captured.commit) == (None, None, None)

    def test_tell_the_driver(self, write_system_file: Callable[[str, str], None]) -> None:
        write_system_file(
            "/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27\n"
            "GCC version: gcc version 11.4.0\n",
        )
        assert capture().driver == "580.65.06"


@pytest.mark.parametrize(("count", "cores"), [(3, 3), (None, 1)])
def test_cores_are_all_where_affinity_is_unknown(
    count: int | None, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert capture().cores == cores


def test_accelerators_are_named_as_they_name_themselves() -> None:
    gpu = SimpleNamespace(platform="gpu", device_kind="NVIDIA H100 80GB HBM3")
    named = device_of(gpu)
    assert named == Device(platform="gpu", name="NVIDIA H100 80GB HBM3")
    assert str(named) == "NVIDIA H100 80GB HBM3 (GPU)"


class TestCommit:
    @pytest.fixture
    def copied_source(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The module, as if it had been copied into somebody's git repository."""
        source = tmp_path / "jaxcap" / "description.py"
        source.parent.mkdir()
        shutil.copy(description.__file__, source)
        git(tmp_path, "init", "--quiet")
        (tmp_path / "README.md").write_text("Somebody else's\n", encoding="utf-8")
        git(tmp_path, "add", "README.md")
        git(tmp_path, "commit", "--quiet", "--message=First")
        monkeypatch.delenv("JAXCAP_COMMIT", raising=False)
        monkeypatch.setattr(description, "__file__", str(source))
        return source

    @pytest.mark.usefixtures("copied_source")
    def test_of_somebody_else_does_not_count(self) -> None:
        assert capture().commit is None

    def test_is_that_of_tracked_sources(self, copied_source: Path) -> None:
        git(copied_source.parent, "add", ".")
        git(copied_source.parent, "commit", "--quiet", "--message=Second")
        commit = git(copied_source.parent, "rev-parse", "HEAD")[:12]
        assert capture().commit == commit
        copied_source.write_text("changed\n", encoding="utf-8")
        assert capture().commit == f"{commit}-dirty"

    @pytest.mark.usefixtures("copied_source")
    def test_can_be_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAXCAP_COMMIT", "abc123")
        assert capture().commit == "abc123"

    @pytest.mark.usefixtures("copied_source")
    def test_is_unknown_without_git(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        assert capture().commit is None


def git(folder: Path, *command: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    return subprocess.run(
        ["git", "-C", folder, *identity, *command], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_provenance_tells_what_is_known() -> None:
    assert provenance(ENVIRONMENT) == {
        "Device": "1 × Test CPU (CPU)",
        "CPU": "Test CPU, 2 cores available",
        "Versions": "jax 0.10.0",
        "Python": "3.11.0 on Linux 6.1",
        "Flags": "jax_enable_x64=False",
        "Commit": "abc123",
        "Measured": "2026-11-21 12:30 UTC",
    }


def test_environments_differ_by_more_than_the_moment() -> None:
    later = ENVIRONMENT.measured_at + timedelta(days=1)
    ENVIRONMENT.require_same_machine(ENVIRONMENT.model_copy(update={"measured_at": later}))
    with pytest.raises(
        ValueError, match=r"python is '3\.11\.0' in one and '3\.12\.0' in the other"
    ):
        ENVIRONMENT.require_same_machine(ENVIRONMENT.model_copy(update={"python": "3.12.0"}))
