"""Files of results: saved, read again, and refused with a reason."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from fakes import CPU, GPU, make_result, make_run, make_set
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxcap.results import Result, ResultsError, ResultSet

TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cf", "Co", "Cs", "Zl", "Zp")))
seconds = st.floats(0, 1e6)
parameters = st.dictionaries(
    TEXTS.filter(bool),
    st.booleans() | st.integers(-(10**20), 10**20) | st.floats(-1e20, 1e20) | TEXTS,
    max_size=3,
)


@st.composite
def results(draw: st.DrawFn) -> Result:
    samples = draw(st.lists(seconds, min_size=1, max_size=8))
    return make_result(
        draw(TEXTS),
        make_run(
            samples,
            first_call_s=draw(seconds),
            calls_per_sample=draw(st.integers(1, 10**9)),
            dispatch_s=draw(seconds),
            minor_faults=draw(st.integers(0, 10**9)),
            involuntary_switches=draw(st.integers(0, 10**9)),
        ),
        parameters=draw(parameters),
        device=draw(st.sampled_from([CPU, GPU])),
        working_set_bytes=draw(st.integers(0, 2**50)),
        flops=draw(st.none() | st.floats(0, 1e18)),
    )


class TestFile:
    @settings(deadline=None)  # a busy machine is no failure
    @given(result=results())
    def test_gives_back_what_was_saved(
        self, result: Result, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = tmp_path_factory.mktemp("results") / "results.json"
        saved = make_set(result)
        saved.save(path)
        loaded = ResultSet.load(path)
        assert loaded == saved
        ((kept,), (given_,)) = loaded.results, saved.results
        assert {k: type(v) for k, v in kept.parameters.items()} == {
            k: type(v) for k, v in given_.parameters.items()
        }

    def test_is_the_same_for_the_same_content(self, tmp_path: Path) -> None:
        first, second, third = (tmp_path / name for name in "abc")
        make_set().save(first)
        make_set().save(second)
        ResultSet.load(first).save(third)
        assert first.read_bytes() == second.read_bytes() == third.read_bytes()
        assert first.read_bytes().endswith(b"}\n")

    def test_leaves_strings_as_they_are(self, tmp_path: Path) -> None:
        saved = make_set(make_result("[ 1,2 ]", parameters={"shape": "[ 3 ]"}))
        saved.save(tmp_path / "results.json")
        assert '"[ 1,2 ]"' in (tmp_path / "results.json").read_text(encoding="utf-8")
        assert ResultSet.load(tmp_path / "results.json") == saved

    def test_holds_times_to_six_digits(self) -> None:
        (run,) = make_result("jit", make_run([0.123456789] * 6)).runs
        assert run.samples_s[0] == 0.123457

    def test_makes_its_folder(self, tmp_path: Path) -> None:
        path = tmp_path / "a" / "b" / "results.json"
        make_set().save(path)
        assert len(ResultSet.load(path)) == 1

    def test_can_be_read_by_others(self, tmp_path: Path) -> None:
        path = tmp_path / "results.json"
        make_set().save(path)
        assert path.stat().st_mode & 0o777 == 0o644

    @pytest.mark.parametrize(
        "error", [OSError(ENOSPC, "No space left on device"), KeyboardInterrupt()]
    )
    @pytest.mark.parametrize("existing", [True, False])
    def test_is_written_completely_or_not_at_all(
        self,
        error: BaseException,
        existing: bool,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        path = tmp_path / "results.json"
        if existing:
            make_set().save(path)
        before = {file: file.read_bytes() for file in tmp_path.iterdir()}

        def fail(_: int) -> None:
            raise error

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(type(error)):
            make_set(make_result("other")).save(path)
        assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before

    def test_stays_whole_for_those_who_read_it(self, tmp_path: Path) -> None:
        path = tmp_path / "results.json"
        make_set().save(path)
        before = path.read_bytes()
        with path.open("rb") as reader:
            make_set(make_result("other")).save(path)
            assert reader.read() == before

    def test_leaves_nothing_behind_where_it_cannot_be_put(self, tmp_path: Path) -> None:
        folder = tmp_path / "results.json"
        folder.mkdir()
        with pytest.raises(OSError, match=r"results\.json"):
            make_set().save(folder)
        assert list(tmp_path.iterdir()) == [folder]

    def test_must_exist(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            ResultSet.load(tmp_path / "results.json")


def without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.pop(key)


def setting(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.update({key: value})


def setting_in_run(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["results"][0]["runs"][0].update({key: value})


class TestBadFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "results.json"
        make_set().save(path)
        return path

    @pytest.mark.parametrize(
        "damage",
        [lambda b: b[: len(b) // 2], lambda _: b""],
        ids=["half", "empty"],
    )
    def test_is_told_from_json(self, path: Path, damage: Callable[[bytes], bytes]) -> None:
        path.write_bytes(damage(path.read_bytes()))
        expected = "results.json is not valid JSON, perhaps because it was cut short: measure again"
        with pytest.raises(ResultsError, match=expected):
            ResultSet.load(path)

    @pytest.mark.parametrize("content", [gzip.compress(b"{}"), b'"\xe9"'], ids=["gzip", "Latin-1"])
    def test_must_be_text_in_utf_8(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        expected = "results.json is not text in UTF-8, as JSON is: unpack it if it is compressed"
        with pytest.raises(ResultsError, match=expected):
            ResultSet.load(path)

    @pytest.mark.parametrize(
        ("content", "version"),
        [
            ("[]", "None"),
            ("{}", "None"),
            ('{"schema_version": 3}', "3"),
            ('{"schema_version": true}', "True"),
            ('"text"', "None"),
        ],
    )
    def test_of_another_schema_is_refused(self, path: Path, content: str, version: str) -> None:
        path.write_text(content, encoding="utf-8")
        expected = (
            f"results.json has schema version {version}, but this jaxcap reads versions 1 and 2: "
            "measure again, or use the version of jaxcap that wrote it$"
        )
        with pytest.raises(ResultsError, match=expected):
            ResultSet.load(path)

    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            (setting("extra", 1), "extra: Extra inputs are not permitted"),
            (without("environment"), "environment: Field required"),
            (setting("results", []), "results: Tuple should have at least 1 item"),
            (setting_in_run("first_call_s", float("nan")), "first_call_s: .* finite number"),
            (setting_in_run("first_call_s", -1.0), "first_call_s: .* greater than or equal to 0"),
            (setting_in_run("samples_s", []), "samples_s: .* at least 1 item"),
            (setting_in_run("samples_s", ["x"] * 6), "samples_s.0: Input should be a valid number"),
            (setting_in_run("samples_s", [1.0]), "samples_s, dispatch_s, minor_faults, invol"),
            (setting_in_run("minor_faults", [1]), "other_work and slowness differ in length"),
            (setting_in_run("involuntary_switches", [1]), "involuntary_switches, other_work and"),
            (setting_in_run("slowness", [2.0]), "slowness differ in length"),
            (setting_in_run("slowness", [0.9] * 6), "slowness.0: .* greater than or equal to 1"),
            (setting_in_run("other_work", [0.5]), "other_work and slowness differ"),
            (setting_in_run("calls_per_sample", 0), "calls_per_sample: .* greater than 0"),
        ],
    )
    def test_is_refused_naming_the_first_problem(
        self, path: Path, change: Callable[[dict[str, Any]], object], complaint: str
    ) -> None:
        content = json.loads(path.read_bytes())
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")
        expected = f"results.json is not a valid result file: .*{complaint}.*: measure again$"
        with pytest.raises(ResultsError, match=expected) as caught:
            ResultSet.load(path)
        assert "\n" not in str(caught.value)
