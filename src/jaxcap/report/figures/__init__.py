"""Figures of results, each with a title that says what was found, and a dot for what each process saw.

Figures are drawn in ``INK`` on a transparent background, for a light page; a dark page shows them in
``INK_ON_DARK``. A variant has the same colour in all figures. The label of each figure states its
finding and its main numbers in words, for those who can't see it.
"""

from jaxcap.report.figures.calls import returns, running_total
from jaxcap.report.figures.diagrams import MORE, Tree, key_tree, mapped_axes
from jaxcap.report.figures.drawing import Drawing, Reference, origin
from jaxcap.report.figures.labels import headline, label_ends
from jaxcap.report.figures.lines import scaling, speedups
from jaxcap.report.figures.pairs import dumbbell
from jaxcap.report.figures.panels import facets, panels
from jaxcap.report.figures.roofline import roofline
from jaxcap.report.figures.rows import bars, ratios
from jaxcap.report.figures.scatter import Group, scatter
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
from jaxcap.report.figures.values import TIME
from jaxcap.report.figures.waterfall import waterfall

__all__ = [
    "COLOURS",
    "GRID",
    "INK",
    "INK_ON_DARK",
    "MARKERS",
    "MORE",
    "STYLE",
    "STYLE_FILE",
    "TIME",
    "Drawing",
    "Group",
    "Reference",
    "Tree",
    "bars",
    "dumbbell",
    "escape_math",
    "facets",
    "headline",
    "key_tree",
    "label_ends",
    "log_axis",
    "mapped_axes",
    "origin",
    "palette",
    "panels",
    "ratios",
    "returns",
    "roofline",
    "running_total",
    "scaling",
    "scatter",
    "speedups",
    "use_style",
    "waterfall",
]
