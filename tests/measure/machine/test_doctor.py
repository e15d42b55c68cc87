"""What the doctor finds on machines, this one and others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from jaxcap.cli import cli
from jaxcap.measure.machine import doctor
from jaxcap.measure.machine.doctor import Facts, diagnose, examine
from jaxcap.measure.machine.nvidia import nvidia_driver

CPU = Facts(jax="0.11.2", jaxlib="0.11.2", backend="cpu")
PLUGINS = {"jax-cuda13-plugin": "0.11.2", "jax-cuda13-pjrt": "0.11.2"}
GPU = Facts(
    jax="0.11.2",
    jaxlib="0.11.2",
    backend="gpu",
    driver="580.65.06",
    plugins=PLUGINS,
    torch="2.11.0",
    torch_sees_gpu=True,
    variables={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
)


def remedies(facts: Facts) -> dict[str, str]:
    return {finding.subject: finding.remedy for finding in diagnose(facts) if finding.remedy}


@pytest.mark.installation
def test_this_machine_is_used_as_it_should_be() -> None:
    assert remedies(replace(examine(), other_work=None)) == {}


@pytest.mark.parametrize(
    "facts", [CPU, GPU, replace(CPU, torch="2.11.0")], ids=["cpu", "gpu", "torch"]
)
def test_a_good_installation_has_no_problem(facts: Facts) -> None:
    assert remedies(facts) == {}


@pytest.mark.parametrize(
    ("facts", "subject", "remedy"),
    [
        (replace(GPU, backend="cpu", plugins={}), "Accelerator", "'jaxcap[cuda]'"),
        (replace(GPU, backend="cpu", plugins={}, driver=""), "Accelerator", "'jaxcap[cuda]'"),
        (
            replace(GPU, backend="cpu", variables={"JAX_PLATFORMS": "cpu"}),
            "Accelerator",
            "unset JAX_PLATFORMS",
        ),
        (
            replace(GPU, backend="cpu", variables={"CUDA_VISIBLE_DEVICES": ""}),
            "Accelerator",
            "unset CUDA_VISIBLE_DEVICES",
        ),
        (replace(GPU, backend="cpu"), "Accelerator", "nvidia-smi"),
        (replace(GPU, plugins=PLUGINS | {"jax-cuda13-pjrt": "0.11.1"}), "CUDA plugin", "--upgrade"),
        (replace(GPU, driver="550.54.14"), "Driver", "580"),
        (
            replace(GPU, driver="520.0", plugins={"jax-cuda12-plugin": "0.11.2"}),
            "Driver",
            "525",
        ),
        (replace(GPU, torch_sees_gpu=False), "PyTorch", "install PyTorch for CUDA"),
        (replace(GPU, variables={}), "GPU memory", "XLA_PYTHON_CLIENT_PREALLOCATE=false"),
        (replace(CPU, backend=None, failure="jaxlib is too old"), "JAX", "--upgrade"),
        (replace(GPU, backend=None, imports=False, failure="too old"), "JAX", "--upgrade"),
        (replace(GPU, backend=None, failure="no device"), "JAX", "nvidia-smi"),
        (replace(GPU, backend=None, plugins={}), "JAX", "'jaxcap[cuda]'"),
        (replace(GPU, backend=None, variables={"JAX_PLATFORMS": "cuda"}), "JAX", "nvidia-smi"),
        (
            replace(GPU, backend=None, variables={"JAX_PLATFORMS": "nonsense"}),
            "JAX",
            "unset JAX_PLATFORMS",
        ),
        (
            replace(CPU, backend=None, variables={"JAX_PLATFORMS": "cuda"}),
            "JAX",
            "unset JAX_PLATFORMS",
        ),
        (replace(CPU, backend=None, variables={"JAX_PLATFORMS": ""}), "JAX", "--upgrade"),
    ],
)
def test_each_problem_comes_with_its_remedy(facts: Facts, subject: str, remedy: str) -> None:
    (finding,) = [finding for finding in diagnose(facts) if finding.remedy]
    assert finding.subject == subject
    assert remedy in finding.remedy
    assert facts.failure in finding.state


@pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES=0,1", "JAX_PLATFORMS=cuda,cpu"])
def test_variables_that_allow_the_gpu_are_not_blamed(variable: str) -> None:
    name, _, value = variable.partition("=")
    assert (
        "nvidia-smi"
        in remedies(replace(GPU, backend="cpu", variables={name: value}))["Accelerator"]
    )


@pytest.mark.parametrize("platforms", ["cuda", "gpu", "nonsense"])
def test_a_platform_that_is_not_there_is_advised_against(platforms: str) -> None:
    if nvidia_driver():
        pytest.skip("there is a GPU")
    result = subprocess.run(
        [sys.executable, "-m", "jaxcap", "doctor"],
        env=os.environ | {"JAX_PLATFORMS": platforms},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert f"unset JAX_PLATFORMS, which is '{platforms}'" in result.stdout
    assert "--upgrade" not in result.stdout
    assert "Traceback" not in result.stderr


def test_a_broken_jax_beside_a_driver_is_diagnosed(tmp_path: Path) -> None:
    broken = tmp_path / "jax.py"
    broken.write_text("raise RuntimeError('jaxlib is too old')", encoding="ascii")
    script = (
        "from jaxcap.measure.machine import doctor\n"
        "doctor.nvidia_driver = lambda: '580.65.06'\n"
        "facts = doctor.examine()\n"
        "print(facts.driver, facts.imports, facts.failure)\n"
        "print(doctor.diagnose(facts)[0].remedy)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    facts, remedy = result.stdout.splitlines()
    assert facts == "580.65.06 False jaxlib is too old"
    assert "--upgrade" in remedy


def test_the_command_fails_if_there_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: replace(GPU, driver="550.54.14"))
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 1
    assert "install NVIDIA driver 580 or newer" in result.output
    assert "Problems: 1." in result.output


def test_the_command_succeeds_if_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: GPU)
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 0
    assert "No problems were found." in result.output


@pytest.mark.parametrize(
    ("share", "remedy"), [(0.38, "stop it, or measure later"), (0.04, "nothing")]
)
def test_a_busy_machine_is_no_failure(
    share: float, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: replace(GPU, other_work=share))
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 0
    (line,) = [line for line in result.output.splitlines() if "Other work" in line]
    assert f"takes {share:.0%} of the CPU" in line
    assert remedy in line


def test_the_report_for_others_has_the_findings_and_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: GPU)
    printed = CliRunner().invoke(cli, ["doctor", "--json"])
    report = json.loads(printed.stdout)
    assert report["findings"][0] == {
        "subject": "JAX",
        "state": "jax 0.11.2, jaxlib 0.11.2",
        "remedy": "",
        "is_transient": False,
    }
    assert report["machine"]["Versions"].startswith("jaxcap ")
    CliRunner().invoke(cli, ["doctor", "--json", str(tmp_path / "report.json")])
    saved = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert saved["findings"] == report["findings"]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (CPU, "Error: --require gpu: JAX computes on the CPU\n"),
        (replace(CPU, backend=None), "Error: --require gpu: JAX has no working backend\n"),
        (GPU, ""),
    ],
)
def test_a_gpu_can_be_required(facts: Facts, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: facts)
    result = CliRunner().invoke(cli, ["doctor", "--require", "gpu"])
    assert result.exit_code == (1 if message else 0)
    assert result.stderr == message
