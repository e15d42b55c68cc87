"""Sets of results: joined, selected from and compared."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest
from fakes import CPU, ENVIRONMENT, GPU, make_pair, make_result, make_run, make_set
from pydantic import ValidationError

from jaxcap.results import ResultsError

MS = 1e-3
SIX = (1, 2, 3, 4, 5, 6)


def test_two_results_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="two results for experiment 'test', variant 'jit'"):
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
            ValueError, match=rf"can't be joined \({message}\): show them side by side"
        ):
            make_set() + other

    def test_refuses_duplicates(self) -> None:
        with pytest.raises(ValueError, match="two results for experiment 'test', variant 'jit'"):
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

    def test_a_boolean_is_no_number(self) -> None:
        flagged = make_set(make_result(parameters={"flag": True, "size": 1}))
        assert len(flagged.select(flag=True, size=1.0)) == 1
        for criteria in {"flag": 1}, {"size": True}:
            with pytest.raises(ResultsError, match="no result has"):
                flagged.select(**criteria)

    @pytest.mark.parametrize("device", [GPU, "gpu"])
    def test_finds_a_device_or_its_platform(self, device: Any) -> None:
        both = make_set(make_result(), make_result(device=GPU))
        assert both.only("jit", device=device).device == GPU

    def test_finds_an_allocator(self) -> None:
        both = make_set(make_result(), make_result(allocator="default"))
        assert both.only("jit", allocator="default").allocator == "default"

    def test_only_finds_the_only_match(self) -> None:
        assert self.four.only("op by op", size=10) == self.four.results[0]

    def test_only_refuses_to_choose(self) -> None:
        expected = r"2 results match: choose one by its size$"
        with pytest.raises(ResultsError, match=expected):
            self.four.only("op by op")

    def test_only_says_by_what_else_to_choose(self) -> None:
        both = make_set(make_result(), make_result(device=GPU))
        with pytest.raises(ResultsError, match=r"2 results match: choose one by its device$"):
            both.only("jit")

    def test_is_a_sequence_of_results(self) -> None:
        assert list(self.four) == list(self.four.results)
        assert self.four[0] == self.four.results[0]
        assert self.four[-1].experiment == "other"
        assert self.four.variants == ("op by op", "jit")

    def test_slices_are_sets(self) -> None:
        assert self.four[1:3].results == self.four.results[1:3]
        with pytest.raises(ResultsError, match="can't be empty"):
            self.four[5:]

    def test_a_subset_holds_at_least_one(self) -> None:
        with pytest.raises(ResultsError, match="a set of results can't be empty"):
            self.four.subset([])

    def test_varying_names_parameters_that_differ_or_are_missing(self) -> None:
        assert self.four.varying() == ["size", "device"]
        assert self.four.select(experiment="test").varying() == ["size"]
        assert self.four.select(size=10).varying() == []


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

    def test_of_a_result_takes_no_criteria(self) -> None:
        pair = make_pair([1e-3] * 6, [2e-3] * 6, parameters={"size": 1})
        assert pair.speedup(pair.only("jit"), over="op by op").value == 2
        with pytest.raises(TypeError, match="chosen already: leave out size"):
            pair.speedup(pair.only("jit"), over="op by op", size=1)

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
        with pytest.raises(
            ResultsError, match="a sample of 'jit' was too short for this machine's clock"
        ):
            pair.speedup("jit", over="op by op")
        assert pair.speedup("op by op", over="jit").value == 1

    @pytest.mark.parametrize("processes", [1, 6])
    def test_is_refused_where_the_clock_saw_no_time_of_what_it_is_over(
        self, processes: int
    ) -> None:
        fast = make_result("jit", *(make_run([0.0] * 6) for _ in range(processes)))
        slow = make_result("op by op", *(make_run([MS] * 6) for _ in range(processes)))
        with pytest.raises(ResultsError, match="a sample of 'jit' was too short"):
            slow.speedup(fast)
        assert not make_set(fast, slow).paired_speedups("jit")

    def test_is_undecided_from_too_few_samples(self) -> None:
        assert make_pair([MS] * 5, [2 * MS] * 5).speedup("jit", over="op by op").verdict == (
            "undecided"
        )
