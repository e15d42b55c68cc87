"""What a page draws on a canvas: a test can read it there as little as a reader's program."""

from __future__ import annotations

from typing import NamedTuple

from playwright.sync_api import Page

# Notes all text that is on a canvas of the page, with its colour and its box in pixels of the canvas.
# (axe draws on another one.)
RECORDER = """
window.drawn = [];
const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  if (!this.canvas.isConnected) return fillText.apply(this, arguments);
  const { actualBoundingBoxLeft, actualBoundingBoxRight, actualBoundingBoxAscent,
    actualBoundingBoxDescent } = this.measureText(text);
  const corner = this.getTransform().transformPoint({
    x: x - actualBoundingBoxLeft, y: y - actualBoundingBoxAscent,
  });
  const end = this.getTransform().transformPoint({
    x: x + actualBoundingBoxRight, y: y + actualBoundingBoxDescent,
  });
  drawn.push([
    text, this.fillStyle,
    Math.min(corner.x, end.x), Math.min(corner.y, end.y),
    Math.max(corner.x, end.x), Math.max(corner.y, end.y),
    this.canvas.width, this.canvas.height,
  ]);
  return fillText.apply(this, arguments);
};
CanvasRenderingContext2D.prototype.clearRect = function () {
  if (this.canvas.isConnected) drawn.length = 0;
  return clearRect.apply(this, arguments);
};
"""


class Text(NamedTuple):
    """A text on the canvas: what is drawn, its colour and box, and the size of the canvas."""

    text: str
    colour: str
    left: float
    top: float
    right: float
    bottom: float
    width: float
    height: float


def texts(page: Page) -> list[Text]:
    """Return what is drawn now, where `RECORDER` ran before the page did."""
    page.evaluate("new Promise(requestAnimationFrame)")  # uPlot draws before the next frame
    return [Text(*text) for text in page.evaluate("drawn")]


def contrast(colour: str, background: str) -> float:
    """Return the contrast of two colours, ``"#rrggbb"``, as the WCAG define it."""
    dark, light = sorted(map(_luminance, (colour, background)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
