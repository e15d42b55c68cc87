"""Figures on pages: what they say in words, and their ink on dark pages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from fakes import make_pair
from jaxcap_docs import image_files
from matplotlib.figure import Figure
from PIL import Image

from jaxcap.report import figures
from jaxcap.results import ResultSet


@pytest.fixture(autouse=True)
def _in_style() -> Iterator[None]:
    plt.switch_backend("agg")
    with plt.rc_context(figures.STYLE):
        yield
    plt.close("all")


def test_dark_plot_has_another_ink_and_is_otherwise_the_same(tmp_path: Path) -> None:
    figure = figures.bars(make_pair([1e-3] * 6, [2e-3] * 6))
    light, dark = image_files.save(figure, tmp_path / "bars.png", tmp_path)
    assert (light["uri"], dark["uri"]) == ("/bars.svg", "/bars_dark.svg")
    assert "only-light" in light["classes"]
    assert "only-dark" in dark["classes"]
    assert light["alt"] == dark["alt"]
    drawn, on_dark = (
        (tmp_path / name).read_text("utf-8") for name in ("bars.svg", "bars_dark.svg")
    )
    assert figures.INK in drawn
    assert "#000000" not in drawn, "text and lines in another ink would vanish on a dark page"
    assert on_dark == drawn.replace(figures.INK, figures.INK_ON_DARK)


def test_figure_is_also_saved_for_phones_if_that_is_possible(tmp_path: Path) -> None:
    for inches, expected in (3.6, False), (6.0, True), (8.1, False):
        figure, axes = plt.subplots(figsize=(inches, 3.0))
        axes.set_xlabel("sizes")
        (light, dark) = image_files.save(figure, tmp_path / f"{inches}.svg", tmp_path)
        assert light["width"] == f"{inches * 100:.0f}"
        for image in light, dark:
            narrow = image_files.for_phones(tmp_path / image["uri"].lstrip("/"))
            assert narrow.exists() == expected
    assert image_files.for_phones(Path("a_dark.svg")) == Path("a_phone_dark.svg")


def test_thumbnail_has_no_words_and_no_ink(tmp_path: Path) -> None:
    figure = figures.bars(make_pair([1e-3] * 6, [2e-3] * 6))
    (light, _) = image_files.save(figure, tmp_path / "bars.png", tmp_path, raster=True)
    with Image.open(tmp_path / "bars.png") as small:
        assert small.size == (320, 224)
        *colours, opacity = np.moveaxis(np.asarray(small.convert("RGBA")), -1, 0)
    assert not np.any((np.max(colours, axis=0) < 60) & (opacity > 0))
    assert opacity.any()
    assert light["width"] == "600"


def test_figure_is_drawn_again_only_if_something_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[figures.Drawing] = []
    draw = figures.Drawing.draw

    def count(
        drawing: figures.Drawing, results: ResultSet, *, among: ResultSet | None = None
    ) -> Figure:
        drawn.append(drawing)
        return draw(drawing, results, among=among)

    monkeypatch.setattr(figures.Drawing, "draw", count)
    bars = figures.Drawing(function="bars", options={})
    titled = figures.Drawing(function="bars", options={"title": "A title"})
    fast, slow = (make_pair([1e-3] * 6, [seconds] * 6) for seconds in (2e-3, 4e-3))
    path, style = tmp_path / "figure.png", tmp_path / "style"
    style.write_text("one")
    monkeypatch.setattr(image_files, "CODE", (style,))
    save = partial(image_files.save_drawing, path=path, root=tmp_path)
    first = save(bars, fast)
    assert save(bars, fast) == first
    assert len(drawn) == 1
    assert save(bars, slow) != first  # the words differ
    save(titled, slow)
    style.write_text("two")
    save(titled, slow)
    assert drawn == [bars, bars, titled, titled]
    assert save(bars, fast) == first
    assert len(drawn) == 5


def test_all_that_decides_how_figures_look_is_watched() -> None:
    watched = {path.name for path in image_files.CODE}
    assert {"image_files.py", "jaxcap.mplstyle", "rows.py"} <= watched
    assert {"headlines.py", "roofline.py", "scatter.py", "sets.py", "tabulation.py"} <= watched
    assert all(path.is_file() for path in image_files.CODE)


def test_figure_of_results_is_described_by_its_title_and_its_finding() -> None:
    figure = figures.bars(make_pair([1e-3] * 6, [2e-3] * 6), title="A title")
    assert image_files.describe(figure) == (
        "jit is 2.000 times faster than “op by op” (one process). A title. "
        "jit: 1.000 ms; op by op: 2.000 ms"
    )


def test_other_figures_are_described_by_axes_lines_and_bars() -> None:
    figure, (left, right) = plt.subplots(1, 2)
    left.set(title="Costs \\$", xlabel="size", ylabel="time")
    left.plot([1, 2, 3], [float("nan"), 2, 3], label="measured")
    left.plot([2], [2], "o", label="best")
    left.errorbar([1, 2], [5, 6], [1, 1], label="with errors")
    right.barh(["a", "b"], [1, 2.5])
    assert image_files.describe(figure) == (
        "Costs $. time against size. measured from 2 to 3. best. with errors from 5 to 6. a: 1; b: 2.5"
    )


def test_figure_without_any_text_is_a_plot() -> None:
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    assert image_files.describe(figure) == "Plot"


def test_images_side_by_side_are_described_by_their_titles() -> None:
    figure, axes = plt.subplots(1, 2)
    for part, title in zip(axes, ("seven", "one"), strict=True):
        part.imshow([[0, 1], [1, 0]])
        part.set_title(title, loc="center")
    assert image_files.describe(figure) == "seven. one"


def test_series_can_be_highlighted_by_the_address_of_a_plot(tmp_path: Path) -> None:
    figure, axes = plt.subplots()
    for name in ("series-a", "series-b"):
        for number in range(2):
            (line,) = axes.plot([1, number])
            line.set_gid(f"{name}.{number}")
    image_files.save(figure, tmp_path / "plot.svg", tmp_path)
    for file in ("plot.svg", "plot_dark.svg"):
        svg = (tmp_path / file).read_text("utf-8")
        assert svg.count(":target") == 2
        assert all(svg.count(f'<g id="{name}.0"') == 1 for name in ("series-a", "series-b"))
