"""The claims that the package brings along are those that the tutorials make."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from jaxcap.experiments import catalogue
from jaxcap.report import claims
from jaxcap.report.claims import Evidence
from jaxcap.report.statements import FILE, TutorialClaim, as_json, tutorial_claims

GALLERY = Path(__file__).parents[2] / "gallery"
RENEW = (
    "build the site, and run `PYTHONPATH=src:docs/_ext python -m jaxcap_docs.statements` to renew "
    "statements.json"
)


def claims_in(script: Path) -> Iterator[tuple[str, Evidence, float | None, float | None]]:
    """Yield what the calls of `claim` in a script say, without running the script."""
    known: dict[str, Any] = dict(vars(claims))

    def value(node: ast.expr) -> Any:
        return eval(ast.unparse(node), known)

    for node in ast.parse(script.read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom(module=str(module)) if module.startswith("jaxcap"):
                for name in node.names:
                    known[name.asname or name.name] = resolve_name(f"{module}.{name.name}")
            case ast.Assign(value=ast.Call(func=ast.Name(id="claim"), args=[text, _, evidence])):
                assert isinstance(node.value, ast.Call)
                bounds = {keyword.arg: value(keyword.value) for keyword in node.value.keywords}
                bounds = bounds or {"above": 1.0}
                yield value(text), value(evidence), bounds.get("above"), bounds.get("below")
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() | ast.Dict()):
                with suppress(NameError):  # others than criteria may need what the script computes
                    known[name] = value(node.value)


def pages() -> list[str]:
    scripts = (path for path in GALLERY.glob("*/*.py") if "= claim(" in path.read_text("utf-8"))
    return sorted(path.relative_to(GALLERY).with_suffix("").as_posix() for path in scripts)


def packaged(page: str) -> list[TutorialClaim]:
    return [claim for claim in tutorial_claims() if claim.page == page]


@pytest.mark.parametrize("page", pages())
def test_the_claims_of_a_tutorial_are_in_the_package(page: str) -> None:
    pytest.importorskip("torch")  # of which some tutorials compare the speed
    made = list(claims_in(GALLERY / f"{page}.py"))
    statements = [claim.statement for claim in packaged(page)]
    assert made, "no claim was found"
    assert [(s.text, s.evidence, s.above, s.below) for s in statements] == made, RENEW


def test_the_package_has_no_other_claims() -> None:
    assert {claim.page for claim in tutorial_claims()} == set(pages()), RENEW


def test_each_claim_is_about_an_experiment_that_there_is() -> None:
    pytest.importorskip("torch")
    assert {claim.statement.experiment for claim in tutorial_claims()} <= catalogue().keys(), RENEW


def test_claims_are_read_as_they_were_written() -> None:
    assert as_json(tutorial_claims()) == FILE.read_text(encoding="utf-8")
