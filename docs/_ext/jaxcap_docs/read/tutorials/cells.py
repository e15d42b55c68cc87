"""Cells on the pages of tutorials: code that only shows results is folded away, what it shows is not.

Scripts and notebooks stay whole. `CONTRIBUTING.md` has the rule for authors.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from docutils import nodes

from jaxcap_docs.read.elements import Folded

# What the HTML of an output contains, by what the output is.
OUTPUTS = {"claim": "jaxcap-claim", "table": "jaxcap-table"}
# What the functions that draw are called on.
DRAWING = ("axes.", "figures.", "plt.")


def cells_of(part: nodes.Element) -> list[nodes.literal_block]:
    """Return the code of all cells in a part of a page; code in prose and output is no cell."""
    return [
        block for block in part.findall(nodes.literal_block) if block.get("language") == "Python"
    ]


def output_of(cell: nodes.Element) -> Sequence[nodes.Node]:
    """Return what a cell shows. sphinx-gallery begins each part of a script with a comment."""
    siblings = cell.parent.children
    following = siblings[siblings.index(cell) + 1 :]
    return list(takewhile(lambda node: not isinstance(node, nodes.comment), following))


def fold_cells(doctree: nodes.document, quoted: Collection[str]) -> None:
    """Fold the code of cells that plot, tabulate, claim, or only prepare numbers for the prose.

    Parameters
    ----------
    doctree
        The page of a tutorial that ran.
    quoted
        The variables that its prose quotes.
    """
    cells = {cell: ast.parse(cell.astext()) for cell in cells_of(doctree)}
    for cell, code in cells.items():
        others = (other for other in cells.values() if other is not code)
        used = {name for other in others for name in _used(other)}
        if not isinstance(cell.parent, Folded) and (result := _result(cell, code, quoted, used)):
            folded = Folded(summary=f"Code of the {result}")
            cell.replace_self(folded)
            folded += cell


def _result(
    cell: nodes.Element, code: ast.Module, quoted: Collection[str], used: Collection[str]
) -> str | None:
    """Name what a cell is for, or return None if its code is part of the lesson."""
    output = output_of(cell)
    html = "".join(raw.astext() for node in output for raw in node.findall(nodes.raw))
    for result, sign in OUTPUTS.items():
        if sign in html:
            return result
    if any(True for node in output for _ in node.findall(nodes.image)) or _draws(code):
        return "plot"
    return "numbers" if _only_prepares(code, quoted, used) else None


def _draws(code: ast.Module) -> bool:
    calls = (node for node in ast.walk(code) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func).startswith(DRAWING) for call in calls)


def _only_prepares(code: ast.Module, quoted: Collection[str], used: Collection[str]) -> bool:
    """Whether a cell only assigns what the prose quotes, and on the way what no other cell uses."""
    if not all(isinstance(part, ast.Assign | ast.For) for part in code.body):
        return False
    names = {name for node in ast.walk(code) for name in _assigned(node)}
    return bool(names & set(quoted)) and not (names - set(quoted)) & set(used)


def _assigned(node: ast.AST) -> Iterator[str]:
    for target in node.targets if isinstance(node, ast.Assign) else ():
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        yield from (part.id for part in parts if isinstance(part, ast.Name))


def _used(code: ast.Module) -> Iterator[str]:
    for node in ast.walk(code):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
