"""The commands that train: their options, what they save, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from jaxcap.cli import cli
from jaxcap.cli.mnist import flax, pytorch
from jaxcap.mnist.config import Settings
from jaxcap.results import ResultSet

BRIEFLY = (
    *("mnist", "flax", "--data", "subset", "--dry-run"),
    *("--batch-size-training", "8", "--batch-size-validation", "500"),
)


def train(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [*BRIEFLY, *map(str, arguments)], catch_exceptions=False)


@pytest.mark.parametrize("command", [flax, pytorch])
def test_options_are_those_of_the_settings(command: click.Command) -> None:
    options: dict[str, Any] = {option.name or "": option for option in command.params}
    given = {}
    for name, field in Settings.model_fields.items():
        assert options[name].help == field.description
        given[name] = options[name].default
    assert Settings.model_validate(given) == Settings()


def test_training_logs_each_epoch_and_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    log, folder = tmp_path / "log.jsonl", tmp_path / "checkpoints"
    files = ("--log", log, "--checkpoints", folder)
    first = train(*files, "--num-epochs", 2)
    assert first.exit_code == 0
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2]
    again = train(*files, "--num-epochs", 3)
    assert again.exit_code == 0
    assert again.output.count("epoch ") == 3
    assert first.output.splitlines()[1:] == again.output.splitlines()[1:3]
    other = train(*files, "--seed", 1)
    assert other.exit_code == 2
    assert "was made with seed 0, and this training has 1" in other.stderr


class TestSavedTimes:
    def test_only_epochs_of_this_process_are_saved(self, tmp_path: Path) -> None:
        log, file = tmp_path / "log.jsonl", tmp_path / "results.json"
        files = ("--checkpoints", tmp_path / "checkpoints", "--log", log)
        assert train(*files, "--num-epochs", 1).exit_code == 0
        assert train(*files, "--num-epochs", 4, "--json", file).exit_code == 0
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        ends_s = [row["train_s"] for row in rows]
        ((run,),) = [result.runs for result in ResultSet.load(file).results]
        assert run.first_call_s == pytest.approx(ends_s[1] - ends_s[0], rel=1e-4)
        assert run.samples_s == pytest.approx(
            (ends_s[2] - ends_s[1], ends_s[3] - ends_s[2]), rel=1e-4
        )

    @pytest.mark.parametrize(("before", "num_epochs", "left"), [(0, 1, 1), (2, 3, 1), (2, 1, 0)])
    def test_a_compiling_epoch_alone_is_refused_before_it_is_trained(
        self, tmp_path: Path, before: int, num_epochs: int, left: int
    ) -> None:
        log, file = tmp_path / "log.jsonl", tmp_path / "results.json"
        files = ("--checkpoints", tmp_path / "checkpoints", "--log", log)
        if before:
            assert train(*files, "--num-epochs", before).exit_code == 0
        result = train(*files, "--num-epochs", num_epochs, "--json", file)
        assert result.exit_code == 2
        assert f"--num-epochs {num_epochs} leaves {left} to train: raise it" in result.stderr
        assert not file.exists()
        lines = log.read_text(encoding="utf-8").splitlines() if before else []
        assert len(lines) == before

    def test_those_of_several_devices_are_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "results.json"
        result = train("--all-devices", "--json", file)
        assert result.exit_code == 2
        assert "--json can only save the times of one device" in result.stderr
        assert not file.exists()


class TestFiles:
    def test_a_folder_of_other_things_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "7").mkdir()
        result = train("--checkpoints", tmp_path)
        assert result.exit_code == 2
        (message,) = result.stderr.splitlines()
        assert f"the checkpoint in {tmp_path} can't be read" in message

    def test_a_truncated_checkpoint_is_named(self, tmp_path: Path) -> None:
        train("--checkpoints", tmp_path, "--num-epochs", 1)
        for path in tmp_path.rglob("metadata"):
            path.write_bytes(b"")
        result = train("--checkpoints", tmp_path)
        assert result.exit_code == 2
        assert f"the checkpoint in {tmp_path} can't be read" in result.stderr

    def test_a_log_on_a_full_disk_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("jaxcap.mnist.training.write_atomically", full)
        result = train("--num-epochs", 2, "--log", tmp_path / "log.jsonl")
        assert result.exit_code == 2
        assert "log.jsonl can't be written: No space left on device" in result.stderr
        assert "epoch 1: " in result.stdout


class TestJob:
    def test_one_that_cannot_be_joined_is_said_in_a_sentence(self) -> None:
        result = train("--processes", 2)
        assert result.exit_code == 2
        assert "this process can't join the others" in result.stderr
        assert "give --coordinator, --processes and --process" in result.stderr
        assert result.stderr.count("Error: ") == 1

    @pytest.mark.parametrize("address", ["host", ":1234", "host:", "host:name", "host:70000"])
    def test_an_address_without_host_or_port_is_refused(self, address: str) -> None:
        result = train("--coordinator", address, "--processes", 1, "--process", 0)
        assert result.exit_code == 2
        assert f"{address} is not of the form HOST:PORT, as in 10.0.0.1:1234" in result.stderr

    def test_only_the_first_process_reports(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        joined: list[tuple[object, ...]] = []
        monkeypatch.setattr("jax.distributed.initialize", lambda *job: joined.append(job))
        monkeypatch.setattr("jax.process_index", lambda: 1)
        job = ("--coordinator", "localhost:1", "--processes", 2, "--process", 1)
        log = tmp_path / "log.jsonl"
        result = train(*job, "--num-epochs", 1, "--log", log)
        assert (result.exit_code, result.output) == (0, "")
        assert joined == [("localhost:1", 2, 1)]
        assert not log.exists()


def test_preprocessing_shows_what_pixels_are_normalised_by() -> None:
    arguments = ["mnist", "preprocess-images", "--data", "subset"]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    (row,) = [line for line in result.output.splitlines() if line.strip().startswith("training")]
    assert "10,000" in row
    assert "0.132074" in row
