"""The scripts that record and build on SLURM's nodes, with stand-ins for what they call."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
RECORD, BUILD = DOCS / "results" / "record.sbatch", DOCS / "build.sbatch"
VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "XLA_PYTHON_CLIENT_PREALLOCATE")

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="runs a script of bash")


@pytest.mark.parametrize("script", [RECORD, BUILD])
def test_the_script_is_bash(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True)


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """Stand-ins that say what they are called with, where JAX computes on a GPU."""
    said = " ".join(f"${name}" for name in VARIABLES)
    for name in "jaxcap", "nox":
        stub = tmp_path / name
        stub.write_text(f'#!/bin/sh\necho {said} {name} "$@"\n', encoding="utf-8")
        stub.chmod(0o755)
    return tmp_path


def task(
    commands: Path, script: Path, /, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a script as SLURM does: that which records as one task of an array."""
    inherited = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    path = {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", script, *arguments],
        env=inherited | path | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("given", "index", "taken"),
    [("0", "0", "0"), ("0,1,2", "2", "2"), ("GPU-1f,GPU-2e", "1", "GPU-2e")],
)
def test_each_task_records_the_gpu_of_its_index(
    given: str, index: str, taken: str, commands: Path
) -> None:
    done = task(commands, RECORD, "jit", CUDA_VISIBLE_DEVICES=given, SLURM_ARRAY_TASK_ID=index)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"{taken} PCI_BUS_ID false jaxcap doctor",
        f"{taken} PCI_BUS_ID false nox -s record --no-venv -- jit",
    ]


def test_a_task_records_releases_if_that_is_asked_for(commands: Path) -> None:
    variables = {"CUDA_VISIBLE_DEVICES": "0,1", "SLURM_ARRAY_TASK_ID": "1"}
    done = task(commands, RECORD, "releases", "0.5.3", **variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1] == (
        "1 PCI_BUS_ID false jaxcap releases record --folder docs/recorded --extra cuda12 0.5.3"
    )


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "CUDA_VISIBLE_DEVICES: is not set: ask for GPUs"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES: is not set: ask for GPUs"),
        ({"CUDA_VISIBLE_DEVICES": "0"}, "is not there: this job got 1"),
    ],
)
def test_a_task_without_a_gpu_records_nothing(
    variables: dict[str, str], said: str, commands: Path
) -> None:
    done = task(commands, RECORD, SLURM_ARRAY_TASK_ID="1", **variables)
    assert done.returncode != 0
    assert done.stdout == ""
    assert said in done.stderr


@pytest.mark.parametrize("arguments", [(), ("jit", "grad")])
def test_the_site_is_built_with_what_is_installed(
    arguments: tuple[str, ...], commands: Path
) -> None:
    done = task(commands, BUILD, *arguments, CUDA_VISIBLE_DEVICES="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "0 false jaxcap doctor",
        " ".join(("0 false nox -s docs --no-venv --", *arguments)),
    ]


@pytest.mark.parametrize("script", [RECORD, BUILD])
def test_nothing_is_measured_where_jax_does_not_use_the_gpu(script: Path, commands: Path) -> None:
    (commands / "jaxcap").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    done = task(commands, script, CUDA_VISIBLE_DEVICES="0", SLURM_ARRAY_TASK_ID="0")
    assert done.returncode == 1
    assert done.stdout == ""
