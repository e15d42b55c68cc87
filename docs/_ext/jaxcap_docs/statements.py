"""The claims of the tutorials that this build ran, for the package to bring along.

``python -m jaxcap_docs.statements``, with ``docs/_ext`` on the path, writes them after a build.
"""

from __future__ import annotations

import sys

from jaxcap.report.statements import FILE, TutorialClaim, as_json
from jaxcap.results.atomic import write_atomically
from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS


def claims_of_build() -> tuple[TutorialClaim, ...]:
    """Collect the claims of all tutorials, in reading order."""
    records = {page: record for page in TUTORIALS if (record := page_records.load(page))}
    return tuple(
        TutorialClaim(page=page, statement=claim.statement)
        for page, record in records.items()
        for claim in record.claims
    )


def main() -> None:
    """Write the file, unless nothing was built here."""
    claims = claims_of_build()
    if not claims:
        sys.exit("there is no built site here with claims to collect: run `nox -s docs` first")
    write_atomically(FILE, as_json(claims))


if __name__ == "__main__":
    main()
