"""Figures of results, each with a title that says what was found, and a dot for what each process saw.

Figures are drawn in ``INK`` on a transparent background, for a light page; a dark page shows them in
``INK_ON_DARK``. A variant has the same colour in all figures. The label of each figure states its
finding and its main numbers in words, for those who can't see it.

Kinds of figures:

- ``lines``: results against a parameter, such as the size.
- ``rows``: a row for each result, with a bar or dots.
- ``panels``: all results of an experiment.
- ``pairs``: pairs of numbers, such as a wrong time and the right one.
- ``waterfall``: what each of several changes did.
- ``forest``: claims, with the interval that decides each.
- ``calls``: when the calls of a function return, and what many of them take.
- ``scatter``: paired times that should agree.
- ``roofline``: results below the ceilings of a device.
- ``diagrams``: how something works, without results.

What they are made of:

- ``style``: colours, markers and axes.
- ``labels``: titles, and labels at the ends of lines.
- ``phones``: figures that a phone can show as a whole.
- ``series``: lines through medians.
- ``values``: what is drawn of a result, and told in words.
- ``drawing``: how a figure was drawn, as data.
"""

from jaxcap.report.figures.calls import returns, running_total
from jaxcap.report.figures.diagrams import MORE, Tree, key_tree, mapped_axes
from jaxcap.report.figures.drawing import Drawing, Reference, origin
from jaxcap.report.figures.forest import forest
from jaxcap.report.figures.labels import headline, label_ends
from jaxcap.report.figures.lines import scaling, speedups
from jaxcap.report.figures.pairs import dumbbell
from jaxcap.report.figures.panels import facets, panels
from jaxcap.report.figures.phones import PHONE_WIDTH, fit_phone
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
    "PHONE_WIDTH",
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
    "fit_phone",
    "forest",
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
