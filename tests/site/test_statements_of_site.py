"""The claims that the package brings along are those of the site."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxcap_docs import page_records, statements
from jaxcap_docs.statements import claims_of_build

from jaxcap.report.statements import tutorial_claims


def test_the_package_has_the_claims_that_this_build_made(html: Path) -> None:
    made = claims_of_build()
    pages = {claim.page for claim in made}
    assert made, f"no claim was made in {html}"
    assert made == tuple(claim for claim in tutorial_claims() if claim.page in pages)


def test_without_a_build_the_list_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "statements.json"
    kept.write_text("claims", encoding="utf-8")
    monkeypatch.setattr(statements, "FILE", kept)
    monkeypatch.setattr(page_records, "load", lambda _: None)
    with pytest.raises(SystemExit, match="run `nox -s docs` first"):
        statements.main()
    assert kept.read_text(encoding="utf-8") == "claims"
