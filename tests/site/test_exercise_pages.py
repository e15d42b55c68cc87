"""Exercises on the site: solutions are folded away, and both notebooks run."""

from __future__ import annotations

import re
from copy import copy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from sites import ROOT, Read

from jaxcap.exercises.check import by_value

EXERCISES = sorted(
    (path.stem for path in ROOT.glob("docs/exercises/[0-9]*.md")),
    key=lambda stem: int(stem.partition("_")[0]),
)
# What each solution says and no question does.
SOLUTIONS = {
    "1_arrays": ".at[1, 1].set(7)",
    "2_random_numbers": "noise_key, image.shape",
    "3_jit": "jnp.maximum(worst, loss)",
    "4_static_arguments": 'static_argnames=("width", "kind")',
    "5_gradient": "jax.grad(my_function)",
    "6_vmap": "in_axes=(None, None, 1)",
    "7_loops": 'static_argnames="n"',
    "8_updates": 'donate_argnames="history"',
    "9_pytrees": "sum(leaves) / len(leaves)",
    "10_bits": "scaled.astype",
    "11_second_process": "jax.jit(standardise).lower(shape)",
    "12_memory": "jax.jit(move, donate_argnums=0)",
    "13_faults": "of_layer.values()",
    "14_sharding": "out_sharding=by_example",
}


def parts(name: str) -> list[str]:
    text = (ROOT / "docs" / "exercises" / f"{name}.md").read_text(encoding="utf-8")
    return re.findall(r"^## (\d\S*)", text, re.MULTILINE)


def load(html: Path, name: str) -> Any:
    return nbformat.read(html / "exercises" / f"{name}.ipynb", as_version=4)


def source(notebook: Any, kind: str) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == kind)


def said(notebook: Any, folder: Path) -> list[str]:
    """Execute a notebook, and return what its checks say."""
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}}).execute()
    shown = [
        output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    return [text for text in shown if text.startswith(("Correct.", "Not yet:"))]


def test_there_is_a_page_for_each_question() -> None:
    assert list(SOLUTIONS) == EXERCISES


@pytest.mark.parametrize("name", EXERCISES)
def test_page_folds_hints_and_solutions_and_shows_the_rest(read: Read, name: str) -> None:
    page = copy(read(f"exercises/{name}"))  # what is folded is taken out below
    folded = page.select("details.sd-dropdown")
    titles = [details.summary.get_text(strip=True) for details in folded]
    assert titles == ["Hint", "Solution"] * len(parts(name))
    assert not any(details.has_attr("open") for details in folded)
    for details in folded[1::2]:
        assert [said.get_text().split()[0] for said in details.select(".jaxcap-check")] == [
            "Correct."
        ]
        details.extract()
    assert not page.select(".jaxcap-check"), "the answers to fill in show no output"
    assert "Solution" not in page.select_one(".toc-tree").get_text()


@pytest.mark.parametrize("name", EXERCISES)
def test_notebooks_are_linked_and_differ_by_the_solutions(
    html: Path, read: Read, name: str
) -> None:
    links = [a["href"] for a in read(f"exercises/{name}").select(".jaxcap-downloads a[download]")]
    assert links == [f"{name}.ipynb", f"{name}_solved.ipynb"]
    question, solved = load(html, name), load(html, f"{name}_solved")
    assert SOLUTIONS[name] in source(solved, "code")
    assert SOLUTIONS[name] not in source(question, "code") + source(question, "markdown")
    assert "## Solution" in source(solved, "markdown")
    assert "## Solution" not in source(question, "markdown")
    for notebook in (question, solved):
        nbformat.validate(notebook)
        checks = re.findall(r'^check\("(\S+)",', source(notebook, "code"), re.MULTILINE)
        assert checks == parts(name)
    assert source(question, "code").count("...") >= len(parts(name))
    assert "..." not in source(solved, "code")


@pytest.mark.parametrize("name", EXERCISES)
def test_notebooks_hold_no_markup_of_sphinx(html: Path, name: str) -> None:
    for file in (name, f"{name}_solved"):
        text = source(load(html, file), "markdown")
        assert not re.search(r"\{\w+(:\w+)*\}|:::|/tutorials/", text)
        hints = re.findall(
            r"<details><summary>Hint</summary>\n\n\S.*?\n\n</details>", text, re.DOTALL
        )
        assert len(hints) == len(parts(name))


@pytest.mark.parametrize("name", EXERCISES)
def test_solved_notebook_runs_and_is_correct(html: Path, tmp_path: Path, name: str) -> None:
    outcomes = said(load(html, f"{name}_solved"), tmp_path)
    assert [outcome.split()[0] for outcome in outcomes] == ["Correct."] * len(parts(name))


@pytest.mark.parametrize("name", EXERCISES)
def test_notebook_to_work_on_runs_and_asks_for_answers(
    html: Path, tmp_path: Path, name: str
) -> None:
    outcomes = said(load(html, name), tmp_path)
    assert len(outcomes) == len(parts(name))
    assert all(outcome.startswith("Not yet:") for outcome in outcomes)


@pytest.mark.parametrize("name", EXERCISES)
def test_plain_values_are_checked_above_their_solution(read: Read, name: str) -> None:
    boxes = read(f"exercises/{name}").select(".jaxcap-answer")
    asked = [box.find_parent("section").h2.get_text().split()[0] for box in boxes]
    assert asked == [part for part in parts(name) if by_value(part)]
    assert all("sd-dropdown" in box.find_next_sibling()["class"] for box in boxes)
