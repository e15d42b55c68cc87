"""What the doctor says of machines, this one and others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

from jaxcap.cli import cli
from jaxcap.measure import doctor
from jaxcap.measure.doctor import Facts, diagnose, examine

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
    return {one.subject: one.remedy for one in diagnose(facts) if one.remedy}


@pytest.mark.installation
def test_this_machine_is_used_as_it_should_be() -> None:
    assert remedies(examine()) == {}


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
    ],
)
def test_each_problem_comes_with_its_remedy(facts: Facts, subject: str, remedy: str) -> None:
    found = remedies(facts)
    assert list(found) == [subject]
    assert remedy in found[subject]


@pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES=0,1", "JAX_PLATFORMS=cuda,cpu"])
def test_variables_that_allow_the_gpu_are_not_blamed(variable: str) -> None:
    name, _, value = variable.partition("=")
    found = remedies(replace(GPU, backend="cpu", variables={name: value}))
    assert "unset" not in found["Accelerator"]


def test_the_command_fails_if_there_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: replace(GPU, driver="550.54.14"))
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 1
    assert "install the NVIDIA driver 580 or a newer one" in result.output
    assert "Problems: 1." in result.output


def test_the_command_succeeds_if_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: GPU)
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 0
    assert "No problem was found." in result.output
