"""The commands that measure: what they print, save, and refuse."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jsonschema
import pytest
from click.testing import CliRunner, Result
from interrupts import _heeding_ctrl_c  # noqa: F401  (a fixture)

from jaxcap import __version__
from jaxcap.cli import cli, main, measuring, running
from jaxcap.cli.running import CommandRun, InputError
from jaxcap.results import ResultSet, json_schema

JAXCAP = (sys.executable, "-m", "jaxcap")

# The commands that measure, each on as little as it takes.
MEASURING = [
    "xla numpy --matrix-size 20",
    "xla pytorch --matrix-size 20",
    "xla jax --matrix-size 20",
    "jit",
    "scipy numpy --array-length 100",
    "scipy jax --array-length 100",
    "autograd pytorch",
    "autograd jax",
    "dispatch",
]
TRAINING = ["mnist flax", "mnist pytorch"]
BRIEFLY = (
    "--data subset --dry-run --num-epochs 2 --batch-size-training 8 --batch-size-validation 500"
)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [*JAXCAP, *arguments], capture_output=True, text=True, check=False, **options
    )


def all_commands(group: Any = cli, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path]
    for name, command in getattr(group, "commands", {}).items():
        found += all_commands(command, (*path, name))
    return found


@pytest.mark.parametrize("path", all_commands(), ids=" ".join)
def test_every_command_has_help(path: Sequence[str]) -> None:
    result = invoke(*path, "--help")
    assert result.exit_code == 0
    assert result.output.startswith("Usage: ")
    about = result.output.split("\n\n")[1].strip()
    assert about.endswith(".")


@pytest.mark.parametrize("command", [*MEASURING, *(f"{one} {BRIEFLY}" for one in TRAINING)])
def test_saved_results_follow_the_schema_that_is_shipped(command: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    budget = [] if command.startswith("mnist") else ["--budget", "0.001"]
    result = invoke(*command.split(), *budget, "--json", str(file))
    assert result.exit_code == 0, result.output
    shipped = json.loads((files("jaxcap.results") / "schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(file.read_bytes()), shipped)
    found = ResultSet.load(file)
    assert all(one.time.value > 0 for one in found.results)
    shown = invoke("results", "show", str(file))
    assert shown.exit_code == 0
    assert all(one.variant in shown.output for one in found.results)


def test_shipped_schema_is_that_of_the_models() -> None:
    shipped = (files("jaxcap.results") / "schema.json").read_text(encoding="utf-8")
    assert shipped == invoke("results", "schema").output
    assert json.loads(shipped) == json_schema()
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_schema_refuses_what_loading_refuses() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema_version": 2, "results": []}, json_schema())


def test_values_are_shown_beside_what_they_should_be() -> None:
    result = invoke("autograd", "jax", "--budget", "0.001")
    assert "1.7013" in result.output  # the seeds' f(3) and f'(3)
    assert "-0.2312" in result.output
    assert " NO" not in result.output


def test_values_that_are_not_as_expected_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_wave_slope", lambda x: 0 * x)
    result = invoke("autograd", "jax", "--budget", "0.001")
    assert result.exit_code == 1
    assert "not as expected: f'(x)" in result.output


def test_quiet_commands_print_nothing_and_save(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    result = invoke("scipy", "jax", "--quiet", "--budget", "0.001", "--json", str(file))
    assert (result.exit_code, result.output) == (0, "")
    assert file.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("xla jax --matrix-size 0", "0 is not in the range x>=1"),
        ("xla jax --matrix-size -1", "-1 is not in the range x>=1"),
        ("xla jax --matrix-size abc", "'abc' is not a valid integer"),
        ("xla numpy --matrix-size 10000000", "10,000,000 needs 4.0 PB of memory and "),
        ("scipy jax --array-length 1000000000000", "1,000,000,000,000 needs 96.0 TB of memory"),
        ("xla cupy", "'cupy' is not one of 'numpy', 'pytorch', 'jax'"),
        ("jit --device abacus", "'abacus' is not one of 'auto', 'cpu', 'gpu', 'tpu'"),
        ("jit --device tpu", "JAX finds no TPU here"),
        ("jit --budget 0", "0.0 is not a positive number of seconds"),
        ("jit --budget nan", "nan is not a positive number of seconds"),
        ("jit --json {folder}/none/results.json", "can't be written (No such file or directory)"),
        ("jit --json {folder}", "is a directory"),
        ("mnist flax --log {folder}/none/log.jsonl --data subset", "can't be written"),
        ("mnist flax --batch-size-training 1025", "--batch-size-training should be less than"),
        ("mnist preprocess-images --data complete", "choose"),
        ("results show {folder}/none.json", "does not exist"),
        ("results list {folder}", "holds no file of results"),
        ("unknown", "No such command 'unknown'"),
    ],
)
def test_bad_input_gets_one_sentence_and_nothing_is_written(
    arguments: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "complete" in arguments:
        monkeypatch.setenv("JAXCAP_MNIST_DIR", str(tmp_path))
        said = "put all four files of MNIST there"
    result = invoke(*arguments.format(folder=tmp_path).split())
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("Error: ") == 1
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="there is an accelerator")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    result = invoke("jit", "--device", "gpu")
    assert result.exit_code == 2
    assert "JAX finds no GPU here (its device is CPU)" in result.stderr


@pytest.mark.parametrize("library", ["numpy", "pytorch"])
def test_libraries_that_cannot_use_a_gpu_say_so(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert CommandRun().platforms(library) == ["cpu"]
    assert CommandRun().platforms("jax") == ["gpu", "cpu"]
    with pytest.raises(InputError, match="can't compute there; leave the option out"):
        CommandRun(device="gpu").platforms(library)


def test_all_bad_settings_are_reported_at_once() -> None:
    result = invoke(
        *("mnist", "flax", "--num-epochs", "0", "--learning-rate", "7", "--momentum", "much")
    )
    assert result.exit_code == 2
    assert "--num-epochs should be greater than or equal to 1, got 0" in result.stderr
    assert "--learning-rate should be less than or equal to 1, got 7" in result.stderr
    assert "--momentum should be a valid number" in result.stderr
    assert result.stderr.count("Error: ") == 1


@pytest.mark.parametrize(
    ("command", "module", "remedy"),
    [
        ("xla pytorch", "torch", "jaxcap[all]"),
        ("autograd pytorch", "torch", "jaxcap[all]"),
        ("mnist pytorch", "torch", "jaxcap[all]"),
        ("mnist flax", "flax", "jaxcap[mnist]"),
    ],
)
def test_a_missing_library_is_named_with_what_to_install(
    command: str, module: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        running, "find_spec", lambda name: None if name == module else find_spec(name)
    )
    result = invoke(*command.split())
    assert result.exit_code == 2
    assert f"isn't installed: python -m pip install '{remedy}'" in result.stderr


def test_too_little_memory_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(measuring, "_matrix_values", no_memory)
    monkeypatch.setattr(sys, "argv", ["jaxcap", "xla", "numpy", "--matrix-size", "20"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.endswith("choose a smaller size.\n")


def test_a_disk_that_fills_up_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(ResultSet, "save", full)
    file = str(tmp_path / "results.json")
    result = invoke("xla", "numpy", "--matrix-size", "20", "--budget", "0.001", "--json", file)
    assert result.exit_code == 2
    assert "results.json can't be written: No space left on device" in result.stderr
    assert "product" in result.stdout


def test_version_comes_with_what_timings_depend_on() -> None:
    result = run("--version")
    assert result.returncode == 0
    assert result.stdout.startswith(f"jaxcap {__version__}\nDevice: ")
    assert f"jax {jax.__version__}" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    assert "_JAXCAP_COMPLETE" in invoke("completion", shell).output


def test_completion_offers_the_commands() -> None:
    told = {"_JAXCAP_COMPLETE": "bash_complete", "COMP_WORDS": "jaxcap xla ", "COMP_CWORD": "2"}
    result = run(env=os.environ | told)
    assert result.stdout.split() == ["plain,numpy", "plain,pytorch", "plain,jax"]


def test_numpy_is_measured_without_pytorch() -> None:
    command = [sys.executable, "-X", "importtime", *JAXCAP[1:]]
    command += ["xla", "numpy", "--matrix-size", "20", "--budget", "0.001"]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    imported = {line.rpartition("|")[2].strip() for line in report.splitlines()}
    assert "jaxcap.experiments.linear_algebra" in imported
    assert imported & {"torch", "flax", "matplotlib"} == set()


@pytest.mark.usefixtures("_heeding_ctrl_c")
def test_an_interrupted_command_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [*JAXCAP, "xla", "numpy", "--matrix-size", "300", "--budget", "60"]
    with subprocess.Popen(
        [*command, "--json", str(tmp_path / "results.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # the values are there, so it measures
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == "Interrupted."
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{' '.join(JAXCAP)} scipy numpy --budget 0.001 | head -n 1"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr == ""
