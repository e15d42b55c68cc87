"""Ceilings, and what share of them a result reaches."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from fakes import CPU, GPU, make_result, make_run

from jaxcap import roofline
from jaxcap.compilation import Work
from jaxcap.environment import cpu
from jaxcap.roofline import Ceilings, measure_ceilings, share

CEILINGS = Ceilings(CPU, bytes_per_s=10.0, flops_per_s={"float32": 100.0, "float64": 50.0})


@pytest.mark.parametrize(
    ("work", "dtype", "expected"),
    [
        (Work(1000, 10), "float32", 10),  # limited by arithmetic
        (Work(1000, 10), "float64", 20),
        (Work(10, 1000), "float32", 100),  # limited by memory
        (Work(0, 1000), "float64", 100),
    ],
)
def test_least_time_is_that_of_the_slower_resource(work: Work, dtype: str, expected: float) -> None:
    assert CEILINGS.least_time_s(work, dtype) == expected


@pytest.mark.parametrize(("intensity", "expected"), [(1, 10), (5, 50), (10, 100), (1000, 100)])
def test_roof_slopes_and_is_flat_from_the_ridge_on(intensity: float, expected: float) -> None:
    assert CEILINGS.attainable_flops_per_s(intensity, "float32") == expected


def test_share_is_least_time_over_time_with_its_interval() -> None:
    result = make_result("jit", make_run([20.0, 25.0, 25.0, 25.0, 25.0, 50.0]))
    reached = share(result, CEILINGS, work=Work(1000, 10))
    assert reached.value == 10 / 25
    assert (reached.low, reached.high) == (10 / result.time.high, 10 / result.time.low)
    assert reached.low < reached.value < reached.high
    assert (reached.unit, reached.basis) == ("", "one process")
    assert reached.confidence == result.time.confidence


def test_work_is_that_of_the_compiled_program_if_not_given() -> None:
    result = make_result("jit", make_run((20.0,) * 6), flops=1000.0, bytes_moved=10.0)
    assert share(result, CEILINGS).value == 0.5
    assert share(result, CEILINGS, dtype="float64").value == 1
    with pytest.raises(ValueError, match=r"the work of 'NumPy' is not known: pass work"):
        share(make_result("NumPy"), CEILINGS)


def test_ceilings_of_another_device_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'jit' ran on Test GPU .*ceilings are those of Test CPU"):
        share(make_result("jit", device=GPU), CEILINGS, work=Work(1, 1))


@pytest.fixture(scope="module")
def measured() -> Ceilings:
    return measure_ceilings("cpu", rows=64, copied_bytes=2**16, budget_s=0.01)


def test_ceilings_are_measured_on_the_device_in_each_dtype(measured: Ceilings) -> None:
    assert measured.device == cpu()
    assert set(measured.flops_per_s) == {"float32", "float64"}
    assert jnp.ones(()).dtype == jnp.float32
    # No machine moves less than a kilobyte or more than a petabyte a second.
    for rate in (measured.bytes_per_s, *measured.flops_per_s.values()):
        assert 1e3 < rate < 1e15


def test_rates_come_from_the_fastest_sample_of_the_best_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[set[str], set[str]]] = []

    def fastest_s(variants: dict[str, object], budget_s: float) -> float:
        arrays = [array for call in variants.values() for array in call.args]  # type: ignore[attr-defined]
        seen.append((set(variants), {str(array.dtype) for array in arrays}))
        return 0.5

    monkeypatch.setattr(roofline, "_fastest_s", fastest_s)
    ceilings = measure_ceilings("cpu", rows=10, copied_bytes=1000)
    both = {"NumPy", "JAX"}
    assert seen == [
        (both, {"float32"}),
        (both, {"float32"}),
        (both, {"float32"}),
        (both, {"float64"}),
    ]
    # A copy reads and writes; a product of matrices of ten rows is 2000 operations.
    assert ceilings.bytes_per_s == 2 * 1000 / 0.5
    assert set(ceilings.flops_per_s.values()) == {2000 / 0.5}


def test_figure_shows_what_ran_on_the_device_and_computes() -> None:
    done = [
        (make_result("jit", make_run((20.0,) * 6)), Work(1000, 10)),
        (make_result("NumPy", device=GPU), Work(1000, 10)),
        (make_result("generate"), Work(0, 10)),
    ]
    (axes,) = roofline.figure(CEILINGS, done, title="A roof").axes
    assert axes.get_title(loc="left") == "A roof"
    assert axes.get_legend_handles_labels()[1] == ["jit"]
    *roofs, points = axes.lines
    assert len(roofs) == 2
    assert [line.get_ydata()[-1] for line in roofs] == [100, 50]  # type: ignore[index]
    assert points.get_xydata().tolist() == [[100, 50]]  # type: ignore[union-attr]


def test_figure_without_results_shows_the_roof() -> None:
    (axes,) = roofline.figure(CEILINGS, []).axes
    assert axes.get_title(loc="left") == str(CPU)
    assert axes.get_legend() is None
