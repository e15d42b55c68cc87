"""Figures that are laid out again for phones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import matplotlib.pyplot as plt
import pytest
from fakes import make_pair
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import EngFormatter

from jaxcap.report import figures


@pytest.fixture(autouse=True)
def _in_style() -> Iterator[None]:
    plt.switch_backend("agg")
    with plt.rc_context(figures.STYLE):
        yield
    plt.close("all")


def drawn(figure: Figure) -> Figure:
    figures.fit_phone(figure)
    figure.draw_without_rendering()
    return figure


def test_it_is_narrower_with_letters_of_the_same_size() -> None:
    figure = figures.bars(make_pair([1e-3] * 6, [2e-3] * 6))
    sizes = [text.get_fontsize() for text in figure.axes[0].get_yticklabels()]
    assert drawn(figure).get_figwidth() == figures.PHONE_WIDTH
    assert [text.get_fontsize() for text in figure.axes[0].get_yticklabels()] == sizes
    for text in figure.axes[0].texts:
        assert text.get_window_extent().x1 <= figure.bbox.x1


def test_titles_get_more_lines_for_which_it_becomes_higher() -> None:
    figure, axes = plt.subplots(figsize=(6.0, 3.0))
    finding = "A finding that takes the whole width of a page"
    figures.headline(figure, finding, "A short subject")
    drawn(figure)
    assert figure.get_suptitle().split("\n") == [
        "A finding that takes the whole width",
        "of a page",
    ]
    assert axes.get_title(loc="left") == "A short subject"
    assert 3.2 < figure.get_figheight() < 3.3


def test_a_number_stays_with_its_unit() -> None:
    figure, _ = plt.subplots(figsize=(6.0, 3.0))
    figures.headline(figure, "To the first result: nothing saved 0.7 s, in a file 0.4 s")
    assert drawn(figure).get_suptitle().split("\n") == [
        "To the first result: nothing saved",
        "0.7 s, in a file 0.4 s",
    ]


def test_names_of_rows_are_broken_where_there_is_room() -> None:
    figure, (wide, middle, narrow) = plt.subplots(3, figsize=(6.0, 6.0))
    names = ["Flax, steps with patches", "Flax, steps with Winograd"]
    wide.set_yticks(range(2), names)
    of_three_lines = ["Flax, steps on the device, our own pool", *names]
    middle.set_yticks(range(3), of_three_lines)
    narrow.set_yticks(range(20), names * 10)
    drawn(figure)
    assert [text.get_text() for text in wide.get_yticklabels()] == [
        "Flax, steps with\npatches",
        "Flax, steps with\nWinograd",
    ]
    assert [text.get_text() for text in middle.get_yticklabels()] == of_three_lines
    assert [text.get_text() for text in narrow.get_yticklabels()] == names * 10


def test_every_other_number_goes_until_none_touch() -> None:
    figure, (axes, other) = plt.subplots(1, 2, figsize=(6.0, 3.0))
    names = [f"{number},000 numbers" for number in range(9)]
    axes.set_xticks(range(9), names)
    other.set_xticks(range(5))
    drawn(figure)
    shown = axes.get_xticklabels()
    assert [text.get_text() for text in shown] == names[::8]
    assert axes.get_xticks().tolist() == [0, 8]
    for one, another in pairwise(shown):
        assert one.get_window_extent().x1 < another.get_window_extent().x0
    assert len(other.get_xticks()) == 5


def test_last_number_stays_inside_where_another_width_would_choose_others() -> None:
    """On an axis that ends here, the layout made room for steps of 20 ms, and then 10 ms were drawn."""
    figure, axes = plt.subplots(2, sharex=True, figsize=(6.0, 5.0))
    for each in axes:
        each.barh([1, 6], 67.7e-3)
        each.set(ylabel="call", yticks=range(1, 7))
    axes[1].xaxis.set_major_formatter(EngFormatter(unit="s"))
    figure.draw_without_rendering()
    ticks = drawn(figure).axes[1].xaxis.get_major_ticks()
    assert ticks[-1].label1.get_text() == "70 ms"
    assert ticks[-1].label1.get_window_extent().x1 <= figure.bbox.x1


def test_an_axis_keeps_its_numbers_beside_a_hidden_one_that_shares_it() -> None:
    figure, (axes, hidden) = plt.subplots(1, 2, sharex=True, figsize=(6.0, 3.0))
    axes.plot([0, 4])
    hidden.set_visible(False)
    drawn(figure)
    assert all(label.get_text() for label in axes.get_xticklabels())


def test_name_of_an_axis_stays_inside() -> None:
    figure, (_, axes) = plt.subplots(1, 2, figsize=(6.0, 3.0))
    axes.set_xlabel("time of a call until its result is there")
    drawn(figure)
    assert axes.xaxis.label.get_window_extent().x1 <= figure.bbox.x1


def test_long_name_of_an_axis_takes_several_lines() -> None:
    figure, axes = plt.subplots(figsize=(6.0, 3.0))
    axes.set_xlabel("a name of the axis that is about as long as the whole figure is wide")
    drawn(figure)
    box = axes.xaxis.label.get_window_extent()
    assert "\n" in axes.get_xlabel()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_title_of_narrow_axes_stays_inside() -> None:
    figure, axes = plt.subplots(figsize=(6.0, 3.0))
    axes.set_yticks([0, 1], ["a row with quite a long name", "another"])
    axes.set_title("A processor's name, recorded")
    drawn(figure)
    (title,) = (t for t in axes.get_children() if isinstance(t, Text) and "name" in t.get_text())
    assert title.get_window_extent().x1 <= figure.bbox.x1
