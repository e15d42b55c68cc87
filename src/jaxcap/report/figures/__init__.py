"""Figures of results, each with a title that says what was found, and a dot for what each process saw.

Figures are drawn in ``INK`` on a transparent background, for a light page; a dark page shows them in
``INK_ON_DARK``. A variant has the same colour in all figures. The label of each figure states its
finding and its main numbers in words, for those who can't see it.
"""

from jaxcap.report.figures.drawing import Drawing, Reference, origin
from jaxcap.report.figures.labels import headline, label_ends
from jaxcap.report.figures.pairs import dumbbell
from jaxcap.report.figures.plots import (
    TIME,
    bars,
    facets,
    panels,
    ratios,
    returns,
    running_total,
    scaling,
    speedups,
)
from jaxcap.report.figures.style import (
    COLOURS,
    GRID,
    INK,
    INK_ON_DARK,
    MARKERS,
    STYLE,
    STYLE_FILE,
    escape_math,
    log_axis,
    palette,
    use_style,
)

__all__ = [
    "COLOURS",
    "GRID",
    "INK",
    "INK_ON_DARK",
    "MARKERS",
    "STYLE",
    "STYLE_FILE",
    "TIME",
    "Drawing",
    "Reference",
    "bars",
    "dumbbell",
    "escape_math",
    "facets",
    "headline",
    "label_ends",
    "log_axis",
    "origin",
    "palette",
    "panels",
    "ratios",
    "returns",
    "running_total",
    "scaling",
    "speedups",
    "use_style",
]
