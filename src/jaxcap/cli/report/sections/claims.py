"""Which claims of the tutorials hold here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jaxcap.cli.report.measuring import Measured
from jaxcap.cli.report.sections.parts import MISSING, numbers
from jaxcap.report.claims import SIGNS, Claim, Statement
from jaxcap.report.document import Section
from jaxcap.report.statements import tutorial_claims
from jaxcap.results import ResultsError
from jaxcap.results.tables import Link, Table

SITE = "https://jaxcap.github.io/jaxcap/latest"


class ClaimHere(NamedTuple):
    """A claim of a tutorial, and what became of it here; without measurements, why there are none."""

    page: str
    statement: Statement
    claim: Claim | None
    reason: str

    @property
    def outcome(self) -> str:
        """What became of it."""
        return MISSING if self.claim is None else self.claim.outcome

    @property
    def link(self) -> Link:
        """The tutorial, with its address."""
        return Link(self.page, f"{SITE}/tutorials/{self.page}.html")

    @property
    def data(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "claim": self.statement.text,
            "page": self.link.href,
            "outcome": self.outcome,
            "speedup": None if self.claim is None else numbers(self.claim.estimate),
            "reason": self.reason,
        }


def check_claims(measured: Measured) -> list[ClaimHere]:
    """Check the claims of all tutorials on what was measured."""
    checked = []
    for page, statement in ((claim.page, claim.statement) for claim in tutorial_claims()):
        claim, reason = None, ""
        if results := measured.sets.get(statement.experiment):
            try:
                claim = statement.check(results)
            except ResultsError as error:  # a point may have failed, or a clock been too coarse
                reason = measured.missing.get(statement.experiment, str(error))
        else:
            reason = measured.why_missing(statement.experiment)
        checked.append(ClaimHere(page, statement, claim, reason))
    return checked


def claims(checked: Sequence[ClaimHere], measured: Measured) -> Section:
    """List what became of each claim."""
    judged = [
        (
            here.statement.claimed,
            f"{SIGNS[here.claim.words]} {here.claim.words}",
            here.claim.estimate.factor_in_full,
            here.link,
        )
        for here in checked
        if here.claim is not None
    ]
    others = [
        (here.statement.claimed, here.reason, here.link) for here in checked if here.claim is None
    ]
    table = Table(
        "Claims that were checked",
        ("It is claimed that", "here", "measured", "tutorial"),
        judged,
        text_columns=(1, 2, 3),
    )
    missing = Table(
        "Claims that were not measured",
        ("It is claimed that", "why not", "tutorial"),
        others,
        text_columns=(1, 2),
    )
    reason = measured.missing.get("")
    return Section(
        name="claims",
        heading="Which claims of the tutorials hold here",
        sentences=[
            outcomes_in_words(checked),
            *([f"Nothing was measured: {reason}."] if reason else []),
        ],
        tables=[table] if judged else [],
        details=[missing] if others else [],
        data=[here.data for here in checked],
    )


def outcomes_in_words(checked: Sequence[ClaimHere]) -> str:
    """Say how many claims there are of each outcome."""
    outcomes = [MISSING if here.claim is None else here.claim.words for here in checked]
    counts = [f"{words} {outcomes.count(words)}" for words in (*SIGNS, MISSING)]
    return f"The {len(checked)} claims of the tutorials, here: {', '.join(counts)}."
