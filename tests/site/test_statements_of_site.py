"""The claims that the package brings along are those of the site."""

from __future__ import annotations

from pathlib import Path

from jaxcap_docs.statements import claims_of_build

from jaxcap.report.statements import tutorial_claims


def test_the_package_has_the_claims_that_this_build_made(html: Path) -> None:
    made = claims_of_build()
    pages = {claim.page for claim in made}
    assert made, f"no claim was made in {html}"
    assert made == tuple(claim for claim in tutorial_claims() if claim.page in pages)
