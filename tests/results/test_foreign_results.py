"""Files of results that come from anybody: loaded if they are sound, refused with a reason if not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fakes import make_result, make_run, make_set
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxcap.cli import cli
from jaxcap.results import ResultsError, ResultSet, files

SOUND: dict[str, Any] = json.loads(make_set(make_result(parameters={"size": 10})).model_dump_json())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=10,
)


def setting(*place: Any, value: Any) -> str:
    """Text of a sound file in which one thing is something else."""
    content = json.loads(json.dumps(SOUND))
    target = content
    for part in place[:-1]:
        target = target[part]
    target[place[-1]] = value
    return json.dumps(content)


NAME = ("environment", "device", "name")
RUN = ("results", 0, "runs", 0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (setting(*NAME, value="\x1b[2J"), "environment.device.name: .*U\\+001B"),
        (setting(*NAME, value="GPU \u202e01X"), "U\\+202E"),
        (setting(*NAME, value="two\nlines"), "U\\+000A"),
        (setting(*NAME, value="x" * 10**7), "at most 1000 characters"),
        (setting("results", 0, "experiment", value="../../index"), "results.0.experiment"),
        (setting("results", 0, "experiment", value="a\\b"), "results.0.experiment"),
        (setting("results", 0, "parameters", "size", value=float("nan")), "parameters.size"),
        (setting(*RUN, "first_call_s", value=float("inf")), "finite number"),
        (setting(*RUN, "first_call_s", value=-1.0), "greater than or equal to 0"),
        (setting(*RUN, "first_call_s", value=5e7), "less than or equal to 1000000"),
        (setting(*RUN, "first_call_s", value="5 ms"), "valid number"),
        (setting(*RUN, "first_call_s", value="0.005"), "valid number"),
        (setting(*RUN, "samples_s", value=[]), "samples_s"),
        (setting("schema_version", value=3), "schema version 3"),
        (setting("schema_version", value="\x1b[2J" * 10**6), "schema version"),
        (setting("\x1b[2J", value=1), "x1b.*Extra inputs are not permitted"),
        (setting("environment", "versions", value={"jax": ["0.10"]}), "environment.versions.jax"),
        ('{"schema_version": 1, "schema_version": 1}', "two entries named 'schema_version'"),
        ("[" * 100_000, "not valid JSON"),
        ("null", "schema version None"),
        ("", "not valid JSON"),
    ],
)
def test_what_is_not_sound_is_refused_with_a_reason(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError, match=reason) as refused:
        ResultSet.load(file)
    said = str(refused.value)
    assert said.isprintable()
    assert len(said) < 1000


def test_markup_is_a_name_like_any_other(tmp_path: Path) -> None:
    script = "<script>alert(1)</script>"
    file = tmp_path / "results.json"
    make_set(make_result(script, make_run())).save(file)
    page = ResultSet.load(file)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


class CountedName(str):
    """A name that counts how often it is compared with another."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedName.comparisons += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_the_work_for_an_object_grows_with_its_entries_and_not_with_their_square() -> None:
    """A small file of 60,000 entries once kept its reader busy for more than a minute."""
    pairs = [(CountedName(f"name {number}"), None) for number in range(1000)]
    with pytest.raises(ValueError, match="two entries named 'name 7'"):
        files._without_duplicates([*pairs, (CountedName("name 7"), None)])
    assert CountedName.comparisons <= 2 * len(pairs)


def test_files_that_are_too_large_are_not_read_to_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "results.json"
    make_set().save(file)
    monkeypatch.setattr("jaxcap.results.files.MAX_BYTES", 100)
    with pytest.raises(ResultsError, match="files of results may have at most 100"):
        ResultSet.load(file)


def test_pipes_have_the_limit_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxcap.results.files.MAX_BYTES", 100)
    end, start = os.pipe()
    with os.fdopen(start, "wb") as writer:
        writer.write(b" " * 101)
    with os.fdopen(end, "rb"), pytest.raises(ResultsError, match=f"/dev/fd/{end} is too large"):
        ResultSet.load(f"/dev/fd/{end}")


def places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something can be replaced."""
    keys = (
        content
        if isinstance(content, dict)
        else range(len(content) if isinstance(content, list) else 0)
    )
    return [path, *(p for key in keys for p in places(content[key], (*path, key)))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.sampled_from(places(SOUND)[1:]), value=JSON)
def test_whatever_stands_in_a_file_there_is_no_traceback(
    place: tuple[Any, ...], value: Any, tmp_path: Path
) -> None:
    file = tmp_path / "results.json"
    file.write_text(setting(*place, value=value), encoding="utf-8")
    result = CliRunner().invoke(cli, ["results", "validate", str(file)])
    assert result.exit_code in (0, 2)
    assert isinstance(result.exception, SystemExit | None)
    if result.exit_code == 0:
        for command in ["show"], ["export"], ["export", "--format", "markdown"]:
            assert CliRunner().invoke(cli, ["results", *command, str(file)]).exit_code == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=200))
def test_whatever_bytes_a_file_has_there_is_no_traceback(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_bytes(data)
    with pytest.raises(ResultsError):
        ResultSet.load(file)


def test_validate_looks_at_all_files(tmp_path: Path) -> None:
    make_set().save(tmp_path / "sound.json")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    result = CliRunner().invoke(cli, ["results", "validate", str(tmp_path)])
    assert result.exit_code == 2
    assert "sound.json: valid, 1 results, Test CPU (CPU)" in result.stdout
    assert "broken.json is not valid JSON" in result.stderr
