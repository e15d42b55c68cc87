"""Figures draw the numbers that results hold, and can be read on light and dark pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import inf
from operator import attrgetter

import matplotlib.pyplot as plt
import numpy as np
import pytest
from fakes import CPU, GPU, make_pair, make_result, make_run, make_set
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import same_color, to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from jaxcap.report import figures
from jaxcap.report.claims import claim, speedup_of
from jaxcap.report.figures import INK, bars, drawing, scaling, speedups
from jaxcap.report.figures.labels import spread
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.statistics import Estimate, Speedup

MS = 1e-3
SIZES = (1000, 10, 100)  # not in order


def samples(typical_s: float) -> list[float]:
    return [typical_s * factor for factor in (0.8, 0.9, 0.99, 1.01, 1.1, 1.3)]


@pytest.fixture(autouse=True)
def _close_figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture
def results() -> ResultSet:
    """Op by op takes a microsecond an element, jit a quarter of it."""
    return make_set(
        *(
            make_result(variant, make_run(samples(size * element_s)), parameters={"size": size})
            for size in SIZES
            for variant, element_s in (("op by op", 1e-6), ("jit", 0.25e-6))
        )
    )


def points(axes: Axes) -> dict[str, tuple[list[float], list[float]]]:
    """By line: x and y of its points."""
    return {
        str(line.get_label()): (
            np.asarray(line.get_xdata()).tolist(),
            np.asarray(line.get_ydata()).tolist(),
        )
        for line in axes.lines
        if not str(line.get_label()).startswith("_")
    }


def ranges(axes: Axes) -> list[list[float]]:
    """The ends of each vertical stroke."""
    strokes = [c for c in axes.collections if isinstance(c, LineCollection)]
    return [segment[:, 1].tolist() for stroke in strokes for segment in stroke.get_segments()]


def check_points(axes: Axes, name: str, expected: Mapping[float, Estimate]) -> None:
    xs, ys = points(axes)[name]
    assert xs == sorted(expected)
    assert ys == pytest.approx([expected[x].value for x in xs])
    for x in xs:
        assert pytest.approx(expected[x].observed) in ranges(axes)


def texts(figure: Figure) -> list[str]:
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


class TestScaling:
    def test_draws_each_variant_with_its_intervals(self, results: ResultSet) -> None:
        (axes,) = scaling(results, x="size").axes
        for name in ("op by op", "jit"):
            times = {float(size): results.only(name, size=size).time for size in SIZES}
            check_points(axes, name, times)

    def test_has_log_scales_units_its_finding_and_names_at_the_ends(
        self, results: ResultSet
    ) -> None:
        figure = scaling(results, x="size", title="A title")
        (axes,) = figure.axes
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("size", figures.TIME)
        assert axes.get_title(loc="left") == "A title"
        assert figure.get_suptitle().replace("\n", " ") == (
            "jit is 4.000 times faster than “op by op” at size 10, 4.000 times at size 1,000 (one process)"
        )
        assert axes.get_legend() is None
        assert {"op by op\n1.0 ms", "jit\n250 µs", "100 µs"} <= set(texts(figure))

    def test_names_the_device_by_itself(self, results: ResultSet) -> None:
        (axes,) = scaling(results, x="size").axes
        assert axes.get_title(loc="left") == "Test CPU (CPU)"

    def test_does_not_name_a_single_line(self, results: ResultSet) -> None:
        assert "jit" not in texts(scaling(results.select(variant="jit"), x="size"))

    def test_draws_a_line_for_each_other_parameter(self, results: ResultSet) -> None:
        def with_function(name: str) -> ResultSet:
            changed = (
                result.model_copy(update={"parameters": result.parameters | {"function": name}})
                for result in results.results
            )
            return make_set(*changed)

        both = with_function("wave") + with_function("selu")
        (axes,) = scaling(both, x="size").axes
        assert list(points(axes)) == ["op by op, wave", "jit, wave", "op by op, selu", "jit, selu"]
        (axes,) = scaling(both.select(variant="jit"), x="size").axes
        assert list(points(axes)) == ["wave", "selu"]


@pytest.mark.parametrize(
    "draw", [scaling, partial(speedups, over="op by op")], ids=["times", "speedups"]
)
def test_sizes_that_were_measured_are_ticked(
    draw: Callable[..., Figure], results: ResultSet
) -> None:
    (axes,) = draw(results, x="size").axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "100", "1k"]
    left, right = axes.get_xlim()
    assert 5 < left < 10
    assert 1000 < right < 2000


class TestSpeedups:
    def test_draws_the_others_with_their_intervals(self, results: ResultSet) -> None:
        (axes,) = speedups(results, over="op by op", x="size").axes
        assert list(points(axes)) == ["jit"]
        expected = {
            float(size): results.speedup("jit", over="op by op", size=size) for size in SIZES
        }
        check_points(axes, "jit", expected)

    def test_marks_equal_speed_and_starts_at_zero(self, results: ResultSet) -> None:
        figure = speedups(results, over="op by op", x="size")
        (axes,) = figure.axes
        assert any(np.array_equal(line.get_ydata(), [1, 1]) for line in axes.lines)
        assert axes.get_ylim()[0] == 0
        assert axes.get_xscale() == "log"
        assert axes.get_ylabel() == "times as fast as op by op\n(higher is better)"
        assert "2×" in texts(figure)


def test_a_dot_shows_what_each_process_measured() -> None:
    processes = [make_run(samples(seconds)) for seconds in (1e-6, 2e-6, 2.5e-6)]
    figure = scaling(make_set(make_result("jit", *processes, parameters={"size": 10})), x="size")
    (dots,) = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
    assert np.asarray(dots.get_ydata()).tolist() == pytest.approx([1e-6, 2e-6, 2.5e-6], rel=0.1)
    assert set(np.asarray(dots.get_xdata()).tolist()) == {10}


def test_a_line_has_a_gap_where_its_processes_disagree_and_the_subject_says_so() -> None:
    apart = [make_run(samples(seconds)) for seconds in (1e-6, 2e-6, 4e-6)]
    alike = [make_run(samples(1e-6)) for _ in range(3)]
    sizes = {10: alike, 20: apart, 30: alike, 40: alike}
    results = [make_result("jit", *runs, parameters={"size": n}) for n, runs in sizes.items()]
    figure = scaling(make_set(*results), x="size")
    (line,) = [drawn for drawn in figure.axes[0].lines if drawn.get_linestyle() == "-"]
    assert np.isfinite(np.asarray(line.get_ydata())).tolist() == [True, False, True, True]
    assert points(figure.axes[0])["jit"][0] == [10, 20, 30, 40]
    title = figure.axes[0].get_title(loc="left").replace("\n", " ")
    assert title.endswith("no line where processes disagree")


@pytest.mark.parametrize(("fastest", "is_moved"), [(("a", "a"), True), (("a", "b"), False)])
def test_lines_that_cross_stay_where_they_were_measured(
    fastest: tuple[str, str], is_moved: bool
) -> None:
    results = (
        make_result(name, make_run([1.0 if name == first else 2.0] * 6), parameters={"size": size})
        for size, first in zip((10, 100), fastest, strict=True)
        for name in "ab"
    )
    (axes,) = scaling(make_set(*results), x="size").axes
    for line in axes.lines:
        shown = line.get_transform().transform([10.0, 1.0])
        assert (shown != pytest.approx(axes.transData.transform([10.0, 1.0]))) == is_moved


class TestBars:
    def test_draws_each_time_with_its_interval(self, results: ResultSet) -> None:
        chosen = results.select(size=1000)
        (axes,) = bars(chosen).axes
        widths = [bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
        assert widths == pytest.approx([result.time.value for result in chosen.results])
        (errors,) = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
        for segment, result in zip(errors.lines[2][0].get_segments(), chosen, strict=True):
            assert segment[:, 0] == pytest.approx(result.time.observed)

    def test_writes_names_times_and_units(self, results: ResultSet) -> None:
        figure = bars(results.select(size=1000), title="A title")
        shown = texts(figure)
        for text in ("op by op", "jit", "1.0 ms", "A title", figures.TIME):
            assert text in shown
        assert figure.axes[0].get_xlim()[0] == 0
        assert figure.axes[0].yaxis_inverted()  # the first result is on top

    def test_tells_the_factor_of_the_title_beside_the_time(self) -> None:
        # The machine slowed down in the last rounds, so that the quotient of the medians is 3.
        slow_s, fast_s = [2.0] * 4 + [4.0] * 4, [0.5] * 3 + [1.0] * 5
        fast = make_result("jit", make_run(fast_s))
        pair = make_set(make_result("op by op", make_run(slow_s)), fast)
        figure = bars(pair)
        factor = pair.speedup("jit", over="op by op").verdict_in_words
        assert f"1.0 s\n{factor}" in texts(figure)
        assert factor in figure.get_suptitle().replace("\n", " ")
        assert not factor.startswith("3")
        assert "3.0 s" in texts(figure)

    def test_names_the_parameters_that_vary(self, results: ResultSet) -> None:
        labelled = texts(bars(results + make_set(make_result("other", parameters={"k": 1}))))
        assert "jit, 1,000" in labelled
        assert "other, 1" in labelled

    def test_draws_another_value(self, results: ResultSet) -> None:
        chosen = results.select(size=1000)
        figure = bars(chosen, value=lambda result: result.time.rate(6, "images"), label="speed")
        widths = [bar.get_width() for bar in figure.axes[0].patches]  # type: ignore[attr-defined]
        assert widths == pytest.approx([6 / result.time.value for result in chosen.results])
        assert {"speed", "6,000 images/s"} <= set(texts(figure))

    def test_gives_a_variant_one_colour(self, results: ResultSet) -> None:
        close = results.subset(r for r in results if r.time.value > 50e-6)
        (axes,) = bars(close).axes
        variants = [result.variant for result in close]
        drawn = set(zip(variants, [bar.get_facecolor() for bar in axes.patches], strict=True))
        assert len(variants) > len(drawn) == 2

    def test_has_no_bars_where_values_lie_far_apart(self, results: ResultSet) -> None:
        figure = bars(results)
        (axes,) = figure.axes
        assert axes.get_xscale() == "log"
        assert not axes.patches
        assert "op by op, 1,000" in texts(figure)


@pytest.mark.parametrize("fastest_s", [1e-3, 1e-6])
@pytest.mark.parametrize("name", ["jit", "a name that leaves little room"])
def test_all_values_are_inside(name: str, fastest_s: float) -> None:
    slowest = [make_run(samples(seconds)) for seconds in (1.1e-3, 1.9e-3)]
    rows = make_set(make_result(name, *slowest), make_result("b", make_run(samples(fastest_s))))
    figure = bars(rows, value=lambda result: result.time.rate(2, "images"))
    figure.draw_without_rendering()
    values = [text.get_window_extent() for text in figure.axes[0].texts]
    assert values
    assert all(value.x1 <= figure.axes[0].bbox.x1 + 1 for value in values)


def test_clock_that_saw_no_time_is_no_reason_to_fail() -> None:
    coarse = make_set(
        *(make_result("jit", make_run([0.0] * 6), parameters={"size": s}) for s in (1, 2))
    )
    for draw in bars, figures.panels, partial(scaling, x="size"):
        draw(coarse).draw_without_rendering()


class TestRatios:
    def test_draws_a_row_of_dots_for_each_other_variant(self, results: ResultSet) -> None:
        figure = figures.ratios(results.select(size=1000), over="op by op", band=1.1)
        (axes,) = figure.axes
        assert [label.get_text() for label in axes.get_yticklabels()] == ["jit"]
        low, high = axes.get_xlim()
        assert low < 1 / 1.1
        assert high > 4
        assert figure.get_suptitle().startswith("jit is 4.000 times faster than “op by op”")

    def test_needs_another_variant_in_turns(self, results: ResultSet) -> None:
        with pytest.raises(ResultsError, match="no other variant was measured in turns with 'jit'"):
            figures.ratios(results.select(variant="jit"), over="jit")


def test_a_call_returns_before_its_result_is_ready(results: ResultSet) -> None:
    figure = figures.returns(results, x="size")
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(results.variants)
    for axes, name in zip(figure.axes, results.variants, strict=True):
        ready, returned = (
            {float(size): getter(results.only(name, size=size)) for size in SIZES}
            for getter in (attrgetter("time"), attrgetter("dispatch"))
        )
        check_points(axes, "result is ready", ready)
        check_points(axes, "call returns", returned)
    title = figure.get_suptitle().replace("\n", " ")
    assert title.startswith("At the largest size, op by op returns long before its result is ready")
    assert figure.axes[-1].get_xlabel() == "size"


def test_sizes_can_have_another_name_where_calls_return(results: ResultSet) -> None:
    figure = figures.returns(results, x="size", xlabel="rows")
    assert figure.axes[-1].get_xlabel() == "rows"


def test_a_line_of_moments_must_be_the_only_one() -> None:
    results = make_set(sized("wave", 10), sized("wave", 100), sized("selu", 10))
    with pytest.raises(ResultsError, match="lines for wave, selu: select one"):
        figures.returns(results, x="size")


class TestRunningTotal:
    def test_a_clock_that_saw_no_time_is_named(self) -> None:
        coarse = make_pair([MS] * 6, [0.0] * 6)
        with pytest.raises(ResultsError, match="'op by op' by a fine clock"):
            figures.running_total(coarse, over="op by op")

    def test_mark_is_where_the_lines_cross(self, results: ResultSet) -> None:
        chosen = results.select(size=1000)
        figure = figures.running_total(chosen, over="op by op")
        jit, other = chosen.only("jit"), chosen.only("op by op")
        (axes,) = figure.axes
        (mark,) = [line for line in axes.lines if line.get_marker() == "o"]
        ((calls, height),) = np.asarray(mark.get_xydata()).tolist()
        assert height == pytest.approx(calls * other.time.value)
        assert height == pytest.approx(jit.first_call.value + (calls - 1) * jit.time.value)

    def test_band_is_the_interval_of_the_title(self, results: ResultSet) -> None:
        chosen = results.select(size=1000)
        figure = figures.running_total(chosen, over="op by op")
        after = chosen.only("jit").pays_off_after(chosen.only("op by op"))
        assert after is not None
        (band,) = figure.axes[0].patches
        box = band.get_extents().transformed(figure.axes[0].transData.inverted())
        assert (box.x0, box.x1) == pytest.approx((after.low, after.high))
        assert figure.get_suptitle().startswith(f"jit pays off after {after.words} calls")

    def test_has_no_mark_where_nothing_pays_off(self) -> None:
        slow = make_pair([1e-3] * 6, [2e-3] * 6)
        figure = figures.running_total(slow, over="jit")
        assert not [line for line in figure.axes[0].lines if line.get_marker() == "o"]
        assert "“op by op” never pays off" in figure.get_suptitle()


def test_dumbbell_joins_two_numbers_in_each_row() -> None:
    pairs = {"a": (6.0, 1.0), "b": (1.0, 3.0)}
    figure = figures.dumbbell(pairs, ("before", "after"), label="kernels", finding="Fewer", unit="")
    (axes,) = figure.axes
    assert points(axes) == {"before": ([6, 1], [0, 1]), "after": ([1, 3], [0, 1])}
    assert figure.get_suptitle() == "Fewer"
    assert figure.get_label() == "a: before 6, after 1; b: before 1, after 3"
    assert axes.get_xticks().tolist() == [1, 3, 6]  # counts can be read where they are few


def test_dumbbell_has_the_colours_of_what_it_compares() -> None:
    names = "op by op", "compiled"
    figure = figures.dumbbell({"a": (6.0, 1.0)}, names, label="kernels", finding="Fewer", unit="")
    colours = {str(line.get_label()): line.get_color() for line in figure.axes[0].lines}
    assert colours == figures.palette(names)
    assert colours["compiled"] == figures.palette(["jit"])["jit"]


def test_label_of_a_line_that_ends_early_keeps_clear_of_the_others() -> None:
    figure, axes = plt.subplots()
    axes.plot([0, 1], [0, 3], label="short")
    axes.plot([0, 1, 2], [0, 1, 6], label="long")
    figures.label_ends(axes)
    figure.draw_without_rendering()
    above, below = (Text.get_window_extent(text) for text in axes.texts)
    assert above.y0 >= below.y1 - 1, "the dotted leader would cross the longer line"


def test_value_that_was_measured_elsewhere_says_where(results: ResultSet) -> None:
    short = results.subset(r for r in results if r not in results.select(variant="jit", size=1000))
    (axes,) = scaling(short, x="size").axes
    by_name = dict(text.get_text().split("\n") for text in axes.texts)
    assert by_name["jit"].endswith(" at 100")
    assert " at " not in by_name["op by op"]


def test_labels_of_lines_that_end_together_do_not_overlap() -> None:
    same = make_set(
        *(make_result(f"variant {i}", parameters={"size": s}) for i in range(5) for s in (1, 2))
    )
    figure = scaling(same, x="size")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    boxes = sorted((Text.get_window_extent(text) for text in axes.texts), key=lambda box: box.y0)
    assert len(boxes) == 5
    for below, above in pairwise(boxes):
        assert below.y1 <= above.y0 + 1


def test_lines_that_end_together_share_their_value() -> None:
    names = {
        "a": (1.0, 1.02),
        "b": (1.01, 1.0),
        "slower": (10.0, 10.2),
        "a bit slower": (1.1, 1.12),
    }
    results = make_set(
        *(
            make_result(
                name, *map(make_run, ([time] * 6 for time in times)), parameters={"size": s}
            )
            for name, times in names.items()
            for s in (1, 2)
        )
    )
    (axes,) = scaling(results, x="size").axes
    shown = [text.get_text() for text in axes.texts]
    assert shown[:2] in (["a\n1.0 s", "b,"], ["a,", "b\n1.0 s"])
    assert shown[2:] == ["slower\n10 s", "a bit slower\n1.1 s"]


def test_label_of_a_line_that_leaves_the_axes_stays_beside_them() -> None:
    axes = plt.figure().add_subplot()
    axes.plot([0, 1, 2, 3], [0, 1, 2, 30], label="steep")
    axes.set_ylim(0, 2)
    figures.label_ends(axes)
    (label,) = axes.texts
    assert label.xy == (2, 2)  # type: ignore[attr-defined]


def test_labels_stay_where_they_are_unless_they_would_overlap() -> None:
    assert spread([1, 10, 20], [2, 2, 2], 0, 30).tolist() == [1, 10, 20]
    assert spread([20, 1], [2, 2], 0, 30).tolist() == [20, 1]
    assert spread([0, 30], [2, 2], 0, 30).tolist() == [1, 29]


def test_devices_share_the_title() -> None:
    both = make_set(make_result(), make_result(device=GPU))
    assert bars(both).axes[0].get_title(loc="left") == "Test CPU (CPU), Test GPU (GPU)"


def test_label_lists_the_values_smallest_first(results: ResultSet) -> None:
    largest = results.select(size=1000)
    jit, op_by_op = (
        largest.select(variant=name).results[0].time.short for name in ("jit", "op by op")
    )
    expected = f"jit: {jit}; op by op: {op_by_op}"  # the smaller first, in any order of results
    assert bars(largest, title="A title").get_label() == f"A title. {expected}"
    at_end = f"A title. at size 1,000, {expected}"
    assert scaling(results, x="size", title="A title").get_label() == at_end
    assert figures.panels(results, title="A title").get_label() == at_end
    ratio = results.speedup("jit", over="op by op", size=1000).short
    drawn = speedups(results, over="op by op", x="size", title="A title")
    assert drawn.get_label() == f"A title. at size 1,000, jit: {ratio}"


def test_use_style_is_for_all_later_figures() -> None:
    with plt.rc_context():
        figures.use_style()
        _, axes = plt.subplots()
        assert same_color(axes.xaxis.label.get_color(), INK)
        assert not axes.spines["top"].get_visible()


def test_figures_leave_the_style_of_others_alone(results: ResultSet) -> None:
    before = dict(plt.rcParams)
    scaling(results, x="size")
    assert dict(plt.rcParams) == before


def first_call(result: Result) -> Estimate:
    return result.first_call


def sized(function: str, size: int, variant: str = "jit") -> Result:
    runs = make_run(samples(size * MS))
    return make_result(variant, runs, parameters={"function": function, "size": size})


class TestPanels:
    def test_a_panel_for_each_combination_and_lines_against_the_sizes(self) -> None:
        results = make_set(
            *(sized(f, size, v) for f in ("wave", "selu") for size in (10, 1000) for v in "ab")
        )
        figure = figures.panels(results, title="All")
        assert [axes.get_title(loc="left") for axes in figure.axes] == [
            "wave",
            "selu",
        ]
        for axes in figure.axes:
            assert axes.get_xlabel() == "size"
            assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "1k"]
            assert list(points(axes)) == ["a", "b"]
        (legend,) = figure.findobj(Legend)
        assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]

    def test_the_axis_is_named_after_the_parameter_or_as_asked(self) -> None:
        results = make_set(*(sized("wave", size) for size in (10, 1000)))
        for asked, shown in (None, "size"), ("elements", "elements"):
            (axes,) = figures.panels(results, xlabel=asked).axes
            assert axes.get_xlabel() == shown

    def test_points_where_no_number_takes_several_values_in_a_panel(self) -> None:
        figure = figures.panels(make_set(sized("wave", 10, "a"), sized("selu", 20, "b")))
        assert [axes.get_title(loc="left") for axes in figure.axes] == [
            "wave, size 10",
            "selu, size 20",
        ]
        first, second = ([t.get_text() for t in axes.get_yticklabels()] for axes in figure.axes)
        assert (first, second) == (["a"], ["b"])

    def test_a_part_with_one_place_has_rows_below_the_lines_of_others(self) -> None:
        both = [sized("wave", size, v) for size in (10, 1000) for v in "ab"]
        figure = figures.panels(make_set(*both, sized("selu", 20, "c"), sized("selu", 20, "d")))
        lines, rows = figure.axes
        assert (lines.get_title(loc="left"), rows.get_title(loc="left")) == (
            "wave",
            "selu, size 20",
        )
        assert list(points(lines)) == ["a", "b"]
        assert [label.get_text() for label in rows.get_yticklabels()] == ["c", "d"]
        assert lines.get_ylim() == rows.get_xlim()
        named = {text.get_text().partition("\n")[0].rstrip(",") for text in lines.texts}
        assert {"a", "b"} <= named

    def test_the_subject_is_named_once(self) -> None:
        for results in make_set(sized("wave", 10)), make_set(sized("wave", 10), sized("selu", 10)):
            figure = figures.panels(results, title="A title")
            figure.draw_without_rendering()
            words = [text.get_text() for text in figure.findobj(Text) if text.get_visible()]
            assert words.count("A title") == 1

    def test_panels_share_their_axis_of_time(self) -> None:
        results = make_set(*(sized(f, size) for f in ("wave", "selu") for size in (1, 8)))
        low, high = zip(*(axes.get_ylim() for axes in figures.panels(results).axes), strict=True)
        assert len(set(low)) == len(set(high)) == 1

    def test_axes_hold_what_they_are_compared_with(self) -> None:
        here, there = make_set(sized("wave", 1)), make_set(sized("wave", 1000))
        limits = [
            figures.panels(some, among=here + there).axes[0].get_xlim() for some in (here, there)
        ]
        assert limits[0] == limits[1]


def test_a_figure_can_be_drawn_again_from_other_results() -> None:
    first, second = make_set(sized("wave", 10)), make_set(sized("wave", 20))
    for options in {"title": "Bars"}, {"title": None, "value": first_call, "label": "first call"}:
        origin = figures.origin(bars(first, **options))
        assert origin is not None
        results, drawing = origin
        assert results is first
        read = figures.Drawing.model_validate_json(drawing.model_dump_json())
        again, directly = read.draw(second), bars(second, **options)
        assert texts(again) == texts(directly)
        assert again.get_label() == directly.get_label()


def test_a_figure_that_could_not_be_drawn_again_has_no_origin() -> None:
    results = make_set(sized("wave", 10))
    assert figures.origin(plt.figure()) is None
    assert figures.origin(bars(results, value=lambda result: result.time)) is None


@pytest.mark.parametrize(
    "draw",
    [bars, figures.panels, partial(scaling, x="size"), partial(speedups, x="size", over="a")],
)
def test_figures_of_two_machines_share_their_axis(draw: Callable[..., Figure]) -> None:
    def machine(seconds: float, ratio: float) -> ResultSet:
        return make_set(
            *(
                make_result(
                    variant,
                    make_run(samples(s)),
                    parameters={"size": size},
                    comparison=f"{seconds}, {size}",
                )
                for size in (1, 2)
                for variant, s in (("a", seconds), ("b", seconds / ratio))
            )
        )

    here, there = machine(1e-3, 1.5), machine(2e-3, 3)
    both = here.subset([*here, *there])
    limits = []
    for results in (here, there):
        origin = figures.origin(draw(results))
        assert origin is not None
        (axes,) = origin[1].draw(results, among=both).axes
        limits.append(axes.get_xlim() if draw is bars else axes.get_ylim())
    assert limits[0] == limits[1] != draw(here).axes[0].get_ylim()


@pytest.mark.parametrize(
    ("function", "options"),
    [
        ("pie", {}),
        ("bars", {"value": figures.Reference(reference="fakes:gone")}),
        ("bars", {"value": figures.Reference(reference="gone:value")}),
    ],
)
def test_what_cannot_be_imported_any_more_is_named(
    function: str, options: Mapping[str, figures.Reference]
) -> None:
    drawing = figures.Drawing(function=function, options=dict(options))
    with pytest.raises(ResultsError, match=f"{function} can't draw .*(pie|gone)"):
        drawing.draw(make_set(sized("wave", 10)))


def test_a_fault_of_the_drawing_is_not_taken_for_a_lack_of_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def faulty(_: ResultSet) -> Figure:
        raise KeyError("a fault")

    monkeypatch.setitem(drawing._functions, "faulty", faulty)
    with pytest.raises(KeyError, match="a fault"):
        figures.Drawing(function="faulty", options={}).draw(make_set(sized("wave", 10)))


def test_lines_need_the_parameter_along_the_axis() -> None:
    results = make_set(sized("wave", 10), make_result("alone"))
    with pytest.raises(ResultsError, match="result of 'alone' has no size"):
        figures.Drawing(function="scaling", options={"x": "size"}).draw(results)


def test_a_figure_that_was_changed_later_is_stale() -> None:
    figure = bars(make_set(sized("wave", 10)))
    assert not figure.stale
    figure.axes[0].set_xlabel("another label")
    assert figure.stale


@pytest.mark.parametrize("draw", [bars, figures.panels, partial(scaling, x="size")])
def test_names_are_not_taken_for_mathematics(draw: Callable[..., Figure]) -> None:
    name = r"$\frac{$ and $1"
    device = GPU.model_copy(update={"name": name})
    results = make_set(
        *(
            make_result(name, parameters={"size": size, name: name}, device=device)
            for size in (1, 2)
        )
    )
    figure = draw(results)
    figure.canvas.draw()  # which would raise
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert any(r"\$\frac{\$ and \$1" in text for text in texts)


def test_titles_have_powers_of_ten_as_in_a_sentence() -> None:
    figure = plt.figure()
    figures.headline(figure, "Off by 9e-06")
    assert figure.get_suptitle().replace("\N{NO-BREAK SPACE}", " ") == "Off by 9 × 10⁻⁶"


def test_panels_draw_a_line_for_each_device() -> None:
    results = make_set(
        *(
            make_result(parameters={"size": size, "device": device.platform}, device=device)
            for device in (CPU, GPU)
            for size in (10, 100)
        )
    )
    (axes,) = figures.panels(results).axes
    assert axes.get_legend_handles_labels()[1] == ["cpu", "gpu"]


def test_speedups_leave_out_where_the_other_variant_is_missing() -> None:
    pairs = [make_pair([MS] * 6, [2 * MS] * 6, parameters={"size": size}) for size in (1, 10)]
    alone = make_set(make_result("jit", parameters={"size": 100}))
    figure = figures.speedups(pairs[0] + pairs[1] + alone, over="op by op", x="size")
    assert "at size 10" in str(figure.get_label())


def test_speedups_leave_out_what_the_clock_was_too_coarse_for() -> None:
    fine = make_pair([MS] * 6, [2 * MS] * 6, parameters={"size": 10})
    coarse = make_pair([0.0] + [MS] * 5, [2 * MS] * 6, parameters={"size": 100})
    figure = figures.speedups(fine + coarse, over="op by op", x="size")
    assert "at size 10" in str(figure.get_label())
    with pytest.raises(ResultsError, match="in turns with 'op by op'"):
        figures.speedups(coarse, over="op by op", x="size")


def test_speedups_over_an_unknown_variant_name_those_that_exist(results: ResultSet) -> None:
    with pytest.raises(ResultsError, match=r"no result has variant numpy; available: .*op by op"):
        speedups(results, over="numpy", x="size")


class TestWaterfall:
    CHANGES: Mapping[str, str] = {"b": "a", "c": "b", "other": "a", "not measured": "c"}

    def draw(self, **seconds: float) -> Figure:
        results = make_set(*(make_result(name, make_run([s] * 6)) for name, s in seconds.items()))
        return figures.waterfall(results, changes=self.CHANGES)

    def test_goes_to_the_fastest_by_one_change_at_a_time(self) -> None:
        figure = self.draw(c=1 * MS, a=4 * MS, b=5 * MS, other=2 * MS)
        (axes,) = figure.axes
        assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]
        drawn = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
        ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in drawn]
        np.testing.assert_allclose(ends, [(0, 1), (1, 1.25), (1.25, 0.25)])
        title = figure.get_suptitle().replace("\n", " ")
        assert title == "All changes together: 4.000 times faster (one process)"

    def test_calls_changes_by_their_names(self) -> None:
        slow, fast = (make_result(name, make_run([s] * 6)) for name, s in (("a", 2.0), ("b", 1.0)))
        names = {"b": "larger blocks"}
        figure = figures.waterfall(make_set(slow, fast), changes={"b": "a"}, names=names)
        (axes,) = figure.axes
        assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "larger blocks"]
        assert "b" not in figure.get_suptitle().split()  # which no row is called

    def test_a_change_that_costs_time_looks_and_reads_otherwise(self) -> None:
        (axes,) = self.draw(a=4 * MS, b=5 * MS, c=1 * MS).axes
        _, slower, faster = axes.patches
        assert not same_color(slower.get_facecolor(), faster.get_facecolor())
        told = [text.get_text() for text in axes.texts]
        assert told == ["4.000 ms", "125%\nslower", "25%\nfaster"]

    def test_shares_are_of_the_rounds_that_its_headline_compares(self) -> None:
        slow, fast = (
            make_result(name, *(make_run([s * MS] * 6) for s in seconds))
            for name, seconds in (("a", (4.0, 9.0, 20.0)), ("b", (2.0, 4.3, 10.3)))
        )
        figure = figures.waterfall(make_set(slow, fast), changes={"b": "a"})
        (axes,) = figure.axes
        assert figure.get_suptitle().startswith("All changes together: 2.0 times faster")
        assert axes.texts[1].get_text() == "50%\nfaster"  # the medians' quotient is 48%

    def test_names_the_start_if_no_change_makes_it_faster(self) -> None:
        figure = self.draw(a=1 * MS, b=2 * MS)
        assert figure.get_suptitle() == "a takes the least time"
        assert len(figure.axes[0].patches) == 1
        assert [text.get_text() for text in figure.axes[0].texts] == ["1.000 ms"]

    def test_can_be_drawn_again(self) -> None:
        origin = figures.origin(self.draw(a=2 * MS, b=1 * MS))
        assert origin is not None
        results, drawing = origin
        read = figures.Drawing.model_validate_json(drawing.model_dump_json())
        assert texts(read.draw(results)) == texts(self.draw(a=2 * MS, b=1 * MS))


class TestForest:
    """Ratios that hold, fail and stay undecided, with what each claim needs below them."""

    def draw(self, *intervals: tuple[float, float], **bounds: float) -> Figure:
        known = (Speedup(low, low, high, 0.95, "", "one process") for low, high in intervals)
        evidence = speedup_of("jit", over="op by op")
        pair = make_pair([MS] * 6, [MS] * 6)
        checked = claim("compiling pays $$", pair, evidence, **bounds)
        claims = [replace(checked, estimate=estimate) for estimate in known]
        figure = figures.forest(claims, title="Machine")
        figure.draw_without_rendering()
        return figure

    def strokes(self, figure: Figure) -> list[tuple[list[float], str]]:
        """The ends and the colour of each band and of each interval, in turn."""
        strokes = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
        return [
            (stroke.get_segments()[0][:, 0].tolist(), str(stroke.get_color())) for stroke in strokes
        ]

    def test_shows_each_interval_over_what_the_claim_needs(self) -> None:
        figure = self.draw((3.0, 4.0), (0.5, 0.6), (1.5, 2.5), above=2.0)
        left, right = figure.axes[0].get_xlim()
        bands, intervals = self.strokes(figure)[::2], self.strokes(figure)[1::2]
        assert [ends for ends, _ in bands] == [[2.0, right]] * 3
        assert [ends for ends, _ in intervals] == [[3.0, 4.0], [0.5, 0.6], [1.5, 2.5]]
        assert len({colour for _, colour in intervals}) == 3
        assert figure.get_suptitle() == "1 of 3 claims hold"
        assert left < 0.5
        assert right > 4.0
        (legend,) = figure.legends
        entries = [text.get_text() for text in legend.get_texts()]
        assert entries == [
            "holds (1)",
            "does not hold (1)",
            "undecided (1)",
            "what the claim needs",
        ]

    def test_a_bar_is_nearer_to_its_claim_than_to_the_next(self) -> None:
        figure = self.draw((3.0, 4.0), (0.5, 0.6), above=2.0)
        axes, scale = figure.axes[0], figure.axes[0].transData
        bar = scale.transform((1.0, axes.collections[0].get_segments()[0][0, 1]))[1]  # type: ignore[attr-defined]
        own, following = (text.get_window_extent() for text in axes.texts)
        assert 0 < 1.5 * (own.y0 - bar) < bar - following.y1

    def test_a_range_has_two_bounds(self) -> None:
        (band, _), _ = self.strokes(self.draw((0.9, 1.1), above=0.8, below=1.25))
        assert band == [0.8, 1.25]

    def test_draws_what_has_no_place_on_the_axis_as_far_as_it_can(self) -> None:
        _, (ends, _), *_ = self.strokes(self.draw((0.0, inf), (1.1, 1.2)))
        assert all(0 < end < inf for end in ends)


class TestMappedAxes:
    def test_the_first_call_gets_a_slice_of_what_is_mapped_and_all_of_what_is_not(self) -> None:
        figure = figures.mapped_axes({"weights": ((3,), None), "columns": ((2, 5), 1)})
        colours = [to_hex(cell.get_facecolor()) for cell in figure.axes[0].patches]
        (every_call,) = set(colours[:3])
        rows = colours[3:8], colours[8:]
        for first, *others in rows:
            assert len({every_call, first, *others}) == 3
            assert len(set(others)) == 1
            assert first not in others
        assert rows[0] == rows[1]
        assert figure.get_suptitle() == "What each call gets with in_axes=(None, 1)"
        assert "columns: shape (2, 5), of which each call gets a slice along axis 1" in str(
            figure.get_label()
        )


class TestKeyTree:
    def test_leaves_draw_numbers_and_other_keys_make_keys(self) -> None:
        tree: figures.Tree = {"root": {"a": {"b": {}, "c": {}}, "d": {figures.MORE: {}}}}
        figure = figures.key_tree(tree, finding="Keys")
        named = {name: xy for name, xy in points(figure.axes[0]).items() if " " in name}
        assert named == {
            "makes other keys": ([0, 1, 1], [0, 0, 2]),
            "draws numbers": ([2, 2], [0, 1]),
        }
        assert str(figure.get_label()) == f"root makes a, d; a makes b, c; d makes {figures.MORE}"
