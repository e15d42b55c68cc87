"""Each plot of the built site in a browser: its text can be read, and all of it can be seen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page
from sites import HTML

from jaxcap.report import figures
from jaxcap.report.figures.style import VARIANTS

IMAGES = HTML / "_images"
# Without a site there is one plot, for whose tests the fixture `html` fails and says what to do.
PLOTS = sorted(path.stem for path in IMAGES.glob("*.svg") if path.stem != "favicon") or ["none"]
LIGHT = [name for name in PLOTS if not name.endswith("_dark")]
DESKTOP, PHONE = 1300, 390  # widths of the window in CSS pixels
MARGIN = 16  # of a page on a phone, at each side
# Wider plots scroll on a phone, and stay as wide as this.
WIDEST_PX, STAYS_PX = 700, 51 * 16
SMALLEST_PX = 11.0
SLACK_PX = 1.5
BACKGROUNDS = {"": "#ffffff", "_dark": "#131416"}  # Furo's
# Lines that only guide the eye, and cells whose colour is the neutral one of a scale.
DECORATION = {figures.GRID.lower(), "#c9ccd1", "#ffffff"}

KNOWN = tuple(VARIANTS)  # beginnings of names, such as "NumPy, 64 bits"

# By text: its box, the size of its letters, and whether it is level or upright.
TEXTS = """
(width) => {
  const svg = document.querySelector("svg");
  svg.style.width = `${width}px`;
  svg.style.height = "auto";
  const box = ({x, y, right, bottom}) => [x, y, right, bottom];
  return {
    all: box(svg.getBoundingClientRect()),
    texts: [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => {
      const matrix = text.getScreenCTM();
      const angle = Math.abs(Math.atan2(matrix.b, matrix.a) * 180 / Math.PI) % 90;
      return {
        words: text.textContent,
        box: box(text.getBoundingClientRect()),
        px: parseFloat(getComputedStyle(text).fontSize) * Math.hypot(matrix.a, matrix.b),
        straight: angle < 1 || angle > 89,
      };
    }),
  };
}
"""


@pytest.fixture(scope="module")
def canvas(browser: Browser) -> Iterator[Page]:
    """A page to put plots on."""
    context = browser.new_context(viewport={"width": DESKTOP, "height": 900})
    yield context.new_page()
    context.close()


def natural_width_px(svg: str) -> float:
    """Return the width at which pages show a plot if there is room: a hundred pixels an inch."""
    points = re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)
    assert points is not None
    return float(points[1]) / 72 * 100


@pytest.mark.usefixtures("html")
@pytest.mark.parametrize("name", LIGHT)
def test_text_is_large_enough_and_neither_clipped_nor_overlapping(canvas: Page, name: str) -> None:
    svg = (IMAGES / f"{name}.svg").read_text(encoding="utf-8")
    natural = natural_width_px(svg)
    canvas.set_content(f"<body style='margin: 0'>{svg[svg.index('<svg') :]}</body>")
    room = PHONE - 2 * MARGIN
    widths = {DESKTOP: natural, PHONE: STAYS_PX if natural > WIDEST_PX else min(natural, room)}
    if name.endswith("_phone"):
        widths = {PHONE: room}
    elif f"{name}_phone" in LIGHT:
        widths = {DESKTOP: natural}
    for window, width in widths.items():
        drawn = canvas.evaluate(TEXTS, width)
        left, top, right, bottom = drawn["all"]
        for text in drawn["texts"]:
            x, y, end, low = text["box"]
            inside = x >= left - SLACK_PX and y >= top - SLACK_PX
            inside = inside and end <= right + SLACK_PX and low <= bottom + SLACK_PX
            assert inside, f"{text['words']!r} is clipped at {window}"
            assert text["px"] >= SMALLEST_PX, f"{text['words']!r} at {window}"
        straight = [text for text in drawn["texts"] if text["straight"]]
        for one, other in combinations(straight, 2):
            assert not overlap(one["box"], other["box"]), (one["words"], other["words"], window)


def overlap(one: list[float], other: list[float]) -> bool:
    """Whether boxes overlap by more than what lines of one text do, whose boxes have some room."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    lower = min(one[3] - one[1], other[3] - other[1])
    return width > SLACK_PX and height > max(SLACK_PX, 0.25 * lower)


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(c * share for c, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.usefixtures("html")
@pytest.mark.parametrize("theme", BACKGROUNDS)
@pytest.mark.parametrize("name", LIGHT)
def test_marks_and_text_stand_out(name: str, theme: str) -> None:
    svg = (IMAGES / f"{name}{theme}.svg").read_text(encoding="utf-8").lower()
    background = BACKGROUNDS[theme]
    marks = set(re.findall(r"(?:stroke|fill): (#[0-9a-f]{6})", svg)) - DECORATION
    faint = {colour for colour in marks if contrast(colour, background) < 3}
    assert not faint
    texts = set(re.findall(r"<text[^>]*fill: (#[0-9a-f]{6})", svg))
    assert not {colour for colour in texts if contrast(colour, background) < 4.5}


def named_colours(svg: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the colour of each entry of a plot's legends, and of each line named at its end."""
    soup = BeautifulSoup(svg, "html.parser")
    for text in soup.select("g[id^=patch_] + g[id^=text_]"):
        line = re.search(r"stroke: (#[0-9a-f]{6})", str(text.find_previous_sibling("g")))
        label = text.select_one("text")
        if label and line and line[1] not in DECORATION | {figures.INK}:
            yield label.get_text().rstrip(","), line[1]
    for legend in soup.select("g[id^=legend_]"):
        colour = None
        for part in legend.select("[style]"):
            if part.name == "text" and colour is not None:
                yield part.get_text(), colour
                colour = None
            elif found := re.search(r"(?:stroke|fill): (#[0-9a-f]{6})", str(part["style"])):
                colour = colour or found[1]


@pytest.mark.filterwarnings("ignore::bs4.XMLParsedAsHTMLWarning")
def test_name_has_one_colour_on_all_pages(html: Path) -> None:
    """In all plots of tutorials, results and releases, and in the charts that scripts draw."""
    places: dict[str, dict[str, list[str]]] = {}
    for plot in LIGHT:
        svg = (IMAGES / f"{plot}.svg").read_text(encoding="utf-8")
        for name, colour in named_colours(svg):
            places.setdefault(name, {}).setdefault(colour, []).append(plot)
    for page in (html / "results" / "experiments").glob("*.html"):
        soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        for chart in soup.select(".jaxcap-explore script"):
            for name, colour in json.loads(chart.get_text())["colours"].items():
                places.setdefault(name, {}).setdefault(colour.lower(), []).append(page.stem)
    assert {"NumPy", "jit", "PyTorch"} <= places.keys()
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
    expected = {n: c.lower() for n, c in figures.palette(places).items() if n.startswith(KNOWN)}
    assert {name: colour for name, colour in expected.items() if [*places[name]] != [colour]} == {}
