"""The plot of times that should agree."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from jaxcap.report import figures


@pytest.mark.parametrize("count", [1, len(figures.COLOURS) + 1])
def test_draws_any_number_of_groups(count: int) -> None:
    groups = [figures.Group(f"group {number}", [1e-3], [2e-3]) for number in range(count)]
    plot = figures.scatter(groups, factor=2.0, xlabel="then", ylabel="now", finding="Times")
    labels = {line.get_label() for line in plot.axes[0].lines}
    assert {group.label for group in groups} <= labels
    plt.close(plot)


def test_what_is_drawn_of_a_group_can_be_told_in_a_vector_graphic() -> None:
    groups = [
        figures.Group("a", [1e-2], [3e-3], [5e-3], "hollow", series="series-a"),
        figures.Group("b", [1e-3], [2e-3], series="series-b"),
    ]
    plot = figures.scatter(groups, factor=2.0, xlabel="then", ylabel="now", finding="Times")
    ids = {artist.get_gid() for artist in plot.findobj()} - {None}
    assert ids == {"series-a.0", "series-a.1", "series-a.2", "series-b.0"}
    plt.close(plot)


def test_group_without_points_is_not_in_the_legend() -> None:
    groups = [figures.Group("empty", [], []), figures.Group("full", [1e-3], [2e-3])]
    plot = figures.scatter(groups, factor=2.0, xlabel="then", ylabel="now", finding="Times")
    assert plot.axes[0].get_legend_handles_labels()[1] == ["full"]
    plt.close(plot)
