"""The commands that read files of results."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fakes import GPU, make_result, make_run, make_set

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


def test_list_tells_what_is_in_the_files_of_a_folder(folder: Path) -> None:
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


def test_compare_puts_files_side_by_side(folder: Path) -> None:
    shown = results("compare", folder / "a.json", folder / "b.json", "--variant", "jit").output
    (row,) = [line for line in shown.splitlines() if line.strip().startswith("jit")]
    assert "1.0 ms" in row or "1.000 ms" in row
    assert "0.5" in row
    assert "slower" in row
    assert "Test GPU (GPU)" in shown


def test_compare_keeps_what_only_one_file_has(folder: Path) -> None:
    shown = results("compare", folder / "a.json", folder / "b.json").output
    (row,) = [line for line in shown.splitlines() if "op by op" in line]
    assert row.count("none") == 2


def test_compare_takes_two_files_or_more(folder: Path) -> None:
    result = results("compare", folder / "a.json")
    assert result.exit_code == 2
    assert "name another" in result.stderr


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


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not valid JSON"),
        ('{"schema_version": 99}', "has schema version 99"),
        ('{"schema_version": 1}', "is not a valid result file"),
    ],
)
def test_files_that_hold_no_results_are_refused(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(content, encoding="utf-8")
    for command in ["show"], ["list"], ["export"], ["compare", file]:
        result = results(*command, file)
        assert result.exit_code == 2
        assert said in result.stderr


def test_a_variant_that_is_not_there_is_refused(folder: Path) -> None:
    result = results("show", folder / "a.json", "--variant", "none")
    assert result.exit_code == 2
    assert "there are variants op by op, jit" in result.stderr
