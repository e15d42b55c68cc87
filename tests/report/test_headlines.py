"""Headlines say what results show, whichever variant is ahead, and no number that isn't settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import matplotlib.pyplot as plt
import pytest
from fakes import make_result, make_run, make_set
from matplotlib.figure import Figure
from matplotlib.text import Text

from jaxcap.report.headlines import Mistake, Mistakes, Overtaking
from jaxcap.results.statistics import DRIFT_OF_RATIOS, Estimate

SIZES = (16, 256, 4096)
STEADY, VARIED = (0.99, 1.0, 1.01, 0.98, 1.02, 1.0), (0.2, 1.0, 5.0, 0.3, 3.0, 1.0)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


def grown(
    ratios: Sequence[float],
    start: int | None,
    processes: Sequence[float] = STEADY,
    sizes: Sequence[int] = SIZES,
) -> Overtaking:
    """NumPy needs a microsecond for each number, and JAX as many times less as its ratio says."""
    results = [
        make_result(
            variant,
            *(make_run([size * 1e-6 / faster] * 6) for faster in factors),
            parameters={"size": size},
        )
        for size, ratio in zip(sizes, ratios, strict=True)
        for variant, factors in (
            ("NumPy", (1.0,) * len(processes)),
            ("jit", [ratio * process for process in processes]),
        )
    ]
    return Overtaking(make_set(*results), "size", "jit", "NumPy", ("JAX", "NumPy"), start)


FINDINGS = {
    "ahead in the end": (
        grown((0.25, 2, 8), 256),
        "From 256 numbers on, JAX is faster than NumPy: 8.0 times faster at 4,096",
    ),
    "ahead at last": (
        grown((0.25, 1, 8), 4096),
        "At 4,096 numbers, the most of all, JAX is 8.0 times faster than NumPy",
    ),
    "ahead again": (
        grown((2, 0.25, 4, 8), 4096, sizes=(16, 256, 4096, 65_536)),
        "From 4,096 numbers on, JAX is again faster than NumPy: 8.0 times faster at 65,536",
    ),
    "ahead everywhere": (
        grown((2, 4, 8), 16),
        "JAX is faster than NumPy at every size, and 8.0 times faster at 4,096 numbers",
    ),
    "behind": (
        grown((2, 1, 0.25), None),
        "Even at 4,096 numbers, JAX is 4.0 times slower than NumPy",
    ),
    "undecided": (
        grown((0.25, 1, 1), None),
        "Even at 4,096 numbers, JAX is not clearly faster than NumPy",
    ),
    "in one process": (grown((0.25, 2, 8), 256, (1.0,)), "JAX and NumPy, from 16 to 4,096 numbers"),
    "too varied": (grown((0.25, 2, 8), 256, VARIED), "JAX and NumPy, from 16 to 4,096 numbers"),
}
each_finding = pytest.mark.parametrize(
    ("overtaking", "finding"), FINDINGS.values(), ids=list(FINDINGS)
)


@each_finding
def test_who_overtakes_whom_follows_from_the_results(overtaking: Overtaking, finding: str) -> None:
    assert overtaking.finding == finding


@each_finding
def test_lines_are_named_where_they_end(overtaking: Overtaking, finding: str) -> None:
    figure = overtaking.draw()
    assert str(figure.get_label()).startswith(f"{finding}.")
    words = " ".join(written(figure))
    assert "JAX" in words
    assert "NumPy" in words
    assert ("from here on" in words) == finding.startswith(("From", "At"))
    assert ("JAX is again faster" in words) == ("JAX is again" in finding)
    assert_nothing_overlaps(figure)


@pytest.mark.parametrize(("processes", "has_gaps"), [(STEADY, False), (VARIED, True)])
def test_a_line_with_gaps_says_why(processes: Sequence[float], has_gaps: bool) -> None:
    (axes,) = grown((0.25, 2, 8), 256, processes).draw().axes
    assert ("no line where processes disagree" in axes.get_title(loc="left")) is has_gaps


def test_description_gives_no_time_that_is_not_settled() -> None:
    settled, alone = (grown((0.25, 2, 8), 256, processes) for processes in (STEADY, (1.0,)))
    assert "NumPy took 4.1 ms" in str(settled.draw().get_label())
    assert "NumPy" in written(alone.draw())
    assert "took" not in str(alone.draw().get_label())


def mistake(name: str, wrong_s: float, processes: Sequence[float] = STEADY) -> Mistake:
    """A call takes a millisecond."""
    wrong, right = (
        Estimate.from_runs([[time_s * process] * 6 for process in factors], unit="s")
        for time_s, factors in ((wrong_s, processes), (1e-3, (1.0,) * len(processes)))
    )
    return Mistake(name, wrong, right)


def test_worst_mistake_makes_the_call_look_too_slow_or_too_fast() -> None:
    too_slow, too_fast = mistake("anew each time", 3e-3), mistake("too early", 1e-6)
    text = "Calls timed wrong and right"
    assert Mistakes([too_slow]).finding == f"{text}: off by a factor of up to 3.0"
    assert Mistakes([too_slow, too_fast]).finding == f"{text}: off by a factor of up to 1,000"
    wild, alone = mistake("wild", 10.0, VARIED), mistake("alone", 10.0, (1.0,))
    assert Mistakes([wild, alone, too_slow]).finding == f"{text}: off by a factor of up to 3.0"
    assert Mistakes([wild, alone]).finding == text


def test_a_factor_lies_in_its_own_interval() -> None:
    """The processes that are slow at one are fast at the other, so the medians say something else."""
    wrong = Estimate.from_runs([[seconds] for seconds in (1.0, 1.0, 9.0)], unit="s")
    right = Estimate.from_runs([[seconds] for seconds in (1.0, 9.0, 9.0)], unit="s")
    factor = Mistake("mixed", wrong, right).factor
    assert factor.value == 1
    assert factor.low <= factor.value <= factor.high
    assert factor._drift == DRIFT_OF_RATIOS


def test_mistakes_are_named_with_the_times_that_are_settled() -> None:
    rows = [mistake("too early", 1e-6), mistake("too late", 1.1e-3), mistake("wild", 0.1, VARIED)]
    figure = Mistakes(rows).draw()
    assert {"too early", "too late", "wild", "wrong", "right"} <= set(written(figure))
    told = str(figure.get_label())
    assert "too early: 1.00 µs instead of 1.00 ms" in told
    assert "wild" not in told
    assert_nothing_overlaps(figure)


@pytest.mark.parametrize("wrong_s", [0.9e-3, 1e-3, 1.2e-3])
def test_ends_that_are_close_can_be_told_apart(wrong_s: float) -> None:
    assert_nothing_overlaps(Mistakes([mistake("hardly one", wrong_s)]).draw())


def texts(figure: Figure) -> list[Text]:
    """Return the texts that are seen."""
    figure.draw_without_rendering()
    (axes,) = figure.axes
    beyond = {
        label
        for axis in (axes.xaxis, axes.yaxis)
        for place, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        if not min(axis.get_view_interval()) <= place <= max(axis.get_view_interval())
    }
    visible = [text for text in figure.findobj(Text) if text.get_visible()]
    return [text for text in visible if text.get_text() and text not in beyond]


def written(figure: Figure) -> list[str]:
    return [text.get_text() for text in texts(figure)]


def assert_nothing_overlaps(figure: Figure) -> None:
    # Of the letters alone: an annotation counts its line, which may pass another label.
    boxes = {text: Text.get_window_extent(text) for text in texts(figure)}
    for text, other in combinations(boxes, 2):
        assert not boxes[text].overlaps(boxes[other]), (text, other)
    for text, box in boxes.items():
        x0, y0, x1, y1 = box.extents
        assert -1 <= x0 < x1 <= figure.bbox.width + 1, text
        assert -1 <= y0 < y1 <= figure.bbox.height + 1, text
