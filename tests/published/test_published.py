"""Published figures: every one gets a verdict, and no verdict is there without a measurement."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from fakes import CPU, ENVIRONMENT, GPU, make_result, make_run

from jaxcap import published
from jaxcap.experiments import catalogue
from jaxcap.measure import Experiment
from jaxcap.mnist.model import PARAMETERS
from jaxcap.published import Published, Verdict, judge, load
from jaxcap.published.recomputed import VALUES, parameters
from jaxcap.published.values import MISTAKES, NOT_AWAITED
from jaxcap.results import Result, ResultSet
from jaxcap.results.environment import Device
from jaxcap.results.recordings import Recording

FIGURES = load()
TIMED = {number: one for number, one in FIGURES.items() if one.variant}
DEVICES = {"cpu": CPU, "gpu": GPU}


def result(
    figure: Published,
    time_s: float,
    *,
    variant: str = "",
    dispatch_s: float | None = None,
    first_call_s: float | None = None,
    device: Device | None = None,
) -> Result:
    """Make up what was measured of the work behind a figure."""
    run = make_run(
        [time_s] * 6,
        first_call_s=time_s if first_call_s is None else first_call_s,
        dispatch_s=time_s if dispatch_s is None else dispatch_s,
    )
    return make_result(
        variant or figure.variant,
        run,
        experiment=figure.experiment,
        parameters=dict(figure.parameters),
        device=device or DEVICES[figure.platform],
    )


def recording(*results: Result) -> Recording:
    sets: dict[str, list[Result]] = {}
    for one in results:
        sets.setdefault(one.experiment, []).append(one)
    return Recording(
        {
            name: ResultSet(environment=ENVIRONMENT, results=tuple(some))
            for name, some in sets.items()
        }
    )


def measured_all(*platforms: str, times: float) -> Recording:
    """Make up results for all figures from some platforms: so many times their published time."""
    found: dict[Any, Result] = {}
    for figure in TIMED.values():
        assert figure.time_s is not None
        for variant in filter(None, (figure.variant, figure.instead)):
            key = figure.experiment, variant, *figure.parameters.items(), figure.platform
            found.setdefault(key, result(figure, figure.time_s * times, variant=variant))
    return recording(*(one for one in found.values() if one.device.platform in platforms))


MADE_UP = {
    "nothing": [],
    "a CPU": [measured_all("cpu", times=1)],
    "a slow CPU": [measured_all("cpu", times=10)],
    "a GPU": [measured_all("gpu", times=1)],
    "a CPU and a fast GPU": [measured_all("cpu", times=1), measured_all("gpu", times=0.01)],
    "all on one": [measured_all("cpu", "gpu", times=1)],
}


def test_there_are_168_figures_from_five_documents() -> None:
    assert len(FIGURES) == 168
    assert list(FIGURES) == [f"{number:03}" for number in range(1, 169)]
    assert {one.document for one in FIGURES.values()} == set(published.DOCUMENTS)
    assert len(published.DOCUMENTS) == 5


@pytest.mark.parametrize("recordings", MADE_UP.values(), ids=MADE_UP)
def test_every_figure_has_a_verdict_and_a_reason(recordings: list[Recording]) -> None:
    judgements = [judge(figure, recordings) for figure in FIGURES.values()]
    assert len(judgements) == 168
    for one in judgements:
        assert one.verdict in Verdict
        assert one.reason.endswith(".")
        assert len(one.reason.split()) >= 4, one.reason
        assert bool(one.mistake) == (one.verdict is Verdict.MISTAKE)
    rows = [row for table in published.tables(judgements, recordings) for row in table.rows]
    assert [(row[2], row[-2]) for row in rows] == [(one.label, one.reason) for one in judgements]


def test_a_figure_that_is_no_time_and_is_not_computed_waits_for_a_machine() -> None:
    (found,) = {judge(FIGURES[number], MADE_UP["all on one"]).reason for number in ("049", "050")}
    assert found == "No machine of ours has done this yet."


def test_all_that_can_be_measured_is_reproduced_where_we_measure_the_same() -> None:
    for figure in TIMED.values():
        found = judge(figure, MADE_UP["all on one"])
        expected = Verdict.MISTAKE if figure.number in ("059", "064") else Verdict.REPRODUCED
        assert found.verdict is expected, found


# One figure each, and the same figure with another measurement.
NOT_WAITING = FIGURES["014"]  # 33.9 µs a call, control 053
REWRAPPED = FIGURES["078"]  # 260 µs, control 079
COMPILING = FIGURES["045"]  # 9.87 ms a call in ten
SIMPLE = FIGURES["077"]  # 310 µs, control 079


def control(figure: Published, times: float) -> Result:
    """Make up a control that took the published computer so many times as long as ours."""
    numpy = FIGURES[figure.control]
    assert numpy.time_s is not None
    return result(numpy, numpy.time_s / times)


@pytest.mark.parametrize(
    ("figure", "results", "verdict"),
    [
        (NOT_WAITING, [result(NOT_WAITING, 50e-6, dispatch_s=10e-6)], Verdict.REPRODUCED),
        (NOT_WAITING, [result(NOT_WAITING, 20e-3, dispatch_s=10e-6)], Verdict.MISTAKE),
        (NOT_WAITING, [result(NOT_WAITING, 20e-3, dispatch_s=19e-3)], Verdict.OTHER_DEVICE),
        # It would have to give such a number, and not a tenth of it.
        (NOT_WAITING, [result(NOT_WAITING, 75e-6, dispatch_s=3e-6)], Verdict.OTHER_DEVICE),
        (SIMPLE, [result(SIMPLE, 9e-6, dispatch_s=8e-6)], Verdict.OTHER_DEVICE),
        (
            SIMPLE,
            [result(SIMPLE, 9e-6, dispatch_s=8e-6), control(SIMPLE, 1.1)],
            Verdict.FASTER_LIBRARY,
        ),
        (
            SIMPLE,
            [result(SIMPLE, 9e-6, dispatch_s=8e-6), control(SIMPLE, 30)],
            Verdict.OTHER_DEVICE,
        ),
        (SIMPLE, [result(SIMPLE, 9e-3), control(SIMPLE, 1.1)], Verdict.SLOWER_LIBRARY),
        (SIMPLE, [result(SIMPLE, 9e-3), control(SIMPLE, 0.1)], Verdict.OTHER_DEVICE),
        # A clock that didn't wait proves no library faster than today's.
        (
            SIMPLE,
            [result(SIMPLE, 9e-3, dispatch_s=400e-6), control(SIMPLE, 1.1)],
            Verdict.MISTAKE,
        ),
        (
            SIMPLE,
            [result(SIMPLE, 630e-6, dispatch_s=600e-6), control(SIMPLE, 1.1)],
            Verdict.OTHER_DEVICE,
        ),
        (
            REWRAPPED,
            [result(REWRAPPED, 85e-6), result(REWRAPPED, 9e-6, variant="jit")],
            Verdict.MISTAKE,
        ),
        (
            REWRAPPED,
            [result(REWRAPPED, 9e-6), result(REWRAPPED, 9e-6, variant="jit")],
            Verdict.OTHER_DEVICE,
        ),
        (REWRAPPED, [result(REWRAPPED, 85e-6)], Verdict.NOT_COMPARABLE),
        (COMPILING, [result(COMPILING, 2.7e-3, first_call_s=80e-3)], Verdict.MISTAKE),
        (COMPILING, [result(COMPILING, 2.7e-3, first_call_s=3e-3)], Verdict.OTHER_DEVICE),
        (COMPILING, [result(COMPILING, 2.7e-3, device=GPU)], Verdict.NOT_COMPARABLE),
    ],
)
def test_a_verdict_follows_from_what_was_measured(
    figure: Published, results: list[Result], verdict: Verdict
) -> None:
    found = judge(figure, [recording(*results)])
    assert found.verdict is verdict, found.reason
    if verdict not in (Verdict.NOT_COMPARABLE, Verdict.MISTAKE):
        assert found.evidence[0].right.short in found.reason
    if verdict is Verdict.MISTAKE:
        assert found.label == f"measurement mistake: {figure.mistakes[0]}"
        assert found.evidence[0].as_done.short in found.reason


def test_a_mistake_that_may_be_chance_explains_nothing() -> None:
    noisy = result(NOT_WAITING, 1e-3).model_copy(
        update={"runs": (make_run([1e-6, 1e-6, 1e-3, 1e-3, 1e-3, 1e-3], dispatch_s=10e-6),)}
    )
    assert judge(NOT_WAITING, [recording(noisy)]).verdict is Verdict.OTHER_DEVICE


def test_a_time_that_the_device_cannot_reach_is_a_mistake_without_a_measurement() -> None:
    impossible = [judge(figure, []) for figure in FIGURES.values() if figure.variant]
    found = {one.figure.number: one for one in impossible if one.verdict is Verdict.MISTAKE}
    assert set(found) == {"059", "064"}
    assert {one.label for one in found.values()} == {f"measurement mistake: {NOT_AWAITED}"}
    slower = FIGURES["059"].model_copy(update={"value": 1.2})
    assert judge(slower, []).verdict is Verdict.NOT_COMPARABLE


def test_what_the_published_device_needs_is_no_mistake() -> None:
    product = FIGURES["063"]  # 1.2 s, of which that card needs about one
    fast = recording(result(product, 5e-3, first_call_s=1.0))
    found = judge(product, [fast])
    assert found.verdict is Verdict.OTHER_DEVICE
    assert "data sheet" in found.reason
    longer = product.model_copy(update={"value": 3.0})
    assert judge(longer, [fast]).verdict is Verdict.MISTAKE


def test_a_missing_device_is_named() -> None:
    on_gpu, on_cpu = FIGURES["065"], FIGURES["066"]
    assert judge(on_gpu, []).reason == "No GPU was measured yet."
    assert judge(on_gpu, MADE_UP["a CPU"]).reason == "No GPU was measured yet."
    other = recording(result(FIGURES["068"], 1e-3))
    assert judge(on_gpu, [other]).reason == "This was not measured on a GPU yet."
    assert judge(on_cpu, [other]).reason == "No CPU was measured yet."


def test_the_first_machine_decides_and_all_are_shown() -> None:
    other = Device(platform="cpu", name="Another CPU")
    assert SIMPLE.time_s is not None
    here = recording(result(SIMPLE, 9e-6), control(SIMPLE, 1))
    there = recording(result(SIMPLE, SIMPLE.time_s, device=other))
    again = recording(result(SIMPLE, SIMPLE.time_s))
    found = judge(SIMPLE, [here, there, again])
    assert [one.device for one in found.evidence] == [CPU, other]
    assert found.verdict is Verdict.FASTER_LIBRARY
    assert judge(SIMPLE, [there, here]).verdict is Verdict.REPRODUCED
    (table,) = published.tables([judge(SIMPLE, [there, here])], [there, here])
    assert [text for text in table.headers if text.startswith("now: ")] == [
        "now: Another CPU (CPU)",
        "now: Test CPU (CPU)",
    ]
    # The control may stand in another recording, if it is of the same device.
    apart = [recording(result(SIMPLE, 9e-6)), there, recording(control(SIMPLE, 1))]
    assert judge(SIMPLE, apart).verdict is Verdict.FASTER_LIBRARY


def test_a_time_of_zero_counts_for_nothing() -> None:
    assert judge(SIMPLE, [recording(result(SIMPLE, 0.0))]).verdict is Verdict.NOT_COMPARABLE


def test_unknown_lengths_and_shapes_stay_incomparable_whatever_is_measured() -> None:
    stated = [one for one in FIGURES.values() if one.incomparable]
    for figure in stated:
        found = judge(figure, MADE_UP["all on one"])
        assert found.verdict is Verdict.NOT_COMPARABLE
        assert figure.incomparable[1:] in found.reason


@pytest.mark.parametrize("number", ["047", "048", "166", "167", "168"])
def test_values_are_computed_again(number: str) -> None:
    figure = FIGURES[number]
    assert judge(figure, []).verdict is Verdict.REPRODUCED
    other = figure.model_copy(update={"value": figure.value * (1 + 1e-6)})
    found = judge(other, [])
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert "nothing tells why" in found.reason


def test_the_random_sum_needs_the_setting_of_its_time() -> None:
    found = judge(FIGURES["166"], [])
    assert "2.3250647 with jax_threefry_partitionable=False" in found.reason
    assert "today's default gives 1.8121928" in found.reason


def test_the_other_network_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parameters(24) == PARAMETERS
    assert parameters(28) == 3_232_906
    found = judge(FIGURES["051"], [])
    assert found.label == "measurement mistake: trains another network"
    assert f"{PARAMETERS:,}" in found.reason
    monkeypatch.setattr("jaxcap.published.recomputed._SAME", 24)
    assert judge(FIGURES["051"], []).verdict is Verdict.NOT_COMPARABLE


def test_what_figures_state_is_known() -> None:
    for figure in FIGURES.values():
        assert set(figure.mistakes) <= set(MISTAKES)
        assert not figure.computed or figure.computed in VALUES
        if figure.control:
            numpy = FIGURES[figure.control]
            assert (numpy.variant, numpy.device) == ("NumPy", figure.device)
            assert numpy.time_s


def test_printed_figures_are_those_of_their_documents() -> None:
    printed = [FIGURES[number].printed for number in ("001", "047", "049", "066", "069")]
    assert printed == [
        "4.97852 s for 10,000 calls",
        "1.7012903690338135",
        "97.6 %",
        "355 ms",
        "82.2 µs",
    ]
    assert [FIGURES[number].time_s for number in ("055", "066")] == [4.869536, 0.355]
    assert FIGURES["001"].time_s == pytest.approx(497.852e-6)


CATALOGUE = catalogue()
NAMED = sorted({one.experiment for one in TIMED.values()})


def points(experiment: Experiment) -> Iterable[Mapping[str, Any]]:
    return [*experiment.quick, *experiment.full]


@pytest.mark.parametrize("name", NAMED)
def test_figures_name_points_that_are_measured(name: str) -> None:
    experiment = CATALOGUE[name]
    for figure in TIMED.values():
        if figure.experiment == name:
            assert any(
                figure.parameters.items() <= point.items() for point in points(experiment)
            ), figure


@pytest.mark.parametrize("name", NAMED)
def test_figures_name_variants_that_are_measured(name: str) -> None:
    experiment = CATALOGUE[name]
    figures = [one for one in TIMED.values() if one.experiment == name]
    # Sizes don't matter for which variants there are, and small ones are soon prepared.
    sizes = {"size", "points"}
    questions = {
        frozenset((key, 5 if key in sizes else value) for key, value in one.parameters.items())
        for one in figures
        if one.parameters.get("device") != "gpu"
    }
    if any("torch" in figure.variant.lower() for figure in figures):
        pytest.importorskip("torch", reason="needs PyTorch")
    for question in questions:
        variants = set(experiment.prepare(**dict(question)))
        named = {
            variant
            for one in figures
            for variant in filter(None, (one.variant, one.instead))
            if {key: 5 if key in sizes else value for key, value in one.parameters.items()}
            == dict(question)
        }
        assert named <= variants


@pytest.mark.parametrize("name", ["published matrices", "published small arrays"])
def test_points_fit_and_can_be_imported_by_a_fresh_process(name: str) -> None:
    experiment = CATALOGUE[name]
    for point in points(experiment):
        inspect.signature(experiment.prepare).bind(**point)
    assert experiment.reference.startswith("jaxcap.experiments.replicas:prepare")


def test_published_work_is_done_in_the_published_type() -> None:
    for operation in ("dot", "einsum", "eig"):
        variants = CATALOGUE["published small arrays"].prepare(operation=operation, size=5)
        for call in variants.values():
            assert {str(array.dtype) for array in call.args} == {"float64"}  # type: ignore[attr-defined]
    prepare = CATALOGUE["published matrices"].prepare
    kinds = {
        task: str(prepare(task=task, size=3)["NumPy"]().dtype)
        for task in ("generate", "product", "inverse", "product with the transpose")
    }
    assert kinds.pop("product with the transpose") == "float32"
    assert set(kinds.values()) == {"float64"}


@pytest.mark.parametrize("recordings", MADE_UP.values(), ids=MADE_UP)
def test_the_chart_counts_all_verdicts_and_draws_what_was_measured(
    recordings: list[Recording],
) -> None:
    judgements = [judge(figure, recordings) for figure in FIGURES.values()]
    figure = published.chart(judgements)
    (axes,) = figure.axes
    counts = Counter(one.verdict for one in judgements)
    labels = [str(line.get_label()) for line in axes.lines]
    for verdict in Verdict:
        assert f"{verdict} ({counts[verdict]})" in labels
    points = [line for line in axes.lines if str(line.get_label()).split(" (")[0] in set(Verdict)]
    drawn = sum(len(np.asarray(line.get_xdata())) for line in points)
    assert drawn == sum(bool(one.evidence) for one in judgements)
    plt.close(figure)


def test_a_mistake_is_drawn_where_its_number_lies() -> None:
    mistaken = judge(NOT_WAITING, [recording(result(NOT_WAITING, 20e-3, dispatch_s=10e-6))])
    figure = published.chart([mistaken])
    (hollow,) = [x for x in figure.axes[0].lines if "with the mistake (1)" in str(x.get_label())]
    np.testing.assert_allclose(hollow.get_xydata(), [[NOT_WAITING.time_s, 10e-6]])  # type: ignore[arg-type]
    plt.close(figure)


def test_tables_show_devices_that_have_something_in_them_and_escape_their_names() -> None:
    hostile = Device(platform="cpu", name="<script>alert(1)</script>")
    live = recording(result(SIMPLE, 9e-6, device=hostile))
    judgements = [judge(figure, [live]) for figure in FIGURES.values()]
    tables = list(published.tables(judgements, [live]))
    assert len(tables) == 5
    with_device = [table for table in tables if any("<script>" in text for text in table.headers)]
    assert len(with_device) == 1
    html = with_device[0]._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    row = next(row for row in with_device[0].rows if row[-2] == judge(SIMPLE, [live]).reason)
    expected = ("dot of NumPy arrays, size 5", "JAX", "other device", "CPU", "310.4 µs")
    assert row[:5] == expected
    assert row[-1] == "15.522388 s for 50,000 calls"
    assert row[5].startswith("9.000 µs")
    assert row[6] == "34.49"
