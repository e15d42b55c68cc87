"""Results: which values they allow, their estimates and their speed-ups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fakes import CPU, ENVIRONMENT, GPU, make_result, make_run, make_set
from pydantic import ValidationError

from jaxcap.results import ResultSet
from jaxcap.results.statistics import DRIFT, DRIFT_OF_RATIOS, Estimate

MS = 1e-3
SIX = (1, 2, 3, 4, 5, 6)


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
        modes = make_result("jit", *runs).modes
        assert list(modes) == pytest.approx([3.6 * MS, 8.5 * MS])
        assert list(modes.values()) == [0.5, 0.5]

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


class TestDisturbance:
    """Of 12 samples the first six take a millisecond, and the others, while the machine is busy, 9."""

    SAMPLES = (1e-3,) * 6 + (9e-3,) * 6
    BUSY = (0.05,) * 6 + (0.06,) * 6

    def test_leaves_samples_out(self) -> None:
        runs = [make_run(self.SAMPLES, other_work=self.BUSY)] * 3
        result = make_result("jit", *runs)
        assert result.leaves_disturbed_out
        assert result.disturbed_share == 0.5
        assert result.time.observed == pytest.approx((1e-3, 1e-3))

    def test_leaves_none_out_where_a_process_would_have_too_few(self) -> None:
        disturbed = make_run(self.SAMPLES[4:], other_work=self.BUSY[4:])
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
        counted = make_result("jit", make_run(self.SAMPLES[4:], other_work=self.BUSY[4:]))
        assert not make_set(quiet).table().notes
        (note,) = make_set(quiet, left_out).table().notes
        assert note == (
            "Other work or slow moments of the machine disturbed 33.3% of the samples, "
            "which are left out."  # 6 of 12 and of 6
        )
        (note,) = make_set(counted).table().notes
        assert note == (
            "Other work or slow moments of the machine disturbed 75.0% of the samples. "
            "They are kept, because some processes would have too few left."
        )
        counted = counted.model_copy(update={"variant": "op by op"})
        (note,) = make_set(left_out, counted).table().notes
        assert note.endswith("samples, which are left out where each process has enough others.")

    def test_is_seen_by_the_speed_of_the_machine_as_well(self) -> None:
        slowness = (1.35,) * 6 + (1.36,) * 6
        result = make_result("jit", make_run(self.SAMPLES, slowness=slowness))
        assert result.disturbed_share == 0.5
        assert result.time.value == pytest.approx(1e-3)

    def test_leaves_samples_out_of_modes(self) -> None:
        busy = (0.0,) * 40 + (1.0,) * 10
        run = make_run((1e-3,) * 40 + (9e-3,) * 10, other_work=busy)
        assert make_result("jit", run).modes == {1e-3: 1.0}

    def test_leaves_rounds_out_of_speedups(self) -> None:
        slow = make_result("op by op", make_run((2e-3,) * 12, other_work=self.BUSY))
        fast = make_result("jit", make_run(self.SAMPLES, other_work=self.BUSY))
        assert fast.speedup(slow).value == pytest.approx(2)

    @pytest.mark.parametrize("swapped", [False, True])
    def test_of_either_variant_leaves_a_round_out(self, swapped: bool) -> None:
        quiet = make_result("op by op", make_run((2e-3,) * 12))
        noisy = make_result("jit", make_run(self.SAMPLES, other_work=self.BUSY))
        fast, slow, ratio = (quiet, noisy, 0.5) if swapped else (noisy, quiet, 2)
        assert fast.speedup(slow).value == pytest.approx(ratio)


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

    def test_leaves_disturbed_samples_out(self) -> None:
        other_work = [0.0] * 6 + [0.5] * 6
        slow = make_result("op by op", make_run([3 * MS] * 6 + [9 * MS] * 6, other_work=other_work))
        fast = make_run([MS] * 6 + [9 * MS] * 6, first_call_s=5 * MS, other_work=other_work)
        calls = make_result("jit", fast).pays_off_after(slow)
        assert calls
        assert calls.value == pytest.approx(2)

    def test_interval_holds_what_the_next_run_finds_though_the_speedup_is_small(self) -> None:
        rng = np.random.default_rng(0)

        def measure() -> Estimate:
            drift, drift_of_ratio = rng.normal(0, DRIFT), rng.normal(0, DRIFT_OF_RATIOS)
            first_calls_s = 0.1 * np.exp(drift + rng.normal(0, 0.05, 6))
            others_s = 1.2 * MS * np.exp(drift_of_ratio + rng.normal(0, 0.01, 6))
            fast = make_result("jit", *(make_run([MS] * 6, first_call_s=s) for s in first_calls_s))
            slow = make_result("op by op", *(make_run([s] * 6) for s in others_s))
            calls = fast.pays_off_after(slow)
            assert calls
            return calls

        runs = [(measure(), measure().value) for _ in range(300)]
        assert 0.93 <= np.mean([now.low <= later <= now.high for now, later in runs]) <= 0.98

    def test_interval_has_no_less_than_one_call(self) -> None:
        slow = make_result("op by op", *(make_run([3 * MS] * 6) for _ in SIX))
        fast = make_result("jit", *(make_run([MS] * 6, first_call_s=3 * MS) for _ in SIX))
        calls = fast.pays_off_after(slow)
        assert calls
        assert calls.low == calls.value == 1 < calls.high

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
