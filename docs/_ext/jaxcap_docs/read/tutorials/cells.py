"""Cells on the pages of tutorials: code that only shows results is folded away, what it shows is not.

Scripts and notebooks stay whole. `CONTRIBUTING.md` has the rule for authors.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile

from docutils import nodes

from jaxcap_docs.read.elements import Folded

# What the HTML of an output contains, by what the output is.
OUTPUTS = {"claim": "jaxcap-claim", "table": "jaxcap-table"}
# What the functions that draw are called on.
DRAWING = ("axes.", "figures.", "plt.")
PREPARATION = (ast.Assign, ast.For, ast.FunctionDef, ast.With)
MEASURING = {"call", "run"}  # methods and functions that measure


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
    """Fold the code of cells that plot, tabulate, claim, or only prepare for that or for the prose.

    Code that shows results as they are stays if visible code below needs what it makes.

    Parameters
    ----------
    doctree
        The page of a tutorial that ran.
    quoted
        The variables that its prose quotes.
    """
    used_by: dict[bool, set[str]] = {
        True: set(quoted),
        False: set(),
    }  # folded cells, and visible ones
    needed: set[str] = set()  # by visible code below, from above
    for cell in reversed(cells_of(doctree)):
        code = ast.parse(cell.astext())
        result = _result(cell, code, quoted, used_by)
        made = set(_made(code))
        if result == "table" and made & needed and not _tabulates(code):
            result = None
        used_by[bool(result)].update(_used(code))
        if result:
            _fold(cell, result)
        else:
            needed = (needed | set(_used(code))) - made


def _fold(cell: nodes.Element, result: str) -> None:
    """Fold a cell, together with the folded one after it if it prepares that or is for the same."""
    following = cell.parent.children[cell.parent.index(cell) + 1 :]
    after = next((node for node in following if not isinstance(node, nodes.comment)), None)
    summary = f"Code of the {result}"
    if isinstance(after, Folded) and (result == "numbers" or after["summary"] == summary):
        cell.parent.remove(cell)
        after.insert(0, cell)
    else:
        folded = Folded(summary=summary)
        cell.replace_self(folded)
        folded += cell


def _result(
    cell: nodes.Element, code: ast.Module, quoted: Collection[str], used_by: Mapping[bool, set[str]]
) -> str | None:
    """Name what a cell is for, or return None if its code is part of the lesson."""
    output = output_of(cell)
    html = "".join(raw.astext() for node in output for raw in node.findall(nodes.raw))
    for result, sign in OUTPUTS.items():
        if sign in html:
            return result
    if any(True for node in output for _ in node.findall(nodes.image)) or _draws(code):
        return "plot"
    names = set() if output else _prepared(code)
    needed, seen = names & used_by[True], (names - set(quoted)) & used_by[False]
    return "numbers" if needed and not seen else None


def _draws(code: ast.Module) -> bool:
    return any(name.startswith(DRAWING) for name in _called(code))


def _tabulates(code: ast.Module) -> bool:
    return "Table" in _called(code)


def _called(code: ast.Module) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(code) if isinstance(node, ast.Call)}


def _prepared(code: ast.Module) -> set[str]:
    """Return the variables and functions that a cell makes, or none if it does something else, too.

    To measure is something else, and so is to define a function that the prose explains, which has
    no docstring.
    """
    parts = list(ast.walk(code))
    functions = [part for part in code.body if isinstance(part, ast.FunctionDef)]
    if (
        not all(isinstance(part, PREPARATION) for part in code.body)
        or any(isinstance(part, ast.Attribute) and part.attr in MEASURING for part in parts)
        or not all(map(ast.get_docstring, functions))
    ):
        return set()
    return {function.name for function in functions}.union(*map(_assigned, parts))


def _assigned(node: ast.AST) -> Iterator[str]:
    for target in node.targets if isinstance(node, ast.Assign) else ():
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        yield from (part.id for part in parts if isinstance(part, ast.Name))


def _made(code: ast.Module) -> Iterator[str]:
    """Yield the names that a cell imports, defines or assigns."""
    for node in ast.walk(code):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _used(code: ast.Module) -> Iterator[str]:
    for node in ast.walk(code):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
