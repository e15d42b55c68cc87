"""The claims of the tutorials, which any machine can check on its own results.

The file ``statements.json`` has them as the tutorials made them when they last ran.
``python -m jaxcap_docs.statements`` writes it anew after a build of the site.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from jaxcap.report.claims import Statement
from jaxcap.results.base import FrozenModel, PrintableText

FILE = Path(__file__).with_suffix(".json")


class TutorialClaim(FrozenModel):
    """A claim, and the tutorial that makes it.

    Attributes
    ----------
    page
        The tutorial, such as ``"transformations/jit"``.
    statement
        What it claims.
    """

    page: PrintableText
    statement: Statement


_CLAIMS = TypeAdapter(tuple[TutorialClaim, ...])


def tutorial_claims() -> tuple[TutorialClaim, ...]:
    """Read the claims of all tutorials, in reading order."""
    return _CLAIMS.validate_json(FILE.read_bytes())


def as_json(claims: tuple[TutorialClaim, ...]) -> str:
    """Write claims as the text of the file, a line for each."""
    return "[\n" + ",\n".join(claim.model_dump_json() for claim in claims) + "\n]\n"
