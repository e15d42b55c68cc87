"""Results survive a file, refuse what makes no sense, and compare only what took turns."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from fakes import CPU, ENVIRONMENT, GPU, make_pair, make_result, make_run, make_set
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.environment import Device
from jaxcap.results.statistics import Estimate

MS = 1e-3
SIX = (1, 2, 3, 4, 5, 6)

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
        [lambda b: b[: len(b) // 2], lambda _: b"", lambda _: b"\xff"],
        ids=["half", "empty", "binary"],
    )
    def test_is_told_from_json(self, path: Path, damage: Callable[[bytes], bytes]) -> None:
        path.write_bytes(damage(path.read_bytes()))
        expected = "results.json is not valid JSON, it may have been cut short: measure again"
        with pytest.raises(ResultsError, match=expected):
            ResultSet.load(path)

    @pytest.mark.parametrize(
        ("content", "version"),
        [("[]", "None"), ("{}", "None"), ('{"schema_version": 3}', "3"), ('"text"', "None")],
    )
    def test_of_another_schema_is_refused(self, path: Path, content: str, version: str) -> None:
        path.write_text(content, encoding="utf-8")
        expected = (
            f"results.json has schema version {version}, this jaxcap reads versions 1 and 2: "
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
            (setting_in_run("samples_s", [1.0]), "samples_s, dispatch_s, minor_faults and"),
            (setting_in_run("minor_faults", [1]), "and other_work differ in length"),
            (setting_in_run("other_work", [0.5]), "other_work differ in length"),
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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, [1]])
def test_parameters_that_no_file_can_hold_are_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        make_result(parameters={"size": value})


@pytest.mark.parametrize(
    "changes",
    [
        {"flops": 1.1e20},
        {"bytes_moved": 1.1e20},
        {"working_set_bytes": 10**20 + 1},
        {"parameters": {"size": 10**400}},
        {"parameters": {"size": -1.1e20}},
    ],
)
def test_numbers_that_nobody_can_have_measured_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        make_result(**changes)


def test_two_results_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="two results for 'test', variant 'jit'"):
        make_set(make_result(), make_result())


@pytest.mark.parametrize(
    "change",
    [
        {"variant": "other"},
        {"experiment": "other"},
        {"parameters": {"size": 1}},
        {"device": GPU},
        {"allocator": "default"},
    ],
)
def test_results_that_differ_stand_side_by_side(change: dict[str, object]) -> None:
    assert len(make_set(make_result(), make_result().model_copy(update=change))) == 2


class TestJoining:
    def test_keeps_all_results_and_the_first_environment(self) -> None:
        later = ENVIRONMENT.model_copy(
            update={"measured_at": ENVIRONMENT.measured_at.replace(year=2027)}
        )
        other = make_set(make_result("other")).model_copy(update={"environment": later})
        joined = make_set() + other
        assert [result.variant for result in joined.results] == ["jit", "other"]
        assert joined.environment == ENVIRONMENT

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("cores", 1, "cores is 2 in one and 1 in the other"),
            ("driver", "580.1", "driver is None in one and '580.1' in the other"),
            ("versions", {}, r"versions is {'jax': '0.10.0'} in one and {} in the other"),
        ],
    )
    def test_refuses_another_environment(self, field: str, value: object, message: str) -> None:
        environment = ENVIRONMENT.model_copy(update={field: value})
        other = make_set(make_result("other")).model_copy(update={"environment": environment})
        with pytest.raises(
            ValueError, match=f"cannot be joined: {message}: show them side by side"
        ):
            make_set() + other

    def test_refuses_duplicates(self) -> None:
        with pytest.raises(ValueError, match="two results for 'test', variant 'jit'"):
            make_set() + make_set()


class TestSelecting:
    four = make_set(
        *(
            make_result(variant, parameters={"size": size, "device": "cpu"})
            for size in (10, 1000)
            for variant in ("op by op", "jit")
        ),
        make_result("jit", experiment="other", parameters={}),
    )

    @pytest.mark.parametrize(
        ("criteria", "count"),
        [
            ({}, 5),
            ({"experiment": "test"}, 4),
            ({"variant": "jit"}, 3),
            ({"size": 10}, 2),
            ({"variant": "jit", "size": 10, "device": "cpu"}, 1),
        ],
    )
    def test_finds_all_that_match(self, criteria: dict[str, Any], count: int) -> None:
        assert len(self.four.select(**criteria)) == count

    @pytest.mark.parametrize(
        ("criteria", "message"),
        [
            ({"variant": "none"}, "no result has variant none; available: variant op by op, jit"),
            ({"size": 11}, "no result has size 11; available: size 10, 1000"),
            ({"missing": 1}, "no result has missing 1; available: missing none"),
            (
                {"experiment": "x", "size": 10},
                "no result has experiment x, size 10; available: experiment test, other; size 10, 1000",
            ),
        ],
    )
    def test_says_what_there_is_if_nothing_matches(
        self, criteria: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ResultsError) as caught:
            self.four.select(**criteria)
        assert str(caught.value) == message

    def test_lists_few_choices_of_many(self) -> None:
        many = make_set(*(make_result(parameters={"size": n}) for n in range(20)))
        with pytest.raises(ResultsError, match=r"size 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\.$"):
            many.select(size=20)

    @pytest.mark.parametrize("device", [GPU, "gpu"])
    def test_finds_a_device_or_its_platform(self, device: Any) -> None:
        both = make_set(make_result(), make_result(device=GPU))
        assert both.one("jit", device=device).device == GPU

    def test_finds_an_allocator(self) -> None:
        both = make_set(make_result(), make_result(allocator="default"))
        assert both.one("jit", allocator="default").allocator == "default"

    def test_one_finds_the_only_match(self) -> None:
        assert self.four.one("op by op", size=10) == self.four.results[0]

    def test_one_refuses_to_choose(self) -> None:
        expected = r"2 results match: choose one of them by size$"
        with pytest.raises(ResultsError, match=expected):
            self.four.one("op by op")

    def test_one_says_by_what_else_to_choose(self) -> None:
        both = make_set(make_result(), make_result(device=GPU))
        with pytest.raises(ResultsError, match=r"2 results match: choose one of them by device$"):
            both.one("jit")

    def test_is_a_sequence_of_results(self) -> None:
        assert list(self.four) == list(self.four.results)
        assert self.four[0] == self.four.results[0]
        assert self.four[-1].experiment == "other"
        assert self.four.variants == ("op by op", "jit")

    def test_varying_names_parameters_that_differ_or_are_missing(self) -> None:
        assert self.four.varying() == ["size", "device"]
        assert self.four.select(experiment="test").varying() == ["size"]
        assert self.four.select(size=10).varying() == []


class TestEstimates:
    def test_one_process_is_judged_by_its_samples(self) -> None:
        result = make_result("jit", make_run([MS * n for n in SIX], dispatch_s=MS))
        assert result.time.value == pytest.approx(3.5 * MS)
        assert (result.time.basis, result.time.confidence) == ("one process", 0.95)
        assert result.dispatch.value == MS

    def test_several_processes_are_judged_by_their_medians(self) -> None:
        runs = [make_run([MS, n * MS, 100 * MS], first_call_s=n) for n in SIX]
        result = make_result("jit", *runs)
        medians = [[n * MS] for n in SIX]
        assert result.time == Estimate.from_runs(medians, unit="s", devices=(CPU,))
        assert (result.first_call.value, result.first_call.confidence) == (3.5, 0.95)

    def test_first_call_of_one_process_has_no_interval(self) -> None:
        first = make_result("jit", make_run(first_call_s=0.5)).first_call
        assert (first.value, first.confidence) == (0.5, 0)

    def test_page_faults_are_counted_by_call(self) -> None:
        runs = [make_run(minor_faults=faults, calls_per_sample=4) for faults in (4, 8, 100)]
        assert make_result("jit", *runs).faults_per_call == 2
        uncounted = make_run().model_copy(update={"minor_faults": ()})
        assert make_result("jit", uncounted).faults_per_call is None

    def test_modes_are_those_of_all_samples(self) -> None:
        runs = make_run([3.6 * MS] * 20), make_run([8.5 * MS] * 20)
        assert make_result("jit", *runs).modes == pytest.approx((3.6 * MS, 8.5 * MS))

    @pytest.mark.parametrize(
        ("bytes_", "device", "cache", "expected"),
        [
            (1000, CPU, 1000, True),
            (1001, CPU, 1000, False),
            (1000, CPU, None, None),
            (1000, GPU, 1000, None),
        ],
    )
    def test_fits_cache_compares_with_that_of_the_cpu(
        self, bytes_: int, device: object, cache: int | None, expected: bool | None
    ) -> None:
        result = make_result(working_set_bytes=bytes_, device=device)
        environment = ENVIRONMENT.model_copy(update={"cache_bytes": cache})
        results = ResultSet(environment=environment, results=(result,))
        assert results.fits_cache(result) is expected


class TestSpeedup:
    def test_is_the_median_ratio_within_rounds(self) -> None:
        # The machine is ten times slower at times, when one variant happens to be faster and the
        # other not: paired by size instead of by round, the ratios would differ.
        drift = (10, 1, 8, 1, 2, 4)
        ratios = (1, 8, 1, 8, 2, 2)
        fast, slow = (
            [d * MS for d in drift],
            [r * d * MS for r, d in zip(ratios, drift, strict=True)],
        )
        assert median(s / f for f, s in zip(sorted(fast), sorted(slow), strict=True)) != 2
        speedup = make_pair(fast, slow).speedup("jit", over="op by op")
        assert speedup.value == pytest.approx(2)

    def test_is_sure_where_all_rounds_agree(self) -> None:
        drift = (10, 1, 8, 1, 2, 4)
        pair = make_pair([d * MS for d in drift], [2 * d * MS for d in drift])
        speedup = pair.speedup("jit", over="op by op")
        assert (speedup.value, speedup.low, speedup.high) == pytest.approx((2, 2, 2))
        assert speedup.verdict == "faster"
        assert pair.speedup("op by op", over="jit").value == pytest.approx(0.5)

    def test_is_over_processes_if_there_are_several(self) -> None:
        slow = make_result("op by op", *(make_run([n * MS] * 3) for n in SIX))
        fast = make_result("jit", *(make_run([MS] * 3) for _ in SIX))
        speedup = fast.speedup(slow)
        assert speedup.value == pytest.approx(3.5)
        assert speedup.basis == "6 processes"

    @pytest.mark.parametrize(
        "change",
        [
            {"comparison": "another"},
            {"runs": (make_run(), make_run())},
            {"runs": (make_run([MS] * 7),)},
        ],
    )
    def test_is_refused_without_common_rounds(self, change: dict[str, object]) -> None:
        expected = (
            "'jit' and 'op by op' were not measured in the same rounds: "
            "pass both to one call of jaxcap.measure.timing.compare"
        )
        over = make_result("op by op").model_copy(update=change)
        with pytest.raises(ResultsError, match=expected):
            make_result("jit").speedup(over)

    def test_needs_both_variants(self) -> None:
        with pytest.raises(ResultsError, match="no result has variant op by op"):
            make_set().speedup("jit", over="op by op")

    def test_needs_both_from_one_comparison(self) -> None:
        separate = make_set(make_result(), make_result("op by op", comparison="another"))
        with pytest.raises(
            ResultsError, match="'jit' and 'op by op' were not measured in the same"
        ):
            separate.speedup("jit", over="op by op")

    def test_finds_the_one_that_took_turns_among_several(self) -> None:
        default = make_pair([MS] * 6, [4 * MS] * 6, allocator="default")
        both = make_pair([MS] * 6, [2 * MS] * 6) + default
        assert both.speedup("jit", over="op by op", allocator="default").value == 4
        assert both.speedup(both[1], over="op by op").value == 2

    def test_says_on_which_devices_it_was_measured(self) -> None:
        pair = make_set(make_result("NumPy"), make_result("JAX", device=GPU))
        assert pair.speedup("JAX", over="NumPy").devices == (GPU, CPU)
        assert pair.speedup("NumPy", over="NumPy").devices == (CPU,)

    def test_is_refused_where_the_clock_saw_no_time(self) -> None:
        pair = make_pair([0.0] + [MS] * 5, [MS] * 6)
        with pytest.raises(ResultsError, match="a sample of 'jit' took no time"):
            pair.speedup("jit", over="op by op")
        assert pair.speedup("op by op", over="jit").value == 1

    def test_is_undecided_from_too_few_samples(self) -> None:
        assert make_pair([MS] * 5, [2 * MS] * 5).speedup("jit", over="op by op").verdict == (
            "undecided"
        )


class TestDisturbance:
    """Of 12 samples the first six take a millisecond, and the others, while the machine is busy, 9."""

    SAMPLES = (1e-3,) * 6 + (9e-3,) * 6
    BUSY = (0.05,) * 6 + (0.06,) * 6

    def test_leaves_samples_out(self) -> None:
        runs = [make_run(self.SAMPLES, other_work=self.BUSY)] * 3
        result = make_result("jit", *runs)
        assert result.leaves_disturbed_out
        assert result.disturbed_share == 0.5
        assert (result.time.value, result.time.high) == pytest.approx((1e-3, 1e-3))

    def test_leaves_none_out_where_a_process_would_have_too_few(self) -> None:
        disturbed = make_run(self.SAMPLES[1:], other_work=self.BUSY[1:])
        result = make_result("jit", make_run(self.SAMPLES, other_work=self.BUSY), disturbed)
        assert not result.leaves_disturbed_out
        assert result.time.high > 5e-3

    def test_is_unknown_in_files_that_do_not_have_it(self) -> None:
        result = make_result("jit", make_run(self.SAMPLES))
        assert result.disturbed_share == 0
        assert result.time.value == pytest.approx(5e-3)

    def test_is_said_below_the_table(self) -> None:
        quiet = make_result("quiet", make_run())
        left_out = make_result("jit", make_run(self.SAMPLES, other_work=self.BUSY))
        counted = make_result("jit", make_run(self.SAMPLES[1:], other_work=self.BUSY[1:]))
        assert not make_set(quiet).table().notes
        (note,) = make_set(quiet, left_out).table().notes
        assert note == (
            "Other work took more than 5% of the machine's CPU time during 25.0% of the samples, "
            "which are left out."
        )
        (note,) = make_set(counted).table().notes
        assert note.endswith("They count, because some processes have too few without them.")

    def test_leaves_rounds_out_of_speedups(self) -> None:
        slow = make_result("op by op", make_run((2e-3,) * 12, other_work=self.BUSY))
        fast = make_result("jit", make_run(self.SAMPLES, other_work=self.BUSY))
        assert fast.speedup(slow).value == pytest.approx(2)


class TestPayingOff:
    def test_is_when_both_have_taken_the_same_time(self) -> None:
        # 101 + 49 * 1 = 50 * 3, whatever the first call of the other one took
        slow = make_result("op by op", make_run([3 * MS] * 6, first_call_s=10 * MS))
        fast = make_result("jit", make_run([1 * MS] * 6, first_call_s=101 * MS))
        calls = fast.pays_off_after(slow)
        assert calls is not None
        assert calls.value == pytest.approx(50)
        assert calls.short == "50"

    def test_is_by_typical_calls_of_both(self) -> None:
        # (42 - 2) / (6 - 2); by the fastest calls it would be (42 - 1) / (5 - 1)
        slow = make_result("op by op", make_run([5 * MS, *[6 * MS] * 6]))
        fast = make_result("jit", make_run([1 * MS, *[2 * MS] * 6], first_call_s=42 * MS))
        calls = fast.pays_off_after(slow)
        assert calls is not None
        assert calls.value == pytest.approx(10)

    def test_is_the_first_call_where_that_compiles_nothing(self) -> None:
        slow = make_result("op by op", make_run([3 * MS] * 6))
        fast = make_result("jit", make_run([MS] * 6, first_call_s=MS))
        calls = fast.pays_off_after(slow)
        assert calls is not None
        assert calls.value == 1

    def test_is_over_processes_if_there_are_several(self) -> None:
        slow = make_result("op by op", *(make_run([3 * MS] * 6) for _ in SIX))
        fast = make_result("jit", *(make_run([MS] * 6, first_call_s=n * MS) for n in SIX))
        calls = fast.pays_off_after(slow)
        assert calls is not None
        assert calls.value == pytest.approx((3.5 - 1) / 2)
        assert (calls.basis, calls.confidence) == ("6 processes", 0.95)

    @pytest.mark.parametrize(
        "own_s",
        [
            [3 * MS] * 6,
            [n * MS for n in SIX],
            [4 * MS] * 6,
            [MS, MS, MS, 2 * MS, 4 * MS, 4 * MS],  # faster by the medians, but not surely
        ],
    )
    def test_is_never_where_the_variant_is_not_surely_faster(self, own_s: list[float]) -> None:
        slow = make_result("op by op", make_run([3 * MS] * 6))
        assert make_result("jit", make_run(own_s)).pays_off_after(slow) is None


class TestTables:
    pair = make_pair([MS] * 6, [n * MS for n in SIX], parameters={"size": 1_000_000})

    def test_times_have_units_intervals_and_a_machine(self) -> None:
        table = self.pair.table()
        assert table.caption == "Time of a call on Test CPU (CPU)"
        assert table.headers == (
            "variant",
            "time",
            "95% interval (one process)",
            "until it returns",
            "first call",
        )
        assert table.rows[0] == ("op by op", "3.5 ms", "1.4 to 5.6", "100.0 µs", "10 ms")
        assert table.rows[1] == ("jit", "1.000 ms", "1.000 to 1.000", "100.0 µs", "10 ms")
        assert table.notes == []

    def test_one_result_is_shown_like_several(self) -> None:
        result, table = self.pair.results[0], self.pair.select(variant="op by op").table()
        assert (repr(result), result._repr_html_()) == (repr(table), table._repr_html_())

    def test_parameters_that_vary_come_first(self) -> None:
        larger = make_result("jit", parameters={"size": 10_000_000, "x64": True})
        table = (self.pair + make_set(larger)).table()
        assert table.headers[:3] == ("size", "x64", "variant")
        assert [row[:3] for row in table.rows] == [
            ("1,000,000", "", "op by op"),
            ("1,000,000", "", "jit"),
            ("10,000,000", "True", "jit"),
        ]

    def test_results_of_several_experiments_have_a_row_each(self) -> None:
        table = make_set(make_result(), make_result(experiment="other")).table()
        assert [row[:2] for row in table.rows] == [("jit", "test"), ("jit", "other")]

    def test_allocators_are_shown_if_there_are_several(self) -> None:
        table = make_set(make_result(), make_result(allocator="default")).table()
        assert [row[:2] for row in table.rows] == [("jit", "steady"), ("jit", "default")]

    def test_single_samples_have_a_range_and_no_interval(self) -> None:
        table = make_set(make_result("jit", make_run([MS]))).table()
        assert "range (one process)" in table.headers

    def test_devices_are_shown_if_there_are_several(self) -> None:
        table = make_set(make_result(), make_result(device=GPU)).table()
        assert table.caption == "Time of a call on Test CPU (CPU), Test GPU (GPU)"
        assert [row[1] for row in table.rows] == ["Test CPU (CPU)", "Test GPU (GPU)"]

    def test_lowest_confidence_and_all_bases_are_shown(self) -> None:
        few = make_result("few", make_run([MS] * 2))
        table = make_set(few, make_result("two", make_run(), make_run())).table()
        assert "50% interval (one process, 2 processes)" in table.headers

    def test_several_modes_get_a_note(self) -> None:
        samples = [3.6 * MS] * 20 + [8.5 * MS] * 20
        two = (make_result("jit", make_run(samples), parameters={"size": n}) for n in (10, 1000))
        (note,) = make_set(*two, make_result(parameters={"size": 1})).table().notes
        assert note == (
            "Two modes, between which the median lies: "
            "10 jit, 3.6 ms and 8.5 ms; 1,000 jit, 3.6 ms and 8.5 ms."
        )

    def test_speedups_are_over_the_named_variant(self) -> None:
        table = self.pair.speedups(over="op by op")
        assert table.caption == "Speed-up over op by op on Test CPU (CPU)"
        assert table.headers == ("variant", "speed-up", "95% interval (one process)", "verdict")
        assert table.rows == [("jit", "3.5", "1.4 to 5.6", "faster")]

    def test_speedups_are_found_by_parameters(self) -> None:
        both = self.pair + make_pair([MS] * 6, [MS / 2] * 6, parameters={"size": 10})
        rows = both.speedups(over="op by op").rows
        assert [(row[0], row[2], row[4]) for row in rows] == [
            ("1,000,000", "3.5", "faster"),
            ("10", "0.5000", "slower"),
        ]

    def test_speedups_leave_out_where_the_named_variant_is_missing(self) -> None:
        alone = make_set(make_result("jit", parameters={"size": 5}))
        assert len((self.pair + alone).speedups(over="op by op").rows) == 1
        with pytest.raises(ResultsError, match="no result was measured in turns with 'op by op'"):
            alone.speedups(over="op by op")

    def test_speedups_leave_out_where_the_clock_saw_no_time(self) -> None:
        coarse = make_pair([0.0] * 6, [MS] * 6, parameters={"size": 5})
        assert len((self.pair + coarse).speedups(over="op by op").rows) == 1
        with pytest.raises(ResultsError, match="by a clock fine enough"):
            coarse.speedups(over="op by op")

    def test_speedups_have_the_confidence_of_the_ratios(self) -> None:
        fast = make_result("jit", make_run(), make_run())
        slow = make_result("op by op", make_run(), make_run([0.0] * 6))
        assert fast.time.confidence == 0.95
        table = make_set(fast, slow).speedups(over="op by op")
        assert table.headers[2] == "50% interval (2 processes)"

    def test_two_devices_of_one_platform_have_a_row_each(self) -> None:
        other_gpu = Device(platform="gpu", name="Another GPU")
        both = make_set(make_result(device=GPU), make_result(device=other_gpu))
        assert [row[1] for row in both.table().rows] == ["Test GPU (GPU)", "Another GPU (GPU)"]

    def test_results_show_themselves_as_tables(self) -> None:
        assert repr(self.pair) == str(self.pair) == repr(self.pair.table())
        assert self.pair._repr_html_() == self.pair.table()._repr_html_()

    def test_names_cannot_inject_html(self) -> None:
        html = make_set(make_result("<script>alert(1)</script>"))._repr_html_()
        assert "<script>" not in html
        assert '<th scope="row">&lt;script&gt;alert(1)&lt;/script&gt;</th>' in html
