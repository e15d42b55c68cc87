"""Colours of variants, and logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import EngFormatter

from jaxcap.report import figures
from jaxcap.report.figures.style import VARIANTS, size_axis
from jaxcap.results import ResultSet

RECORDED = sorted(Path("docs/recorded").glob("*/[a-z]*.json"))
PAGES = "#ffffff", "#131416"  # Furo's backgrounds


@pytest.fixture
def axes() -> Iterator[Axes]:
    plt.switch_backend("agg")
    yield plt.figure().add_subplot()
    plt.close("all")


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("colour", figures.COLOURS)
def test_marks_can_be_seen_on_light_and_on_dark_pages(colour: str, page: str) -> None:
    assert contrast(colour, page) >= 3


def test_text_can_be_read_on_light_and_on_dark_pages() -> None:
    assert contrast(figures.INK, PAGES[0]) >= 4.5
    assert contrast(figures.INK_ON_DARK, PAGES[1]) >= 4.5


@pytest.mark.parametrize("file", RECORDED, ids=[path.stem for path in RECORDED])
def test_variant_has_its_colour_whatever_it_is_drawn_with(file: Path) -> None:
    if file.stem == "environment":
        return
    for results in ResultSet.load(file).by_experiment().values():
        together = figures.palette(results.variants)
        if len(together) <= len(figures.COLOURS):
            assert together == {name: figures.palette([name])[name] for name in together}
        for part in figures.facets(results)[1].values():
            known = [name for name in part.variants if any(map(name.startswith, VARIANTS))]
            assert figures.palette(known) == {name: together[name] for name in known}
            # A variant of one that has a colour shares it: "Flax, naive, ..." that of "Flax, naive".
            of_starts = {max(filter(name.startswith, VARIANTS), key=len) for name in known}
            assert len({VARIANTS[start] for start in of_starts}) == len(of_starts), known


def test_names_that_nobody_knows_differ_as_long_as_there_are_colours() -> None:
    colours = figures.palette(["a", "b", "a", "c"])
    assert list(colours) == ["a", "b", "c"]
    assert len(set(colours.values())) == 3
    assert list(figures.palette(["b", "jit", "a"])) == ["b", "jit", "a"]
    assert figures.palette(["b", "jit"])["b"] != figures.palette(["jit"])["jit"]
    of_libraries = {VARIANTS[name] for name in ("NumPy", "JAX", "PyTorch")}
    assert not of_libraries & {figures.palette([name])[name] for name in map(str, range(20))}
    assert set(figures.palette(map(str, range(20))).values()) == set(figures.COLOURS)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1e-6, 1e-3, ["1 µs", "10 µs", "100 µs", "1 ms"]),
        (3e-6, 3e-4, ["10 µs", "100 µs"]),
        (6e-3, 80e-3, ["10 ms", "20 ms", "50 ms"]),
        (25e-3, 101e-3, ["30 ms", "50 ms", "70 ms", "100 ms"]),
        (3e-3, 3.1e-3, ["3 ms", "3.1 ms"]),
        (1e-9, 1e6, ["1 ns", "1 µs", "1 ms", "1 s", "1 ks", "1 Ms"]),
    ],
)
def test_logarithmic_axis_has_several_ticks_but_few(
    axes: Axes, low: float, high: float, ticks: list[str]
) -> None:
    figures.log_axis(axes.yaxis, low, high, EngFormatter("s"))
    assert [label.get_text() for label in axes.get_yticklabels()] == ticks
    below, above = axes.get_ylim()
    assert below < low < high < above


@pytest.mark.parametrize(
    ("sizes", "ticks"),
    [
        ((10, 1000, 100), ["10", "100", "1k"]),
        ((250, 500, 1000), ["250", "500", "1k"]),
        ((16, 256, 4096, 65536, 1048576), ["10", "100", "1k", "10k", "100k", "1M"]),
        ((5, 10, 20, 50, 100, 1000, 10_000), ["5", "20", "100", "1k", "10k"]),
    ],
)
def test_sizes_are_ticked_if_they_are_round(
    axes: Axes, sizes: tuple[int, ...], ticks: list[str]
) -> None:
    size_axis(axes.xaxis, min(sizes), max(sizes), sizes)
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert [tick for tick in shown if tick] == ticks
