"""The chart that a script puts in place of an experiment's plots, on a page of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import combinations

import pytest
from canvas import RECORDER, texts
from docutils import nodes
from docutils.core import publish_from_doctree
from docutils.utils import new_document
from fakes import CPU, GPU, make_result, make_run, make_set
from jaxcap_docs.read.results.experiments import explorer
from made_up import HOSTILE
from playwright.sync_api import Browser, Locator, Page, expect
from sites import ROOT

from jaxcap.results import Device, ResultSet

STATIC = ROOT / "docs" / "_static"
SIZES = [4**power for power in range(14)]
VARIANTS = ("NumPy", "jit", HOSTILE)


def measured(device: Device, factor: float, sizes: list[int]) -> ResultSet:
    """Make up two parts: times in proportion to the size, each variant half as long as the last."""
    return make_set(
        *(
            make_result(
                variant,
                *(make_run([factor * noise * 1e-8 * size / 2**number] * 6) for noise in (1, 2, 3)),
                parameters={"size": size, "part": part},
                device=device,
                working_set_bytes=8 * size,
            )
            for part in ("short", "long")
            for size in (sizes if part == "long" else sizes[:1])
            for number, variant in enumerate(VARIANTS)
        )
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of a page with a chart of two devices, one of which measured fewer sizes."""
    folder = tmp_path_factory.mktemp("chart")
    shutil.copytree(STATIC, folder / "_static")
    sets = {"GPU": measured(GPU, 1.0, SIZES), "CPU": measured(CPU, 100.0, SIZES[:9])}
    document = new_document("chart")
    document.extend(explorer(sets, [], [nodes.inline("", "by release")]))
    html = publish_from_doctree(
        document, writer="html5", settings_overrides={"stylesheet_path": ""}
    )
    script = b'<script src="_static/explore.js" defer></script>'
    page = folder / "chart.html"
    page.write_bytes(html.replace(b"</head>", script + b"</head>"))
    return page.as_uri()


@pytest.fixture
def reader(browser: Browser, address: str) -> Iterator[Page]:
    """A phone's page with the chart."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(error.message))
    page.on("console", lambda message: said.append(message.text))
    page.add_init_script(RECORDER)
    page.goto(address)
    page.get_by_role("button", name="Explore").click()
    expect(page.locator("canvas")).to_be_visible()
    yield page
    assert said == []
    context.close()


def values(page: Page) -> dict[str, tuple[str, str]]:
    """Return value and range of each variant, as the table below the chart has them."""
    rows = page.get_by_role("status").locator("tbody tr").all()
    cells = [row.locator("th, td").all_inner_texts() for row in rows]
    return {name: (value, spread) for name, value, spread in cells}


def size(page: Page) -> str:
    return page.get_by_role("status").locator("caption").inner_text()


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).select_option(option)


def options(page: Page, label: str) -> list[str]:
    return page.get_by_role("combobox", name=label).locator("option").all_inner_texts()


def labels(page: Page) -> list[str]:
    return [text.text for text in texts(page)]


def pixels(page: Page) -> str:
    page.evaluate("new Promise(requestAnimationFrame)")
    return str(page.evaluate("document.querySelector('canvas').toDataURL()"))


def test_part_with_most_sizes_is_shown_first(reader: Page) -> None:
    assert options(reader, "Part") == ["short", "long"]
    expect(reader.get_by_role("combobox", name="Part")).to_have_value("long")


def test_all_variants_are_read_at_each_size_by_keyboard(reader: Page) -> None:
    slider = reader.get_by_role("slider", name="size")
    assert size(reader) == f"size {SIZES[-1]:,}"
    slider.focus()
    seen = [values(reader)]
    for expected in SIZES[-2::-1]:
        reader.keyboard.press("ArrowLeft")
        assert size(reader) == f"size {expected:,}"
        expect(slider).to_have_attribute("aria-valuetext", f"{expected:,}")
        seen.append(values(reader))
    assert all(list(row) == list(VARIANTS) for row in seen)
    assert seen[-1] == {
        "NumPy": ("20.0 ns", "10.0 ns to 30.0 ns"),
        "jit": ("10.0 ns", "5.00 ns to 15.0 ns"),
        HOSTILE: ("5.00 ns", "2.50 ns to 7.50 ns"),
    }


@pytest.mark.parametrize("press", ["tap", "hover"])
def test_all_variants_are_read_wherever_the_chart_is_pointed_at(reader: Page, press: str) -> None:
    chart = reader.locator(".u-over")
    box = chart.bounding_box()
    assert box
    for share, expected in ((0.02, SIZES[0]), (0.98, SIZES[-1])):
        place = {"x": box["width"] * share, "y": box["height"] * 0.9}
        getattr(chart, press)(position=place)
        assert size(reader) == f"size {expected:,}"
        assert list(values(reader)) == list(VARIANTS)
        expect(reader.get_by_role("slider")).to_have_attribute("aria-valuetext", f"{expected:,}")
    reader.mouse.move(0, 0)
    assert size(reader) == f"size {SIZES[-1]:,}"


def test_device_is_switched_in_place(reader: Page) -> None:
    assert options(reader, "Device") == ["GPU", "CPU", "all devices"]
    before, drawn, axes = values(reader), pixels(reader), labels(reader)
    choose(reader, "Device", "CPU")
    assert pixels(reader) != drawn
    assert size(reader) == f"size {SIZES[8]:,}"
    assert values(reader) != before
    ticks = [label for label in axes if label.endswith("s")]
    assert ticks == [label for label in labels(reader) if label.endswith("s")]
    choose(reader, "Device", "all devices")
    reader.get_by_role("slider").press("Home")
    assert list(values(reader)) == [f"{v}, {device}" for device in ("GPU", "CPU") for v in VARIANTS]


def test_quantity_is_switched_in_place(reader: Page) -> None:
    ratios = [f"times as fast as {variant}" for variant in VARIANTS]
    assert options(reader, "Show") == ["time of a call", *ratios, "data in and out per second"]
    reader.get_by_role("slider").press("Home")
    drawn = {pixels(reader)}
    choose(reader, "Show", ratios[0])
    drawn.add(pixels(reader))
    assert size(reader) == "size 1"
    assert [value for value, _ in values(reader).values()] == ["1.00×", "2.00×", "4.00×"]
    assert ratios[0] in labels(reader)
    choose(reader, "Show", "data in and out per second")
    drawn.add(pixels(reader))
    assert values(reader)["NumPy"] == ("400 MB/s", "267 MB/s to 800 MB/s")
    assert len(drawn) == 3


def test_part_keeps_what_is_shown(reader: Page) -> None:
    choose(reader, "Device", "CPU")
    choose(reader, "Show", "times as fast as jit")
    choose(reader, "Part", "short")
    assert size(reader) == "size 1"
    assert [value for value, _ in values(reader).values()] == ["0.500×", "1.00×", "2.00×"]


@pytest.mark.parametrize("width", [390, 1300])
@pytest.mark.parametrize("part", ["long", "short"])
@pytest.mark.parametrize("shown", ["time of a call", "times as fast as NumPy"])
def test_no_label_is_cut_or_touches_another(
    reader: Page, width: int, part: str, shown: str
) -> None:
    reader.set_viewport_size({"width": width, "height": 844})
    choose(reader, "Part", part)
    choose(reader, "Show", shown)
    drawn = texts(reader)
    assert len(drawn) >= 5  # the names of the axes, a size, and two values
    for text in drawn:
        assert 0 <= text.left < text.right <= text.width, text
        assert 0 <= text.top < text.bottom <= text.height, text
    for a, b in combinations(drawn, 2):
        apart = a.right + 3 < b.left or b.right + 3 < a.left or a.bottom < b.top or b.bottom < a.top
        assert apart, (a, b)


def test_ranges_are_drawn(reader: Page) -> None:
    """Count the pixels of the first variant's colour above its only point, within its range."""
    choose(reader, "Part", "short")
    choose(reader, "Device", "all devices")
    count = reader.evaluate(
        """
        () => {
          const canvas = document.querySelector("canvas");
          const swatch = document.querySelector(".jaxcap-swatch");
          const colour = getComputedStyle(swatch).borderTopColor.match(/\\d+/g).map(Number);
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const rows = new Set();
          for (let i = 0; i < data.length; i += 4)
            if (colour.every((part, k) => data[i + k] === part) && data[i + 3] === 255)
              rows.add(Math.floor(i / 4 / canvas.width));
          return rows.size / devicePixelRatio;
        }
        """
    )
    dot = 7
    assert count > 3 * dot


def test_plots_come_back(reader: Page) -> None:
    chart: Locator = reader.locator("canvas")
    reader.get_by_role("button", name="Back to the plots").click()
    expect(chart).to_be_hidden()
    reader.get_by_role("button", name="Explore the numbers").click()
    expect(chart).to_be_visible()
    assert reader.locator("canvas").count() == 1


def test_way_to_releases_stands_beside_the_other_controls(reader: Page) -> None:
    controls = reader.locator("p", has=reader.get_by_role("combobox", name="Device"))
    expect(controls).to_contain_text("by release")


def test_chart_grows_with_the_page(reader: Page) -> None:
    reader.set_viewport_size({"width": 800, "height": 844})
    reader.wait_for_function("document.querySelector('canvas').clientWidth > 600")
    assert size(reader) == f"size {SIZES[-1]:,}"


def test_names_only_become_text(reader: Page) -> None:
    assert reader.title() != "ran"
    assert reader.locator("img[src=x]").count() == 0
