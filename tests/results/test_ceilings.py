"""Ceilings: the best rates on a device, and the least time for a cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fakes import CPU, GPU, make_result, make_run, make_set

from jaxcap.results import Cost, Result
from jaxcap.results.ceilings import Ceilings

CEILINGS = Ceilings(CPU, bytes_per_s=10.0, flops_per_s={"float32": 100.0, "float64": 50.0})


@pytest.mark.parametrize(
    ("cost", "dtype", "expected"),
    [
        (Cost(1000, 10), "float32", 10),  # limited by arithmetic
        (Cost(1000, 10), "float64", 20),
        (Cost(10, 1000), "float32", 100),  # limited by memory
        (Cost(0, 1000), "float64", 100),
    ],
)
def test_least_time_is_that_of_the_slower_resource(cost: Cost, dtype: str, expected: float) -> None:
    assert CEILINGS.least_time_s(cost, dtype) == expected


def test_a_call_starts_later_if_it_is_handed_to_another_thread() -> None:
    in_both = replace(CEILINGS, call_s=1.0, handed_over_s=5.0)
    assert [in_both.start_s(Cost(flops, 1e6)) for flops in (999, 1000)] == [1, 5]
    assert replace(CEILINGS, call_s=1.0).start_s(Cost(1000, 0)) == 1
    assert CEILINGS.start_s(Cost(1000, 0)) == 0


def one_limit(limit: str, dtype: str, size: int, seconds: float, **changes: Any) -> Result:
    parameters = {"limit": limit, "dtype": dtype, "size": size, "device": "cpu"}
    runs = make_run((2 * seconds, seconds, 3 * seconds))
    return make_result("JAX", runs, parameters=parameters, **changes)


def test_rates_come_from_the_fastest_sample_of_the_best_library() -> None:
    slow_copy = one_limit("copy", "float32", 1000, 4.0).model_copy(update={"variant": "NumPy"})
    ceilings = Ceilings.from_results(
        make_set(
            slow_copy,
            one_limit("copy", "float32", 1000, 0.5),
            one_limit("sum", "float32", 1000, 1.0),
            one_limit("product", "float32", 10, 0.5),
            one_limit("product", "bfloat16", 10, 0.25),
            one_limit("call", "float32", 1, 1e-5),
            one_limit("call in another thread", "float32", 2000, 1e-4),
            one_limit("sines", "float32", 1000, 0.5),
            one_limit("sines", "float32", 1000, 0.1).model_copy(update={"variant": "NumPy"}),
            one_limit("transfer", "float32", 1000, 2.0),
            one_limit("product", "float64", 10, 0.5, device=GPU),
            one_limit("of a newer version", "float32", 1000, 0.5),
        ),
        CPU,
    )
    # A copy reads and writes; a product of matrices of ten rows is 2000 operations.
    assert ceilings.bytes_per_s == 2 * 1000 / 0.5
    assert ceilings.flops_per_s == {"float32": 4000.0, "bfloat16": 8000.0}
    assert ceilings.call_s == pytest.approx(2e-5)  # the median
    assert ceilings.handed_over_s == pytest.approx(2e-4)
    assert ceilings.sines_per_s == 2000.0
    assert ceilings.transfer_bytes_per_s == 500.0
    with pytest.raises(ValueError, match=r"the bandwidth of Test GPU \(GPU\) was not measured"):
        Ceilings.from_results(make_set(one_limit("copy", "float32", 1000, 0.5)), GPU)


def test_a_roofline_needs_a_rate_of_arithmetic() -> None:
    partial = make_set(one_limit("copy", "float32", 1000, 0.5), one_limit("call", "float32", 1, 1))
    with pytest.raises(ValueError, match=r"the rate of arithmetic of Test CPU \(CPU\)"):
        Ceilings.from_results(partial, CPU)


@pytest.mark.parametrize(("size", "seconds"), [(0, 0.5), (-10, 0.5), (10, 0.0)])
def test_a_rate_of_a_file_must_be_positive_and_finite(size: int, seconds: float) -> None:
    results = make_set(
        one_limit("copy", "float32", 1000, 0.5), one_limit("product", "float32", size, seconds)
    )
    with pytest.raises(
        ValueError, match=r"a ceiling of Test CPU \(CPU\) is not positive and finite"
    ):
        Ceilings.from_results(results, CPU)
