"""Diagrams, which show how something works rather than what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from jaxcap.report.figures.labels import headline
from jaxcap.report.figures.style import BLUE, GREEN, GREY, ORANGE, SMALL, STYLE, escape_math

#: What stands for more keys that a tree doesn't show.
MORE = "…"
_CELL = 0.84  # the width of a cell, of which neighbours are one apart

#: The keys that are made from a key, by name, and so on.
Tree = Mapping[str, "Tree"]


def mapped_axes(arguments: Mapping[str, tuple[Sequence[int], int | None]]) -> Figure:
    """Draw the arguments of a function that `jax.vmap` maps, and what of them each call gets.

    Parameters
    ----------
    arguments
        By name, the shape of an array with one or two axes, and which of these is mapped, if any.
    """
    with plt.rc_context(STYLE):
        grids = {name: _calls(*argument) for name, argument in arguments.items()}
        rows = max(len(grid) for grid in grids.values())
        figure, axes = plt.subplots(figsize=(6.0, 1.7 + 0.27 * rows))
        left = 0
        for name, grid in grids.items():
            width = max(grid.shape[1], 0.62 * len(name), 3)
            _draw_grid(axes, grid, left + (width - grid.shape[1]) / 2)
            axes.text(left + width / 2, -0.4, name, ha="center", va="bottom")
            left += width + 1.5
        axes.set(xlim=(0, left - 1.5), ylim=(rows, -2.0), aspect="equal")
        axes.axis("off")
        labels = {"first call": ORANGE, "other calls": GREY, "every call": GREEN}
        handles = [Patch(color=colour, label=label) for label, colour in labels.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
        mapped = ", ".join(str(axis) for _, axis in arguments.values())
        headline(figure, f"What each call gets with in_axes=({mapped})")
        figure.set_label("; ".join(f"{name}: {_in_words(*a)}" for name, a in arguments.items()))
    return figure


def _calls(shape: Sequence[int], axis: int | None) -> np.ndarray:
    """Return the number of the call that gets each element, or -1 where all of them do."""
    calls = np.full(shape, -1) if axis is None else np.indices(shape)[axis]
    return calls[:, None] if calls.ndim == 1 else calls


def _draw_grid(axes: Axes, calls: np.ndarray, left: float) -> None:
    colours = {-1: GREEN, 0: ORANGE}
    for (row, column), call in np.ndenumerate(calls):
        look: Mapping[str, Any] = {"color": colours.get(int(call), GREY), "linewidth": 0}
        axes.add_patch(Rectangle((left + column, row), _CELL, _CELL, **look))


def _in_words(shape: Sequence[int], axis: int | None) -> str:
    each = "all of it" if axis is None else f"a slice along axis {axis}"
    return f"shape {tuple(shape)}, of which each call gets {each}"


class _Node(NamedTuple):
    name: str
    depth: int
    row: float
    children: Sequence[_Node]

    def walk(self) -> Iterator[_Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def key_tree(tree: Tree, *, finding: str) -> Figure:
    """Draw which keys were made from which, and which of them draw numbers: the leaves.

    Parameters
    ----------
    tree
        The first key, by name, with what was made from it. ``MORE`` stands for what isn't shown.
    finding
        The title.
    """
    ((name, children),) = tree.items()
    root = _place(name, children, 0, iter(range(1000)))
    nodes = list(root.walk())
    leaves = [node for node in nodes if not node.children and node.name != MORE]
    with plt.rc_context(STYLE):
        rows, depth = max(node.row for node in nodes), max(node.depth for node in nodes)
        figure, axes = plt.subplots(figsize=(6.0, 1.5 + 0.42 * rows))
        for node in nodes:
            _draw_branches(axes, node)
        inner = [node for node in nodes if node.children]
        for label, shown, marker, colour in (
            ("makes other keys", inner, "o", BLUE),
            ("draws numbers", leaves, "s", ORANGE),
        ):
            places = [node.depth for node in shown], [node.row for node in shown]
            axes.plot(*places, marker, color=colour, label=label)
        axes.set(xlim=(-0.1, depth + 0.9), ylim=(rows + 0.4, -0.8))
        axes.axis("off")
        figure.legend(loc="outside lower center", ncols=2)
        headline(figure, finding)
        made = (f"{node.name} makes {_listed(node.children)}" for node in inner)
        figure.set_label("; ".join(made))
    return figure


def _place(name: str, children: Tree, depth: int, rows: Iterator[int]) -> _Node:
    """Give each leaf a row of its own, and put each other key beside the first that it makes."""
    placed = [_place(*child, depth + 1, rows) for child in children.items()]
    row = placed[0].row if placed else next(rows)
    return _Node(name, depth, row, placed)


def _draw_branches(axes: Axes, node: _Node) -> None:
    middle = node.depth + 0.82
    for child in node.children:
        xs, ys = (
            (node.depth, middle, middle, child.depth),
            (node.row, node.row, child.row, child.row),
        )
        axes.plot(xs, ys, color=GREY, linewidth=1.2, zorder=1)
    away = (0, 7) if node.name != MORE else (2, -4)
    name = escape_math(node.name)
    axes.annotate(name, (node.depth, node.row), away, textcoords="offset points", fontsize=SMALL)


def _listed(nodes: Sequence[_Node]) -> str:
    return ", ".join(node.name for node in nodes)
