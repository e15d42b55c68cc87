"""Ceilings, and what share of them a result reaches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fakes import CPU, GPU, make_result, make_run
from matplotlib.colors import same_color

from jaxcap.experiments.ceilings import CEILINGS as CEILINGS_EXPERIMENT
from jaxcap.experiments.ceilings import LONG_RESULT, measure_ceilings, prepare
from jaxcap.measure.machine.description import cpu
from jaxcap.report import figures
from jaxcap.report.findings import in_words
from jaxcap.report.roofline import bottleneck, roofline_fraction
from jaxcap.results import Cost
from jaxcap.results.ceilings import Ceilings

CEILINGS = Ceilings(CPU, bytes_per_s=10.0, flops_per_s={"float32": 100.0, "float64": 50.0})


def test_share_is_least_time_over_time_with_its_interval() -> None:
    result = make_result("jit", make_run([20.0, 25.0, 25.0, 25.0, 25.0, 50.0]))
    reached = roofline_fraction(result, CEILINGS, cost=Cost(1000, 10))
    assert reached.value == 10 / 25
    assert (reached.low, reached.high) == (10 / result.time.high, 10 / result.time.low)
    assert reached.low < reached.value < reached.high
    assert (reached.unit, reached.basis) == ("", "one process")
    assert reached.confidence == result.time.confidence


def test_cost_is_that_of_the_compiled_program_if_not_given() -> None:
    result = make_result("jit", make_run((20.0,) * 6), flops=1000.0, bytes_moved=10.0)
    assert roofline_fraction(result, CEILINGS).value == 0.5
    assert roofline_fraction(result, CEILINGS, dtype="float64").value == 1
    with pytest.raises(ValueError, match=r"the cost of 'NumPy' is not known: pass it as cost"):
        roofline_fraction(make_result("NumPy"), CEILINGS)


def test_ceilings_of_another_device_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'jit' ran on Test GPU .*ceilings are those of Test CPU"):
        roofline_fraction(make_result("jit", device=GPU), CEILINGS, cost=Cost(1, 1))


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


@pytest.mark.parametrize(
    ("point", "names"),
    [
        ({"limit": "copy", "dtype": "float32", "size": 2**10}, {"NumPy", "JAX"}),
        ({"limit": "sum", "dtype": "float32", "size": 2**10}, {"NumPy", "JAX"}),
        ({"limit": "product", "dtype": "float64", "size": 8}, {"NumPy", "JAX"}),
        ({"limit": "product", "dtype": "bfloat16", "size": 8}, {"JAX", LONG_RESULT}),
        ({"limit": "call", "dtype": "float32", "size": 1}, {"JAX"}),
        ({"limit": "call in another thread", "dtype": "float32", "size": 8}, {"JAX"}),
        ({"limit": "sines", "dtype": "float32", "size": 8}, {"NumPy", "JAX"}),
        ({"limit": "transfer", "dtype": "float32", "size": 2**10}, {"JAX"}),
    ],
)
def test_limits_are_reached_for_in_their_dtype(point: dict[str, Any], names: set[str]) -> None:
    variants = prepare(**point, device="cpu")
    assert set(variants) == names
    assert variants["JAX"]().dtype == point["dtype"]
    if LONG_RESULT in variants:
        assert variants[LONG_RESULT]().dtype == jnp.float32
    limits = {(point["limit"], point["dtype"]) for point in CEILINGS_EXPERIMENT.full}
    assert (point["limit"], point["dtype"]) in limits


@pytest.mark.parametrize(
    ("dtype", "precision"),
    # A GPU computes float32 products in TF32 unless the highest precision is asked for.
    [("float32", "HIGHEST"), ("float64", "HIGHEST"), ("tf32", "DEFAULT")],
)
def test_only_the_ceiling_of_tf32_may_be_reached_with_tf32(dtype: str, precision: str) -> None:
    call = prepare("product", dtype, 8, "cpu")["JAX"]
    with jax.enable_x64(dtype == "float64"):
        program = jax.make_jaxpr(call.func)(*call.args)  # type: ignore[attr-defined]
    (compiled,) = program.eqns
    (product,) = compiled.params["jaxpr"].eqns
    assert {entry.name for entry in product.params["precision"]} == {precision}


@pytest.mark.parametrize(
    ("expected", "seconds", "cost", "changes"),
    [
        ("arithmetic", 12.0, Cost(1000, 10), {}),
        ("memory", 12.0, Cost(10, 100), {}),
        ("launch", 1.0, Cost(1, 1), {}),
        ("transfer", 20.0, Cost(1, 1), {"variant": "jnp on NumPy arrays"}),
        ("transfer", 20.0, Cost(1, 1), {"parameters": {"arrays": "NumPy"}}),
        ("neither", 20.0, Cost(1, 1), {"parameters": {"arrays": "JAX"}}),
        ("neither", 50.0, Cost(1, 1), {"variant": "jnp on NumPy arrays"}),
        # Just inside and just outside of each threshold: half of the roofline, three calls, and half
        # of the time for the transfer.
        ("arithmetic", 9.99 / 0.51, Cost(999, 10), {}),
        ("together", 10 / 0.49, Cost(999, 10), {}),
        ("launch", 1.49, Cost(1, 1), {}),
        ("neither", 1.51, Cost(1, 1), {}),
        # Programs of a thousand operations are handed to another thread, which takes 20 s. Added to 9 s
        # for memory and 10 s for arithmetic, that is half of 78 s.
        ("launch", 59.0, Cost(1000, 90), {}),
        ("together", 61.0, Cost(1000, 90), {}),
        ("together", 77.0, Cost(1000, 90), {}),
        ("neither", 79.0, Cost(1000, 90), {}),
        ("transfer", 800 / 60 / 0.51, Cost(1, 1), {"parameters": {"arrays": "NumPy"}}),
        ("neither", 800 / 60 / 0.49, Cost(1, 1), {"parameters": {"arrays": "NumPy"}}),
    ],
)
def test_the_bottleneck_is_the_first_limit_that_explains_the_time(
    expected: str, seconds: float, cost: Cost, changes: dict[str, Any]
) -> None:
    ceilings = replace(
        CEILINGS,
        call_s=0.5,
        handed_over_s=20.0,
        transfer_bytes_per_s=60.0,  # 800 bytes go in and out
    )
    result = make_result("jit", make_run((seconds,) * 6)).model_copy(update=changes)
    assert bottleneck(result, ceilings, cost=cost) == expected


@pytest.mark.parametrize(("expected", "seconds"), [("sines", 19.0), ("neither", 21.0)])
def test_sines_limit_a_call_if_they_take_half_of_its_time(expected: str, seconds: float) -> None:
    ceilings = replace(CEILINGS, sines_per_s=10.0)
    result = make_result("jit", make_run((seconds,) * 6))
    assert bottleneck(result, ceilings, cost=Cost(1, 1), sines=100) == expected
    assert bottleneck(result, CEILINGS, cost=Cost(1, 1), sines=100) == "neither"


def test_what_was_not_measured_limits_nothing() -> None:
    in_numpy = make_result("NumPy", make_run((1e-3,) * 6), flops=0.0, bytes_moved=1e-6)
    assert bottleneck(in_numpy, CEILINGS) == "neither"


@pytest.mark.parametrize(
    ("expected", "smaller_s", "smaller_cost"),
    [
        # The roof allows 10 s and the call takes 100 s. Without work, a line leaves 60 s, or 40 s.
        ("fixed", 80.0, Cost(500, 5)),
        ("neither", 70.0, Cost(500, 5)),
        ("neither", 99.0, Cost(600, 6)),  # too close for a line
        ("neither", 120.0, Cost(2000, 20)),  # more work
    ],
)
def test_time_that_does_not_grow_with_the_work_is_told_by_less_work(
    expected: str, smaller_s: float, smaller_cost: Cost
) -> None:
    result = make_result("jit", make_run((100.0,) * 6))
    smaller = [(make_result("jit", make_run((smaller_s,) * 6)), smaller_cost)]
    assert bottleneck(result, CEILINGS, cost=Cost(1000, 10), smaller=smaller) == expected


@pytest.mark.parametrize(("expected", "rival_s"), [("way", 49.0), ("neither", 51.0)])
def test_a_way_that_takes_half_of_the_time_shows_that_the_way_limits(
    expected: str, rival_s: float
) -> None:
    result, rival = (make_result("way", make_run((time_s,) * 6)) for time_s in (100.0, rival_s))
    assert bottleneck(result, CEILINGS, cost=Cost(1000, 10), rivals=[result, rival]) == expected


def test_figure_shows_what_ran_on_the_device_and_computes() -> None:
    results_and_costs = [
        (make_result("jit", make_run((20.0,) * 6)), Cost(1000, 10)),
        (make_result("NumPy", device=GPU), Cost(1000, 10)),
        (make_result("generate"), Cost(0, 10)),
    ]
    drawn = figures.roofline(CEILINGS, results_and_costs, title="A roof", name=lambda _: "product")
    (axes,) = drawn.axes
    assert axes.get_title(loc="left") == "A roof"
    assert drawn.get_suptitle().replace("\n", " ").endswith("reaches 50% of it: product, jit")
    assert axes.get_legend_handles_labels()[1] == ["jit"]
    *roofs, points = axes.lines
    (roof,) = roofs  # that of float32 alone, in which the product was computed
    xs, ys = map(np.asarray, roof.get_data())
    np.testing.assert_allclose(ys, np.minimum(100, 10 * xs))
    assert points.get_xydata().tolist() == [[100, 50]]  # type: ignore[union-attr]
    assert "product\n50%" in [text.get_text() for text in axes.texts]


def test_a_computation_at_the_roof_has_its_name_below_it() -> None:
    costs = [(make_result("jit", make_run((10.0,) * 6)), Cost(1000, 10))]
    drawn = figures.roofline(CEILINGS, costs, name=lambda _: "product")
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    (name,) = [text for text in axes.texts if text.get_text().startswith("product")]
    roof = axes.transData.transform((100, 100))[1]
    assert name.get_window_extent().y1 <= roof + 1


def test_a_computation_is_named_with_its_best_share_though_another_dtype_is_faster() -> None:
    costs = [
        (make_result(dtype, make_run((seconds,) * 6)), Cost(1000, 10))
        for dtype, seconds in (("float32", 20.0), ("float64", 25.0))
    ]
    drawn = figures.roofline(
        CEILINGS, costs, name=lambda _: "product", dtype=lambda result: result.variant
    )
    (axes,) = drawn.axes
    assert "product\n80%" in [text.get_text() for text in axes.texts]


def test_each_group_has_a_panel_in_which_the_others_are_grey() -> None:
    results = {name: make_result(name, make_run((20.0,) * 6)) for name in ("NumPy", "jit")}
    costs = [(results["NumPy"], Cost(1000, 10)), (results["jit"], Cost(100, 10))]
    figure = figures.roofline(CEILINGS, costs)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["NumPy", "jit"]
    for axes, own, other in zip(figure.axes, (100, 10), (10, 100), strict=True):
        *_, grey, coloured = axes.lines
        assert (grey.get_xdata(), coloured.get_xdata()) == ([other], [own])
        assert not same_color(grey.get_color(), coloured.get_color())


def test_share_is_of_the_limit_in_the_dtype() -> None:
    costs = [(make_result("jit", make_run((20.0,) * 6)), Cost(1000, 10))]
    figure = figures.roofline(CEILINGS, costs, dtype=lambda _: "float64")
    assert "reaches 100% of it" in figure.get_suptitle().replace("\n", " ")


def test_a_result_above_the_roof_is_said_to_be_there() -> None:
    costs = [(make_result("jit", make_run((8.0,) * 6)), Cost(1000, 10))]
    assert figures.roofline(CEILINGS, costs).get_suptitle() == "jit beats the measured roof by 25%"
    figure = figures.roofline(CEILINGS, costs, finding="A finding")
    assert figure.get_suptitle() == "A finding"


def test_axes_hold_the_rates_that_they_are_compared_with() -> None:
    costs = [(make_result("jit", make_run((20.0,) * 6)), Cost(1000, 10))]
    for axes in figures.roofline(CEILINGS, costs, rates=[1e-3, 1e6]).axes:
        low, high = axes.get_ylim()
        assert low < 1e-3
        assert high > 1e6


def test_intensities_are_few_powers_of_ten_in_a_panel() -> None:
    result = make_result("jit", make_run((20.0,) * 6))
    figure = figures.roofline(CEILINGS, [(result, Cost(10**n, 10)) for n in range(10)])
    axes, *_ = figure.axes
    exponents = np.log10(axes.get_xticks())
    assert 2 <= len(exponents) <= 4
    np.testing.assert_allclose(exponents, np.round(exponents), atol=1e-12)
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == [in_words(tick) for tick in axes.get_xticks()]


@pytest.mark.parametrize(
    ("float64", "labels"),
    [
        (40.0, ["float32\nbfloat16", "float64"]),
        (57.0, ["float32\nbfloat16\nfloat64"]),  # it would lie on the second of two lines
    ],
)
def test_lines_that_are_close_share_a_label(float64: float, labels: list[str]) -> None:
    rates = {"float32": 100.0, "float64": float64, "bfloat16": 95.0}
    ceilings = replace(CEILINGS, flops_per_s=rates)
    (axes,) = figures.roofline(ceilings, [], name=lambda _: "").axes
    assert [text.get_text() for text in axes.texts] == labels


def test_figure_without_results_shows_the_roof() -> None:
    for name in None, lambda _: "":
        figure = figures.roofline(CEILINGS, [], title="A roof", name=name)
        assert figure.get_suptitle() == "No kernel has a known cost"
        assert sum(len(axes.lines) >= 2 for axes in figure.axes) == 1
