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
from itertools import cycle
from pathlib import Path
from typing import Any

import jax
import jsonschema
import pytest
from click.testing import CliRunner, Result
from interrupts import _heeding_ctrl_c  # noqa: F401  (a fixture)
from libraries import needs_torch

from jaxcap import __version__
from jaxcap.cli import SECTIONS, checks, cli, main, options
from jaxcap.cli.options import InputError
from jaxcap.cli.results import FORMATS
from jaxcap.cli.run import CommandRun
from jaxcap.kernels.dispatch import OPERATIONS
from jaxcap.measure.machine import disturbance, lock
from jaxcap.measure.machine.disturbance import CpuTimes
from jaxcap.measure.machine.nvidia import nvidia_driver
from jaxcap.report import exports
from jaxcap.results import ResultSet, json_schema

JAXCAP = (sys.executable, "-m", "jaxcap")
# What takes longer to import than to show a help.
LARGE = {"filelock", "jax", "matplotlib", "numpy", "pydantic", "rich", "scipy", "torch"}

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
    paths = [path]
    for name, command in getattr(group, "commands", {}).items():
        paths += all_commands(command, (*path, name))
    return paths


@pytest.fixture(autouse=True)
def without_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests run commands at the same time, because none looks at how long something took."""
    monkeypatch.setenv("JAXCAP_LOCK_HELD", "1")


@pytest.mark.parametrize("path", all_commands(), ids=" ".join)
def test_every_command_has_help(path: Sequence[str]) -> None:
    result = invoke(*path, "--help")
    assert result.exit_code == 0
    assert result.output.startswith("Usage: ")
    description = result.output.split("\n\n")[1].strip()
    assert description.endswith(".")


@pytest.mark.parametrize(
    "path",
    [path for path in all_commands() if path[:1] != ("mnist",) and path != ("results",)],
    ids=" ".join,
)
def test_help_ends_with_an_example(path: Sequence[str]) -> None:
    examples = invoke(*path, "--help").output.split("Example: ")
    assert len(examples) == 2
    assert examples[1].startswith(" ".join(("jaxcap", *path)))


def test_help_lists_every_command_in_a_section_once() -> None:
    sections = invoke("--help").output.partition("\nMeasure:\n")[2]
    listed = [line.split()[0] for line in sections.splitlines() if line.startswith("  ")]
    assert [name for name in listed if name in cli.commands] == list(cli.commands)
    assert "https://jaxcap.github.io/jaxcap" in sections


@pytest.mark.parametrize(
    ("name", "line"), [row for rows in SECTIONS.values() for row in rows.items()]
)
def test_help_lists_commands_by_the_first_line_of_their_own(
    name: str, line: tuple[str, str]
) -> None:
    assert cli.commands[name].name == name
    assert cli.commands[name].get_short_help_str(80) == line[1]


def imported_by(*arguments: str, **variables: str) -> set[str]:
    """Names of the packages that the command imports."""
    report = subprocess.run(
        [sys.executable, "-X", "importtime", *JAXCAP[1:], *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=not variables,  # after completion, Click exits with 1
    ).stderr
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in report.splitlines()}
    assert {"click", "jaxcap"} <= names
    return names


@pytest.mark.parametrize("path", all_commands(), ids=" ".join)
def test_help_waits_for_no_large_library(path: Sequence[str]) -> None:
    # The options of a training are made from its settings, which are a model.
    needed = {"pydantic"} if path[:1] == ("mnist",) else set()
    assert imported_by(*path, "--help") & LARGE == needed


def test_the_version_waits_for_no_large_library() -> None:
    assert imported_by("--version") & LARGE == set()


def test_completion_of_a_command_waits_for_no_large_library() -> None:
    words = {"_JAXCAP_COMPLETE": "zsh_complete", "COMP_WORDS": "jaxcap re", "COMP_CWORD": "1"}
    assert imported_by(**words) & LARGE == set()


def test_an_unknown_command_is_told_what_it_may_have_meant() -> None:
    assert "Did you mean 'results'?" in invoke("result").stderr


def test_listing_results_needs_no_numpy(tmp_path: Path) -> None:
    file = str(tmp_path / "results.json")
    small = ("--array-length", "100", "--budget", "0.001", "--quiet")
    assert invoke("scipy", "numpy", *small, "--json", file).exit_code == 0
    assert imported_by("results", "list", file) & LARGE == {"pydantic", "rich"}


def test_formats_of_exports_are_all_that_there_are() -> None:
    assert tuple(exports.FORMATS) == FORMATS


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=needs_torch if "pytorch" in command else ())
        for command in (*MEASURING, *(f"{framework} {BRIEFLY}" for framework in TRAINING))
    ],
)
def test_saved_results_follow_the_schema_that_is_shipped(command: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    budget = [] if command.startswith("mnist") else ["--budget", "0.001"]
    result = invoke(*command.split(), *budget, "--json", str(file))
    assert result.exit_code == 0, result.output
    shipped = json.loads((files("jaxcap.results") / "schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(file.read_bytes()), shipped)
    loaded = ResultSet.load(file)
    assert all(result.time.value > 0 for result in loaded.results)
    shown = invoke("results", "show", str(file))
    assert shown.exit_code == 0
    assert all(result.variant in shown.output for result in loaded.results)


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
    monkeypatch.setattr(checks, "wave_derivative", lambda x, _: 0 * x)
    result = invoke("autograd", "jax", "--budget", "0.001")
    assert result.exit_code == 1
    assert "these values are not as expected: f'(x)" in result.output


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
        ("xla numpy --matrix-size 10000000", "10,000,000 needs 4.0 PB of memory, but only "),
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
    assert "JAX finds no GPU here (it computes on the CPU)" in result.stderr


@needs_torch
@pytest.mark.parametrize("library", ["numpy", "pytorch"])
def test_libraries_that_cannot_use_a_gpu_say_so(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert CommandRun().platforms(library) == ["cpu"]
    assert CommandRun().platforms("jax") == ["gpu", "cpu"]
    with pytest.raises(InputError, match="can't compute on the GPU here: leave the option out"):
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
        options, "find_spec", lambda name: None if name == module else find_spec(name)
    )
    result = invoke(*command.split())
    assert result.exit_code == 2
    assert f"isn't installed: run `python -m pip install '{remedy}'`" in result.stderr


def test_too_little_memory_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(checks, "matrix_values", no_memory)
    monkeypatch.setattr(sys, "argv", ["jaxcap", "xla", "numpy", "--matrix-size", "20"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.endswith("choose a smaller size\n")


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


@pytest.mark.parametrize(
    "command", ["--version", "--help", "results schema", "scipy numpy --budget 0.001"]
)
def test_a_full_disk_behind_standard_output_is_said_in_a_sentence(command: str) -> None:
    with Path("/dev/full").open("w", encoding="ascii") as full:
        result = subprocess.run(
            [*JAXCAP, *command.split()],
            env=os.environ | {"PYTHONUNBUFFERED": ""},  # what stays in the buffer fails again
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 1
    assert result.stderr == ("Error: can't write to standard output: No space left on device\n")


def test_other_failures_of_the_system_are_not_blamed_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise OSError("libtorch.so: cannot open shared object file")

    monkeypatch.setattr(cli, "main", fail)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "Error: libtorch.so: cannot open shared object file\n"


def test_a_busy_machine_is_not_measured_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LOCK", tmp_path / "lock")
    monkeypatch.delenv("JAXCAP_LOCK_HELD")
    with lock.measuring_alone():
        result = invoke("scipy", "numpy", "--array-length", "100", "--budget", "0.001")
    assert result.exit_code == 2
    assert "Error: another recording or build is measuring on this machine" in result.stderr


@pytest.mark.parametrize(("idle_s", "is_busy"), [(50.0, True), (95.0, False)])
def test_other_work_while_a_command_measures_is_warned_of(
    idle_s: float, is_busy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_and_after = cycle([CpuTimes(0.0, 0.0, 0.0), CpuTimes(100.0, idle_s, 0.0)])
    monkeypatch.setattr(disturbance, "cpu_times", lambda: next(before_and_after))
    result = invoke("scipy", "numpy", "--array-length", "100", "--budget", "0.001")
    assert result.exit_code == 0
    assert ("Warning: other work took" in result.stderr) is is_busy


def test_results_can_go_to_standard_output() -> None:
    command = "scipy numpy --array-length 100 --budget 0.001 --json -"
    result = invoke(*command.split())
    assert result.exit_code == 0
    first, *_ = json.loads(result.stdout)["results"]
    assert first["experiment"] == "calibration"
    assert "slope" in result.stderr


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    link, file = tmp_path / "link.json", tmp_path / "file.json"
    link.symlink_to(file)
    command = "scipy numpy --array-length 100 --budget 0.001 --quiet --json"
    assert invoke(*command.split(), str(link)).exit_code == 0
    assert link.is_symlink()
    assert ResultSet.load(file).results


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.touch(mode=0o444)
    result = invoke("jit", "--json", str(file))
    assert result.exit_code == 2
    assert "results.json can't be written (Permission denied): choose another path" in result.stderr
    assert file.read_bytes() == b""


@pytest.mark.parametrize(
    ("command", "platforms"),
    [
        ("jit", "cuda"),
        ("scipy numpy", "nonsense"),
        ("record --list", "cuda"),
        ("mnist flax --data subset", "cuda"),
    ],
)
def test_a_platform_that_jax_cannot_start_is_said_in_a_sentence(
    command: str, platforms: str
) -> None:
    if nvidia_driver():
        pytest.skip("there is a GPU")
    result = run(*command.split(), env=os.environ | {"JAX_PLATFORMS": platforms})
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == (
        f"Error: the environment variable JAX_PLATFORMS is '{platforms}', but JAX can't start that "
        "here: unset JAX_PLATFORMS, or run `jaxcap doctor` to find out why\n"
    )


def test_encodings_that_lack_the_rules_of_tables_get_others() -> None:
    command = ["scipy", "numpy", "--array-length", "100", "--budget", "0.001"]
    variables = os.environ | {"PYTHONIOENCODING": "cp1252"}
    result = run(*command, env=variables, encoding="cp1252")
    assert result.returncode == 0
    assert "Error" not in result.stderr
    assert "----" in result.stdout
    assert "slope" in result.stdout


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_one_line(option: str) -> None:
    result = run(option)
    assert (result.returncode, result.stdout) == (0, f"jaxcap {__version__}\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    assert "_JAXCAP_COMPLETE" in invoke("completion", shell).output


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("re", ["record", "releases", "results", "report"]),
        ("--v", ["--version"]),
        ("xla ", ["numpy", "pytorch", "jax"]),
        ("results va", ["validate"]),
        ("results export --fo", ["--format"]),
    ],
)
def test_completion_offers_commands_and_their_options(typed: str, offered: list[str]) -> None:
    variables = {
        "_JAXCAP_COMPLETE": "bash_complete",
        "COMP_WORDS": f"jaxcap {typed}",
        "COMP_CWORD": str(len(typed.split(" "))),
    }
    result = run(env=os.environ | variables)
    assert result.stdout.split() == [f"plain,{word}" for word in offered]


def test_a_single_operation_can_be_measured(tmp_path: Path) -> None:
    (option,) = (each for each in cli.commands["dispatch"].params if each.name == "operation")
    assert option.type.choices == tuple(OPERATIONS)  # type: ignore[attr-defined]
    file = tmp_path / "eig.json"
    invoke("dispatch", "--operation", "eig", "--budget", "1e-6", "--json", str(file), "--quiet")
    assert {result.parameters["operation"] for result in ResultSet.load(file)} == {"eig"}


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


def test_an_interrupt_while_the_command_is_imported_is_said_in_a_word(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt", encoding="ascii")
    result = run("jit", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (130, "Interrupted.\n")


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{' '.join(JAXCAP)} scipy numpy --budget 0.001 | head -n 1"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == 1
    assert "Error" not in result.stderr
