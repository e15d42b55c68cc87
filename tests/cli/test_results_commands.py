"""The commands that read files of results."""

from __future__ import annotations

import csv
import json
import os
import re
import stat
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import GPU, make_result, make_run, make_set
from releases_made_up import record

from jaxcap.cli import cli


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files: in the second, jit is half as fast and on another device."""
    op_by_op, jit = make_result("op by op", parameters={"size": 10}), make_result("jit")
    make_set(op_by_op, jit).save(tmp_path / "a.json")
    slower = make_result("jit", make_run((2e-3,) * 6), device=GPU)
    make_set(slower, make_result("eig", experiment="other")).save(tmp_path / "b.json")
    return tmp_path


def results(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["results", *map(str, arguments)], catch_exceptions=False)


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, with a standard input that is not the test's."""
    command = [sys.executable, "-m", "jaxcap", "results", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_list_says_what_is_in_the_files_of_a_folder(folder: Path) -> None:
    lines = results("list", folder).output.splitlines()
    (a,) = [line for line in lines if "a.json" in line]
    (b,) = [line for line in lines if "b.json" in line]
    assert "Test CPU (CPU)" in a
    assert "test, other" in b


def test_show_has_a_table_for_each_experiment_and_the_machine(folder: Path) -> None:
    shown = results("show", folder / "b.json").output
    assert shown.count("Time of a call on") == 2
    assert "Test CPU" in shown
    assert results("show", folder / "b.json", "--variant", "eig").output.count("Time of") == 1


@pytest.mark.parametrize(("columns", "is_wrapped"), [("60", True), ("", False), ("wide", False)])
def test_lines_that_nobody_sees_are_wrapped_only_if_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, columns: str, is_wrapped: bool
) -> None:
    monkeypatch.setenv("JAXCAP_COLUMNS", columns)
    widths = map(len, results("show", folder / "a.json").output.splitlines())
    assert (max(widths) <= 60) is is_wrapped


def test_compare_puts_files_side_by_side(folder: Path) -> None:
    shown = results("compare", folder / "a.json", folder / "b.json", "--variant", "jit").output
    (row,) = [line for line in shown.splitlines() if line.strip().startswith("jit")]
    times, ratio = "1.000 ms (1.000 to 1.000)", "0.5000 (0.5000 to 0.5000)"
    assert re.split(r" {2,}", row.strip()) == ["jit", times, times.replace("1.000", "2.000"), ratio]
    assert "Test GPU (GPU)" in shown


def test_compare_keeps_what_only_one_file_has(folder: Path) -> None:
    shown = results("compare", folder / "a.json", folder / "b.json").output
    (row,) = [line for line in shown.splitlines() if "op by op" in line]
    assert row.count("none") == 2


def test_compare_labels_columns_and_explains_them(folder: Path) -> None:
    lines = results("compare", folder / "a.json", folder / "b.json").output.splitlines()
    assert lines[:2] == [f"A: {folder / 'a.json'}", f"B: {folder / 'b.json'}"]
    (header,) = {line for line in lines if "variant" in line and "size" in line}
    assert header.split()[-5:] == ["A", "B", "A", "/", "B"]


def test_compare_shows_a_file_that_is_named_twice_twice(folder: Path) -> None:
    shown = results("compare", folder / "a.json", folder / "a.json").output
    (row,) = [line for line in shown.splitlines() if line.strip().startswith("jit")]
    assert row.count("1.000 ms") == 2


@pytest.mark.parametrize("count", [1, 27])
def test_compare_takes_two_files_or_more(count: int, folder: Path) -> None:
    result = results("compare", *[folder / "a.json"] * count)
    assert result.exit_code == 2
    assert f"compare takes 2 to 26 files, got {count}" in result.stderr


def test_compare_refuses_files_that_have_nothing_in_common(folder: Path) -> None:
    make_set(make_result("jit", parameters={"size": 7})).save(folder / "c.json")
    result = results("compare", folder / "a.json", folder / "c.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the files have nothing in common" in result.stderr


def test_compare_matches_parameters_in_any_order(folder: Path) -> None:
    parameters = {"size": 7, "device": "cpu"}
    make_set(make_result(parameters=parameters)).save(folder / "c.json")
    reordered = dict(reversed(parameters.items()))
    make_set(make_result(parameters=reordered)).save(folder / "d.json")
    assert results("compare", folder / "c.json", folder / "d.json").exit_code == 0


def test_csv_has_a_row_for_each_result_and_a_column_for_each_parameter(folder: Path) -> None:
    rows = list(csv.DictReader(StringIO(results("export", folder / "a.json").output)))
    assert [row["variant"] for row in rows] == ["op by op", "jit"]
    assert [row["size"] for row in rows] == ["10", ""]
    assert float(rows[0]["time_s"]) == pytest.approx(1e-3)


def test_json_has_the_same_rows(folder: Path) -> None:
    rows = json.loads(results("export", folder / "a.json", "--format", "json").output)
    assert rows[0]["parameters"] == {"size": 10}
    assert rows[0]["first_call_s"] == pytest.approx(1e-2)


def test_markdown_escapes_what_would_end_a_cell(tmp_path: Path) -> None:
    make_set(make_result("a|b"), make_result("c")).save(tmp_path / "a.json")
    text = results("export", tmp_path / "a.json", "--format", "markdown").output
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 4
    assert table[2].startswith(r"| a\|b |")


def test_export_writes_to_a_file(folder: Path) -> None:
    target = folder / "a.csv"
    result = results("export", folder / "a.json", "--output", target)
    assert (result.exit_code, result.output) == (0, "")
    assert target.read_text(encoding="utf-8") == results("export", folder / "a.json").output


def test_export_writes_to_a_pipe(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        assert run("export", folder / "a.json", "--output", pipe).returncode == 0
        received, _ = reader.communicate(timeout=60)
    assert received == results("export", folder / "a.json").output
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_full_disk_is_said_in_a_sentence(folder: Path) -> None:
    result = run("export", folder / "a.json", "--output", "/dev/full")
    assert result.returncode == 2
    assert result.stderr == "Error: /dev/full can't be written: No space left on device\n"


def test_letters_that_an_encoding_lacks_are_escaped(tmp_path: Path) -> None:
    make_set(make_result("λ")).save(tmp_path / "a.json")
    for command in ["export"], ["show"], ["export", "--format", "table"]:
        variables = os.environ | {"PYTHONIOENCODING": "cp1252"}
        result = run(*command, tmp_path / "a.json", env=variables, encoding="cp1252")
        assert (result.returncode, result.stderr) == (0, "")
        assert r"\u03bb" in result.stdout


def test_tables_are_ascii_where_the_encoding_is(folder: Path) -> None:
    variables = os.environ | {"PYTHONIOENCODING": "ascii"}
    make_set(make_result("λ")).save(folder / "c.json")
    result = run("show", folder / "c.json", env=variables, encoding="ascii")
    assert (result.returncode, result.stderr) == (0, "")
    assert r"\u03bb" in result.stdout


def test_any_letters_are_read_and_written_in_any_locale(tmp_path: Path) -> None:
    """In such a locale Python takes files for ASCII, unless it is told that they are UTF-8."""
    folder = tmp_path / "Größe 大きさ"
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    options = {"env": os.environ | ascii_only, "encoding": "ascii"}
    make_set(make_result("λ", make_run())).save(folder / "ä.json")
    for arguments in (
        ("list", folder),
        ("show", folder / "ä.json"),
        ("compare", folder / "ä.json", folder / "ä.json"),
        ("export", folder / "ä.json", "--output", folder / "ö.csv"),
        ("export", folder / "ä.json", "--format", "markdown", "--output", folder / "ö.md"),
    ):
        result = run(*arguments, **options)
        assert (result.returncode, result.stderr) == (0, ""), arguments
    for path in folder.glob("ö.*"):
        assert "λ" in path.read_text(encoding="utf-8")


def test_a_dash_is_standard_input(folder: Path) -> None:
    result = run("export", "-", input=(folder / "a.json").read_text(encoding="utf-8"))
    assert result.stdout == results("export", folder / "a.json").output
    assert "is not valid JSON" in run("show", "-", input="{").stderr


def test_a_pipe_is_not_read_as_a_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    result = run("show", folder / "pipe", timeout=60)
    assert result.returncode == 2
    assert "pipe is not a regular file" in result.stderr


def test_other_files_of_a_folder_are_skipped_and_named(folder: Path) -> None:
    (folder / "other.json").write_text("{}", encoding="utf-8")
    for command in "list", "compare":
        result = results(command, folder)
        assert result.exit_code == 0
        assert result.stderr.startswith(f"Skipped: {folder / 'other.json'} has schema version")
        assert result.stderr.count("\n") == 1
    named = results("list", folder / "a.json", folder / "other.json")
    assert named.exit_code == 2


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    result = results("list", tmp_path)
    assert result.exit_code == 2
    assert "none of these files holds results" in result.stderr


@pytest.mark.parametrize("command", ["list", "show", "export", "compare", "validate", "schema"])
def test_no_command_imports_what_measures(command: str, folder: Path) -> None:
    files = {"schema": [], "compare": ["a.json"] * 2}.get(command, ["a.json"])
    arguments = ["results", command, *files]
    script = (
        "import sys; from jaxcap.cli import cli\n"
        f"cli.main({arguments}, standalone_mode=False)\n"
        "print({'jax', 'torch', 'flax'} & sys.modules.keys(), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    assert result.stderr == "set()\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not valid JSON"),
        ('{"schema_version": 99}', "has schema version 99"),
        ('{"schema_version": 1}', "is not a valid result file"),
    ],
)
def test_files_that_hold_no_results_are_refused(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(content, encoding="utf-8")
    for command in ["show"], ["list"], ["export"], ["compare", file]:
        result = results(*command, file)
        assert result.exit_code == 2
        assert message in result.stderr


def test_a_variant_that_is_not_there_is_refused(folder: Path) -> None:
    result = results("show", folder / "a.json", "--variant", "none")
    assert result.exit_code == 2
    assert "available: variant op by op, jit" in result.stderr


def test_the_recordings_of_this_repository_are_valid() -> None:
    result = results("validate", Path(__file__).parents[2] / "docs" / "recorded")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_release_recorded_on_a_machine_must_be_named_in_its_files(tmp_path: Path) -> None:
    (tmp_path / "environment.json").touch()
    files = record(tmp_path / "releases", names=["0.5.0"])
    again = record(files.again.folder, names=["0.5.0"])
    assert results("validate", tmp_path / "releases").exit_code == 0
    again.path("0.5.0").rename(again.path("0.6.0"))
    result = results("validate", tmp_path / "releases")
    assert result.exit_code == 2
    assert "measured with jaxlib 0.6.0" in result.stderr
