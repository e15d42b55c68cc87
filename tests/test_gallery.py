"""Rules for the tutorials that can be checked without running them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LESSONS = ROOT / "docs" / "_ext" / "jaxcap_docs" / "lessons.py"
SCRIPTS = sorted(ROOT.glob("gallery/*/*.py"))

FIGURE = re.compile(r"\d\s*(?:x|×|ms|us|µs|μs|ns|s|%)(?!\w)")
# Runs the imports of scripts, and prints which script lacks which module.
IMPORT = """
import ast, sys
from pathlib import Path

for path in map(Path, sys.argv[1:]):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            try:
                exec(ast.unparse(node), {})
            except ModuleNotFoundError as error:
                print(path.stem, error.name)
"""
# Words that give a direction to a measured number, which has its own.
DIRECTED = re.compile(
    r"(?:speed-up|faster|slower)[^.:;]*:measured:|:measured:`\w+[^`]*` times (?:as|the)"
)
# Lines of code in a cell that a reader can take in at once. Blank lines don't count.
MOST_LINES = 12
# Cells that draw, and are longer: by script, the largest number of lines that one of them has.
LONGER = {
    "asynchronous_dispatch": 15,
    "geometry": 16,
    "memory": 13,
    "messages": 14,
    "mnist": 15,
    "precision": 13,
    "profiling": 17,
    "releases": 17,
    "scaling_out": 21,
    "second_process": 20,
    "sharding": 14,
    "static_arguments": 14,
}
# A role that Sphinx would read as other text, because a line ends within it.
BROKEN_ROLE = re.compile(r":measured:`[^`\n]*\n|\{(?:measured|settled)\}`[^`\n]*\n")
MATHS_OR_CODE = re.compile(r":math:`[^`]*`|``[^`]*``")

each_script = pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)


def listed(name: str) -> Any:
    """Read a list of the site's extension without importing it, which needs Sphinx."""
    tree = ast.parse(LESSONS.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{LESSONS} has no {name}")


def prose(script: str) -> str:
    """Return the prose of a script: its docstring and its comments, without maths and code."""
    comments = re.findall(r"^# (?!sphinx_gallery_)(.*)$", script, re.MULTILINE)
    text = "\n".join([ast.get_docstring(ast.parse(script)) or "", *comments])
    return MATHS_OR_CODE.sub("", text)


def lines_of_code(script: str) -> list[tuple[int, str]]:
    """Count the lines of code of each cell, and return them with the cell's code."""
    cells = re.split(r"^# %%$", script, flags=re.MULTILINE)[1:]
    not_code = re.compile(r"\A\n(#.*\n)*|^# sphinx_gallery_.*$", re.MULTILINE)
    codes = [not_code.sub("", cell) for cell in cells]
    return [(sum(bool(line.strip()) for line in code.splitlines()), code) for code in codes]


def test_lessons_are_the_scripts_that_there_are() -> None:
    tutorials = {page for page in listed("PAGES") if page.startswith("tutorials/")}
    assert tutorials == {f"tutorials/{path.parent.name}/{path.stem}" for path in SCRIPTS}


def reading_order() -> list[str]:
    pages = (page for page in listed("PAGES") if page.startswith("tutorials/"))
    return [page.removeprefix("tutorials/") for page in pages]


def test_what_a_tutorial_builds_on_comes_before_it() -> None:
    order, needed = reading_order(), dict(listed("PREREQUISITES"))
    assert list(needed) == order
    assert [page for page in order if not needed[page]] == order[:1]
    for page, before in needed.items():
        assert set(before) <= set(order[: order.index(page)])


def test_keywords_are_of_tutorials() -> None:
    assert set(listed("KEYWORDS")) <= set(reading_order())


def test_last_paragraph_names_the_next_page() -> None:
    for page, after in pairwise([*(f"tutorials/{name}" for name in reading_order()), "measuring"]):
        script = ROOT / "gallery" / f"{page.removeprefix('tutorials/')}.py"
        *_, last = re.split(r"^#$", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert f"</{after}>`" in last, page


def test_scripts_that_need_pytorch_are_listed() -> None:
    """Otherwise the site could not be built without PyTorch."""
    folders = ROOT / "tests" / "site" / "elsewhere", ROOT / "src"
    without_torch = {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, *SCRIPTS],
        env=os.environ | without_torch,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert set(done.stdout.splitlines()) == {f"{name} torch" for name in listed("NEED_TORCH")}


@each_script
def test_no_direction_is_typed_beside_a_measured_number(path: Path) -> None:
    """What is faster here may be slower on the machine of the next build."""
    assert not DIRECTED.search(prose(path.read_text(encoding="utf-8")))


@each_script
def test_script_has_a_title(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring is not None
    title, underline, *_ = docstring.splitlines()
    assert title
    assert re.fullmatch("=+", underline)
    assert len(underline) >= len(title)


@each_script
def test_script_is_split_into_cells_by_one_kind_of_mark(path: Path) -> None:
    script = path.read_text(encoding="utf-8")
    assert len(re.findall(r"^# %%$", script, re.MULTILINE)) > 1
    assert not re.search(r"^(#{20,}|# %% ?\S.*|#%%.*)$", script, re.MULTILINE)


@each_script
def test_cells_are_short_enough_to_be_read(path: Path) -> None:
    cells = lines_of_code(path.read_text(encoding="utf-8"))
    longer = [(lines, code) for lines, code in cells if lines > MOST_LINES]
    assert all(re.search(r"\bplt\.|\baxes\b", code) for _, code in longer), longer
    most = max((lines for lines, _ in longer), default=None)
    assert most == LONGER.get(path.stem), "split the cell, or lower the limit in LONGER"


def test_lines_of_code_are_counted() -> None:
    script = '"""Title"""\n\n# %%\n# Prose\n# and more.\nx = 1\n\n# why\ny = 2\n\n# %%\n# Prose\n'
    assert [lines for lines, _ in lines_of_code(script)] == [3, 0]


@each_script
def test_prose_has_no_typed_figure(path: Path) -> None:
    assert FIGURE.findall(prose(path.read_text(encoding="utf-8"))) == []


def test_each_quoted_number_stands_on_one_line() -> None:
    pages = [*SCRIPTS, *ROOT.glob("docs/*.md"), *ROOT.glob("docs/[a-z]*/*.md")]
    broken = {page.name: BROKEN_ROLE.findall(page.read_text("utf-8")) for page in pages}
    assert {name: roles for name, roles in broken.items() if roles} == {}


@each_script
def test_script_makes_claims_that_the_site_can_list_and_shows_them(path: Path) -> None:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    made = {
        ast.unparse(node.targets[0])
        for node in body
        if isinstance(node, ast.Assign) and is_claim(node.value)
    }
    shown = {ast.unparse(node) for node in body if isinstance(node, ast.Expr)}
    # A claim is about what an experiment measured: a page with the one has the other.
    assert bool(made) == any(map(runs_an_experiment, ast.walk(ast.Module(body, []))))
    assert made <= shown
    assert sum(map(is_claim, ast.walk(ast.Module(body, [])))) == len(made)


def is_claim(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "claim"


def runs_an_experiment(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and "budget_s" in {word.arg for word in node.keywords}


@pytest.mark.parametrize("text", ["17x faster", "2.5×", "takes 3 ms", "40 µs", "90 %", "2 s."])
def test_typed_figures_are_recognised(text: str) -> None:
    assert FIGURE.search(prose(f'"""Title"""\n# {text}\n'))


@pytest.mark.parametrize("text", ["64 bits", "a float32", ":math:`\\sin 2x`", "3 steps"])
def test_other_numbers_are_allowed(text: str) -> None:
    assert not FIGURE.search(prose(f'"""Title"""\n# {text}\n'))
